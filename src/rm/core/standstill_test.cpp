/* The share of its time that a job may stand still for changes that no job waits for
 * (SPEC-performance K4). */

#include <random>

#include "core/core_driver.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

/* A job that could have all of 16 cores, and others that need some of them for a short time:
 * each time it may grow again. */
struct BusyNode {
    explicit BusyNode(int64_t standstill) : driver(config()), standstill_ms(standstill)
    {
        driver.send(NodeUp{"n0", 16});
        job = driver.submit(malleable(1, 16));
        driver.run(job);
    }

    /* The invariants are checked for each job after each event: so few ended jobs are kept. */
    static Config config()
    {
        Config config = CoreDriver::config_of(PolicyKind::FILL);
        config.finished_max = 4;
        return config;
    }
    void commit()
    {
        const Job &now = driver.job(job);
        bool grows = now.adaptation->leave.empty(), is_known = now.committed > 0;
        uint64_t request = now.adaptation->request, epoch = now.epoch + 1;
        driver.now_ms += standstill_ms;
        driver.send(StepCommitted{job, now.step, request, epoch, standstill_ms});
        if (!grows)
            driver.send(StepFreed{job, now.step, epoch});
        else if (is_known)      /* the cost */
            grown_ms.push_back(driver.now_ms);
    }
    void go_on(int64_t until_ms)
    {
        std::mt19937_64 random(1);
        JobId other = 0;
        while (driver.now_ms < until_ms) {
            driver.wait(static_cast<int64_t>(random() % (10 * SECOND)));
            if (driver.job(job).adaptation)
                commit();
            if (other && driver.job(other).state == JobState::STARTING)
                driver.run(other);
            else if (other && driver.job(other).state == JobState::RUNNING)
                driver.end(std::exchange(other, 0));
            else if (!other)
                other = driver.submit(rigid(8));
        }
    }
    /* In the ten minutes that end with its `i`th growth. */
    int64_t still_ms(size_t i) const
    {
        int64_t sum = 0, from_ms = grown_ms[i] - 10 * MINUTE;
        for (size_t j = 0; j <= i; j++)
            sum += std::clamp<int64_t>(grown_ms[j] - from_ms, 0, standstill_ms);
        return sum;
    }

    CoreDriver driver;
    int64_t standstill_ms;
    JobId job = 0;
    std::vector<int64_t> grown_ms;
};

TEST(StandstillTest, a_job_stands_still_for_a_tenth_of_ten_minutes_at_most)
{
    for (int64_t standstill_ms : {200L, 2 * SECOND, 7 * SECOND, 20 * SECOND, 45 * SECOND}) {
        BusyNode node(standstill_ms);
        node.go_on(node.driver.now_ms + 4 * HOUR);
        for (size_t i = 0; i < node.grown_ms.size(); i++)
            ASSERT_LE(node.still_ms(i), MINUTE) << standstill_ms << " ms, growth " << i;
        EXPECT_GE(node.grown_ms.size(), 4u) << standstill_ms << " ms: it does not grow any more";
    }
}

TEST(StandstillTest, who_stands_still_for_longer_than_that_is_not_grown_again)
{
    BusyNode node(70 * SECOND);
    node.go_on(node.driver.now_ms + 4 * HOUR);
    EXPECT_EQ(node.grown_ms.size(), 0u);
    EXPECT_GT(node.driver.job(node.job).committed, 0u);
}

/* A waiting job does not depend on that limit. */
TEST(StandstillTest, for_a_job_that_waits_it_gives_at_once)
{
    BusyNode node(70 * SECOND);
    node.driver.submit(rigid(8));
    ASSERT_TRUE(node.driver.job(node.job).adaptation);
    node.commit();
    node.driver.submit(rigid(4));
    EXPECT_TRUE(node.driver.job(node.job).adaptation);
}

}  // namespace
}  // namespace elastic::rm
