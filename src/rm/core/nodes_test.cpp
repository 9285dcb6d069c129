/* Nodes that go down, are drained, or are removed, and the jobs on them. */

#include "core/core_driver.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

TEST(CoreTest, a_node_that_goes_down_ends_its_jobs)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobSpec again = rigid(4);
    again.requeue = true;
    JobId fails = driver.submit(rigid(4)), waits = driver.submit(again);
    driver.run(fails);
    driver.run(waits);
    driver.send(NodeDown{"n0", "no heartbeat"});
    EXPECT_EQ(driver.job(fails).state, JobState::COMPLETING);
    EXPECT_EQ(driver.job(waits).state, JobState::RUNNING);
    driver.end(fails, 137);
    EXPECT_EQ(driver.job(fails).reason, "node n0 is down (no heartbeat)");
    driver.send(NodeDown{"n1", "power"});
    driver.end(waits, 137);
    EXPECT_EQ(driver.job(waits).state, JobState::PENDING);
    EXPECT_EQ(driver.core.state().indices().free_cores, 0);
    driver.send(NodeUp{"n0", 4});
    driver.wait(driver.core.state().config.start_pause_ms);
    EXPECT_EQ(driver.job(waits).state, JobState::STARTING);
    EXPECT_EQ(driver.job(waits).step, 2u);
    driver.send(StepEnded{waits, 1, 0, ""});    /* late, of the first step */
    EXPECT_EQ(driver.job(waits).state, JobState::STARTING);
}

TEST(CoreTest, a_suspect_node_keeps_its_jobs_and_gets_no_others)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobId id = driver.submit(rigid(4));
    driver.run(id);
    driver.send(NodeSuspect{"n1", "no answer"});
    EXPECT_EQ(driver.core.state().node("n1")->state(), NodeState::DRAINING);
    JobId waits = driver.submit(rigid(2));
    EXPECT_EQ(driver.job(waits).state, JobState::PENDING);
    driver.send(NodeSuspect{"n0", "no answer"});
    EXPECT_EQ(driver.job(id).state, JobState::RUNNING);
    driver.send(NodeUp{"n1", 4});
    EXPECT_EQ(driver.core.state().node("n1")->why(), "");
    EXPECT_EQ(driver.job(waits).state, JobState::STARTING);
    /* The drain of an administrator and the suspicion of the back end do not end each other. */
    driver.send(Drain{"d", "n0", "repair"});
    driver.send(NodeUp{"n0", 4});
    EXPECT_EQ(driver.core.state().node("n0")->state(), NodeState::DRAINING);
    EXPECT_EQ(driver.core.state().node("n0")->why(), "repair");
    driver.send(NodeSuspect{"n0", "no answer"});
    driver.send(Resume{"r", "n0"});
    EXPECT_EQ(driver.core.state().node("n0")->state(), NodeState::DRAINING);
    driver.send(NodeDown{"n0", "dead"});
    EXPECT_EQ(driver.core.state().node("n0")->why(), "dead");
    driver.send(NodeSuspect{"n0", "late"});
    EXPECT_EQ(driver.core.state().node("n0")->why(), "dead");
}

TEST(CoreTest, a_node_may_be_down_from_the_beginning)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    driver.send(NodeDown{"x", "no such host", 8});
    ASSERT_NE(driver.core.state().node("x"), nullptr);
    EXPECT_EQ(driver.core.state().node("x")->state(), NodeState::DOWN);
    JobId id = driver.submit(rigid(8));
    EXPECT_EQ(driver.job(id).state, JobState::PENDING) << "it would fit, were the node up";
    driver.send(NodeDown{"x", "no route"});
    EXPECT_EQ(driver.core.state().node("x")->reason, "no route");
    driver.send(NodeUp{"x", 8});
    EXPECT_EQ(driver.job(id).state, JobState::STARTING);
}

TEST(CoreTest, nothing_is_allocated_on_a_draining_node)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobId id = driver.submit(rigid(2));
    driver.run(id);
    driver.send(Drain{"d", "n0", "repair"});
    EXPECT_EQ(driver.job(id).state, JobState::RUNNING);
    JobId big = driver.submit(rigid(5)), small = driver.submit(rigid(4));
    EXPECT_EQ(driver.job(big).state, JobState::PENDING);
    EXPECT_EQ(why_waiting(driver.core.state(), driver.job(big)), "nodes are down or draining");
    EXPECT_EQ(driver.job(small).blocks, (Blocks{{"n1", 4}}));
    driver.end(id);
    driver.end(small);
    driver.send(Resume{"r", "n0"});
    EXPECT_EQ(driver.job(big).state, JobState::STARTING);
}

TEST(CoreTest, a_removed_node_is_deleted_when_it_is_empty)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobId id = driver.submit(rigid(2));
    driver.run(id);
    driver.send(NodeRemoved{"n0"});
    driver.send(NodeRemoved{"n1"});
    EXPECT_EQ(driver.core.state().nodes.size(), 1u);
    driver.end(id, 1);
    EXPECT_TRUE(driver.core.state().nodes.empty());
    driver.send(NodeUp{"n0", 8});
    EXPECT_EQ(driver.node("n0").cores, 8);
}

}  // namespace
}  // namespace elastic::rm
