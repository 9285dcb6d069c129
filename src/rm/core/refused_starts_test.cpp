/* Starts that a back end refuses: pauses, and smaller sizes. */

#include "core/core_driver.h"
#include "core/record.h"

namespace elastic::rm {
namespace {

class RefusedStartsTest : public testing::Test {
  protected:
    static Config config()
    {
        Config config = CoreDriver::config_of(PolicyKind::FILL);
        config.asynchronous_nodes = true;
        config.whole_nodes = true;
        return config;
    }
    RefusedStartsTest() : driver(config())
    {
        for (const char *node : {"n0", "n1", "n2", "n3"})
            driver.send(NodeUp{node, 4});
    }
    void refuse(JobId id, const std::string &reason, int nodes_max = 0, bool busy = false)
    {
        ASSERT_TRUE(driver.job(id).acquiring);
        uint32_t step = driver.job(id).step;
        NodesRefused refused{id, step, 0, reason, false, busy, nodes_max, per_job};
        driver.send(refused);
        driver.send(NodesReleased{id, step, 0, true});
    }
    void acquire(JobId id)
    {
        driver.send(NodesAcquired{id, driver.job(id).step, 0, driver.job(id).blocks});
        driver.run(id);
    }
    int64_t pause_ms(JobId id) const
    {
        return std::max<int64_t>(driver.job(id).offer_after_ms - driver.core.state().now_ms, 0);
    }
    /* After this, the next refusal is followed by a pause of 40 s. */
    void refuse_three_times(JobId id)
    {
        for (int i = 0; i < 3; i++) {
            refuse(id, "a limit of jobs");
            driver.wait(pause_ms(id));
        }
    }
    int64_t first_ms() const { return driver.core.state().config.start_pause_ms; }

