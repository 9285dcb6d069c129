/*
 * Policy `measured`: cores go to the jobs that become faster by them most, and are taken from jobs
 * that do not benefit.
 *
 * The measurement of each job is the part of a round that does not become shorter with more
 * processes (scaling.h).  Then:
 *
 *   expand   idle cores go, step by step, to the job whose logarithm of speed gains most, so that
 *            the sum over all jobs becomes maximal: a fair measure, since a small job gains more by
 *            one core than a large one
 *   floor    no job gets cores that bring less than `efficiency` of a proportional gain
 *   loan     except cores that idle otherwise, as long as they bring `efficiency_idle` of it.  They
 *            return first, to waiting jobs and to running jobs that can use them
 *   trial    beyond the measured sizes a job is at most doubled; after a measurement at the new
 *            size the growth is taken back if it did not pay.  The measurement is stored while the
 *            phase lasts, so that the trial is not repeated
 *   balance  while no job waits and no core idles, cores go from the job with the lowest benefit to
 *            the job with the highest, if both together gain more than noise
 *   explore  MPI time does not show for every program that it needs fewer processes.  A job without
 *            measurements below its present size, and without evidence that it needs that size, is
 *            halved for the sake of another job (exploratory shrink)
 *   cost     no job grows that would stand still for longer than a tenth of its benefit
 *
 * A margin between growing and giving (RULE_MARGIN_PPM) is wider than the noise of the samples.
 */

#ifndef ELASTIC_RM_CORE_POLICY_MEASURED_H_INCLUDED
#define ELASTIC_RM_CORE_POLICY_MEASURED_H_INCLUDED

#include "core/policy/gain.h"
#include "core/policy/policy.h"
#include "core/policy/size_rules.h"
#include "core/scaling.h"

namespace elastic::rm {

/* All that decides the sizes of one job, as of its newest sample; part of the record of each
 * change. */
struct MeasuredNumbers {
    Scaling scaling;
    bool is_measured = false; /* measured since its last change of size */
    Unit unit;
    int64_t efficiency_ppm = 0, efficiency_idle_ppm = 0; /* of the configuration */
    int64_t remaining_ms = NEVER, since_ms = 0;
    int64_t sample_ms = 0; /* the mean time between samples, since its last change of size */
    AdaptationTimes times;
    ELASTIC_FIELDS(scaling, is_measured, unit, efficiency_ppm, efficiency_idle_ppm, remaining_ms,
                   since_ms, sample_ms, times)
};
MeasuredNumbers measured_numbers(const State &state, const Job &job);

constexpr int64_t RULE_MARGIN_PPM = 100000;
/* Of cores that others can use; of those that idle otherwise. */
enum class Floor { EFFICIENT, IDLE };
/* The job is not to grow beyond it, in reals rounded down; its present size: it is not to grow. */
int64_t measured_most(const MeasuredNumbers &numbers, Floor floor);
/* The size that it is to give processes down to; 0: none. */
int64_t measured_least(const MeasuredNumbers &numbers, Floor floor);

/* With which size, at most, a run of the program is started (X3). */
int64_t measured_start(const Learned &learned, int64_t efficiency_ppm);

/* Nothing shows that it needs its last processes, and it pays to find out. */
bool is_doubtful(const MeasuredNumbers &numbers);

/* An exchange: cores that one job gives so that another one becomes faster. */
struct Given {
    int size = 0;               /* of who gives, afterwards */
    int grown = 0;              /* of who gets */
    double speed = 1;           /* of who gets, over the present one */
};
/* `trial`: whether the processes that are given do anything is tried.  Nothing: it does not
 * pay. */
std::optional<Given> best_exchange(const JobSpec &from, const MeasuredNumbers &gives,
                                   const JobSpec &to, const MeasuredNumbers &gets, bool trial);
/* The same including the loans of the donor, as far as all other jobs together can use so many
 * cores. */
Given with_loan(Given given, const JobSpec &from, const MeasuredNumbers &gives, const JobSpec &to,
                const MeasuredNumbers &gets, int64_t wanted_cores);

/* All values that decisions need, and the same as stored while the job does not change. */
SizeWorth find_worth(const State &state, const Job &job);
const SizeWorth &worth_of(const State &state, const Job &job);

/* gain.h: by how much the logarithm of the job's speed grows for each core. */
const Gain &measured_gain();
const Policy &measured_policy();

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_MEASURED_H_INCLUDED */
