/* Jobs that wait for a time or for other jobs. */

#include "core/core_driver.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

JobSpec after(DependencyKind kind, JobId other)
{
    JobSpec spec = rigid(1);
    spec.dependencies = {{kind, other}};
    return spec;
}

struct Three {
    explicit Three(CoreDriver &driver) : first(driver.submit(rigid(1)))
    {
        started = driver.submit(after(DependencyKind::AFTER, first));
        ended = driver.submit(after(DependencyKind::AFTER_ANY, first));
        done = driver.submit(after(DependencyKind::AFTER_OK, first));
    }
    JobId first, started, ended, done;
};

TEST(WaitingTest, a_job_waits_for_the_start_or_the_end_of_another)
{
    CoreDriver driver(PolicyKind::FILL, 1, 4);
    Three jobs(driver);
    EXPECT_EQ(driver.job(jobs.started).state, JobState::PENDING);
    EXPECT_EQ(why_waiting(driver.core.state(), driver.job(jobs.started)),
              "waits until job 1 starts");
    EXPECT_EQ(why_waiting(driver.core.state(), driver.job(jobs.done)),
              "waits until job 1 ends without error");
    driver.run(jobs.first);
    EXPECT_EQ(driver.job(jobs.started).state, JobState::STARTING);
    EXPECT_TRUE(driver.recorded(record::ELIGIBLE));
    EXPECT_EQ(driver.job(jobs.ended).state, JobState::PENDING);
    driver.end(jobs.first);
    EXPECT_EQ(driver.job(jobs.ended).state, JobState::STARTING);
    EXPECT_EQ(driver.job(jobs.done).state, JobState::STARTING);
}

TEST(WaitingTest, a_job_waits_for_the_failure_of_another)
{
    CoreDriver driver(PolicyKind::FILL, 1, 4);
    JobId fails = driver.submit(rigid(1)), ends = driver.submit(rigid(1));
    JobId repairs = driver.submit(after(DependencyKind::AFTER_NOT_OK, fails));
    JobId never = driver.submit(after(DependencyKind::AFTER_NOT_OK, ends));
    EXPECT_EQ(why_waiting(driver.core.state(), driver.job(repairs)), "waits until job 1 fails");
    driver.run(fails);
    driver.run(ends);
    driver.end(fails, 1);
    EXPECT_EQ(driver.job(repairs).state, JobState::STARTING);
    driver.end(ends);
    EXPECT_EQ(driver.job(never).state, JobState::CANCELLED);
    EXPECT_EQ(driver.job(never).reason,
              "it could never start: job 2 has ended as DONE (after_not_ok:2)");
}

TEST(WaitingTest, a_singleton_waits_for_all_of_its_user_and_name)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    auto named = [&](const char *name, uint32_t uid, const char *array = "") {
        JobSpec spec = rigid(1);
        spec.name = name;
        spec.uid = uid;
        spec.singleton = true;
        spec.array = array;
        return driver.submit(spec);
    };
    JobId first = named("a", 1), second = named("a", 1), third = named("a", 1);
    EXPECT_EQ(driver.job(named("a", 2)).state, JobState::STARTING) << "another user's";
    EXPECT_EQ(driver.job(named("b", 1)).state, JobState::STARTING) << "another name";
    driver.send(Cancel{{"c", second}});
    EXPECT_EQ(driver.job(third).state, JobState::PENDING) << "the first one runs";
    JobId tasks = named("a", 1, "1-2"), last = named("a", 1);
    driver.run(first);
    driver.end(first);
    EXPECT_EQ(driver.job(third).state, JobState::STARTING);
    driver.run(third);
    driver.end(third);
    EXPECT_EQ(driver.job(tasks).state, JobState::STARTING);
    EXPECT_EQ(driver.job(tasks + 1).state, JobState::PENDING) << "one task after the other";
    driver.run(tasks);
    driver.end(tasks);
    EXPECT_EQ(driver.job(last).state, JobState::PENDING);
    driver.run(tasks + 1);
    driver.end(tasks + 1);
    EXPECT_EQ(driver.job(last).state, JobState::STARTING);
}

TEST(WaitingTest, a_job_is_requeued_by_request)
{
    CoreDriver driver(PolicyKind::FILL, 1, 1);
    JobId first = driver.submit(rigid(1)), other = driver.submit(rigid(1));
    driver.send(Requeue{{"q", other}, "root"});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::STATE) << "it waits";
    driver.run(first);
    driver.send(Requeue{{"q", first}, "root"});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::OK);
    EXPECT_EQ(driver.last<SignalStep>()->signal, 15);
    driver.end(first, 143);
    EXPECT_EQ(driver.job(first).state, JobState::PENDING);
    EXPECT_EQ(driver.job(first).reason, "requeued by root");
    driver.send(Requeue{{"q", 77}, "root"});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::UNKNOWN);
}

