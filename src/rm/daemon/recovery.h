/*
 * Recovery of the core: the last readable snapshot, and the events after it.  Their rows are
 * derived and written again, their actions are not performed.
 *
 * All of the store must be readable: steps that a recovered core does not know would be ended.
 * Only a single event that is damaged, or that ends the process, may be replaced: a submission by
 * the data of its rows, another event by nothing.
 */

#ifndef ELASTIC_RM_RECOVERY_H_INCLUDED
#define ELASTIC_RM_RECOVERY_H_INCLUDED

#include "core/core.h"
#include "core/steady_clock.h"
#include "monitor/timeline.h"
#include "step/launch_quota.h"
#include "store/store.h"

namespace elastic::rm {

struct Recovered {
    Core core;
    SteadyClock clock;
    Timeline timeline;
    LaunchQuota quota;
    uint64_t snapshot_seq = 0;      /* the event of the snapshot; 0: none */
};

/* Or the error in the store, and the remedy.  `repairs`: an event that cannot be used is put
 * into quarantine, and reported. */
Result<Recovered> recover(Store &store, bool repairs = false);

/* Whether the store cannot be used because of this event. */
bool is_to_blame(Store &store, uint64_t seq);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_RECOVERY_H_INCLUDED */
