/* Jobs that an administrator suspends and resumes. */

#include "core/core_driver.h"
#include "core/record.h"
#include "core/shortage.h"

namespace elastic::rm {
namespace {

class SuspendTest : public testing::Test {
  protected:
    JobId start(const JobSpec &spec)
    {
        JobId id = driver.submit(spec);
        driver.run(id);
        return id;
    }
    AnswerCode suspend(JobId id)
    {
        driver.send(SuspendJob{{"s", id}, "root"});
        return driver.last<Answer>()->code;
    }
    AnswerCode resume(JobId id)
    {
        driver.send(ResumeJob{{"r", id}, "root"});
        return driver.last<Answer>()->code;
    }
    /* The first actions after a restart. */
    std::vector<SuspendStep> pending()
    {
        Result<Core> again = Core::restore(Json::parse(driver.core.snapshot().dump()));
        EXPECT_TRUE(again.ok()) << again.error();
        std::vector<SuspendStep> found;
        for (const Action &action : again.value().pending()) {
            if (const SuspendStep *suspend = std::get_if<SuspendStep>(&action))
                found.push_back(*suspend);
        }
        return found;
    }

    CoreDriver driver{PolicyKind::FILL, 1, 4};
};

TEST_F(SuspendTest, its_processes_stop_and_its_cores_stay_booked)
{
    JobId id = start(rigid(3)), waits = driver.submit(rigid(2));
    EXPECT_EQ(suspend(id), AnswerCode::OK);
    ASSERT_TRUE(driver.last<SuspendStep>());
    EXPECT_TRUE(driver.last<SuspendStep>()->suspended);
    EXPECT_EQ(driver.recorded(record::SUSPENDED)->data["by"], "root");
    EXPECT_EQ(driver.job(id).state, JobState::SUSPENDED);
    EXPECT_EQ(driver.job(id).reason, "suspended by root");
    EXPECT_EQ(driver.node("n0").used, 3);
    driver.wait(HOUR);
    EXPECT_EQ(driver.job(waits).state, JobState::PENDING);
    EXPECT_EQ(resume(id), AnswerCode::OK);
    EXPECT_FALSE(driver.last<SuspendStep>()->suspended);
    EXPECT_EQ(driver.recorded(record::RESUMED)->data["suspended_ms"], HOUR);
    EXPECT_EQ(driver.job(id).state, JobState::RUNNING);
    EXPECT_EQ(driver.job(id).reason, "");
    driver.end(id);
    EXPECT_EQ(driver.job(id).state, JobState::DONE);
    EXPECT_EQ(driver.job(waits).state, JobState::STARTING);
}

TEST_F(SuspendTest, its_time_limit_does_not_run)
{
    JobId id = start(rigid(1, 10 * MINUTE));
    driver.wait(4 * MINUTE);
    suspend(id);
    driver.wait(HOUR);
    EXPECT_EQ(driver.job(id).state, JobState::SUSPENDED);
    resume(id);
    driver.wait(2 * MINUTE);
    suspend(id);                /* once more */
    driver.wait(HOUR);
    resume(id);
    driver.wait(4 * MINUTE - SECOND);
    EXPECT_EQ(driver.job(id).state, JobState::RUNNING);
    driver.wait(SECOND);
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
    EXPECT_EQ(driver.job(id).suspended_ms, 2 * HOUR);
}

TEST_F(SuspendTest, another_time_limit_holds_when_it_continues)
{
    JobId id = start(rigid(1, 10 * MINUTE));
    suspend(id);
    driver.wait(HOUR);
    Update update;
    update.request = "u";
    update.job = id;
    update.time_limit_ms = 2 * MINUTE;
    driver.send(update);
    EXPECT_EQ(driver.last<LimitStep>()->time_limit_ms, 2 * MINUTE);
    EXPECT_EQ(driver.job(id).limit_at_ms, NEVER);
    resume(id);
    EXPECT_EQ(driver.job(id).limit_at_ms, driver.now_ms + 2 * MINUTE);
}

TEST_F(SuspendTest, a_restart_sends_again_which_steps_are_suspended)
{
    JobId id = start(rigid(1)), other = start(rigid(1));
    EXPECT_TRUE(pending().empty());
    suspend(id);
    ASSERT_EQ(pending().size(), 1u);
    EXPECT_EQ(pending()[0].job, id);
    EXPECT_TRUE(pending()[0].suspended);
    driver.wait(driver.core.state().config.poll_interval_ms);
    ASSERT_TRUE(driver.last<SuspendStep>());
    EXPECT_TRUE(driver.last<SuspendStep>()->suspended);
    EXPECT_EQ(driver.last<QueryStep>()->job, other);
    resume(id);
    ASSERT_EQ(pending().size(), 1u);
    EXPECT_FALSE(pending()[0].suspended);
    suspend(id);
    driver.send(Cancel{{"c", id}});
    ASSERT_EQ(pending().size(), 1u);
    EXPECT_FALSE(pending()[0].suspended);
}

TEST_F(SuspendTest, only_a_job_that_runs_can_be_suspended)
{
    JobId starts = driver.submit(rigid(4)), waits = driver.submit(rigid(4));
    EXPECT_EQ(suspend(starts), AnswerCode::STATE);
    EXPECT_EQ(suspend(waits), AnswerCode::STATE);
    EXPECT_EQ(suspend(99), AnswerCode::UNKNOWN);
    driver.run(starts);
    EXPECT_EQ(resume(starts), AnswerCode::STATE);
    EXPECT_EQ(suspend(starts), AnswerCode::OK);
    EXPECT_EQ(suspend(starts), AnswerCode::OK);
    EXPECT_FALSE(driver.recorded(record::SUSPENDED));   /* it was suspended already */
    driver.end(starts, 137);    /* a user has killed it */
    EXPECT_EQ(driver.job(starts).state, JobState::FAILED);
    EXPECT_EQ(suspend(starts), AnswerCode::STATE);
}

TEST_F(SuspendTest, one_that_is_changing_its_size_is_not_suspended_before_it_has)
{
    JobSpec spec = malleable(1, 4);
    spec.preferred = 2;
    JobId id = start(spec);
    driver.send(Resize{"z", id, 3});
    EXPECT_EQ(suspend(id), AnswerCode::BUSY);
    EXPECT_EQ(driver.job(id).state, JobState::ADAPTING);
    driver.commit(id);
    EXPECT_EQ(suspend(id), AnswerCode::OK);
}

TEST_F(SuspendTest, its_size_does_not_change_before_it_continues)
{
    JobId id = start(malleable(1, 4));
    ASSERT_EQ(driver.job(id).size(), 4);
    suspend(id);
    driver.send(Resize{"z", id, 1});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::STATE);
    JobId next = driver.submit(rigid(2));
    driver.wait(HOUR);
    EXPECT_EQ(driver.job(id).state, JobState::SUSPENDED);
    EXPECT_EQ(driver.job(next).state, JobState::PENDING);
    resume(id);
    driver.wait(MINUTE);
    EXPECT_EQ(driver.job(id).state, JobState::ADAPTING);
}

/* A waiting job has no reservation for cores that no job will release. */
TEST_F(SuspendTest, nobody_counts_on_its_cores)
{
    JobId id = start(malleable(1, 3, HOUR));
    while (driver.job(id).adaptation)
        driver.commit(id);
    suspend(id);
    JobId first = driver.submit(rigid(3, HOUR)), second = driver.submit(rigid(1, 2 * HOUR));
    EXPECT_EQ(driver.job(first).state, JobState::PENDING);
    EXPECT_EQ(driver.job(second).state, JobState::STARTING);
}

TEST_F(SuspendTest, both_sides_are_named_if_it_keeps_another_one_waiting)
{
    auto keepers = [&](JobId id) {
        auto missing = shortage(driver.core.state(), driver.job(id));
        return missing ? missing->suspended : std::vector<Giving>();
    };
    auto kept = [&](JobId id) { return kept_waiting(driver.core.state(), driver.job(id)); };
    JobId small = start(rigid(1)), large = start(rigid(2));
    JobId two = driver.submit(rigid(2)), all = driver.submit(rigid(4));
    EXPECT_TRUE(keepers(two).empty());
    suspend(large);
    EXPECT_EQ(keepers(two), (std::vector<Giving>{{large, 2}}));
    EXPECT_EQ(kept(large), (std::vector<JobId>{two, all}));
    suspend(small);
    EXPECT_EQ(keepers(all), (std::vector<Giving>{{small, 1}, {large, 2}}));
    driver.send(NodeUp{"n1", 4});
    EXPECT_EQ(driver.job(two).state, JobState::STARTING);
    EXPECT_EQ(kept(small), (std::vector<JobId>{all}));
    JobSpec there = rigid(3);
    there.nodelist = NodeSet({"n1"});
    there.exclude = NodeSet({"n0"});
    JobId elsewhere = driver.submit(there);
    EXPECT_TRUE(keepers(elsewhere).empty()) << "on a node where nobody is suspended";
    resume(small);
    resume(large);
    EXPECT_TRUE(keepers(all).empty());
}

TEST_F(SuspendTest, a_job_of_whole_nodes_waits_for_all_that_are_suspended_there)
{
    JobId one = start(rigid(1)), other = start(rigid(1));
    suspend(one);
    suspend(other);
    JobSpec whole = rigid(4);
    whole.whole_nodes = true;
    JobId waits = driver.submit(whole);
    EXPECT_EQ(shortage(driver.core.state(), driver.job(waits))->suspended,
              (std::vector<Giving>{{one, 1}, {other, 1}}));
    EXPECT_EQ(kept_waiting(driver.core.state(), driver.job(one)), (std::vector<JobId>{waits}));
}

TEST_F(SuspendTest, a_cancelled_one_continues_to_take_its_signal)
{
    JobId id = start(rigid(2));
    suspend(id);
    driver.send(Cancel{{"c", id}, "ann"});
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
    ASSERT_EQ(driver.last<SignalStep>()->signal, 15);
    EXPECT_FALSE(driver.last<SuspendStep>()->suspended);
    driver.wait(driver.core.state().config.kill_grace_ms);
    EXPECT_EQ(driver.last<SignalStep>()->signal, 9);
    driver.end(id, 143);
    EXPECT_EQ(driver.job(id).state, JobState::CANCELLED);
}

TEST_F(SuspendTest, a_node_that_goes_down_ends_it)
{
    JobSpec spec = rigid(2);
    spec.requeue = true;
    JobId id = start(spec);
    suspend(id);
    driver.send(NodeDown{"n0", "no answer"});
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
    driver.end(id, 137);
    EXPECT_EQ(driver.job(id).state, JobState::PENDING);
    driver.send(NodeUp{"n0", 4});
    driver.wait(MINUTE);
    EXPECT_EQ(driver.job(id).state, JobState::STARTING);
    EXPECT_EQ(driver.job(id).suspended_ms, 0);
}

TEST_F(SuspendTest, all_tasks_of_an_array_that_run_are_suspended)
{
    JobSpec spec = rigid(1);
    spec.array = "1-6";
    JobId first = driver.submit(spec);
    for (JobId id = first; id < first + 3; id++)
        driver.run(id);
    driver.send(SuspendJob{{"s", first, ALL_TASKS}, "root"});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::OK);
    EXPECT_EQ(driver.job(first).state, JobState::SUSPENDED);
    EXPECT_EQ(driver.job(first + 2).state, JobState::SUSPENDED);
    EXPECT_EQ(driver.job(first + 3).state, JobState::STARTING);
    driver.send(ResumeJob{{"r", first, "2"}, "root"});
    EXPECT_EQ(driver.job(first + 1).state, JobState::RUNNING);
    EXPECT_EQ(driver.job(first + 2).state, JobState::SUSPENDED);
}

