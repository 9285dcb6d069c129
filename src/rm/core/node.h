/* A node as the core sees it: cores that jobs book, and whether it may be used. */

#ifndef ELASTIC_RM_CORE_NODE_H_INCLUDED
#define ELASTIC_RM_CORE_NODE_H_INCLUDED

#include "core/node_name.h"

namespace elastic::rm {

enum class NodeState { UP, DRAINING, DOWN };
template <> struct NamesOf<NodeState> {
    static constexpr const char *names[] = {"up", "draining", "down"};
};

struct Node {
    NodeName name;
    int cores = 0;
    int used = 0;               /* booked by jobs, for processes to come and to go too */
    bool up = true;
    bool draining = false;      /* by an administrator; outlives going down */
    bool removed = false;       /* removed as soon as used is 0 */
    mutable uint32_t position = 0;      /* in FreeCores, which sets it; near what is read with it */
    std::string reason;         /* why it is not up, or draining */
    /* the back end does not trust it at present, and why: as if draining */
    std::string trouble;
    std::vector<int64_t> start_faults_ms;       /* recent failures to start a step on it */

    NodeState state() const
    {
        return !up ? NodeState::DOWN
            : draining || !trouble.empty()
            ? NodeState::DRAINING
            : NodeState::UP;
    }
    /* The cores that may be booked now. */
    int free() const { return state() == NodeState::UP ? cores - used : 0; }
    /* For people. */
    const std::string &why() const { return trouble.empty() ? reason : trouble; }
    ELASTIC_FIELDS(name, cores, used, up, draining, removed, reason, trouble, start_faults_ms)
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_NODE_H_INCLUDED */
