/*
 * The jobs of a simulated machine: those of a trace or of an elasticd, made elastic at random.  A
 * job of a trace with more processors than a node gets whole nodes, with all their cores if nodes
 * are homogeneous.  All results depend only on the jobs, the options and the seed.
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
    double malleable = 0, moldable = 0; /* parts of the jobs, together at most 1 */
    double range_low = 0.25,
           /* minimum and maximum size of elastic jobs, in units of the size in the trace */
           range_high = 4;
    std::vector<Speedup> speedups = {LinearSpeedup{}};  /* each job gets one of these at random */
    bool kill_over_limit = true; /* false: the limit of a job is never shorter than its run time */
    /* jobs of Amdahl's law report it: their users know the serial part */
    bool hints = false;
    /* elastic jobs prefer the size of the trace; policies with fixed sizes start them with it */
    bool prefer_trace_size = false;
    uint64_t seed = 1;
};

/* A job as submitted to the core, and the data of the simulation about it. */
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
    int64_t too_large = 0; /* omitted: larger than the machine */
    int64_t never_ran = 0; /* omitted: ended while they waited */
};

Workload make_workload(const Trace &trace, const WorkloadOptions &options);
/* Ended jobs of an elasticd.  Each keeps its submitted specification; rigid ones may become
 * elastic at random.  The size of a job is the mean of its sizes. */
Workload make_workload(std::span<const Job> ended, const WorkloadOptions &options);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SIM_TRACES_WORKLOAD_H_INCLUDED */
