/* Limits of one user, and fair share. */

#include "core/core_driver.h"

namespace elastic::rm {
namespace {

JobSpec by(uint32_t uid, JobSpec spec)
{
    spec.uid = uid;
    return spec;
}

Config limited(PolicyKind policy, int running, int64_t cores)
{
    Config config = CoreDriver::config_of(policy);
    config.user_running_max = running;
    config.user_cores_max = cores;
    return config;
}

void add_nodes(CoreDriver &driver, int nodes, int cores)
{
    for (int i = 0; i < nodes; i++)
        driver.send(NodeUp{"n" + std::to_string(i), cores});
}

class UsersTest : public testing::TestWithParam<PolicyKind> {};
INSTANTIATE_TEST_SUITE_P(Policies, UsersTest,
                         testing::Values(PolicyKind::FCFS, PolicyKind::EASY, PolicyKind::FILL));

TEST_P(UsersTest, a_user_is_limited_and_jobs_of_others_are_backfilled)
{
    CoreDriver driver(limited(GetParam(), 2, 0));
    add_nodes(driver, 2, 4);
    JobId one = driver.submit(by(1, rigid(1))), two = driver.submit(by(1, rigid(1)));
    JobId three = driver.submit(by(1, rigid(1))), four = driver.submit(by(1, rigid(1)));
    JobId other = driver.submit(by(2, rigid(1)));
    EXPECT_EQ(driver.job(two).state, JobState::STARTING);
    EXPECT_EQ(driver.job(three).state, JobState::PENDING);
    EXPECT_EQ(driver.job(other).state, JobState::STARTING);
    EXPECT_EQ(why_waiting(driver.core.state(), driver.job(three)),
              "the limit of user 1: 2 of 2 running jobs");
    auto restored = Core::restore(driver.core.snapshot());
    ASSERT_TRUE(restored) << restored.error();
    EXPECT_EQ(restored.value().snapshot(), driver.core.snapshot());
    driver.core = std::move(restored.value());
    driver.end(one);
    EXPECT_EQ(driver.job(three).state, JobState::STARTING);
    EXPECT_EQ(driver.job(four).state, JobState::PENDING);
}

TEST_P(UsersTest, a_user_has_so_many_cores)
{
    CoreDriver driver(limited(GetParam(), 0, 4));
    add_nodes(driver, 2, 4);
    JobId first = driver.submit(by(1, rigid(3))), second = driver.submit(by(1, rigid(2)));
    JobId third = driver.submit(by(1, rigid(1))), other = driver.submit(by(2, rigid(4)));
    EXPECT_EQ(driver.job(second).state, JobState::PENDING);
    EXPECT_EQ(driver.job(third).state, JobState::PENDING) << "it does not overtake its user's own";
    EXPECT_EQ(driver.job(other).state, JobState::STARTING);
    driver.end(first);
    EXPECT_EQ(driver.job(second).state, JobState::STARTING);
    EXPECT_EQ(driver.job(third).state, JobState::STARTING);
    driver.send(Submit{"large", by(1, rigid(5))});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::CAPACITY);
}

TEST(UsersTest, elastic_jobs_grow_up_to_the_limit)
{
    CoreDriver driver(limited(PolicyKind::FILL, 0, 5));
    add_nodes(driver, 2, 4);
    JobId one = driver.submit(by(1, malleable(1, 8)));
    driver.run(one);
    EXPECT_EQ(driver.job(one).size(), 5);
    driver.send(Resize{"r", one, 6});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::CAPACITY);
    JobId other = driver.submit(by(2, malleable(1, 8)));
    driver.run(other);
    EXPECT_EQ(driver.job(other).size(), 3) << "what is left is another's";
    for (int i = 0; i < 20; i++)
        driver.wait(driver.core.state().config.offer_pause_ms);
    EXPECT_EQ(driver.job(one).size(), 5);
    driver.send(Configure{limited(PolicyKind::FILL, 0, 0)});
    driver.end(other);
    driver.wait(driver.core.state().config.refusal_pause_ms);
    ASSERT_TRUE(driver.job(one).adaptation);
    EXPECT_EQ(driver.job(one).adaptation->size, 8);
}

TEST(UsersTest, elastic_jobs_leave_the_limit_to_a_job_that_waits_for_it)
{
    CoreDriver driver(limited(PolicyKind::FILL, 0, 6));
    add_nodes(driver, 4, 4);
    JobId two = driver.submit(by(1, rigid(2))), one = driver.submit(by(1, rigid(1)));
    JobId elastic = driver.submit(by(1, malleable(1, 8)));
    driver.run(elastic);
    EXPECT_EQ(driver.job(elastic).size(), 3);
    JobId waits = driver.submit(by(1, rigid(3)));
    driver.end(one);
    driver.wait(HOUR);
    EXPECT_EQ(driver.job(elastic).state, JobState::RUNNING) << "it takes no core of the limit";
    driver.send(Resize{"r", elastic, 4});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::CAPACITY);
    driver.end(two);
    EXPECT_EQ(driver.job(waits).state, JobState::STARTING);
    driver.end(waits);
    driver.wait(HOUR);
    ASSERT_TRUE(driver.job(elastic).adaptation) << "nobody waits now";
    EXPECT_EQ(driver.job(elastic).adaptation->size, 6);
}

