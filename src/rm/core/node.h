/* A node as the core sees it: cores and GPUs that jobs book, and whether it may be used. */

#ifndef ELASTIC_RM_CORE_NODE_H_INCLUDED
#define ELASTIC_RM_CORE_NODE_H_INCLUDED

#include <bit>

#include "core/node_name.h"

namespace elastic::rm {

constexpr int GPUS_MAX = 64;    /* of one node */

/* GPUs of one node, each a bit: 1 is the first. */
using GpuSet = uint64_t;
constexpr GpuSet gpus_below(int end)
{
    return end >= GPUS_MAX ? ~GpuSet{0} : (GpuSet{1} << end) - 1;
}

enum class NodeState { UP, DRAINING, DOWN };
template <> struct NamesOf<NodeState> {
    static constexpr const char *names[] = {"up", "draining", "down"};
};

struct Node {
    NodeName name;
    int cores = 0;
    int used = 0;               /* booked by jobs, for joining and departing processes too */
    bool up = true;
    bool draining = false;      /* set by an administrator; kept while the node is down */
    bool removed = false;       /* removed as soon as used is 0 */
    /* in FreeCores, which sets it; stored near data that is read with it */
    mutable uint32_t position = 0;
    int gpus = 0;               /* number of its GPUs */
    int gpus_next = 0;          /* its number of GPUs as soon as its jobs allow the change */
    GpuSet gpus_used = 0;       /* booked by jobs */
    std::string reason;         /* why it is not up, or draining */
    /* why the back end suspects the node at present: as if draining */
    std::string trouble;
    std::vector<int64_t> start_faults_ms;       /* recent failures to start a step on it */

    NodeState state() const
    {
        return !up ? NodeState::DOWN
            : draining || !trouble.empty() || gpus != gpus_next
            ? NodeState::DRAINING
            : NodeState::UP;
    }
    /* The cores that may be booked now. */
    int free() const { return state() == NodeState::UP ? cores - used : 0; }
    GpuSet free_gpus() const
    {
        return state() == NodeState::UP ? gpus_below(gpus) & ~gpus_used : 0;
    }
    /* For people. */
    std::string why() const
    {
        if (!trouble.empty() || !reason.empty() || gpus == gpus_next)
            return trouble.empty() ? reason : trouble;
        return "it is to have " + std::to_string(gpus_next) + " GPUs instead of " +
               std::to_string(gpus) + ": no job starts on it until jobs with other GPUs have ended";
    }
    ELASTIC_FIELDS(name, cores, used, up, draining, removed, reason, trouble, start_faults_ms, gpus,
                   gpus_next)
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_NODE_H_INCLUDED */
