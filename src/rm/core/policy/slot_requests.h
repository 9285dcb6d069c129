/*
 * The next job that gets slots beside its world, and their nodes (SlotRequest); and processes for
 * which a program waits (MPIX_Comm_modify).  The same under all policies: slots come before growth.
 * A slot is not taken back before its process has ended, so that no slot may delay the reserved
 * start of the first waiting job, unless its request is older.  Pure.
 */

#ifndef ELASTIC_RM_CORE_POLICY_SLOTS_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_SLOTS_H_INCLUDED

#include "core/state.h"

namespace elastic::rm {

/* A request with slots that are not granted. */
struct SlotTurn {
    int64_t since_ms = 0;
    JobId job = 0;
    uint64_t size_request = 0;
    auto operator<=>(const SlotTurn &) const = default;
};
/* In the order in which they were made. */
std::vector<SlotTurn> slot_turns(const State &state);

/* The available slots, limited by the request, the job's maximum, and `most`.  Slots on the
 * job's own nodes come first.  If a back end requests nodes elsewhere (asynchronous_nodes), only
 * own nodes count; then waiting jobs do not matter, because no other job can use these nodes. */
Blocks slots_for(const State &state, const Job &job, const SlotRequest &size_request, int64_t most);

/* Slots for processes of MPI_Comm_spawn, where they run: limited by free cores, the job's maximum
 * and `most`.  Where jobs have whole nodes, on nodes of the job alone. */
Blocks slots_for_spawned(const State &state, const Job &job, int64_t most);

/* Number of slots of the request that fit on the job's own nodes beside its processes, including
 * slots that it already has there. */
int capacity_on_own_nodes(const State &state, const Job &job, const SlotRequest &size_request);

/* All processes by which its program requests to grow, at most `most`; empty: not possible now. */
Blocks created_for(const State &state, const Job &job, int64_t most);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_SLOTS_H_INCLUDED */