TEST(WaitingTest, who_waits_for_a_start_goes_on_when_it_is_stopped_before)
{
    CoreDriver driver(PolicyKind::FILL, 1, 4);
    Three jobs(driver);
    driver.send(Cancel{{"c", jobs.first}});
    EXPECT_EQ(driver.job(jobs.first).state, JobState::COMPLETING);
    EXPECT_EQ(driver.job(jobs.started).state, JobState::STARTING);
    EXPECT_EQ(driver.job(jobs.ended).state, JobState::PENDING);

    Config config = CoreDriver::config_of(PolicyKind::FILL);
    config.asynchronous_nodes = true;
    CoreDriver other(config);
    other.send(NodeUp{"n0", 4});
    Three waiting(other);
    other.send(Cancel{{"c", waiting.first}});
    EXPECT_EQ(other.job(waiting.first).state, JobState::COMPLETING) << "its nodes are given back";
    EXPECT_EQ(other.job(waiting.started).state, JobState::STARTING);
}

/* Without the checks of CoreDriver, which check all jobs at each event. */
TEST(WaitingTest, however_many_wait_for_one_no_event_becomes_a_long_one)
{
    constexpr JobId WAITING = 2500;
    constexpr size_t ACTIONS_MAX = 1100;
    Core core;
    auto send = [&core](EventContent content) {
        return core.handle({core.state().seq + 1, 1000, std::move(content)});
    };
    Config config = CoreDriver::config_of(PolicyKind::FILL);
    config.finished_max = 10000;
    send(Configure{config});
    send(NodeUp{"n0", 4});
    send(Submit{"first", rigid(1)});
    for (JobId i = 0; i < WAITING; i++)
        send(Submit{"s" + std::to_string(i), after(DependencyKind::AFTER_OK, 1)});
    send(StepStarted{{1, 1}});
    send(StepEnded{1, 1, 3, ""});
    int events = 1;
    for (; core.state().job(WAITING + 1)->state == JobState::PENDING && events < 10; events++) {
        EXPECT_LE(core.state().timer_ms, 1000) << "the others' turn is now";
        EXPECT_TRUE(violations(core.state()).empty());
        auto restored = Core::restore(core.snapshot());
        ASSERT_TRUE(restored) << restored.error();
        EXPECT_EQ(restored.value().snapshot(), core.snapshot());
        core = std::move(restored.value());
        EXPECT_LE(send(Timer{}).size(), ACTIONS_MAX);
    }
    EXPECT_EQ(events, 4)
        << "each is examined when the first starts and when it ends, 1000 in an event";
    EXPECT_EQ(core.state().jobs.at(WAITING + 1).state, JobState::CANCELLED);
    EXPECT_TRUE(core.state().turns.empty());
    EXPECT_TRUE(violations(core.state()).empty());
}

/* Jobs that wait for it are cancelled in turn, at any depth; a job that only waits for an end
 * starts. */
TEST(WaitingTest, a_job_that_can_never_start_is_cancelled)
{
    CoreDriver driver(PolicyKind::FILL, 1, 4);
    Three jobs(driver);
    JobId last = jobs.done;
    for (int i = 0; i < 200; i++)
        last = driver.submit(after(DependencyKind::AFTER_OK, last));
    driver.run(jobs.first);
    driver.end(jobs.first, 3);
    EXPECT_EQ(driver.job(jobs.ended).state, JobState::STARTING);
    EXPECT_EQ(driver.job(jobs.done).state, JobState::CANCELLED);
    EXPECT_EQ(driver.job(jobs.done).reason,
              "it could never start: job 1 has ended as FAILED (after_ok:1)");
    EXPECT_EQ(driver.job(last).state, JobState::CANCELLED);
    driver.send(Submit{"late", after(DependencyKind::AFTER_OK, jobs.first)});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::STATE);
    driver.send(Submit{"unknown", after(DependencyKind::AFTER, 100000)});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::UNKNOWN);
}

/* A job that waits again has not ended. */
TEST(WaitingTest, a_requeued_job_is_waited_for)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobSpec again = rigid(1);
    again.requeue = true;
    JobId first = driver.submit(again),
          second = driver.submit(after(DependencyKind::AFTER_OK, first));
    driver.run(first);
    driver.send(StepLost{first, 1, "test"});
    EXPECT_EQ(driver.job(first).state, JobState::PENDING);
    EXPECT_EQ(driver.job(second).state, JobState::PENDING);
    driver.wait(60000);
    driver.run(first);
    driver.end(first);
    EXPECT_EQ(driver.job(second).state, JobState::STARTING);
}

