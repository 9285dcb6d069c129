/* Changes of the specification of jobs that wait or run. */

#include "core/core_driver.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

AnswerCode update(CoreDriver &driver, Update event)
{
    event.request = "u" + std::to_string(driver.log.size());
    driver.send(event);
    const Answer *answer = driver.last<Answer>();
    return answer ? answer->code : AnswerCode::OK;
}

Update of(JobId job)
{
    Update event;
    event.job = job;
    return event;
}

TEST(UpdateTest, a_waiting_job_is_updated)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId running = driver.submit(rigid(4)), first = driver.submit(rigid(4)),
          second = driver.submit(rigid(4));
    Update event = of(second);
    event.name = "heat";
    event.priority = 1;
    event.minimum = event.maximum = 2;
    event.time_limit_ms = 5000;
    EXPECT_EQ(update(driver, event), AnswerCode::OK);
    const Record *record = driver.recorded(record::UPDATED);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->data, (Json{{"name", "heat"}, {"priority", 1}, {"minimum", 2}, {"maximum", 2},
                                  {"time_limit_ms", 5000}}));
    EXPECT_FALSE(driver.last<LimitStep>());
    driver.end(running);
    EXPECT_EQ(driver.job(second).state, JobState::STARTING) << "it has come before job " << first;
    EXPECT_EQ(driver.job(second).size(), 2);
    EXPECT_EQ(update(driver, event), AnswerCode::OK);
    EXPECT_FALSE(driver.recorded(record::UPDATED)) << "nothing has changed";
}

TEST(UpdateTest, what_is_wrong_changes_nothing)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    driver.submit(rigid(4));
    JobId job = driver.submit(rigid(2));
    std::vector<Update> wrong(6, of(job));
    wrong[0].minimum = 3;
    wrong[1].maximum = 0;
    wrong[2].time_limit_ms = -5;
    wrong[3].priority = INT32_MIN;
    wrong[4].name = std::string(1000, 'x');
    wrong[5].preferred = 4;
    Json before = write(driver.job(job));
    for (const Update &event : wrong) {
        EXPECT_EQ(update(driver, event), AnswerCode::FIELD) << to_json(Event{1, 1, event}).dump();
        EXPECT_EQ(write(driver.job(job)), before);
    }
    Update large = of(job);
    large.minimum = large.maximum = 5;
    EXPECT_EQ(update(driver, large), AnswerCode::CAPACITY);
    EXPECT_EQ(update(driver, of(77)), AnswerCode::UNKNOWN);
}

/* Its cores may be reserved for others: its user cannot extend it. */
TEST(UpdateTest, the_time_limit_of_a_running_job)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId job = driver.submit(rigid(1, 60000));
    driver.run(job);
    driver.now_ms += 1000;
    Update event = of(job);
    event.time_limit_ms = 90000;
    EXPECT_EQ(update(driver, event), AnswerCode::STATE);
    event.time_limit_ms = 0;
    EXPECT_EQ(update(driver, event), AnswerCode::STATE);
    event.time_limit_ms = 90000;
    event.may_extend = true;
    EXPECT_EQ(update(driver, event), AnswerCode::OK);
    ASSERT_TRUE(driver.last<LimitStep>());
    EXPECT_EQ(driver.last<LimitStep>()->time_limit_ms, 90000);
    EXPECT_EQ(driver.job(job).limit_at_ms, driver.job(job).started_ms + 90000);
    bool again = false;
    for (const Action &action : driver.core.pending())
        again = again || std::holds_alternative<LimitStep>(action);
    EXPECT_TRUE(again) << "it is sent after a restart, too";
    driver.wait(60000);
    EXPECT_EQ(driver.job(job).state, JobState::RUNNING);
    event.may_extend = false;
    event.time_limit_ms = 10000;
    EXPECT_EQ(update(driver, event), AnswerCode::OK);
    driver.wait(0);
    EXPECT_EQ(driver.job(job).state, JobState::COMPLETING);
    EXPECT_EQ(update(driver, event), AnswerCode::STATE);
    driver.end(job, 143);
    EXPECT_EQ(driver.job(job).reason, "the time limit of 10 s is reached");
    EXPECT_EQ(update(driver, event), AnswerCode::STATE);
}

TEST(UpdateTest, a_limit_that_is_set_while_the_step_starts_counts_from_its_start)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId job = driver.submit(rigid(1, 60000));
    Update event = of(job);
    event.time_limit_ms = 5000;
    EXPECT_EQ(update(driver, event), AnswerCode::OK);
    EXPECT_TRUE(driver.last<LimitStep>());
    driver.now_ms += 3000;
    driver.run(job);
    EXPECT_EQ(driver.job(job).limit_at_ms, driver.now_ms + 5000);
}

TEST(UpdateTest, the_range_of_a_running_job)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId fixed = driver.submit(rigid(2)), job = driver.submit(malleable(2, 4));
    driver.run(fixed);
    driver.run(job);
    EXPECT_EQ(driver.job(job).size(), 4);
    Update event = of(job);
    event.maximum = 3;
    EXPECT_EQ(update(driver, event), AnswerCode::FIELD) << "it has 4";
    event.maximum = 6;
    EXPECT_EQ(update(driver, event), AnswerCode::OK);
    driver.wait(driver.core.state().config.offer_pause_ms);
    EXPECT_EQ(driver.job(job).state, JobState::ADAPTING) << "the policy uses it";
    event.maximum = 8;
    EXPECT_EQ(update(driver, event), AnswerCode::BUSY);
    driver.commit(job);
    EXPECT_EQ(driver.job(job).size(), 6);
    event.job = fixed;
    EXPECT_EQ(update(driver, event), AnswerCode::FIELD);
    event.minimum = event.maximum = 3;
    EXPECT_EQ(update(driver, event), AnswerCode::RIGID);
}

/* Files keep the names with which they were opened. */
TEST(UpdateTest, a_running_job_keeps_the_name_that_its_files_have)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId job = driver.submit(rigid(1));
    driver.run(job);
    Update event = of(job);
    event.name = "other";
    EXPECT_EQ(update(driver, event), AnswerCode::OK);
    EXPECT_EQ(driver.job(job).spec.name, "other");
    EXPECT_EQ(driver.job(job).started_name, "rigid");
}

}  // namespace
}  // namespace elastic::rm
