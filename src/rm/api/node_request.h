/*
 * The number of whole nodes in a submission.  A rigid job has exactly that number, or of a range as
 * many as its processes need; the nodes of an elastic job are filled in sequence.  Pure.
 */

#ifndef ELASTIC_RM_NODE_REQUEST_H_INCLUDED
#define ELASTIC_RM_NODE_REQUEST_H_INCLUDED

#include "core/job_spec.h"
#include "http/body_reader.h"

namespace elastic::rm {

struct NodeRange {
    int minimum = 0, maximum = 0;       /* 0: no number is requested */
};
NodeRange read_node_range(BodyReader &body);

/* Sets them in the specification, whose sizes and kind are known; returns their number.
 * `cores_of_node`: of the largest node that the job may use.  Adds a note if fewer than requested
 * are used. */
int put_on_nodes(const BodyReader &body, JobSpec &spec, NodeRange range, int cores_of_node,
                 std::vector<std::string> &notes);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_NODE_REQUEST_H_INCLUDED */
