/*
 * Time balancing for a job that waits until some that run have ended: these get the sizes with
 * which they end together, so that it starts sooner.  Pure.  SPEC-performance T, Q6c, K2 and K3.
 *
 * Whole milliseconds from now on, sizes in processes.
 */

#ifndef ELASTIC_RM_CORE_POLICY_TIME_BALANCE_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_TIME_BALANCE_H_INCLUDED

#include "core/policy/size_range.h"
#include "core/scaling.h"

namespace elastic::rm {

/* A running job that is to end first. */
struct BalanceMember {
    JobId job = 0;
    int size = 0;               /* that it has, or will have by what is under way */
    int64_t work = 0;           /* process-milliseconds that remain */
    int low = 0, high = 0;      /* it may have; both its size: it keeps that (R4) */
    int unit = 1, unit_cores = 1;       /* as Balanced */
    AdaptationTimes times;
    const JobSpec *spec = nullptr;
    int64_t remaining_ms() const { return (work + size - 1) / size; }
    ELASTIC_FIELDS(job, size, work, low, high, unit, unit_cores, times)
};

/* The waiting job, and all input of the decision. */
struct TimeBalance {
    JobId whom = 0;
    int64_t cores = 0;          /* what the members have together, and what idles */
    std::vector<BalanceMember> members;
    ELASTIC_FIELDS(whom, cores, members)
};

/* Until the last one has ended, if nothing is changed. */
int64_t unchanged_end_ms(const TimeBalance &balance);

/* T4 over those whose change pays (T6), the others keep their sizes; T4 takes from each what it
 * need not have, of which what nobody else needs is left to it.  Nothing: it is not worth a
 * change. */
std::optional<Balance> worthwhile(TimeBalance balance);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_TIME_BALANCE_H_INCLUDED */