TEST(WaitingTest, all_dependencies_count_and_a_waiting_job_can_be_cancelled)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId one = driver.submit(rigid(1)), two = driver.submit(rigid(1));
    JobSpec both = after(DependencyKind::AFTER_ANY, one);
    both.dependencies.push_back({DependencyKind::AFTER_OK, two});
    both.dependencies.push_back({DependencyKind::AFTER, two});
    JobId waiting = driver.submit(both), other = driver.submit(both);
    driver.run(one);
    driver.end(one, 1);
    EXPECT_EQ(driver.job(waiting).state, JobState::PENDING);
    driver.send(Cancel{{"c", other}});
    EXPECT_EQ(driver.job(other).state, JobState::CANCELLED);
    driver.run(two);
    EXPECT_EQ(driver.job(waiting).waits_for.size(), 1u);
    driver.end(two);
    EXPECT_EQ(driver.job(waiting).state, JobState::STARTING);
}

/* It does not delay others, and has no priority over jobs that were submitted while it waited. */
TEST(WaitingTest, a_job_begins_when_its_time_has_come)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 2);
    JobSpec later = rigid(2);
    later.begin_ms = driver.now_ms + 60000;
    JobId first = driver.submit(later);
    ASSERT_TRUE(driver.last<SetTimer>());
    EXPECT_EQ(driver.last<SetTimer>()->at_ms, later.begin_ms);
    EXPECT_EQ(why_waiting(driver.core.state(), driver.job(first)),
              "its begin time has not been reached");
    driver.now_ms += 1000;
    JobId second = driver.submit(rigid(2)), third = driver.submit(rigid(2));
    EXPECT_EQ(driver.job(second).state, JobState::STARTING);
    driver.wait(59000);
    EXPECT_TRUE(driver.recorded(record::ELIGIBLE));
    EXPECT_EQ(driver.job(first).state, JobState::PENDING);
    driver.end(second);
    EXPECT_EQ(driver.job(third).state, JobState::STARTING);
    driver.end(third);
    EXPECT_EQ(driver.job(first).state, JobState::STARTING);
}

TEST(WaitingTest, what_is_waited_for_survives_a_snapshot)
{
    CoreDriver driver(PolicyKind::FILL, 1, 4);
    Three jobs(driver);
    JobSpec later = rigid(1);
    later.begin_ms = driver.now_ms + 60000;
    JobId begins = driver.submit(later);
    auto restored = Core::restore(Json::parse(driver.core.snapshot().dump()));
    ASSERT_TRUE(restored) << restored.error();
    driver.core = std::move(restored.value());
    driver.run(jobs.first);
    driver.end(jobs.first);
    EXPECT_EQ(driver.job(jobs.done).state, JobState::STARTING);
    driver.end(jobs.done);
    driver.wait(60000);
    EXPECT_EQ(driver.job(begins).state, JobState::STARTING);
}

TEST(WaitingTest, a_snapshot_in_which_a_job_waits_in_vain_is_broken)
{
    CoreDriver driver(PolicyKind::FILL, 1, 4);
    Three jobs(driver);
    Json snapshot = driver.core.snapshot();
    snapshot["jobs"][1]["waits_for"][0]["job"] = 77;
    EXPECT_FALSE(Core::restore(snapshot));
}

/* A log and a snapshot of a version without dependencies. */
TEST(WaitingTest, older_logs_and_snapshots_are_read)
{
    CoreDriver driver(PolicyKind::FILL, 1, 1);
    JobId first = driver.submit(rigid(1)), second = driver.submit(rigid(1));
    Json snapshot = driver.core.snapshot();
    for (Json &job : snapshot["jobs"]) {
        for (const char *name :
             {"deferred", "waits_for", "eligible_ms", "started_name", "started_host",
              "limit_changed", "times", "cpu_ms", "rss_bytes"})
            EXPECT_EQ(job.erase(name), 1u);
        for (const char *name : {"begin_ms", "dependencies"})
            EXPECT_EQ(job["spec"].erase(name), 1u);
    }
    auto restored = Core::restore(snapshot);
    ASSERT_TRUE(restored) << restored.error();
    EXPECT_EQ(restored.value().snapshot()["jobs"][1]["submitted_ms"],
              driver.job(second).submitted_ms);
    driver.core = std::move(restored.value());
    driver.end(first);
    EXPECT_EQ(driver.job(second).state, JobState::STARTING);
}

TEST(WaitingTest, impossible_jobs_are_refused)
{
    CoreDriver driver(PolicyKind::FILL, 1, 1);
    JobSpec spec = rigid(1);
    spec.begin_ms = -1;
    driver.send(Submit{"1", spec});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::FIELD);
    spec.begin_ms = INT64_MAX;
    driver.send(Submit{"2", spec});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::FIELD);
    spec.begin_ms = 0;
    spec.dependencies.assign(DEPENDENCIES_MAX + 1, {DependencyKind::AFTER, 1});
    driver.send(Submit{"3", spec});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::FIELD);
}

}  // namespace
}  // namespace elastic::rm
