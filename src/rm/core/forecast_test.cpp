/* The expected start of a waiting job. */

#include "core/forecast.h"

#include "core/core_driver.h"

namespace elastic::rm {
namespace {

TEST(ForecastTest, a_job_starts_when_enough_has_ended)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 2);
    JobId one = driver.submit(rigid(2, 10000)), two = driver.submit(rigid(2, 30000));
    driver.run(one);
    driver.run(two);
    int64_t now_ms = driver.now_ms;
    JobId small = driver.submit(rigid(1, 5000)), large = driver.submit(rigid(4)),
          last = driver.submit(rigid(1));
    Forecast first = forecast(driver.core.state(), small);
    EXPECT_EQ(first.start_ms, now_ms + 10000);
    EXPECT_EQ(first.waits_for, one);
    Forecast second = forecast(driver.core.state(), large);
    EXPECT_EQ(second.start_ms, now_ms + 30000);
    EXPECT_EQ(second.waits_for, two);
    EXPECT_EQ(forecast(driver.core.state(), last).start_ms, NEVER)
        << "job " << large << " has no time limit";
    EXPECT_EQ(forecast(driver.core.state(), one).start_ms, NEVER) << "it runs";
    EXPECT_EQ(forecast(driver.core.state(), 99).start_ms, NEVER);
}

TEST(ForecastTest, of_a_job_that_is_not_submitted)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 2);
    JobId one = driver.submit(rigid(2, 10000)), two = driver.submit(rigid(2, 30000));
    driver.run(one);
    driver.run(two);
    driver.submit(rigid(4, 5000));
    JobSpec spec = rigid(1, 1000);
    Json before = driver.core.snapshot();
    const State &state = driver.core.state();
    EXPECT_EQ(forecast_of_new(state, spec).start_ms, driver.now_ms + 35000);
    spec.priority = 1000;
    Forecast first = forecast_of_new(state, spec);
    EXPECT_EQ(first.start_ms, driver.now_ms + 10000) << "it would be the first of the queue";
    EXPECT_EQ(first.waits_for, one);
    spec.begin_ms = driver.now_ms + 20000;
    EXPECT_EQ(forecast_of_new(state, spec).start_ms, driver.now_ms + 20000);
    spec.held = true;
    EXPECT_EQ(forecast_of_new(state, spec).start_ms, NEVER);
    EXPECT_EQ(driver.core.snapshot(), before);
    AnswerCode code;
    EXPECT_EQ(driver.core.refusal(rigid(4), code), "");
    EXPECT_NE(driver.core.refusal(rigid(5), code), "");
    EXPECT_EQ(code, AnswerCode::CAPACITY);
}

TEST(ForecastTest, a_job_waits_for_one_that_waits_itself)
{
    CoreDriver driver(PolicyKind::EASY, 1, 2);
    JobId one = driver.submit(rigid(2, 10000));
    driver.run(one);
    JobId two = driver.submit(rigid(2, 20000)), three = driver.submit(rigid(2, 1000));
    Forecast expected = forecast(driver.core.state(), three);
    EXPECT_EQ(expected.start_ms, driver.now_ms + 30000);
    EXPECT_EQ(expected.waits_for, two);
}

/* Equal to the reservation: the cores that malleable jobs can release are available at any time
 * (SPEC-performance Q7, X3). */
TEST(ForecastTest, malleable_jobs_give_what_they_can)
{
    for (PolicyKind policy : {PolicyKind::FILL, PolicyKind::MEASURED}) {
        CoreDriver driver(policy, 1, 8);
        JobId fixed = driver.submit(rigid(4, 10000));
        driver.run(fixed);
        JobId grown = driver.submit(malleable(1, 4, 50000));
        driver.run(grown);
        ASSERT_EQ(driver.job(grown).size(), 4);
        JobId waits = driver.submit(rigid(7, 5000)), later = driver.submit(rigid(8, 5000));
        Forecast first = forecast(driver.core.state(), waits);
        EXPECT_EQ(first.start_ms, driver.now_ms + 10000);
        EXPECT_EQ(first.waits_for, fixed);
        Forecast second = forecast(driver.core.state(), later);
        EXPECT_EQ(second.start_ms, driver.now_ms + 50000);
        EXPECT_EQ(second.waits_for, grown);
        driver.wait(10000);
        driver.end(fixed);
        driver.commit(grown);
        EXPECT_EQ(driver.job(waits).state, JobState::STARTING) << "the forecast was right";
    }
}

/* A job that the machine cannot run now delays no other. */
TEST(ForecastTest, a_job_that_cannot_run_is_not_waited_for)
{
    CoreDriver driver(PolicyKind::FCFS, 2, 2);
    JobId one = driver.submit(rigid(2, 10000));
    driver.run(one);
    driver.send(Drain{"d", "n1", "test"});
    JobId large = driver.submit(rigid(4)), small = driver.submit(rigid(2));
    EXPECT_EQ(forecast(driver.core.state(), large).start_ms, NEVER);
    EXPECT_EQ(forecast(driver.core.state(), small).start_ms, driver.now_ms + 10000);
}

TEST(ForecastTest, a_long_queue_is_not_examined_whole)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 1);
    for (int i = 0; i < 150; i++)
        driver.submit(rigid(1, 1000));
    EXPECT_NE(forecast(driver.core.state(), 100).start_ms, NEVER);
    EXPECT_EQ(forecast(driver.core.state(), 150).start_ms, NEVER);
}

}  // namespace
}  // namespace elastic::rm
