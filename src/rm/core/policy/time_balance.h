/*
 * Time balancing for a job that waits until some running jobs have ended: these get the sizes with
 * which they end together, so that it starts sooner.  Pure.  SPEC-performance T, Q6c, K2 and K3.
 *
 * Times are whole milliseconds from now, sizes in processes.
 */

#ifndef ELASTIC_RM_CORE_POLICY_TIME_BALANCE_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_TIME_BALANCE_H_INCLUDED

#include "core/policy/size_range.h"
#include "core/scaling.h"

namespace elastic::rm {

/* A running job that must end before the waiting job starts. */
struct BalanceMember {
    JobId job = 0;
    int size = 0;               /* present size, or the size after a change in progress */
    int64_t work = 0;           /* process-milliseconds that remain */
    int low = 0, high = 0;      /* allowed sizes; both equal to `size`: it keeps its size (R4) */
    int unit = 1, unit_cores = 1;       /* as in Balanced */
    AdaptationTimes times;
    const JobSpec *spec = nullptr;
    int64_t remaining_ms() const { return (work + size - 1) / size; }
    ELASTIC_FIELDS(job, size, work, low, high, unit, unit_cores, times)
};

/* The waiting job, and all input of the decision. */
struct TimeBalance {
    JobId whom = 0;
    int64_t cores = 0;          /* cores of all members, and idle cores */
    std::vector<BalanceMember> members;
    ELASTIC_FIELDS(whom, cores, members)
};

/* Time until the last member has ended, without changes. */
int64_t unchanged_end_ms(const TimeBalance &balance);

/* Applies T4 to members whose change pays (T6); the others keep their sizes.  T4 gives each the
 * smallest size that suffices; cores that no other member needs stay with the job.  Nullopt: it
 * is not worth a change. */
std::optional<Balance> worthwhile(TimeBalance balance);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_TIME_BALANCE_H_INCLUDED */
