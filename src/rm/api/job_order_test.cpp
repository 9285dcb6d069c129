#include "api/job_order.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "core/core_driver.h"

namespace elastic::rm {
namespace {

/* Jobs of all kinds, including those of a user at a limit. */
class JobOrderTest : public testing::Test {
  protected:
    JobOrderTest() : driver_(limited())
    {
        for (int i = 0; i < 3; i++)
            driver_.send(NodeUp{"n" + std::to_string(i), 4});
        std::mt19937 random(1);
        for (int i = 0; i < 60; i++) {
            JobSpec spec = rigid(1 + static_cast<int>(random() % 4));
            spec.uid = random() % 3;
            spec.priority = static_cast<int>(random() % 10);
            spec.held = random() % 5 == 0;
            JobId id = driver_.submit(spec);
            if (driver_.job(id).state == JobState::STARTING)
                driver_.run(id);
            driver_.wait(1000);
        }
        for (JobId id : {1, 30, 31})
            driver_.send(Cancel{{"c" + std::to_string(id), id}});
        const Jobs &all = driver_.core.state().jobs;
        for (const auto &[id, job] : std::map<JobId, Job>(all.begin(), all.end())) {
            if (job.state == JobState::COMPLETING)
                driver_.end(id);
            if (is_end(driver_.job(id).state))
                ended_.push_back(driver_.job(id));
        }
        EXPECT_FALSE(driver_.core.state().full_users.empty()) << "nobody is at a limit";
    }
    static Config limited()
    {
        Config config = CoreDriver::config_of(PolicyKind::EASY);
        config.user_running_max = 1;
        return config;
    }
    const State &state() const { return driver_.core.state(); }
    std::vector<JobId> all(JobOrder order, const JobRange &range = {}) const
    {
        std::vector<JobId> ids;
        each_job(state(), ended_, order, range, [&](const Job &job) {
            ids.push_back(job.id);
            return true;
        });
        return ids;
    }
    /* Sorts all jobs at once. */
    std::vector<JobId> sorted() const
    {
        std::vector<std::tuple<int, int64_t, JobId>> keys;
        for (const auto &[id, job] : state().jobs) {
            int group = is_allocated(job.state) ? 0
                        : is_queued(job)        ? 1
                        : is_end(job.state)     ? 3
                                                : 2;
            keys.emplace_back(group, group == 1 ? state().queue_key(job).key : 0, id);
        }
        std::sort(keys.begin(), keys.end());
        std::vector<JobId> ids;
        for (const auto &key : keys)
            ids.push_back(std::get<JobId>(key));
        return ids;
    }

    CoreDriver driver_;
    std::vector<Job> ended_;
};

TEST_F(JobOrderTest, the_queue_is_in_its_order)
{
    EXPECT_EQ(all(JobOrder::QUEUE), sorted());
    EXPECT_EQ(all(JobOrder::QUEUE).size(), 60u);
}

TEST_F(JobOrderTest, numbers_rise_or_fall_within_the_bounds)
{
    std::vector<JobId> ids(60);
    std::iota(ids.begin(), ids.end(), 1);
    EXPECT_EQ(all(JobOrder::ID), ids);
    std::reverse(ids.begin(), ids.end());
    EXPECT_EQ(all(JobOrder::NEWEST), ids);
    ended_.clear();
    auto some = all(JobOrder::NEWEST, {10, 15, {}});
    EXPECT_EQ(some, (std::vector<JobId>{14, 13, 12, 11}));
    EXPECT_TRUE(all(JobOrder::ID, {15, 10, {}}).empty());
}

TEST_F(JobOrderTest, some_that_are_named_come_once)
{
    EXPECT_EQ(all(JobOrder::ID, {0, 0, {40, 2, 40, 999}}), (std::vector<JobId>{1, 2, 30, 31, 40}))
        << "those that have ended were requested by the caller";
    ended_.clear();
    EXPECT_EQ(all(JobOrder::NEWEST, {0, 0, {40, 2, 40, 30, 999}}), (std::vector<JobId>{40, 2}));
}

TEST_F(JobOrderTest, examination_ends_at_the_limit)
{
    for (JobOrder order : {JobOrder::ID, JobOrder::NEWEST, JobOrder::QUEUE}) {
        std::vector<JobId> first = all(order), seen;
        each_job(state(), ended_, order, {}, [&](const Job &job) {
            seen.push_back(job.id);
            return seen.size() < 7;
        });
        first.resize(7);
        EXPECT_EQ(seen, first);
    }
}

}  // namespace
}  // namespace elastic::rm
