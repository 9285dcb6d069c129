/*
 * Policy `efficient`: sizes by the part of its time that a job spends in MPI (Compres 2017, elastic
 * resource scheduling), with starts, reservations and backfilling as in `fill`.
 *
 *   reduce   a job whose MPI time by computing time is above an upper threshold gives half of its
 *            processes, at once
 *   give     only jobs that are below a lower threshold give processes to those that wait
 *   expand   only these get idle cores, up to twice their size: who runs longest first
 *   balance  for a job that nobody can make room for, these end together (fill_balance.h)
 *   lend     what idles because it is reserved goes to them until it is wanted (fill_lending.h)
 *
 * Above and below is only what samples that are wrong by a tenth could not make seem so.
 *
 * Who gives now may keep all that it has later, between the thresholds.  So a reservation counts on
 * nobody's gifts, but for loans, and nobody else grows into what is reserved.
 *
 * SPEC-performance R, T, F, Q6-Q8, K and X; the range itself is size_range.h.
 */

#ifndef ELASTIC_RM_CORE_POLICY_EFFICIENT_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_EFFICIENT_H_INCLUDED

#include "core/policy/policy.h"
#include "core/policy/size_range.h"
#include "core/policy/size_rules.h"
#include "core/scaling.h"

namespace elastic::rm {

/* All that decides the sizes of one running job, as of its newest sample; part of the record of
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
