/*
 * The jobs that have processes or booked slots on each node of a list.  All allocated jobs are
 * examined for it, in parts.  Pure.
 */

#ifndef ELASTIC_RM_NODE_USERS_H_INCLUDED
#define ELASTIC_RM_NODE_USERS_H_INCLUDED

#include <vector>

#include "core/state.h"
#include "monitor/timeline.h"

namespace elastic::rm {

struct NodeUser {
    JobId job;
    uint32_t uid;
    int cores_per_process;
    int processes;              /* including leaving ones */
    int extra_slots;            /* beside its world */
    int spawned;                /* processes of MPI_Comm_spawn, with a slot or without */
};

class NodeUsers {
  public:
    explicit NodeUsers(const std::vector<NodeName> &nodes);

    /* Examines some more jobs.  False: all are examined.  The state may change between two calls:
     * a job is shown as it was when it was examined. */
    bool add_some(const State &state);

    /* Of the node with this number in the list. */
    const std::vector<NodeUser> &of(size_t number) const { return users_[number]; }

  private:
    void add(const State &state, const Job &job);
    NodeUser *user_on(const NodeName &node, const Job &job);

    NodeTable numbers_;
    std::vector<std::vector<NodeUser>> users_;
    JobId after_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_NODE_USERS_H_INCLUDED */