/* The time limit of Slurm's own job continues. */
TEST_F(SuspendTest, one_on_nodes_of_slurm_is_not_suspended)
{
    Config config = CoreDriver::config_of(PolicyKind::FILL);
    config.asynchronous_nodes = true;
    CoreDriver slurm(config);
    slurm.send(NodeUp{"n0", 4});
    JobId id = slurm.submit(rigid(2));
    slurm.send(NodesAcquired{id, 0, 0, {{"n0", 2}}});
    slurm.send(NodesAcquired{id, 1, 0, {{"n0", 2}}});
    slurm.run(id);
    ASSERT_EQ(slurm.job(id).state, JobState::RUNNING);
    slurm.send(SuspendJob{{"s", id}, "root"});
    EXPECT_EQ(slurm.last<Answer>()->code, AnswerCode::STATE);
    EXPECT_NE(slurm.last<Answer>()->message.find("Slurm"), std::string::npos);
}

TEST_F(SuspendTest, a_snapshot_whose_suspension_cannot_be_is_refused)
{
    JobId id = start(rigid(1, HOUR));
    auto refused = [&](auto change) {
        Json snapshot = driver.core.snapshot();
        change(snapshot["jobs"][0]);
        return !Core::restore(snapshot).ok();
    };
    EXPECT_TRUE(refused([](Json &job) { job["suspended_at_ms"] = 5; }));
    EXPECT_TRUE(refused([](Json &job) { job["state"] = "SUSPENDED"; }));
    EXPECT_TRUE(refused([](Json &job) { job["suspended_ms"] = -2; }));
    suspend(id);
    EXPECT_FALSE(refused([](Json &) {}));
    EXPECT_TRUE(refused([](Json &job) { job["limit_at_ms"] = 5; }));
}

}  // namespace
}  // namespace elastic::rm
