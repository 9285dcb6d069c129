/*
 * Who gets places beside its world next, and where (SlotWish); and processes that its program waits
 * for (MPIX_Comm_modify).  The same under all policies: places come before growth, and a place is
 * not taken back before its process has ended, so that none may delay the promised start of the
 * first job that waits, unless the wish is older.  Pure.
 */

#ifndef ELASTIC_RM_CORE_POLICY_SLOTS_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_SLOTS_H_INCLUDED

#include "core/state.h"

namespace elastic::rm {

/* A wish that still wants some. */
struct SlotTurn {
    int64_t since_ms = 0;
    JobId job = 0;
    uint64_t wish = 0;
    auto operator<=>(const SlotTurn &) const = default;
};
/* The one that was made first comes first. */
std::vector<SlotTurn> slot_turns(const State &state);

/* As many as there are now, at most what is wanted, what the job may have, and `most`.  On nodes of
 * its own first; on these alone if a back end gets nodes from somebody else (asynchronous_nodes).
 * Who waits for nodes there does not matter then: they are nobody else's. */
Blocks places_for(const State &state, const Job &job, const SlotWish &wish, int64_t most);

/* For how many places of the wish the job's own nodes have room beside its processes, those that it
 * has there included. */
int room_on_own_nodes(const State &state, const Job &job, const SlotWish &wish);

/* All the processes by which its program wishes to be larger, at most `most`; empty: not now. */
Blocks created_for(const State &state, const Job &job, int64_t most);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_SLOTS_H_INCLUDED */
