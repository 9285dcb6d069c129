/*
 * The results of a replayed workload: for each job, and in total.
 */

#ifndef ELASTIC_RM_SIM_TRACES_OUTCOME_H_INCLUDED
#define ELASTIC_RM_SIM_TRACES_OUTCOME_H_INCLUDED

#include <map>

#include "sim/traces/workload.h"

namespace elastic::rm {

/* Times are milliseconds since the trace's begin; NEVER: it did not happen. */
struct JobOutcome {
    int64_t start_ms = NEVER, end_ms = NEVER;
    bool done = false; /* false: ended by its limit, or not at all */
    int first_size = 0, last_size = 0;
    int adaptations = 0;
    int64_t standstill_ms = 0;
    double core_ms = 0; /* booked */
};

/* Names as in elasticd's report, if they exist there.  Means are over jobs that have started
 * (ended). */
struct OutcomeSums {
    int64_t jobs = 0, done = 0, killed = 0, unfinished = 0;
    double mean_wait_ms = 0, p95_wait_ms = 0, p99_wait_ms = 0, mean_turnaround_ms = 0;
    /* Turnaround divided by run time in the trace, where less than 10 s counts as 10 s; at least
     * 1. */
    double mean_bounded_slowdown = 0;
    double core_hours = 0;        /* booked */
    double wasted_core_hours = 0; /* booked, beyond the need of the work at speed n on n cores */
    int64_t adaptations = 0;
    int64_t standstill_ms = 0;
    ELASTIC_FIELDS(jobs, done, killed, unfinished, mean_wait_ms, p95_wait_ms, p99_wait_ms,
                   mean_turnaround_ms, mean_bounded_slowdown, core_hours, wasted_core_hours,
                   adaptations, standstill_ms)
};

/* The new size of a job: its first, or another one. */
struct SizeChange {
    int64_t time_ms;
    size_t job; /* index in the workload */
    int size;
};

struct Outcome {
    std::vector<JobOutcome> jobs; /* as in the workload */
    std::vector<SizeChange> sizes; /* in order of time; only if requested */
    int64_t events = 0;           /* events of the core */
    double processor_seconds = 0; /* of the replay */
};

OutcomeSums sums_of(const Workload &workload, const Outcome &outcome);
std::map<Elasticity, OutcomeSums> sums_by_class(const Workload &workload, const Outcome &outcome);
std::map<std::string, OutcomeSums> sums_by_user(const Workload &workload, const Outcome &outcome);
/* From the first submission to the last end. */
int64_t makespan_ms(const Workload &workload, const Outcome &outcome);
/* Booked cores divided by all cores, during the makespan. */
double utilisation(const Workload &workload, const Outcome &outcome, int64_t cores);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_TRACES_OUTCOME_H_INCLUDED */
