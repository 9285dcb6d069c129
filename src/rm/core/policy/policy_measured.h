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
 *   loan     but those that idle otherwise, as long as they bring `efficiency_idle` of it.  They go
 *            back first, to those that wait, and to running jobs that can use them
 *   trial    beyond the sizes that have been measured a job is at most doubled; whether it paid is
 *            looked at when it has been measured at the new size, and it is taken back if it did
 *            not.  What was measured is remembered while the phase lasts, so that it is not tried
 *            again
 *   balance  while nobody waits and no core idles, cores go from whom they help least to whom they
 *            help most, if both together gain more than noise
 *   doubt    MPI time does not say of every program that it needs fewer processes.  Of whom nothing
 *            has been measured below its present size, and nothing shows that it needs that, half
 *            is tried, for the sake of another one
 *   cost     nobody grows who would stand still for longer than a tenth of what it wins
 *
 * Between growing and giving back lies a band that noise of the samples does not cross
 * (RULE_MARGIN_PPM).
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
    bool settled = false; /* measured since its last change of size */
    Unit unit;
    int64_t efficiency_ppm = 0, efficiency_idle_ppm = 0; /* of the configuration */
    int64_t remaining_ms = NEVER, since_ms = 0;
    int64_t sample_ms = 0; /* the mean time between samples, since its last change of size */
    AdaptationTimes times;
    ELASTIC_FIELDS(scaling, settled, unit, efficiency_ppm, efficiency_idle_ppm, remaining_ms,
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

/* What one gives so that another one becomes faster. */
struct Given {
    int size = 0;               /* of who gives, afterwards */
    int grown = 0;              /* of who gets */
    double speed = 1;           /* of who gets, over the present one */
};
/* `trial`: whether the processes that are given do anything is tried.  Nothing: it does not
 * pay. */
std::optional<Given> best_exchange(const JobSpec &from, const MeasuredNumbers &gives,
                                   const JobSpec &to, const MeasuredNumbers &gets, bool trial);
/* And with what is lent to the one that gives, as far as all others together can use so many
 * cores. */
Given with_loan(Given given, const JobSpec &from, const MeasuredNumbers &gives, const JobSpec &to,
                const MeasuredNumbers &gets, int64_t wanted_cores);

/* All of it that decisions ask for, and the same as it is kept while nothing of the job changes. */
SizeWorth find_worth(const State &state, const Job &job);
const SizeWorth &worth_of(const State &state, const Job &job);

/* gain.h: by how much the logarithm of the job's speed grows for each core. */
const Gain &measured_gain();
const Policy &measured_policy();

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_POLICY_MEASURED_H_INCLUDED */
