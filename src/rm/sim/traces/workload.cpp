/* See workload.h. */

#include "sim/traces/workload.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace elastic::rm {

namespace {

/* Up to the next multiple. */
int64_t rounded_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

void make_elastic(JobSpec &spec, int size, const WorkloadOptions &options)
{
    /* Whole nodes keep being whole. */
    int64_t unit = spec.whole_nodes ? options.cores : 1;
    int64_t all = options.nodes * options.cores;
    auto least = static_cast<int64_t>(std::ceil(size * options.range_low));
    auto greatest = static_cast<int64_t>(std::floor(size * options.range_high));
    spec.minimum = static_cast<int>(std::clamp<int64_t>(rounded_up(least, unit), unit, size));
    spec.maximum = static_cast<int>(std::clamp<int64_t>(greatest / unit * unit, size, all));
    if (unit > 1) {
        spec.size_rule = SizeRule::MULTIPLE;
        spec.size_multiple = static_cast<int>(unit);
    }
}

/* NEVER: the law has no such part. */
int64_t serial_ppm(const Speedup &speedup)
{
    if (std::holds_alternative<LinearSpeedup>(speedup))
        return 0;
    const auto *amdahl = std::get_if<AmdahlSpeedup>(&speedup);
    return amdahl ? std::llround(amdahl->serial * 1e6) : NEVER;
}

}  // namespace

Workload make_workload(const Trace &trace, const WorkloadOptions &options)
{
    Workload workload;
    std::mt19937_64 random(options.seed);
    std::uniform_real_distribution<double> lot(0, 1);
    /* apart, so that the same jobs are elastic under all laws */
    std::mt19937_64 laws(options.seed + 1);
    for (const TraceJob &from : trace.jobs) {
        double drawn =
            lot(random); /* for each line, so that classes do not shift with what is left out */
        int64_t size = from.processors;
        if (size > options.cores)
            size = rounded_up(size, options.cores);
        if (size > options.nodes * options.cores) {
            workload.too_large++;
            continue;
        }
        WorkloadJob job;
        job.submit_ms = from.submit_s * 1000;
        job.size = static_cast<int>(size);
        job.run_ms = std::max<int64_t>(from.run_s * 1000, 1);
        job.speedup = options.speedups[laws() % options.speedups.size()];
        job.work = static_cast<double>(job.run_ms) * speed(job.speedup, job.size);
        job.spec.name = std::to_string(from.number);
        job.spec.uid = static_cast<uint32_t>(from.user + 1);
        job.spec.user = from.user < 0 ? "unknown" : "u" + std::to_string(from.user);
        job.spec.minimum = job.spec.maximum = job.size;
        job.spec.whole_nodes = from.processors > options.cores;
        if (drawn < options.malleable + options.moldable) {
            job.spec.elasticity =
                drawn < options.malleable ? Elasticity::MALLEABLE : Elasticity::MOLDABLE;
            make_elastic(job.spec, job.size, options);
            job.spec.preferred = options.fixed ? job.size : 0;
        }
        if (options.hints)
            job.spec.serial_ppm = serial_ppm(job.speedup);
        if (from.requested_s > 0) {
            /* The user of an elastic job asks for the time that it takes at its least size. */
            double slower =
                speed(job.speedup, job.size) / speed(job.speedup, job.spec.minimum);
            int64_t limit = from.requested_s * 1000;
            if (!options.kill_over_limit)
                limit = std::max(limit, job.run_ms + 1000);
            job.spec.time_limit_ms =
                static_cast<int64_t>(std::ceil(static_cast<double>(limit) * slower));
        }
        workload.jobs.push_back(std::move(job));
    }
    return workload;
}

}  // namespace elastic::rm
