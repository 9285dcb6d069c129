/*
 * Policy `measured`: cores go where they make most faster, and are taken from whom they do not
 * help.
 *
 * What is known of each job is how much of a round does not become shorter with more processes
 * (scaling.h).  Then:
 *
 *   expand   idle cores go, step by step, to the job whose logarithm of speed gains most by them,
 *            so that the sum over all jobs becomes greatest: a fair measure, since who is small
 *            gains more by one core than who is large
 *   floor    nobody gets cores that bring less than `efficiency` of a proportional gain
 *   trial    beyond the sizes that have been measured a job is at most doubled; whether it paid is
 *            looked at when it has been measured at the new size, and it is taken back if it did
 *            not.  What was measured is remembered while the phase lasts, so that it is not tried
 *            again
 *   cost     nobody grows who would stand still for longer than a tenth of what it wins
 *
 * Between growing and giving back lies a band that noise of the samples does not cross
 * (RULE_MARGIN_PPM).
 */

#ifndef ELASTIC_RM_CORE_POLICY_MEASURED_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_MEASURED_H_INCLUDED

#include "core/policy/gain.h"
#include "core/policy/policy.h"
#include "core/scaling.h"

namespace elastic::rm {

/* All that decides the sizes of one job, as of its newest sample; part of the record of each
 * change. */
struct MeasuredNumbers {
    Scaling scaling;
    bool settled = false; /* measured since its last change of size */
    int64_t efficiency_ppm = 0; /* of the configuration */
    int64_t remaining_ms = NEVER, since_ms = 0;
    AdaptationTimes times;
    ELASTIC_FIELDS(scaling, settled, efficiency_ppm, remaining_ms, since_ms, times)
};
MeasuredNumbers measured_numbers(const State &state, const Job &job);

constexpr int64_t RULE_MARGIN_PPM = 100000;
/* The job is not to grow beyond it, in reals rounded down; its present size: it is not to grow. */
int64_t measured_most(const MeasuredNumbers &numbers);
/* The size that it is to give processes down to; 0: none. */
int64_t measured_least(const MeasuredNumbers &numbers);

/* All of it that decisions ask for, and the same as it is kept while nothing of the job changes. */
SizeWorth find_worth(const State &state, const Job &job);
const SizeWorth &worth_of(const State &state, const Job &job);

/* gain.h: by how much the logarithm of the job's speed grows for each core. */
const Gain &measured_gain();
const Policy &measured_policy();

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_MEASURED_H_INCLUDED */
