/* Changes the number of cores of a node while jobs use it. */

#ifndef ELASTIC_RM_CORE_NODE_CORES_H_INCLUDED
#define ELASTIC_RM_CORE_NODE_CORES_H_INCLUDED

#include "core/state.h"

namespace elastic::rm {

/* Whether the node can have this number of cores now: the bookings of its jobs fit, and no job
 * has booked the whole node.  If not, NodeUp with that number is refused until it can. */
bool can_have_cores(const State &state, const Node &node, int cores);
/* The same for its GPUs. */
bool can_have_gpus(const Node &node, int gpus);
/* Why no other job may start on it until then; for people. */
std::string why_cores_wait(const Node &node, int cores);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_NODE_CORES_H_INCLUDED */
