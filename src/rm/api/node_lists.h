/*
 * Lists of nodes in a submission: "n[1-3],login", the nodes that a job requires or excludes.  Each
 * name is checked, so that no name of a node that does not exist enters the core.  Pure.
 */

#ifndef ELASTIC_RM_NODE_LISTS_H_INCLUDED
#define ELASTIC_RM_NODE_LISTS_H_INCLUDED

#include "core/state.h"
#include "http/body_reader.h"

namespace elastic::rm {

/* Empty without that field; fails if the field is not a list, or names unknown nodes. */
NodeSet read_node_set(BodyReader &body, const char *name, const State &state);

/* Among the nodes that the job may use: cores of the largest one, if nodes differ. */
int cores_of_largest_node(const State &state, const JobSpec &spec);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_NODE_LISTS_H_INCLUDED */
