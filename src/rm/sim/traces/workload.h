/*
 * The jobs of a simulated machine: those of a trace or of an elasticd, made elastic at random.  A
 * trace's job of more processors than a node has gets whole nodes, with all their cores if nodes
 * are homogeneous.  All follows from the jobs, the options and the seed.
 */

#ifndef ELASTIC_RM_SIM_TRACES_WORKLOAD_H_INCLUDED
#define ELASTIC_RM_SIM_TRACES_WORKLOAD_H_INCLUDED

#include <span>

#include "core/job.h"
#include "sim/traces/machine.h"
#include "sim/traces/speedup.h"
#include "sim/traces/swf.h"

namespace elastic::rm {

struct WorkloadOptions {
    Machine machine;
    double malleable = 0, moldable = 0; /* shares of the jobs, together at most 1 */
    double range_low = 0.25,
           range_high = 4; /* least and greatest size of elastic jobs, in units of the trace's */
    std::vector<Speedup> speedups = {LinearSpeedup{}};  /* each job has one of these, by lot */
    bool kill_over_limit = true; /* else a job's limit is never shorter than it runs */
    /* jobs of Amdahl's law report it: their users know the serial part */
    bool hints = false;
    /* elastic jobs prefer the size of the trace; policies that know one size alone start them so */
    bool prefer_trace_size = false;
    uint64_t seed = 1;
};

/* A job as the core gets it, and the data of the simulation about it. */
struct WorkloadJob {
    int64_t submit_ms = 0;
    JobSpec spec;
    int size = 1; /* processes in the trace */
    Speedup speedup = LinearSpeedup{};
    double work = 0;    /* milliseconds at speed 1 */
    int64_t run_ms = 0; /* at `size` */
};

struct Workload {
    std::vector<WorkloadJob> jobs;
    int64_t too_large = 0; /* left out: more than the machine has */
    int64_t never_ran = 0; /* left out: ended while they waited */
};

Workload make_workload(const Trace &trace, const WorkloadOptions &options);
/* Jobs that an elasticd has run, ended ones.  Each keeps what it was submitted with; by lot elastic
 * become those that were rigid.  Its size is the mean of those that it had. */
Workload make_workload(std::span<const Job> ended, const WorkloadOptions &options);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_TRACES_WORKLOAD_H_INCLUDED */
