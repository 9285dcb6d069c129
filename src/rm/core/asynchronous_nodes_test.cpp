/* A back end that must request nodes, and may be refused. */

#include "core/core_driver.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

class AsynchronousTest : public testing::Test {
  protected:
    static Config config()
    {
        Config config = CoreDriver::config_of(PolicyKind::FCFS);
        config.asynchronous_nodes = true;
        return config;
    }
    AsynchronousTest() : driver(config())
    {
        for (const char *node : {"n0", "n1", "n2"})
            driver.send(NodeUp{node, 4});
    }
    CoreDriver driver;
};

TEST_F(AsynchronousTest, nodes_are_requested_and_released)
{
    JobSpec spec = malleable(1, 8);
    spec.preferred = 4;
    JobId id = driver.submit(spec);
    ASSERT_TRUE(driver.last<AcquireNodes>());
    EXPECT_FALSE(driver.last<StartStep>());
    driver.send(NodesAcquired{id, 1, 0, {{"n2", 4}}});          /* others than requested */
    EXPECT_EQ(driver.last<StartStep>()->blocks, (Blocks{{"n2", 4}}));
    EXPECT_EQ(driver.node("n0").used, 0);
    driver.run(id);
    driver.send(Resize{"r1", id, 8});
    EXPECT_EQ(driver.last<AcquireNodes>()->request, 1u);
    EXPECT_FALSE(driver.last<ResizeStep>());
    driver.send(NodesAcquired{id, 1, 1, {{"n1", 4}}});
    EXPECT_EQ(driver.last<ResizeStep>()->joining, (Blocks{{"n1", 4}}));
    driver.commit(id);
    driver.send(Resize{"r2", id, 4});
    driver.commit(id);
    ASSERT_TRUE(driver.last<ReleaseNodes>());
    EXPECT_EQ(driver.last<ReleaseNodes>()->request, 2u);
    EXPECT_EQ(driver.node("n1").used, 4);
    driver.send(NodesReleased{id, 1, 2, false});
    EXPECT_EQ(driver.node("n1").used, 0);
    driver.end(id);
    EXPECT_TRUE(driver.last<ReleaseNodes>()->all);
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
    driver.send(NodesReleased{id, 1, 0, true});
    EXPECT_EQ(driver.job(id).state, JobState::DONE);
}

TEST_F(AsynchronousTest, nodes_of_a_change_that_comes_to_nothing_are_given_back)
{
    JobSpec spec = malleable(1, 8);
    spec.preferred = 4;
    JobId id = driver.submit(spec);
    driver.send(NodesAcquired{id, 1, 0, {{"n0", 4}}});
    driver.run(id);
    driver.send(Resize{"r1", id, 8});
    Blocks blocks = driver.last<AcquireNodes>()->blocks;
    driver.send(NodesAcquired{id, 1, 1, blocks});
    driver.send(StepFailed{id, 1, 1, "a joining process died"});
    ASSERT_TRUE(driver.last<ReleaseNodes>());
    EXPECT_EQ(driver.last<ReleaseNodes>()->blocks, blocks);
    EXPECT_EQ(driver.core.state().indices().free_cores, 4);
    driver.send(NodesReleased{id, 1, 1, false});
    EXPECT_EQ(driver.core.state().indices().free_cores, 8);
}

TEST_F(AsynchronousTest, a_job_is_cancelled_while_nodes_are_requested)
{
    JobId id = driver.submit(rigid(4));
    driver.send(Cancel{{"c", id}});
    EXPECT_TRUE(driver.last<ReleaseNodes>()->all);
    EXPECT_FALSE(driver.last<SignalStep>());
    driver.send(NodesAcquired{id, 1, 0, {{"n0", 4}}});  /* crossed */
    EXPECT_FALSE(driver.last<StartStep>());
    driver.send(NodesReleased{id, 1, 0, true});
    EXPECT_EQ(driver.job(id).state, JobState::CANCELLED);
}

