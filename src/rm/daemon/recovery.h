/*
 * The core as it was: the last snapshot that can be read, and the events after it through the core.
 * Their rows are derived and written again, their actions are not carried out.
 *
 * All of the store must be readable: steps that a recovered core does not know would be ended.
 */

#ifndef ELASTIC_RM_RECOVERY_H_INCLUDED
#define ELASTIC_RM_RECOVERY_H_INCLUDED

#include "api/timeline.h"
#include "core/core.h"
#include "core/steady_clock.h"
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

/* Or what is wrong with the store, and what can be done. */
Result<Recovered> recover(Store &store);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_RECOVERY_H_INCLUDED */
