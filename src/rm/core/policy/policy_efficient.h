/*
 * Policy `efficient`: sizes by the share of its time that a job spends in MPI (Compres 2017,
 * elastic resource scheduling), with starts, reservations and backfilling as in `fill`.
 *
 *   reduce   a job whose ratio of MPI time to computing time exceeds an upper threshold releases
 *            half of its processes, at once
 *   give     only jobs below a lower threshold release processes for waiting jobs
 *   expand   only these get idle cores, up to twice their size: the longest running first
 *   balance  for a job that no other can help, these end together (fill_balance.h)
 *   lend     reserved idle cores go to them until they are needed (fill_loans.h)
 *
 * A ratio counts as above or below a threshold only beyond an error of a tenth of the samples.
 *
 * A job that releases cores now may keep its whole size later, between the thresholds.  So a
 * reservation assumes only the return of loans, no other donations, and no other job grows into
 * reserved cores.
 *
 * Performance specification, clauses R, T, F, Q6-Q8, K and X; size_range.h computes the range.
 */

#ifndef ELASTIC_RM_CORE_POLICY_EFFICIENT_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_EFFICIENT_H_INCLUDED

#include "core/policy/policy.h"
#include "core/policy/size_range.h"
#include "core/policy/size_rules.h"
#include "core/scaling.h"

namespace elastic::rm {

/* All input for the sizes of one running job, as of its newest sample; part of the record of
 * each change. */
struct EfficientNumbers {
    RangeNumbers range;
    int64_t remaining_ms = NEVER, since_ms = 0;
    AdaptationTimes times;
    ELASTIC_FIELDS(range, remaining_ms, since_ms, times)
};
EfficientNumbers efficient_numbers(const State &state, const Job &job);

const SizeRules &efficient_rules();
const Policy &efficient_policy();

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_EFFICIENT_H_INCLUDED */
