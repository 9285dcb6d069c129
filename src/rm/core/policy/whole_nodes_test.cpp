/* Policy `fill` on whole nodes, and jobs of others that need them. */

#include "core/policy/policy_fixture.h"

namespace elastic::rm {
namespace {

Config whole_nodes()
{
    Config config = CoreDriver::config_of(PolicyKind::FILL);
    config.whole_nodes = true;
    return config;
}

class WholeNodesTest : public testing::Test {
  protected:
    WholeNodesTest() : driver(whole_nodes())
    {
        for (const char *node : {"n0", "n1", "n2", "n3"})
            driver.send(NodeUp{node, 4});
    }
    /* The size that the last action sets; 0: none. */
    int resized() const { return driver.last<ResizeStep>() ? driver.last<ResizeStep>()->size : 0; }
    CoreDriver driver;
};

TEST_F(WholeNodesTest, every_job_fills_the_nodes_that_it_has)
{
    driver.submit(rigid(13));
    EXPECT_EQ(driver.core.state().indices().free_cores, 0);
    JobId waiting = driver.submit(malleable(1, 3));
    driver.end(1);
    EXPECT_EQ(driver.job(waiting).size(), 3);
    JobId grown = driver.submit(malleable(1, 6));
    EXPECT_EQ(driver.job(grown).size(), 6);
    EXPECT_EQ(driver.core.state().indices().free_cores, 4);
}

TEST_F(WholeNodesTest, R5_a_job_grows_by_whole_nodes)
{
    JobId first = driver.submit(malleable(1, 16)), second = driver.submit(malleable(1, 15));
    driver.run(first);
    driver.commit(first);
    driver.run(second);
    ASSERT_EQ(driver.job(first).size(), 8);
    ASSERT_EQ(driver.job(second).size(), 8);
    driver.wait(MINUTE);
    driver.send(NodeUp{"n4", 4});
    EXPECT_EQ(resized(), 12) << "in one change";
    driver.commit(first);
    driver.end(first);
    driver.wait(MINUTE);
    EXPECT_EQ(resized(), 15) << "the most that it can have";
}

TEST_F(WholeNodesTest, a_shrink_gives_nodes_and_keeps_the_others_full)
{
    JobId first = driver.submit(malleable(1, 16));
    driver.run(first);
    ASSERT_EQ(driver.job(first).size(), 16);
    JobId second = driver.submit(rigid(1));
    EXPECT_EQ(resized(), 12);
    driver.commit(first);
    EXPECT_EQ(state_of(driver, second), JobState::STARTING);
    driver.wait(MINUTE);
    EXPECT_EQ(driver.job(first).requests, 1u);
}

TEST_F(WholeNodesTest, a_user_s_shrink_is_undone_within_the_nodes_only_when_it_was_not_wished)
{
    JobSpec spec = malleable(1, 4);
    JobId job = driver.submit(spec);
    driver.run(job);
    driver.send(Resize{"r", job, 2});
    driver.commit(job);
    driver.wait(MINUTE);
    EXPECT_EQ(driver.job(job).size(), 2);
    EXPECT_EQ(driver.job(job).requests, 1u);
}

TEST_F(WholeNodesTest, jobs_give_way_to_others_and_come_back)
{
    JobId first = driver.submit(malleable(2, 16));
    driver.run(first);
    driver.send(NodesWanted{2, "Slurm job 7 of bob"});
    ASSERT_EQ(resized(), 8);
    EXPECT_EQ(driver.last<ResizeStep>()->reason, "nodes for Slurm job 7 of bob");
    driver.commit(first);
    driver.wait(10 * MINUTE);           /* idle nodes are left to them */
    EXPECT_EQ(driver.job(first).size(), 8);
    driver.send(NodeSuspect{"n2", "in use"});
    driver.send(NodeSuspect{"n3", "in use"});
    /* nodes that they have received are no longer requested */
    EXPECT_EQ(driver.core.state().wanted_nodes, 0);
    driver.send(NodesWanted{0, ""});
    driver.wait(MINUTE);
    EXPECT_EQ(driver.job(first).size(), 8);
    driver.send(NodeUp{"n2", 4});
    EXPECT_EQ(resized(), 12);
    driver.commit(first);
    driver.send(NodeUp{"n3", 4});
    driver.wait(driver.core.state().config.offer_pause_ms);
    EXPECT_EQ(resized(), 16);
}

TEST_F(WholeNodesTest, jobs_of_others_precede_our_own_queue)
{
    JobId first = driver.submit(malleable(4, 16));
    driver.run(first);
    driver.send(NodesWanted{1, "others"});
    EXPECT_EQ(resized(), 12);
    JobId waiting = driver.submit(rigid(4));
    driver.commit(first);               /* one node for them, the next one for own jobs */
    EXPECT_EQ(state_of(driver, waiting), JobState::PENDING);
    ASSERT_TRUE(driver.job(first).adaptation);
    EXPECT_EQ(driver.job(first).adaptation->size, 8);
    driver.commit(first);
    EXPECT_EQ(state_of(driver, waiting), JobState::STARTING);
    EXPECT_EQ(driver.core.state().indices().free_cores, 4);
}

TEST_F(WholeNodesTest, nobody_grows_into_more_nodes_while_others_wait)
{
    driver.send(NodeSuspect{"n3", "in use"});
    JobId first = driver.submit(malleable(1, 16));
    driver.run(first);
    ASSERT_EQ(driver.job(first).size(), 12);
    driver.send(NodesWanted{1, "others"});
    driver.commit(first);
    ASSERT_EQ(driver.job(first).size(), 8);
    /* one belongs to them, and the other must not be used for growth */
    driver.send(NodeUp{"n3", 4});
    driver.wait(MINUTE);
    EXPECT_EQ(driver.job(first).requests, 1u);
    JobId starts = driver.submit(rigid(1));
    EXPECT_EQ(state_of(driver, starts), JobState::STARTING);
    driver.send(NodesWanted{0, ""});
    EXPECT_EQ(resized(), 12);
}

TEST_F(WholeNodesTest, nobody_goes_below_the_minimum_or_gives_way_in_vain)
{
    JobId first = driver.submit(malleable(8, 16));
    driver.run(first);
    driver.send(NodesWanted{3, "others"});
    EXPECT_EQ(resized(), 0);
    driver.wait(10 * MINUTE);
    EXPECT_EQ(driver.job(first).size(), 16);
    driver.send(NodesWanted{2, "others"});
    EXPECT_EQ(resized(), 8);
}

/* The request starts and ends repeatedly, at the worst times: each causes at most two changes. */
TEST_F(WholeNodesTest, giving_way_does_not_oscillate)
{
    JobId first = driver.submit(malleable(1, 16)), second = driver.submit(malleable(1, 16));
    uint64_t slot_requests = 0;
    for (int i = 0; i < 400; i++) {
        for (JobId id : {first, second}) {
            if (driver.job(id).state == JobState::STARTING)
                driver.run(id);
            if (driver.job(id).state == JobState::ADAPTING && i % 3 == 0)
                driver.commit(id);
        }
        if (i % 40 == 0) {
            slot_requests++;
            driver.send(NodesWanted{1 + i / 40 % 2, "others"});
        }
        if (i % 40 == 20)
            driver.send(NodesWanted{0, ""});
        driver.wait(1000);
    }
    /* Each request: one change of each to release, one to grow again. */
    EXPECT_LE(driver.job(first).requests + driver.job(second).requests, 4 * slot_requests + 3);
    EXPECT_GE(driver.job(first).requests + driver.job(second).requests, slot_requests);
}

}  // namespace
}  // namespace elastic::rm
