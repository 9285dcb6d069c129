/* Policies `fcfs` and `easy`: which jobs start, and which are backfilled. */

#include "core/policy/policy_fixture.h"

namespace elastic::rm {
namespace {

TEST(FcfsTest, the_first_that_does_not_fit_holds_up_the_others)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId runs = driver.submit(rigid(3, MINUTE)), big = driver.submit(rigid(4));
    JobId small = driver.submit(rigid(1, MINUTE));
    EXPECT_EQ(state_of(driver, small), JobState::PENDING);
    driver.end(runs);
    EXPECT_EQ(state_of(driver, big), JobState::STARTING);
    EXPECT_EQ(state_of(driver, small), JobState::PENDING);
}

TEST(FcfsTest, priority_goes_first_and_waiting_makes_up_for_it)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId runs = driver.submit(rigid(4)), first = driver.submit(rigid(4));
    driver.wait(MINUTE);
    JobSpec urgent = rigid(4);
    urgent.priority = 2;        /* two minutes' worth */
    JobId second = driver.submit(urgent);
    driver.wait(2 * MINUTE);
    JobId third = driver.submit(urgent);
    driver.end(runs);
    EXPECT_EQ(state_of(driver, second), JobState::STARTING);
    driver.end(second);
    EXPECT_EQ(state_of(driver, first), JobState::STARTING);
    EXPECT_EQ(state_of(driver, third), JobState::PENDING);
}

TEST(EasyTest, short_jobs_are_backfilled_and_long_ones_fit_beside)
{
    CoreDriver driver(PolicyKind::EASY, 2, 4);
    JobId runs = driver.submit(rigid(5, 10 * MINUTE));          /* 3 cores are free */
    driver.run(runs);
    JobId first = driver.submit(rigid(7, MINUTE));      /* in 10 minutes, besides 1 core */
    JobId too_long = driver.submit(rigid(2, 11 * MINUTE));
    JobId short_one = driver.submit(rigid(1, 9 * MINUTE));
    JobId beside = driver.submit(rigid(1));
    JobId none_left = driver.submit(rigid(1));
    EXPECT_EQ(state_of(driver, too_long), JobState::PENDING);
    EXPECT_EQ(state_of(driver, short_one), JobState::STARTING);
    EXPECT_EQ(state_of(driver, beside), JobState::STARTING);
    EXPECT_EQ(state_of(driver, none_left), JobState::PENDING);
    driver.end(short_one);
    driver.end(runs);
    EXPECT_EQ(state_of(driver, first), JobState::STARTING);
}

TEST(EasyTest, without_limits_only_jobs_with_a_limit_are_backfilled)
{
    CoreDriver driver(PolicyKind::EASY, 1, 4);
    JobId runs = driver.submit(rigid(2)), first = driver.submit(rigid(4));
    JobId endless = driver.submit(rigid(1)), limited = driver.submit(rigid(1, 100 * MINUTE));
    EXPECT_EQ(state_of(driver, endless), JobState::PENDING);
    EXPECT_EQ(state_of(driver, limited), JobState::STARTING);
    driver.end(runs);
    JobId later = driver.submit(rigid(3, 200 * MINUTE));
    EXPECT_EQ(state_of(driver, later), JobState::PENDING);      /* would delay the first */
    driver.end(limited);
    EXPECT_EQ(state_of(driver, first), JobState::STARTING);
}

TEST(EasyTest, who_cannot_run_at_present_holds_up_nobody)
{
    CoreDriver driver(PolicyKind::EASY, 2, 4);
    driver.send(Drain{"d", "n1", ""});
    JobId big = driver.submit(rigid(8)), small = driver.submit(rigid(4));
    EXPECT_EQ(state_of(driver, big), JobState::PENDING);
    EXPECT_EQ(state_of(driver, small), JobState::STARTING);
}

}  // namespace
}  // namespace elastic::rm