TEST_F(AsynchronousTest, nodes_that_are_taken_away_end_the_job_with_that_reason)
{
    JobId id = driver.submit(rigid(4));
    driver.send(NodesAcquired{id, 1, 0, {{"n0", 4}}});
    driver.run(id);
    driver.send(NodesLost{id, 1, "Slurm job 7 was cancelled"});
    ASSERT_TRUE(driver.last<SignalStep>());
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
    driver.end(id, 143);
    driver.send(NodesLost{id, 1, "Slurm job 7 was cancelled"});
    driver.send(NodesReleased{id, 1, 0, true});
    EXPECT_EQ(driver.job(id).state, JobState::FAILED);
    EXPECT_EQ(driver.job(id).reason, "Slurm job 7 was cancelled");
}

/* The step's end arrives first. */
TEST_F(AsynchronousTest, the_reason_of_an_end_may_come_later)
{
    JobSpec again = rigid(4);
    again.requeue = true;
    JobId fails = driver.submit(rigid(4)), waits = driver.submit(again),
          done = driver.submit(rigid(4));
    JobId node = 0;
    for (JobId id : {fails, waits, done}) {
        driver.send(NodesAcquired{id, 1, 0, {{"n" + std::to_string(node++), 4}}});
        driver.run(id);
        driver.end(id, id == done ? 0 : 1);
        driver.send(NodesLost{id, 1, "taken"});
        driver.send(NodesReleased{id, 1, 0, true});
    }
    EXPECT_EQ(driver.job(fails).state, JobState::FAILED);
    EXPECT_EQ(driver.job(fails).reason, "taken; exit code 1");
    EXPECT_EQ(driver.job(waits).state, JobState::PENDING);
    EXPECT_EQ(driver.job(done).state, JobState::DONE);
}

TEST_F(AsynchronousTest, a_start_waits_again_if_its_nodes_go_down_before_they_are_its_own)
{
    JobId id = driver.submit(rigid(12));
    driver.send(NodeDown{"n1", "in use"});
    EXPECT_TRUE(driver.last<ReleaseNodes>()->all);
    driver.send(NodesReleased{id, 1, 0, true});
    EXPECT_EQ(driver.job(id).state, JobState::PENDING);
}

TEST_F(AsynchronousTest, nodes_that_cannot_be_used_are_given_back)
{
    JobId first = driver.submit(rigid(4));
    driver.send(NodesAcquired{first, 1, 0, {{"n0", 4}}});
    JobId id = driver.submit(rigid(4));
    driver.send(NodesAcquired{id, 1, 0, {{"n0", 4}}});  /* nodes of another job */
    EXPECT_TRUE(driver.last<ReleaseNodes>()->all);
    driver.send(NodesReleased{id, 1, 0, true});
    EXPECT_EQ(driver.job(id).state, JobState::PENDING);
    driver.wait(driver.core.state().config.start_pause_ms);
    EXPECT_EQ(driver.last<AcquireNodes>()->step, 2u);
    driver.send(NodesRefused{id, 2, 0, "the partition is closed"});
    driver.send(NodesReleased{id, 2, 0, true});
    EXPECT_EQ(driver.job(id).state, JobState::PENDING);
    EXPECT_EQ(driver.job(id).reason, "the partition is closed");
}

TEST_F(AsynchronousTest, a_start_that_is_never_possible_ends_the_job)
{
    JobSpec spec = rigid(4);
    spec.requeue = true;
    JobId id = driver.submit(spec);
    driver.send(NodesRefused{id, 1, 0, "its time limit is too long", true});
    driver.send(NodesReleased{id, 1, 0, true});
    EXPECT_EQ(driver.job(id).state, JobState::FAILED);
    EXPECT_EQ(driver.job(id).reason, "its time limit is too long");
}

}  // namespace
}  // namespace elastic::rm
