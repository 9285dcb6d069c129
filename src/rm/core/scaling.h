/*
 * The scaling model: a job's speed as a function of its size, from measurements.  Pure functions
 * of the known data of a job (performance.h).  Clauses J7, K1 and K2 of the performance
 * specification.
 *
 * Near a size a round takes a + b/n with n processes.  The model stores the part a/(a + b/n) of a
 * round that does not become shorter with more processes, at the job's present size, in parts per
 * million (ppm), once for more processes and once for fewer: a program that scales to 6 is faster
 * by the 6th and not by the 7th.  Speeds are relative to the present one.
 *
 * The speed-up of a program may end at some size: with more processes a round takes as long as at
 * its end.  An end is assumed if it explains the measured speeds better than a + b/n does.
 *
 * a and b are fitted to the sizes that the job has had in its present phase, on the side in
 * question where there are any, each with its rounds per second and its share of MPI time: near
 * sizes count more than far ones, and MPI time counts little as soon as speeds are known.  With
 * one size alone the part is the MPI share.  Nothing measured: the user's hint; without a hint 0.
 */

#ifndef ELASTIC_RM_CORE_SCALING_H_INCLUDED
#define ELASTIC_RM_CORE_SCALING_H_INCLUDED

#include "core/job.h"

namespace elastic::rm {

struct Config;
class State;

/* Number of rounds of a process and their time, in the interval.  If most rounds of the probing
 * loop have been measured, these count, from one probe to the next: the incomplete rounds at the
 * ends of a short interval, and the first round after a commit, do not count.  Else the probes
 * count. */
struct Rounds {
    double rounds = 0, ms = 0;
};
Rounds rounds_of(const Interval &interval);

Scaling scaling_of(const Job &job);
/* The same from the known data of a program alone, at a size that need not have been measured;
 * without data, `sizes` is 0. */
Scaling scaling_of(const Performance &known, int size);
/* The loop that takes most of the job's time, or took it before its last change of size; empty:
 * none. */
const std::string &phase_key(const Performance &known);

/* Measurements of the program at one size, in its present phase. */
struct MeasuredSpeed {
    int size = 0;
    int intervals = 0;
    double per_second = 0;      /* rounds */
};
/* Rising by size. */
std::vector<MeasuredSpeed> measured_speeds(const Performance &known);

/* Speed with this number of processes, >= 1, relative to the present one. */
double relative_speed(const Scaling &scaling, int size);
/* The greatest size (rounded down) at which the next processes still bring `efficiency_ppm` of a
 * proportional gain in speed, if `serial_ppm` of a round at `size` is serial.  If nothing is
 * serial, or `efficiency_ppm` is 0: more than any job can have.  0 <= efficiency_ppm < PPM. */
int64_t efficient_size(int size, int64_t serial_ppm, int64_t efficiency_ppm);

/* ---- time ------------------------------------------------------------------------------------ */

/* Remaining milliseconds at its present size, as of the job's newest sample, else of its last
 * change of size; at least 1000; NEVER: unknown.  For a running job: by its program's progress
 * in its phase if that is known, else by `expect` or its time limit (J7). */
int64_t remaining_ms(const State &state, const Job &job);
/* When it ends at its present size, by remaining_ms and by its time limit, whichever is earlier;
 * NEVER: unknown.  A job that has run longer than expected ends by its limit. */
int64_t expected_end_ms(const State &state, const Job &job);
/* Time from the last commit or the start to the newest sample; 0: there was none. */
int64_t sampled_since_ms(const Job &job);

/* The cost of an adaptation of the job, from earlier ones (clause K1). */
struct AdaptationTimes {
    int64_t standstill_ms = 500, duration_ms = 2000;
    ELASTIC_FIELDS(standstill_ms, duration_ms)
};
AdaptationTimes adaptation_times(const Job &job);

/* Whether a growth that makes the job `speed` times as fast pays (K2); `remaining`: NEVER:
 * unknown. */
bool growth_pays(int64_t remaining_ms, int64_t since_ms, const AdaptationTimes &times,
                 double speed);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_SCALING_H_INCLUDED */
