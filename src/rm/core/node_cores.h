/* Changes the number of cores of a node while jobs use it. */

#ifndef ELASTIC_RM_CORE_NODE_CORES_H_INCLUDED
#define ELASTIC_RM_CORE_NODE_CORES_H_INCLUDED

#include "core/state.h"

namespace elastic::rm {

/* Whether it can have so many now: what its jobs have booked fits, and none has booked the whole
 * node.  If not, NodeUp with that number is refused until it can. */
bool can_have_cores(const State &state, const Node &node, int cores);
/* The same of its GPUs. */
bool can_have_gpus(const Node &node, int gpus);
/* Why no other job is to start on it until then; for people. */
std::string why_cores_wait(const Node &node, int cores);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_NODE_CORES_H_INCLUDED */