    CoreDriver driver;
    bool per_job = false;
};

TEST_F(RefusedStartsTest, the_pauses_double_up_to_some_minutes)
{
    JobId id = driver.submit(rigid(4));
    for (int64_t wanted_ms : {5000, 10000, 20000, 40000, 80000, 160000, 300000, 300000}) {
        refuse(id, "a limit of jobs");
        EXPECT_EQ(pause_ms(id), wanted_ms);
        EXPECT_EQ(driver.job(id).reason, "a limit of jobs");
        driver.wait(pause_ms(id) - 1);
        EXPECT_EQ(driver.job(id).state, JobState::PENDING);
        driver.wait(1);
    }
    acquire(id);
    EXPECT_EQ(driver.job(id).start_refusals, 0);
}

TEST_F(RefusedStartsTest, another_reason_begins_with_a_short_pause)
{
    JobId id = driver.submit(rigid(4));
    refuse_three_times(id);
    refuse(id, "a limit of nodes");
    EXPECT_EQ(pause_ms(id), first_ms());
    driver.wait(pause_ms(id));
    refuse(id, "a limit of nodes");
    EXPECT_EQ(pause_ms(id), 2 * first_ms());
}

TEST_F(RefusedStartsTest, nodes_in_use_may_soon_be_free)
{
    JobId id = driver.submit(rigid(4));
    for (int i = 0; i < 4; i++) {
        refuse(id, "the nodes are in use", 0, true);
        EXPECT_EQ(pause_ms(id), first_ms());
        driver.wait(pause_ms(id));
    }
}

TEST_F(RefusedStartsTest, a_change_of_the_job_ends_the_pause)
{
    JobId id = driver.submit(rigid(4));
    refuse_three_times(id);
    refuse(id, "a limit of jobs");
    Update update;
    update.request = "u";
    update.job = id;
    update.time_limit_ms = 60000;
    driver.send(update);
    EXPECT_TRUE(driver.job(id).acquiring);
    refuse(id, "a limit of jobs");
    EXPECT_EQ(pause_ms(id), first_ms());
}

TEST_F(RefusedStartsTest, a_configuration_ends_the_pause_also_an_equal_one)
{
    JobId id = driver.submit(rigid(4));
    refuse_three_times(id);
    refuse(id, "a limit of jobs");
    driver.send(Configure{config()});
    EXPECT_TRUE(driver.job(id).acquiring);
    refuse(id, "a limit of jobs");
    EXPECT_EQ(pause_ms(id), first_ms());
}

TEST_F(RefusedStartsTest, the_end_of_a_job_of_the_same_user_shortens_the_pause)
{
    JobSpec of_other = rigid(4);
    of_other.uid = 7;
    JobId runs = driver.submit(rigid(4)), other = driver.submit(of_other);
    acquire(runs);
    acquire(other);
    JobId id = driver.submit(rigid(4));
    refuse_three_times(id);
    refuse(id, "a limit of jobs");
    driver.end(other);
    driver.send(NodesReleased{other, 1, 0, true});
    EXPECT_EQ(pause_ms(id), 8 * first_ms());
    driver.end(runs);
    driver.send(NodesReleased{runs, 1, 0, true});
    EXPECT_EQ(pause_ms(id), first_ms());
    driver.wait(pause_ms(id));
    refuse(id, "a limit of jobs");
    EXPECT_EQ(pause_ms(id), 16 * first_ms());
}

TEST_F(RefusedStartsTest, a_start_that_is_too_large_is_repeated_at_once_with_fewer_nodes)
{
    JobId id = driver.submit(malleable(2, 16));
    ASSERT_EQ(driver.job(id).size(), 16);
    refuse(id, "a limit of nodes", 2);
    EXPECT_TRUE(driver.job(id).acquiring);
    EXPECT_EQ(driver.job(id).size(), 8);
    refuse(id, "a limit of nodes", 1);
    EXPECT_EQ(driver.job(id).size(), 4);
    acquire(id);
    EXPECT_EQ(driver.job(id).start_at_most, 0);
    EXPECT_EQ(size_at_most(driver.job(id).spec, 16), 16);
    driver.wait(driver.core.state().config.offer_pause_ms);
    ASSERT_TRUE(driver.job(id).adaptation) << "others may have released what the limit counts";
}

TEST_F(RefusedStartsTest, a_limit_of_each_job_holds_while_it_runs)
{
    per_job = true;
    JobId id = driver.submit(malleable(2, 16));
    refuse(id, "a limit of one job", 1);
    EXPECT_EQ(driver.job(id).size(), 4);
    acquire(id);
    driver.wait(10 * driver.core.state().config.offer_pause_ms);
    EXPECT_FALSE(driver.job(id).adaptation);
    Update update;
    update.request = "u";
    update.job = id;
    update.maximum = 12;
    driver.send(update);
    driver.wait(driver.core.state().config.offer_pause_ms);
    EXPECT_TRUE(driver.job(id).adaptation) << "its user has changed it";
}

/* With the smallest size refused as well, it pauses; then all sizes are possible again. */
TEST_F(RefusedStartsTest, a_start_is_never_below_the_minimum)
{
    JobId id = driver.submit(malleable(7, 16));
    for (int64_t pauses : {1, 2, 4}) {
        EXPECT_EQ(driver.job(id).size(), 16);
        refuse(id, "a limit of nodes", 1);
        EXPECT_EQ(driver.job(id).size(), 7);
        refuse(id, "a limit of nodes");
        EXPECT_EQ(driver.job(id).state, JobState::PENDING);
        EXPECT_EQ(pause_ms(id), pauses * first_ms());
        driver.wait(pause_ms(id));
    }
}

TEST_F(RefusedStartsTest, a_rigid_start_that_is_too_large_pauses)
{
    JobId id = driver.submit(rigid(16));
    refuse(id, "a limit of nodes", 2);
    EXPECT_EQ(driver.job(id).state, JobState::PENDING);
    EXPECT_EQ(pause_ms(id), first_ms());
}

TEST_F(RefusedStartsTest, a_change_of_the_job_permits_all_sizes_again)
{
    per_job = true;
    JobId id = driver.submit(malleable(2, 16));
    refuse(id, "a limit of one job", 1);
    driver.send(NodeDown{"n3", "in use"});
    refuse(id, "a limit of jobs");
    EXPECT_EQ(driver.job(id).start_at_most, 4);
    Update update;
    update.request = "u";
    update.job = id;
    update.minimum = 6;
    driver.send(update);
    EXPECT_EQ(driver.recorded(record::UPDATED)->data.dump().find("program_sizes"),
              std::string::npos);
    EXPECT_EQ(driver.job(id).size(), 12);
}

TEST_F(RefusedStartsTest, a_restart_keeps_pauses_and_sizes)
{
    per_job = true;
    JobId id = driver.submit(malleable(2, 16));
    refuse(id, "a limit of one job", 2);
    refuse(id, "a limit of jobs");
    auto other = Core::restore(driver.core.snapshot());
    ASSERT_TRUE(other.ok()) << other.error();
    const Job &job = other.value().state().jobs.at(id);
    EXPECT_EQ(job.start_refused, "a limit of jobs");
    EXPECT_EQ(job.start_at_most, 8);
    EXPECT_EQ(job.grow_at_most, 8);
    EXPECT_EQ(size_at_most(job.spec, 16), 8);
    EXPECT_EQ(job.offer_after_ms, driver.job(id).offer_after_ms);
}

}  // namespace
}  // namespace elastic::rm
