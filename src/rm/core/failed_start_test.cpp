/* Starts of jobs that fail or have no answer, and nodes on which no step starts. */

#include "core/core_driver.h"
#include "core/record.h"
#include "core/shortage.h"

namespace elastic::rm {
namespace {

TEST(CoreTest, a_start_that_fails_is_tried_again_and_given_up)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId id = driver.submit(rigid(4));
    for (uint32_t step = 1; step <= 3; step++) {
        EXPECT_EQ(driver.job(id).step, step);
        driver.send(StepStartFailed{id, step, "no such file"});
        driver.wait(step * driver.core.state().config.start_pause_ms);
    }
    EXPECT_EQ(driver.job(id).state, JobState::FAILED);
    EXPECT_EQ(driver.job(id).reason, "the step could not be started: no such file");
}

TEST(CoreTest, a_start_that_nobody_answers_is_sent_again_with_the_same_key)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId id = driver.submit(rigid(4));
    int sent = 0, killed = 0;
    for (int i = 0; i < 40 && killed == 0; i++) {
        driver.wait(30000);
        if (const StartStep *start = driver.last<StartStep>()) {
            EXPECT_EQ(start->step, 1u);
            sent++;
        }
        killed += driver.last<SignalStep>() != nullptr;
    }
    EXPECT_EQ(sent, driver.core.state().config.answer_tries_max - 1);
    EXPECT_EQ(killed, 1);
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
    driver.send(StepLost{id, 1, "never seen"});
    EXPECT_EQ(driver.job(id).state, JobState::FAILED);
}

/* Nodes of a back end that requests them cannot be drained; nodes that only a prolog prepares
 * can. */
TEST(CoreTest, a_node_with_a_prolog_that_starts_nothing_is_drained)
{
    for (bool own_nodes : {false, true}) {
        Config config = CoreDriver::config_of(PolicyKind::FCFS);
        config.asynchronous_nodes = true;
        config.own_nodes = own_nodes;
        CoreDriver driver(config);
        driver.send(NodeUp{"n0", 4});
        JobId id = driver.submit(rigid(4));
        for (uint32_t step = 1; step <= 3; step++) {
            driver.send(NodesAcquired{id, step, 0, {{"n0", 4}}});
            driver.send(StepStartFailed{id, step, "no descriptor", true});
            driver.send(NodesReleased{id, step, 0, true});
            if (step < 3)
                driver.wait(step * driver.core.state().config.start_pause_ms);
        }
        EXPECT_EQ(driver.node("n0").draining, own_nodes);
        EXPECT_EQ(driver.job(id).state, own_nodes ? JobState::PENDING : JobState::FAILED);
    }
}

/* No program could start there. */
TEST(CoreTest, a_node_that_starts_nothing_is_drained_and_its_jobs_wait)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    std::vector<JobId> jobs;
    for (int i = 0; i < 4; i++)
        jobs.push_back(driver.submit(rigid(4)));
    for (int i = 0; i < 3; i++) {
        JobId on_it = 0;
        for (JobId id : jobs)
            if (driver.job(id).state == JobState::STARTING && driver.job(id).blocks ==
                    Blocks{{"n0", 4}})
                on_it = id;
        ASSERT_NE(on_it, 0u) << i;
        driver.send(StepStartFailed{on_it, driver.job(on_it).step, "no descriptor", true});
        EXPECT_EQ(driver.job(on_it).state, JobState::PENDING);
        EXPECT_EQ(driver.job(on_it).start_failures, 0);
        const Record *requeued = driver.recorded(record::REQUEUED);
        ASSERT_TRUE(requeued);
        EXPECT_EQ(requeued->data["reason"],
                  "the step could not be started on node n0: no descriptor");
    }
    EXPECT_TRUE(driver.node("n0").draining);
    EXPECT_EQ(driver.node("n0").reason,
              "3 steps could not be started on it within a minute: no descriptor");
    EXPECT_TRUE(driver.recorded(record::NODE_DRAINING));
    EXPECT_FALSE(driver.node("n1").draining);
    driver.wait(3600000);
    for (JobId id : jobs)
        EXPECT_NE(driver.job(id).state, JobState::FAILED) << id;
}

TEST(CoreTest, faults_of_a_node_that_are_far_apart_drain_nothing)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId id = driver.submit(rigid(4));
    for (int i = 0; i < 6; i++) {
        ASSERT_EQ(driver.job(id).state, JobState::STARTING) << i;
        driver.send(StepStartFailed{id, driver.job(id).step, "no descriptor", true});
        driver.wait(40000);
    }
    EXPECT_FALSE(driver.node("n0").draining);
}

