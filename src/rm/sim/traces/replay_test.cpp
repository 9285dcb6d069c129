/* Replays with known outcomes. */

#include "sim/traces/trace_replay.h"

#include <gtest/gtest.h>

#include <random>

namespace elastic::rm {
namespace {

TraceJob job(int64_t submit_s, int64_t run_s, int processors, int64_t requested_s = 0)
{
    return {0, submit_s, run_s, requested_s, processors, 1};
}

ReplayOptions machine(int64_t nodes, int cores, PolicyKind policy)
{
    ReplayOptions options;
    options.machine = {{{nodes, cores}}};
    options.cost.cores_per_node = cores;
    options.config.policy = policy;
    options.config.finished_max = 0;
    options.cost.launch_ms = 0;
    options.cost.standstill_ms = 0;
    return options;
}

Workload workload_of(std::vector<TraceJob> jobs, const ReplayOptions &on, double malleable = 0,
                     Speedup speedup = LinearSpeedup{})
{
    Trace trace;
    trace.jobs = std::move(jobs);
    WorkloadOptions options;
    options.machine = on.machine;
    options.malleable = malleable;
    options.speedups = {speedup};
    return make_workload(trace, options);
}

TEST(ReplayTest, rigid_jobs_one_after_the_other)
{
    auto options = machine(1, 4, PolicyKind::FCFS);
    auto workload = workload_of({job(0, 10, 4), job(1, 10, 4), job(2, 10, 2)}, options);
    auto outcome = replay(workload, options);
    EXPECT_EQ(outcome.jobs[0].end_ms, 10000);
    EXPECT_EQ(outcome.jobs[1].start_ms, 10000);
    EXPECT_EQ(outcome.jobs[2].start_ms, 20000);
    EXPECT_EQ(outcome.jobs[2].end_ms, 30000);
    EXPECT_EQ(makespan_ms(workload, outcome), 30000);
    EXPECT_DOUBLE_EQ(utilisation(workload, outcome, 4), 100.0 / 120);
    auto sums = sums_of(workload, outcome);
    EXPECT_EQ(sums.done, 3);
    EXPECT_DOUBLE_EQ(sums.mean_wait_ms, (0 + 9000 + 18000) / 3.0);
    EXPECT_DOUBLE_EQ(sums.mean_turnaround_ms, (10000 + 19000 + 28000) / 3.0);
    EXPECT_DOUBLE_EQ(sums.mean_bounded_slowdown, (1 + 1.9 + 2.8) / 3.0);
    EXPECT_DOUBLE_EQ(sums.wasted_core_hours, 0);
}

/* A job that fits on the larger node goes there; a larger one gets whole nodes of both kinds. */
TEST(ReplayTest, nodes_of_several_kinds)
{
    auto options = machine(1, 16, PolicyKind::FCFS);
    options.machine.kinds.push_back({1, 48});
    auto rigid = workload_of({job(0, 10, 48), job(0, 10, 16), job(1, 10, 64), job(2, 10, 65)},
                             options);
    EXPECT_EQ(rigid.too_large, 1);
    auto outcome = replay(rigid, options);
    EXPECT_EQ(outcome.jobs[0].start_ms, 0);
    EXPECT_EQ(outcome.jobs[1].start_ms, 0);
    EXPECT_EQ(outcome.jobs[2].start_ms, 10000);
    EXPECT_DOUBLE_EQ(utilisation(rigid, outcome, 64), 1);
    options.config.policy = PolicyKind::FILL;
    auto malleable = workload_of({job(0, 40, 16)}, options, 1);
    outcome = replay(malleable, options);
    EXPECT_EQ(outcome.jobs[0].last_size, 64);
    EXPECT_NEAR(static_cast<double>(outcome.jobs[0].end_ms), 10000, 10);
}

/* Alone it grows to the whole machine: 40 s of work for 4 of 16 processors take 10 s. */
TEST(ReplayTest, a_malleable_job_alone_uses_the_machine)
{
    auto options = machine(4, 4, PolicyKind::FILL);
    auto workload = workload_of({job(0, 40, 4)}, options, 1);
    auto outcome = replay(workload, options);
    EXPECT_EQ(outcome.jobs[0].last_size, 16);
    EXPECT_NEAR(static_cast<double>(outcome.jobs[0].end_ms), 10000, 10);
}

/* A program that reaches its maximum speed with four processes: fill gives it the machine,
 * measured does not. */
TEST(ReplayTest, samples_show_measured_the_unusable_processes)
{
    Speedup table = TableSpeedup{{{1, 1}, {4, 4}, {16, 4.2}}};
    for (PolicyKind policy : {PolicyKind::FILL, PolicyKind::MEASURED, PolicyKind::EFFICIENT}) {
        auto options = machine(4, 4, policy);
        options.sample_noise = 0.1;
        options.config.efficiency_idle_ppm = options.config.efficiency_ppm; /* nothing is loaned */
        auto workload = workload_of({job(0, 7200, 4)}, options, 1, table);
        auto outcome = replay(workload, options), again = replay(workload, options);
        EXPECT_EQ(outcome.jobs[0].end_ms, again.jobs[0].end_ms);
        EXPECT_TRUE(outcome.jobs[0].done);
        bool fills = policy == PolicyKind::FILL;
        EXPECT_LE(outcome.jobs[0].last_size, fills ? 16 : 8) << to_string(policy);
        EXPECT_GE(outcome.jobs[0].last_size, fills ? 16 : 1) << to_string(policy);
        /* efficient tries again when the ceiling is no longer held (R6). */
        EXPECT_LE(outcome.jobs[0].adaptations, policy == PolicyKind::EFFICIENT ? 120 : 5)
            << to_string(policy);
        options.sample_ms = 0;
        EXPECT_EQ(replay(workload, options).jobs[0].last_size, 16) << "nothing is known";
    }
}

/* A standstill has its exact cost. */
TEST(ReplayTest, cost_of_an_adaptation)
{
    AdaptationCost cost;
    cost.standstill_ms = 5;
    EXPECT_EQ(cost.standstill_of(4, 8), 5);
    cost.bytes_per_core = 1e9;
    cost.cores_per_node = 4;
    EXPECT_EQ(cost.standstill_of(4, 8), 5 + 2000); /* half of 4 GB leave one node */
    EXPECT_EQ(cost.standstill_of(8, 4), 5 + 4000); /* half of 8 GB arrive at one node */

    auto options = machine(2, 4, PolicyKind::FILL);
    auto workload = workload_of({job(0, 100, 8), job(10, 10, 4)}, options, 1);
    double free_end = static_cast<double>(replay(workload, options).jobs[0].end_ms);
    options.cost.standstill_ms = 3000;
    auto outcome = replay(workload, options);
    EXPECT_GT(outcome.jobs[0].adaptations, 0);
    EXPECT_EQ(outcome.jobs[0].standstill_ms, 3000 * outcome.jobs[0].adaptations);
    EXPECT_GT(static_cast<double>(outcome.jobs[0].end_ms), free_end + 1000);
}

TEST(ReplayTest, the_limit_ends_a_job)
{
    auto options = machine(1, 4, PolicyKind::EASY);
    auto outcome = replay(workload_of({job(0, 100, 4, 50)}, options), options);
    EXPECT_FALSE(outcome.jobs[0].done);
    EXPECT_GE(outcome.jobs[0].end_ms, 50000);
    EXPECT_LT(outcome.jobs[0].end_ms, 51000);
}

/* It frees cores for a job that is submitted at that time. */
TEST(ReplayTest, the_limit_ends_a_job_when_another_comes)
{
    auto options = machine(1, 4, PolicyKind::EASY);
    auto outcome = replay(workload_of({job(0, 100, 4, 50), job(50, 10, 4, 50)}, options), options);
    EXPECT_EQ(outcome.jobs[0].end_ms, 50000);
    EXPECT_EQ(outcome.jobs[1].start_ms, 50000);
    EXPECT_TRUE(outcome.jobs[1].done);
}

TEST(ReplayTest, what_is_larger_than_the_machine_is_left_out)
{
    auto options = machine(2, 4, PolicyKind::EASY);
    auto workload = workload_of({job(0, 1, 9), job(0, 1, 5), job(0, 1, 3)}, options);
    EXPECT_EQ(workload.too_large, 1);
    ASSERT_EQ(workload.jobs.size(), 2u);
    EXPECT_EQ(workload.jobs[0].size, 8); /* more than a node: whole nodes */
    EXPECT_TRUE(workload.jobs[0].spec.whole_nodes);
    EXPECT_EQ(workload.jobs[1].size, 3);
}

TEST(ReplayTest, the_same_again)
{
    std::mt19937_64 random(5);
    std::vector<TraceJob> jobs;
    for (int i = 0; i < 200; i++)
        jobs.push_back(job(i * 5, 1 + static_cast<int64_t>(random() % 300),
                           1 + static_cast<int>(random() % 20), 600));
    auto options = machine(8, 4, PolicyKind::FILL);
    auto first = replay(workload_of(jobs, options, 0.5), options),
         second = replay(workload_of(jobs, options, 0.5), options);
    for (size_t i = 0; i < first.jobs.size(); i++) {
        EXPECT_EQ(first.jobs[i].start_ms, second.jobs[i].start_ms);
        EXPECT_EQ(first.jobs[i].end_ms, second.jobs[i].end_ms);
        EXPECT_NE(first.jobs[i].end_ms, NEVER);
    }
}

}  // namespace
}  // namespace elastic::rm
