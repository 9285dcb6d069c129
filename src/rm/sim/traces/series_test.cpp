/* The plots of outcomes with known numbers. */

#include "sim/traces/series.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/traces/trace_replay.h"

namespace elastic::rm {
namespace {

/* A job of two processes in its trace. */
WorkloadJob job(int64_t submit_ms, Elasticity elasticity)
{
    WorkloadJob job;
    job.submit_ms = submit_ms;
    job.size = 2;
    job.spec.elasticity = elasticity;
    return job;
}

JobOutcome ran(int64_t start_ms, int64_t end_ms)
{
    JobOutcome outcome;
    outcome.start_ms = start_ms;
    outcome.end_ms = end_ms;
    return outcome;
}

TEST(SeriesTest, MeansOverIntervals)
{
    Workload workload;
    workload.jobs = {job(1000, Elasticity::RIGID), job(1000, Elasticity::MALLEABLE)};
    Outcome outcome;
    /* The second waits for 2.5 s, and grows from 2 to 4 processes at 5 s. */
    outcome.jobs = {ran(1000, 3500), ran(3500, 9000)};
    outcome.sizes = {{1000, 0, 2}, {3500, 1, 2}, {5000, 1, 4}};
    Series series = series_of(workload, outcome, 4, 4);
    EXPECT_DOUBLE_EQ(series.interval_ms, 2000);
    EXPECT_EQ(series.waiting, (std::vector<double>{1, 0.25, 0, 0}));
    EXPECT_EQ(series.utilisation, (std::vector<double>{0.5, 0.5, 1, 1}));
    ASSERT_EQ(series.sizes.size(), 4u);
    EXPECT_TRUE(std::isnan(series.sizes[0])) << "no malleable job runs";
    EXPECT_DOUBLE_EQ(series.sizes[1], 1);
    EXPECT_DOUBLE_EQ(series.sizes[2], 2);
    EXPECT_DOUBLE_EQ(series.sizes[3], 2);
}

TEST(SeriesTest, WhatWasStoppedGoesOnToTheLastEnd)
{
    Workload workload;
    workload.jobs = {job(0, Elasticity::RIGID), job(0, Elasticity::RIGID),
                     job(2000, Elasticity::RIGID)};
    Outcome outcome;
    outcome.jobs = {ran(0, 4000), ran(2000, NEVER), ran(NEVER, NEVER)};
    outcome.sizes = {{0, 0, 2}, {2000, 1, 2}};
    Series series = series_of(workload, outcome, 4, 2);
    EXPECT_EQ(series.waiting, (std::vector<double>{1, 1}));
    EXPECT_EQ(series.utilisation, (std::vector<double>{0.5, 1}));
    EXPECT_TRUE(series_of({}, {}, 4, 2).waiting.empty());
}

/* The series contains all bookings of a replay. */
TEST(SeriesTest, AReplaysBookings)
{
    Trace trace;
    for (int i = 0; i < 200; i++)
        trace.jobs.push_back({i, i * 37, 60 + i * 53 % 900, 0, 1 + i * 7 % 16, 1});
    WorkloadOptions slot_requests;
    slot_requests.machine = {{{4, 8}}};
    slot_requests.malleable = 0.5;
    Workload workload = make_workload(trace, slot_requests);
    ReplayOptions options;
    options.machine = slot_requests.machine;
    options.cost.cores_per_node = 8;
    options.config.policy = PolicyKind::FILL;
    options.keep_sizes = true;
    Outcome outcome = replay(workload, options);
    Series series = series_of(workload, outcome, 32, 50);
    double booked = 0, most = 0, waiting = 0, waited = 0;
    for (double part : series.utilisation) {
        booked += part / 50;
        most = std::max(most, part);
    }
    for (double jobs : series.waiting)
        waiting += jobs * series.interval_ms;
    for (size_t i = 0; i < workload.jobs.size(); i++)
        waited += static_cast<double>(outcome.jobs[i].start_ms - workload.jobs[i].submit_ms);
    EXPECT_NEAR(booked, utilisation(workload, outcome, 32), 1e-9);
    EXPECT_LE(most, 1 + 1e-9);
    EXPECT_GT(most, 0.9);
    EXPECT_NEAR(waiting, waited, 1e-6 * waited);
    options.keep_sizes = false;
    EXPECT_TRUE(replay(workload, options).sizes.empty());
}

}  // namespace
}  // namespace elastic::rm
