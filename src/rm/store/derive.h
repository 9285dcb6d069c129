/*
 * The rows that follow from an event that the core has handled: history, ended jobs, the jobs of
 * launches.  They are written with a later commit; a restart derives them again.  Pure.
 */

#ifndef ELASTIC_RM_STORE_DERIVE_H_INCLUDED
#define ELASTIC_RM_STORE_DERIVE_H_INCLUDED

#include "core/state.h"
#include "store/store.h"

namespace elastic::rm {

/* For one action about `event`, with the state after it; `last_job`: the newest job before it. */
void derive(Batch &rows, const State &state, const Event &event, const Action &action,
            JobId last_job);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STORE_DERIVE_H_INCLUDED */
