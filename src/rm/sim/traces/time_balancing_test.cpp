/* Figures 14.9 and 14.10 of Compres 2017 (SPEC-performance G, Q6c and T): two jobs run, a third one
 * needs the whole machine.  With time balancing the two end together, and it starts sooner. */

#include <gtest/gtest.h>

#include <map>

#include "sim/traces/trace_replay.h"

namespace elastic::rm {
namespace {

constexpr int64_t MINUTE = 60000;
constexpr int CORES = 32;

/* Proportional from two processes on, with this ratio of MPI time to computing time. */
Speedup with_mtct(double mtct)
{
    return TableSpeedup{{{1, 1}, {2, 2 / (1 + mtct)}, {CORES, CORES / (1 + mtct)}}};
}

WorkloadJob job_of(int64_t submit_ms, int size, int maximum, int64_t run_ms, const Speedup &law)
{
    WorkloadJob job;
    job.submit_ms = submit_ms;
    job.spec.elasticity = maximum > 1 ? Elasticity::MALLEABLE : Elasticity::RIGID;
    job.spec.minimum = maximum > 1 ? 1 : size;
    job.spec.maximum = std::max(maximum, size);
    job.spec.time_limit_ms = 60 * MINUTE;
    job.spec.expect_ms = job.run_ms = run_ms;
    job.size = size;
    job.speedup = law;
    job.work = static_cast<double>(run_ms) * speed(law, size);
    return job;
}

struct Figure {
    double start_ms = 0, end_ms = 0, idle_core_ms = 0;
    std::map<size_t, std::vector<int>> sizes; /* of each job */
};

Figure run(double mtct, bool sampled, int64_t upper_ppm = 100000, int64_t lower_ppm = 10000)
{
    Speedup law = with_mtct(mtct);
    Workload workload;
    workload.jobs = {job_of(0, 16, 16, 5 * MINUTE, law), job_of(1, 16, CORES, 10 * MINUTE, law),
                     job_of(2, CORES, 0, 15 * MINUTE, law)};
    ReplayOptions options;
    options.machine = {{{1, CORES}}};
    options.config.policy = PolicyKind::EFFICIENT;
    options.config.mtct_upper_ppm = upper_ppm;
    options.config.mtct_lower_ppm = lower_ppm;
    options.config.finished_max = 0;
    options.sample_ms = sampled ? MINUTE : 0;
    options.keep_sizes = true;
    Outcome outcome = replay(workload, options);
    Figure figure;
    figure.start_ms = static_cast<double>(outcome.jobs[2].start_ms);
    figure.end_ms = static_cast<double>(outcome.jobs[2].end_ms);
    figure.idle_core_ms = CORES * figure.end_ms;
    for (const JobOutcome &job : outcome.jobs)
        figure.idle_core_ms -= job.core_ms;
    for (const SizeChange &change : outcome.sizes)
        figure.sizes[change.job].push_back(change.size);
    return figure;
}

void expect_same(const Figure &left, const Figure &right)
{
    EXPECT_EQ(left.sizes, right.sizes);
    EXPECT_EQ(left.start_ms, right.start_ms);
    EXPECT_EQ(left.end_ms, right.end_ms);
    EXPECT_EQ(left.idle_core_ms, right.idle_core_ms);
}

void expect_balanced(const Figure &on, const Figure &off)
{
    EXPECT_NEAR(off.start_ms, 10 * MINUTE, 100) << "when the longer one has ended";
    EXPECT_NEAR(on.start_ms / off.start_ms, 0.76, 0.05);
    EXPECT_NEAR(on.end_ms / off.end_ms, 0.905, 0.05);
    EXPECT_LE(on.idle_core_ms / off.idle_core_ms, 0.3);
    /* after a minute, and once more if there is a small gain at the end */
    for (auto [job, size] : {std::pair(size_t{0}, 10), {size_t{1}, 22}}) {
        ASSERT_GE(on.sizes.at(job).size(), 2u);
        EXPECT_LE(on.sizes.at(job).size(), 3u);
        EXPECT_EQ(on.sizes.at(job)[1], size);
    }
}

/* `off`: nothing is measured, so that no job is changed. */
TEST(TimeBalancingTest, G149_both_end_together_and_the_third_starts_sooner)
{
    expect_balanced(run(0.001, true), run(0.001, false));
}

TEST(TimeBalancingTest, G149_sizes_in_the_band_do_not_change)
{
    expect_same(run(0.03, true), run(0.03, false));
}

/* The band moved with the upper threshold; alone that changes nothing (A8). */
TEST(TimeBalancingTest, G1410_with_higher_thresholds_they_are_balanced)
{
    expect_balanced(run(0.03, true, 500000, 50000), run(0.03, false));
    expect_same(run(0.03, true, 500000, 10000), run(0.03, false));
}

}  // namespace
}  // namespace elastic::rm
