/*
 * Whole jobs from seeds (simulated_job.h).  ELASTIC_SIMULATION_SEEDS is their number,
 * ELASTIC_SIMULATION_FIRST the first one, ELASTIC_SIMULATION_TRACE=1 prints all events.
 */

#include <gtest/gtest.h>

#include <cstdlib>

#include "stepmgr/sim/simulated_job.h"

namespace elastic {
namespace {

uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, nullptr, 10) : otherwise;
}

TEST(SimulationTest, seeds)
{
    uint64_t first = from_environment("ELASTIC_SIMULATION_FIRST", 1);
    uint64_t seeds = from_environment("ELASTIC_SIMULATION_SEEDS", 100);
    bool trace = from_environment("ELASTIC_SIMULATION_TRACE", 0) != 0;
    constexpr int FAILURES_MAX = 5;
    int failures = 0;
    JobOutcome sum;
    for (uint64_t seed = first; seed < first + seeds && failures < FAILURES_MAX; seed++) {
        bool failed_before = HasFailure();
        JobOutcome outcome = SimulatedJob(seed, trace).run();
        failures += HasFailure() && !failed_before;
        sum.launches += outcome.launches;
        sum.committed += outcome.committed;
        sum.withdrawn += outcome.withdrawn;
        sum.failed += outcome.failed;
        sum.aborts += outcome.aborts;
        sum.accidents += outcome.accidents;
        sum.refused += outcome.refused;
        sum.freed += outcome.freed;
        sum.stragglers += outcome.stragglers;
        sum.requests_granted += outcome.requests_granted;
        sum.requests_refused += outcome.requests_refused;
        sum.requests_withdrawn += outcome.requests_withdrawn;
        sum.modified += outcome.modified;
        sum.not_modified += outcome.not_modified;
    }
    printf("%llu jobs: %d launches, %d committed, %d withdrawn, %d failed, %d accidents, "
           "%d aborts, %d refused, %d freed, %d stragglers; requests: %d granted, %d refused, "
           "%d withdrawn; MPIX_Comm_modify: %d, %d in vain\n",
           static_cast<unsigned long long>(seeds), sum.launches, sum.committed, sum.withdrawn,
           sum.failed, sum.accidents, sum.aborts, sum.refused, sum.freed, sum.stragglers,
           sum.requests_granted, sum.requests_refused, sum.requests_withdrawn, sum.modified,
           sum.not_modified);
    if (seeds < 100)
        return;
    /* The seeds reach all intended cases. */
    EXPECT_GT(sum.committed, 50);
    EXPECT_GT(sum.withdrawn, 10);
    EXPECT_GT(sum.failed, 3);
    EXPECT_GT(sum.aborts, 0);
    EXPECT_GT(sum.refused, 10);
    EXPECT_GT(sum.freed, 20);
    EXPECT_GT(sum.stragglers, 0);
    EXPECT_GT(sum.requests_granted, 10);
    EXPECT_GT(sum.requests_refused, 10);
    EXPECT_GT(sum.requests_withdrawn, 10);
    EXPECT_GT(sum.modified, 20);
    EXPECT_GT(sum.not_modified, 5);
}

TEST(SimulationTest, same_seed_gives_same_history)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        JobOutcome first = SimulatedJob(seed, false).run(),
                   second = SimulatedJob(seed, false).run();
        EXPECT_EQ(first.notified, second.notified);
        EXPECT_EQ(first.committed, second.committed);
        EXPECT_EQ(first.refused, second.refused);
    }
}

}  // namespace
}  // namespace elastic