TEST(CoreTest, jobs_on_a_node_that_is_taken_out_go_on)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobId running = driver.submit(rigid(4));
    driver.run(running);
    std::string name = (*driver.job(running).blocks.begin()).node;
    driver.send(NodeRemoved{name});
    EXPECT_TRUE(driver.recorded(record::NODE_REMOVED));
    EXPECT_EQ(driver.job(running).state, JobState::RUNNING);
    JobId other = driver.submit(rigid(4)), waits = driver.submit(rigid(4));
    EXPECT_EQ(driver.job(other).state, JobState::STARTING);
    EXPECT_EQ(driver.job(waits).state, JobState::PENDING) << "nothing is booked on it";
    driver.end(running);
    EXPECT_FALSE(driver.core.state().node(name));
    driver.send(NodeUp{name, 4});
    EXPECT_EQ(driver.job(waits).state, JobState::STARTING) << "it is back";
}

TEST(CoreTest, a_hold_of_an_administrator_is_released_by_one)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 1);
    driver.submit(rigid(1));
    JobId id = driver.submit(rigid(1));
    driver.send(Hold{{"own", id}});
    driver.send(Hold{{"administrator", id}, true});
    EXPECT_EQ(why_waiting(driver.core.state(), driver.job(id)), "held by an administrator");
    driver.send(Hold{{"again", id}});
    driver.send(Release{{"own", id}});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::STATE);
    EXPECT_TRUE(driver.job(id).held);
    driver.send(Release{{"administrator", id}, true});
    EXPECT_FALSE(driver.job(id).held);
    driver.send(Hold{{"own", id}});
    driver.send(Release{{"own", id}});
    EXPECT_FALSE(driver.job(id).held) << "one's own hold";
}

/* The other jobs wait, too, instead of trying one after the other; the pauses become longer. */
TEST(CoreTest, a_fault_of_elasticd_itself_pauses_all_starts)
{
    for (PolicyKind policy : {PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL}) {
        CoreDriver driver(policy, 2, 4);
        std::vector<JobId> jobs;
        for (int i = 0; i < 6; i++)
            jobs.push_back(driver.submit(rigid(4)));
        const int64_t pause_ms = driver.core.state().config.start_pause_ms;
        const std::string why = "elasticd lacks descriptors";
        for (int64_t pause : {1, 2, 4, 8, 12, 12}) {
            ASSERT_EQ(driver.job(jobs[0]).state, JobState::STARTING);
            for (int i = 0; i < 2; i++)
                driver.send(StepStartFailed{jobs[i], driver.job(jobs[i]).step, why, false, true});
            for (JobId id : jobs) {
                EXPECT_EQ(driver.job(id).state, JobState::PENDING);
                EXPECT_EQ(why_waiting(driver.core.state(), driver.job(id)), why);
                EXPECT_FALSE(shortage(driver.core.state(), driver.job(id)));
            }
            JobId added = driver.submit(rigid(1));
            EXPECT_EQ(driver.job(added).state, JobState::PENDING);
            driver.send(Cancel{{"c" + std::to_string(added), added}, ""});
            driver.wait(pause * pause_ms - 1);
            EXPECT_EQ(driver.job(jobs[0]).state, JobState::PENDING) << pause;
            driver.wait(1);
        }
        EXPECT_EQ(driver.job(jobs[0]).start_failures, 0);
        EXPECT_FALSE(driver.node("n0").draining || driver.node("n1").draining);
        auto restored = Core::restore(driver.core.snapshot(), {});
        ASSERT_TRUE(restored);
        EXPECT_EQ(restored.value().state().start_pause.failures, 6);
        driver.run(jobs[0]);
        EXPECT_EQ(driver.core.state().start_pause.failures, 0);
        driver.send(Cancel{{"2", jobs[1]}, ""});
        EXPECT_EQ(driver.job(jobs[1]).state, JobState::COMPLETING) << "it starts";
    }
}

TEST(CoreTest, the_reason_of_a_failed_start_survives_a_cancel)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId job = driver.submit(rigid(2));
    driver.send(StepStartFailed{job, 1, "no descriptor"});
    ASSERT_EQ(driver.job(job).state, JobState::PENDING);
    driver.send(Cancel{{"c", job}, "bob"});
    EXPECT_EQ(driver.job(job).reason,
              "cancelled by bob while it waited; the step could not be started: no descriptor");
}

}  // namespace
}  // namespace elastic::rm
