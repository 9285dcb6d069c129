/* The core, event by event: a job from its submission to its end. */

#include "core/core.h"

#include "core/core_driver.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

TEST(CoreTest, a_job_runs_and_ends)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    JobId id = driver.submit(rigid(6));
    const StartStep *start = driver.last<StartStep>();
    ASSERT_TRUE(start);
    EXPECT_EQ(start->job, id);
    EXPECT_EQ(start->step, 1u);
    EXPECT_EQ(start->blocks, (Blocks{{"n0", 4}, {"n1", 2}}));
    EXPECT_EQ(driver.job(id).state, JobState::STARTING);
    EXPECT_EQ(driver.node("n1").used, 2);
    driver.run(id);
    EXPECT_EQ(driver.job(id).state, JobState::RUNNING);
    driver.end(id);
    EXPECT_EQ(driver.job(id).state, JobState::DONE);
    EXPECT_EQ(driver.node("n0").used, 0);
    EXPECT_TRUE(driver.recorded(record::ENDED));
}

TEST(CoreTest, an_exit_code_makes_it_fail)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId id = driver.submit(rigid(2));
    driver.end(id, 3);          /* so quick that nothing else was received */
    EXPECT_EQ(driver.job(id).state, JobState::FAILED);
    EXPECT_EQ(driver.job(id).exit_code, 3);
    EXPECT_EQ(driver.job(id).reason, "exit code 3");
}

TEST(CoreTest, a_submission_that_is_repeated_is_one_job)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    driver.send(Submit{"same", rigid(1)});
    driver.send(Submit{"same", rigid(1)});
    EXPECT_EQ(driver.last<Answer>()->job, 1u);
    EXPECT_FALSE(driver.last<StartStep>());
    EXPECT_EQ(driver.core.state().jobs.size(), 1u);
}

TEST(CoreTest, what_cannot_be_is_refused_and_changes_nothing)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 4);
    auto refused = [&](EventContent content) {
        driver.send(std::move(content));
        return driver.last<Answer>()->code;
    };
    EXPECT_EQ(refused(Submit{"a", rigid(9)}), AnswerCode::CAPACITY);
    EXPECT_EQ(refused(Submit{"b", rigid(0)}), AnswerCode::FIELD);
    EXPECT_EQ(refused(Submit{"", rigid(1)}), AnswerCode::FIELD);
    EXPECT_EQ(refused(Submit{std::string(65, 'x'), rigid(1)}), AnswerCode::FIELD);
    JobSpec wide = rigid(4);
    wide.processes_per_node = 1;
    EXPECT_EQ(refused(Submit{"c", wide}), AnswerCode::CAPACITY);
    EXPECT_EQ(refused(Cancel{{"d", 1}}), AnswerCode::UNKNOWN);
    EXPECT_EQ(refused(Drain{"e", "n7", ""}), AnswerCode::UNKNOWN);
    EXPECT_EQ(refused(Resume{"f", "n0"}), AnswerCode::STATE);
    EXPECT_TRUE(driver.core.state().jobs.empty());
    JobId id = driver.submit(rigid(1));
    driver.run(id);
    EXPECT_EQ(refused(Hold{{"g", id}}), AnswerCode::STATE);
    EXPECT_EQ(refused(Release{{"h", id}}), AnswerCode::STATE);
    EXPECT_EQ(refused(Resize{"i", id, 2}), AnswerCode::RIGID);
    driver.end(id);
    EXPECT_EQ(refused(Cancel{{"j", id}}), AnswerCode::STATE);
}

TEST(CoreTest, jobs_are_limited)
{
    Config config = CoreDriver::config_of(PolicyKind::FCFS);
    config.jobs_max = 2;
    config.finished_max = 1;
    CoreDriver driver(config);
    driver.send(NodeUp{"n0", 1});
    JobId first = driver.submit(rigid(1)), second = driver.submit(rigid(1));
    driver.send(Submit{"x", rigid(1)});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::LIMIT);
    driver.end(first);
    EXPECT_EQ(driver.submit(rigid(1)), 3u);
    driver.end(second);
    EXPECT_TRUE(driver.core.state().job(first)) << "until the next event";
    driver.wait(1);
    EXPECT_TRUE(driver.last<RemoveJob>());
    EXPECT_FALSE(driver.core.state().job(first));
    driver.send(StepEnded{first, 1, 0, ""});    /* repeated, for a job that is removed */
    EXPECT_EQ(driver.core.state().unexpected, 0u);
}

TEST(CoreTest, jobs_that_end_by_one_event_are_known_until_the_next)
{
    constexpr size_t DEPENDENT = 5;
    Config config = CoreDriver::config_of(PolicyKind::FCFS);
    config.finished_max = 2;
    CoreDriver driver(config);
    driver.send(NodeUp{"n0", 1});
    JobId first = driver.submit(rigid(1));
    driver.run(first);
    JobSpec after = rigid(1);
    after.dependencies = {{DependencyKind::AFTER_OK, first}};
    for (size_t i = 0; i < DEPENDENT; i++)
        driver.submit(after);
    driver.end(first, 1);
    size_t ended = 0;
    for (const Action &action : driver.actions) {
        auto record = std::get_if<Record>(&action);
        if (!record || record->event != record::ENDED)
            continue;
        ended++;
        EXPECT_TRUE(driver.core.state().job(record->job)) << record->job << " is not known";
    }
    EXPECT_EQ(ended, DEPENDENT + 1) << "the dependent ones are cancelled with it";
    driver.wait(1);
    EXPECT_EQ(driver.core.state().jobs.size(), 2u);
}

