/* See workload.h. */

#include "sim/traces/workload.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace elastic::rm {

namespace {

/* Up to the next multiple. */
int64_t rounded_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

/* Number of processes of the job that fit if it is alone. */
int64_t capacity_on(const Machine &machine, const JobSpec &spec)
{
    int64_t capacity = 0;
    for (const NodeKind &kind : machine.kinds) {
        int64_t here = kind.cores / spec.cores_per_process;
        if (spec.processes_per_node > 0)
            here = std::min<int64_t>(here, spec.processes_per_node);
        capacity += here * kind.nodes;
    }
    return capacity;
}

/* Within the whole machine. */
void make_elastic(WorkloadJob &job, double drawn, const WorkloadOptions &options)
{
    JobSpec &spec = job.spec;
    int size = job.size;
    spec.elasticity = drawn < options.malleable ? Elasticity::MALLEABLE : Elasticity::MOLDABLE;
    spec.preferred = options.prefer_trace_size ? size : 0;
    /* Whole nodes stay whole. */
    const Machine &machine = options.machine;
    bool fills_nodes = spec.whole_nodes && machine.has_equal_nodes();
    int64_t unit = fills_nodes ? machine.largest_node() / spec.cores_per_process : 1;
    int64_t all = capacity_on(machine, spec);
    auto least = static_cast<int64_t>(std::ceil(size * options.range_low));
    auto greatest = static_cast<int64_t>(std::floor(size * options.range_high));
    spec.minimum = static_cast<int>(
        std::clamp<int64_t>(rounded_up(least, unit), std::min<int64_t>(unit, size), size));
    spec.maximum = static_cast<int>(
        std::clamp<int64_t>(greatest / unit * unit, size, std::max<int64_t>(all, size)));
    if (unit > 1 && size % unit == 0) {
        spec.size_rule = SizeRule::MULTIPLE;
        spec.size_multiple = static_cast<int>(unit);
    }
}

/* NEVER: the model has no such part. */
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
    /* separate, so that the same jobs are elastic under all models */
    std::mt19937_64 models(options.seed + 1);
    for (const TraceJob &from : trace.jobs) {
        double drawn =
            lot(random); /* for each line, so that the selection does not depend on omitted lines */
        if (from.never_ran) {
            workload.never_ran++;
            continue;
        }
        int64_t size = from.processors;
        const Machine &machine = options.machine;
        bool whole_nodes = size > machine.largest_node();
        if (whole_nodes && machine.has_equal_nodes())
            size = rounded_up(size, machine.largest_node());
        if (size > machine.cores()) {
            workload.too_large++;
            continue;
        }
        WorkloadJob job;
        job.submit_ms = from.submit_s * 1000;
        job.size = static_cast<int>(size);
        job.run_ms = std::max<int64_t>(from.run_s * 1000, 1);
        job.speedup = options.speedups[models() % options.speedups.size()];
        job.work = static_cast<double>(job.run_ms) * speed(job.speedup, job.size);
        job.spec.name = std::to_string(from.number);
        job.spec.uid = static_cast<uint32_t>(from.user + 1);
        job.spec.user = from.user < 0 ? "unknown" : "u" + std::to_string(from.user);
        job.spec.minimum = job.spec.maximum = job.size;
        job.spec.whole_nodes = whole_nodes;
        if (drawn < options.malleable + options.moldable)
            make_elastic(job, drawn, options);
        if (options.hints)
            job.spec.serial_ppm = serial_ppm(job.speedup);
        if (from.requested_s > 0) {
            /* The user of an elastic job requests the time that it needs at its smallest size. */
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

namespace {

/* Of an ended job: processes times time of its last step, and the duration of that. */
struct Run {
    double process_ms = 0;
    int64_t run_ms = 0;
};

Run run_of(const Job &job)
{
    if (job.step == 0 || job.first_size == 0 || job.sized_ms == NEVER || job.ended_ms == NEVER)
        return {};
    int64_t last_ms = std::max<int64_t>(job.ended_ms - job.sized_ms, 0);
    return {static_cast<double>(job.process_ms) +
                static_cast<double>(last_ms) * std::max(job.size(), 1),
            std::max<int64_t>(job.ended_ms - job.started_ms, 1)};
}

/* Speed at a size between two. */
double speed_between(const Speedup &speedup, double size)
{
    int low = std::max(static_cast<int>(size), 1);
    double part = std::max(size - low, 0.0);
    return (1 - part) * speed(speedup, low) + part * speed(speedup, low + 1);
}

/* The nearest allowed size. */
int nearest_size(const JobSpec &spec, double size)
{
    int whole = std::max(static_cast<int>(std::lround(size)), 1);
    int low = size_at_most(spec, whole), high = size_at_least(spec, whole);
    if (low == 0 || high == 0)
        return std::max(low, high);
    return size - low <= high - size ? low : high;
}

/* Parts of a specification about other jobs, times and people are dropped. */
JobSpec spec_of(const Job &from)
{
    JobSpec spec = from.spec;
    set_program_sizes(spec, "");
    spec.name = std::to_string(from.id);
    spec.dependencies.clear();
    spec.array.clear();         /* its other tasks are separate jobs */
    spec.held = false;
    spec.begin_ms = 0;
    return spec;
}

int64_t waits_since_ms(const Job &job)
{
    return job.eligible_ms == NEVER ? job.submitted_ms : job.eligible_ms;
}

}  // namespace

Workload make_workload(std::span<const Job> ended, const WorkloadOptions &options)
{
    Workload workload;
    std::mt19937_64 random(options.seed), models(options.seed + 1);
    std::uniform_real_distribution<double> lot(0, 1);
    for (const Job &from : ended) {
        double drawn = lot(random);
        Run run = run_of(from);
        WorkloadJob job;
        job.spec = spec_of(from);
        if (run.process_ms <= 0) {
            workload.never_ran++;
            continue;
        }
        if (capacity_on(options.machine, job.spec) < size_at_least(job.spec, 1)) {
            workload.too_large++;
            continue;
        }
        double mean_size = run.process_ms / static_cast<double>(run.run_ms);
        job.submit_ms = waits_since_ms(from);
        job.run_ms = run.run_ms;
        job.size = nearest_size(job.spec, mean_size);
        job.speedup = options.speedups[models() % options.speedups.size()];
        job.work = static_cast<double>(run.run_ms) * speed_between(job.speedup, mean_size);
        if (job.spec.elasticity != Elasticity::RIGID)
            job.spec.preferred =
                options.prefer_trace_size ? job.size : job.spec.preferred;
        else if (drawn < options.malleable + options.moldable)
            make_elastic(job, drawn, options);
        if (options.hints)
            job.spec.serial_ppm = serial_ppm(job.speedup);
        if (job.spec.time_limit_ms > 0 && !options.kill_over_limit) {
            double longest = job.work / speed(job.speedup, size_at_least(job.spec, 1));
            job.spec.time_limit_ms = std::max(
                job.spec.time_limit_ms, static_cast<int64_t>(std::ceil(longest)) + 1000);
        }
        workload.jobs.push_back(std::move(job));
    }
    std::stable_sort(
        workload.jobs.begin(), workload.jobs.end(),
        [](const WorkloadJob &a, const WorkloadJob &b) { return a.submit_ms < b.submit_ms; });
    int64_t begin_ms = workload.jobs.empty() ? 0 : workload.jobs.front().submit_ms;
    for (WorkloadJob &job : workload.jobs)
        job.submit_ms -= begin_ms;
    return workload;
}

}  // namespace elastic::rm