/* A job that waits for the end of another one, and not for cores, loses no cores. */
TEST(UsersTest, elastic_jobs_grow_while_a_job_waits_for_another_limit)
{
    CoreDriver driver(limited(PolicyKind::FILL, 1, 6));
    add_nodes(driver, 4, 4);
    JobId elastic = driver.submit(by(1, malleable(1, 8)));
    driver.run(elastic);
    driver.send(Resize{"r", elastic, 2});
    driver.commit(elastic);
    JobId waits = driver.submit(by(1, rigid(1)));
    EXPECT_EQ(driver.job(waits).state, JobState::PENDING);
    driver.send(Resize{"r2", elastic, 6});
    EXPECT_EQ(driver.last<Answer>()->code, AnswerCode::OK);
}

TEST(UsersTest, a_cancelled_or_smaller_job_lets_the_next_in)
{
    CoreDriver driver(limited(PolicyKind::FCFS, 0, 4));
    add_nodes(driver, 2, 4);
    driver.submit(by(1, rigid(2)));
    JobId large = driver.submit(by(1, rigid(3))), larger = driver.submit(by(1, rigid(4)));
    JobId small = driver.submit(by(1, rigid(1)));
    EXPECT_EQ(driver.job(small).state, JobState::PENDING);
    driver.send(Cancel{{"c", large}});
    EXPECT_EQ(driver.job(small).state, JobState::PENDING);
    Update smaller;
    smaller.request = "u";
    smaller.job = larger;
    smaller.minimum = smaller.maximum = 1;
    driver.send(smaller);
    EXPECT_EQ(driver.job(larger).state, JobState::STARTING);
    EXPECT_EQ(driver.job(small).state, JobState::STARTING);
}

/* ---- fair share ------------------------------------------------------------------------------ */

Config shared(int64_t fair_share_ms)
{
    Config config = CoreDriver::config_of(PolicyKind::FCFS);
    config.fair_share_ms = fair_share_ms;
    config.fair_share_half_life_ms = 1024000;
    return config;
}

TEST(FairShareTest, who_has_used_more_stands_back)
{
    CoreDriver driver(shared(600000));
    add_nodes(driver, 1, 4);
    JobId first = driver.submit(by(1, rigid(4)));
    driver.run(first);
    JobId again = driver.submit(by(1, rigid(4)));
    driver.wait(100000);
    JobId other = driver.submit(by(2, rigid(4)));
    EXPECT_EQ(driver.core.state().delay_of(1), 600000);
    EXPECT_EQ(driver.core.state().delay_of(2), 0);
    auto restored = Core::restore(driver.core.snapshot());
    ASSERT_TRUE(restored) << restored.error();
    EXPECT_EQ(restored.value().snapshot(), driver.core.snapshot());
    driver.end(first);
    EXPECT_EQ(driver.job(other).state, JobState::STARTING);
    EXPECT_EQ(driver.job(again).state, JobState::PENDING);
    driver.run(other);
    driver.wait(100000);
    EXPECT_NEAR(static_cast<double>(driver.core.state().delay_of(2)), 300000, 20000);
}

/* A user who has waited longer than the weight of the other's use is first. */
TEST(FairShareTest, everybody_becomes_first_in_the_end)
{
    CoreDriver driver(shared(60000));
    add_nodes(driver, 1, 4);
    JobId first = driver.submit(by(1, rigid(4)));
    driver.run(first);
    JobId again = driver.submit(by(1, rigid(4)));
    driver.wait(70000);
    JobId other = driver.submit(by(2, rigid(4)));
    driver.end(first);
    EXPECT_EQ(driver.job(again).state, JobState::STARTING);
    EXPECT_EQ(driver.job(other).state, JobState::PENDING);
}

TEST(FairShareTest, use_is_halved_in_a_half_life)
{
    CoreDriver driver(shared(60000));
    add_nodes(driver, 1, 4);
    JobId job = driver.submit(by(1, rigid(4)));
    driver.run(job);
    driver.wait(500000);
    driver.end(job);
    double used = static_cast<double>(driver.core.state().uses.at(1).core_ms);
    EXPECT_GT(used, 1500000);
    EXPECT_LE(used, 2000000);
    driver.wait(1024000);
    EXPECT_NEAR(static_cast<double>(driver.core.state().uses.at(1).core_ms), used / 2, used / 100);
    driver.wait(int64_t{86400} * 1000 * 366);
    EXPECT_LT(driver.core.state().uses.at(1).core_ms, 2000);
}

TEST(FairShareTest, it_is_off_by_default_and_can_be_turned_off)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 4);
    JobId job = driver.submit(by(1, rigid(4)));
    driver.run(job);
    driver.wait(1000000);
    EXPECT_TRUE(driver.core.state().uses.empty());
    driver.send(Configure{shared(60000)});
    driver.submit(by(1, rigid(4)));
    driver.wait(1000000);
    EXPECT_GT(driver.core.state().delay_of(1), 0);
    driver.send(Configure{CoreDriver::config_of(PolicyKind::FCFS)});
    EXPECT_EQ(driver.core.state().delay_of(1), 0);
}

}  // namespace
}  // namespace elastic::rm