/* CoreDriver compares the indices with those of a new core after each event. */
TEST(CoreTest, another_configuration_moves_the_jobs_that_it_concerns)
{
    Config config = CoreDriver::config_of(PolicyKind::FCFS);
    config.priority_weight_ms = 0;
    CoreDriver driver(config);
    driver.send(NodeUp{"n0", 4});
    JobId running = driver.submit(rigid(4)), first = driver.submit(rigid(4));
    JobSpec urgent = rigid(4);
    urgent.priority = 1;
    JobId second = driver.submit(urgent);
    auto front = [&driver] {
        const State &state = driver.core.state();
        auto walk = state.indices().queue.begin();
        return (*walk).job;
    };
    EXPECT_EQ(front(), first);
    config.priority_weight_ms = 60000;
    driver.send(Configure{config});
    EXPECT_EQ(front(), second);
    config.kill_grace_ms++;     /* no entry of the queue depends on it */
    driver.send(Configure{config});
    EXPECT_EQ(front(), second);
    config.priority_weight_ms = 0;
    driver.send(Configure{config});
    EXPECT_EQ(front(), first);
    driver.run(running);
    driver.end(running, 0);
    EXPECT_EQ(driver.job(first).state, JobState::STARTING);
}

TEST(CoreTest, waiting_jobs_are_held_released_and_cancelled)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobSpec held = rigid(1);
    held.held = true;
    JobId id = driver.submit(held);
    EXPECT_FALSE(driver.last<StartStep>());
    EXPECT_EQ(why_waiting(driver.core.state(), driver.job(id)), "held");
    driver.send(Release{{"r", id}});
    EXPECT_TRUE(driver.last<StartStep>());
    JobId other = driver.submit(rigid(4));
    driver.send(Hold{{"h", other}});
    driver.end(id);
    EXPECT_EQ(driver.job(other).state, JobState::PENDING);
    driver.send(Cancel{{"c", other}});
    EXPECT_EQ(driver.job(other).state, JobState::CANCELLED);
}

TEST(CoreTest, a_running_job_is_cancelled_and_its_cores_are_free_when_it_has_ended)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId id = driver.submit(rigid(4));
    driver.run(id);
    driver.send(Cancel{{"c", id}});
    EXPECT_EQ(driver.last<SignalStep>()->signal, 15);
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
    JobId next = driver.submit(rigid(1));
    EXPECT_EQ(driver.job(next).state, JobState::PENDING);
    driver.wait(driver.core.state().config.kill_grace_ms);
    EXPECT_EQ(driver.last<SignalStep>()->signal, 9);
    driver.send(StepEnded{id, 1, 0, ""});
    EXPECT_EQ(driver.job(id).state, JobState::CANCELLED);
    EXPECT_EQ(driver.job(next).state, JobState::STARTING);
}

TEST(CoreTest, the_time_limit_counts_from_the_start_of_the_step)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId id = driver.submit(rigid(4, 60000));
    driver.wait(20000);
    driver.run(id);
    driver.wait(59999);
    EXPECT_EQ(driver.job(id).state, JobState::RUNNING);
    driver.wait(1);
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
    driver.end(id, 143);
    EXPECT_EQ(driver.job(id).state, JobState::FAILED);
    EXPECT_EQ(driver.job(id).reason, "the time limit of 60 s is reached");
}

TEST(CoreTest, a_job_that_ended_well_between_polls_is_done)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId id = driver.submit(rigid(4, 60000));
    driver.run(id);
    driver.wait(3600000);       /* elasticd did not run; its first action is to end the step */
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
    driver.end(id, 0);
    EXPECT_EQ(driver.job(id).state, JobState::DONE);
    EXPECT_EQ(driver.job(id).reason, "");
}

TEST(CoreTest, a_job_that_was_stopped_has_failed_even_with_code_0)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId id = driver.submit(rigid(4, 60000));
    driver.run(id);
    driver.wait(60000);
    EXPECT_EQ(driver.job(id).state, JobState::COMPLETING);
    driver.send(StepEnded{id, 1, 0, "", true});
    EXPECT_EQ(driver.job(id).state, JobState::FAILED);
    EXPECT_EQ(driver.job(id).reason, "the time limit of 60 s is reached");
}

TEST(CoreTest, what_a_job_has_used_is_known_by_size)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId job = driver.submit(malleable(1, 4));
    driver.run(job);
    int size = driver.job(job).size();
    driver.wait(3000);
    driver.send(Resize{"r", job, 2});
    driver.commit(job);
    driver.wait(2000);
    driver.send(StepEnded{job, 1, 0, "", false, 4500, 1 << 20});
    const Job &ended = driver.job(job);
    ASSERT_EQ(ended.state, JobState::DONE);
    ASSERT_EQ(ended.times.size(), 2u);
    EXPECT_EQ(ended.times[0].size, size);
    EXPECT_GE(ended.times[0].ms, 3000);
    EXPECT_EQ(ended.times[1].size, 2);
    EXPECT_GE(ended.times[1].ms, 2000);
    EXPECT_EQ(ended.cpu_ms, 4500);
    EXPECT_EQ(ended.rss_bytes, 1 << 20);
    std::vector<TimeAtSize> times;
    for (int each = 1; each <= static_cast<int>(TIMES_MAX) + 2; each++)
        add_time_at_size(times, each, 1);
    ASSERT_EQ(times.size(), TIMES_MAX + 1) << "what a job leaves has a bound";
    EXPECT_EQ(times.back(), (TimeAtSize{0, 2 * static_cast<int>(TIMES_MAX) + 3}));
}

}  // namespace
}  // namespace elastic::rm
