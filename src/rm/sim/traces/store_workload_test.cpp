/* Jobs of an elasticd as a workload: their requests, their submission times, and their amounts of
 * work. */

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "sim/traces/trace_replay.h"
#include "store/ended_jobs.h"
#include "store/store.h"

namespace elastic::rm {
namespace {

constexpr int64_t BEGIN_MS = 1'700'000'000'000;

/* Ran at `size` from `start_s` to `end_s`, counted from the first submission. */
Job ran(JobId id, int64_t submit_s, int64_t start_s, int64_t end_s, int size)
{
    Job job;
    job.id = id;
    job.state = JobState::DONE;
    job.step = 1;
    job.spec.minimum = job.spec.maximum = job.first_size = size;
    job.submitted_ms = BEGIN_MS + submit_s * 1000;
    job.started_ms = job.sized_ms = BEGIN_MS + start_s * 1000;
    job.ended_ms = BEGIN_MS + end_s * 1000;
    job.blocks = {{"n0", size}};
    return job;
}

WorkloadOptions machine(int64_t nodes, int cores)
{
    WorkloadOptions options;
    options.machine = {{{nodes, cores}}};
    return options;
}

/* From 2 to 4 processes after the first 10 s of 40. */
Job grown(JobId id)
{
    Job job = ran(id, 5, 10, 50, 4);
    job.spec.elasticity = Elasticity::MALLEABLE;
    job.spec.minimum = 2;
    job.spec.maximum = 8;
    job.first_size = 2;
    job.process_ms = 2 * 10'000;
    job.sized_ms = BEGIN_MS + 20'000;
    return job;
}

TEST(StoreWorkloadTest, JobsKeepWhatTheyWereSubmittedWith)
{
    Job waiting = ran(1, 0, 0, 0, 1);
    waiting.step = 0;
    waiting.started_ms = waiting.sized_ms = NEVER;
    waiting.state = JobState::CANCELLED;
    Job dependent = ran(4, 2, 30, 60, 3);
    dependent.eligible_ms = BEGIN_MS + 20'000;
    dependent.spec.dependencies = {{DependencyKind::AFTER, 2}};
    dependent.spec.array = "1-9";
    dependent.spec.cores_per_process = 2;
    std::vector<Job> ended = {waiting, ran(2, 1, 1, 4, 2), grown(3), dependent,
                              ran(5, 6, 7, 8, 99)};
    Workload workload = make_workload(ended, machine(2, 8));
    EXPECT_EQ(workload.never_ran, 1);
    EXPECT_EQ(workload.too_large, 1);
    ASSERT_EQ(workload.jobs.size(), 3u);
    const WorkloadJob &first = workload.jobs[0], &second = workload.jobs[1],
                      &third = workload.jobs[2];
    EXPECT_EQ(first.submit_ms, 0);
    EXPECT_EQ(first.run_ms, 3000);
    EXPECT_DOUBLE_EQ(first.work, 6000);
    EXPECT_EQ(second.submit_ms, 4000);
    EXPECT_EQ(second.spec.maximum, 8);
    EXPECT_EQ(second.spec.elasticity, Elasticity::MALLEABLE);
    /* 140 s of one process in 40 s: 3.5 on average. */
    EXPECT_DOUBLE_EQ(second.work, 140'000);
    EXPECT_EQ(second.size, 4);
    EXPECT_EQ(third.submit_ms, 19'000) << "since when it waited for its turn alone";
    EXPECT_TRUE(third.spec.dependencies.empty());
    EXPECT_EQ(third.spec.array, "") << "one task of an array is one job";
    EXPECT_EQ(third.spec.cores_per_process, 2);
}

TEST(StoreWorkloadTest, TheSizeIsOneThatTheJobCanHave)
{
    Job job = grown(1);
    job.spec.size_rule = SizeRule::POWER_OF_TWO;
    EXPECT_EQ(make_workload(std::vector{job}, machine(1, 8)).jobs.at(0).size, 4);
    job.spec.maximum = 2;       /* its user has reduced it since */
    EXPECT_EQ(make_workload(std::vector{job}, machine(1, 8)).jobs.at(0).size, 2);
}

/* Unchanged, if nothing is different: alone on its machine, with an equal model. */
TEST(StoreWorkloadTest, RigidJobsRunAsTheyDid)
{
    std::vector<Job> ended = {ran(1, 0, 0, 30, 8), ran(2, 1, 30, 50, 8), ran(3, 2, 50, 55, 4)};
    ReplayOptions options;
    options.machine = {{{1, 8}}};
    options.cost.cores_per_node = 8;
    options.config.policy = PolicyKind::FCFS;
    WorkloadOptions slot_requests = machine(1, 8);
    Outcome outcome = replay(make_workload(ended, slot_requests), options);
    ASSERT_EQ(outcome.jobs.size(), 3u);
    for (size_t i = 0; i < 3; i++) {
        EXPECT_EQ(outcome.jobs[i].start_ms, ended[i].started_ms - BEGIN_MS);
        EXPECT_EQ(outcome.jobs[i].end_ms, ended[i].ended_ms - BEGIN_MS);
    }
    slot_requests.malleable = 1;       /* the possible result */
    options.config.policy = PolicyKind::FILL;
    Workload elastic = make_workload(ended, slot_requests);
    EXPECT_EQ(elastic.jobs[2].spec.minimum, 1);
    EXPECT_EQ(elastic.jobs[2].spec.maximum, 8);
    EXPECT_LT(replay(elastic, options).jobs[2].start_ms, 50'000);
}

class EndedJobsTest : public testing::Test {
  protected:
    void SetUp() override
    {
        char name[] = "/tmp/ended-jobs-test-XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        folder_ = name;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string folder_;
};

TEST_F(EndedJobsTest, ReadWhileAnElasticdUsesTheStore)
{
    auto store = Store::open(folder_);
    ASSERT_TRUE(store) << store.error();
    Batch batch;
    for (const Job &job : {ran(1, 0, 0, 5, 2), grown(2)})
        batch.ended.push_back({job.id, 0, job.submitted_ms, job.ended_ms, write(job)});
    batch.ended.push_back({3, 0, 0, 0, {{"id", "of another version"}}});
    ASSERT_EQ(store.value().write(batch), "");
    auto ended = read_ended_jobs(folder_);
    ASSERT_TRUE(ended) << ended.error();
    ASSERT_EQ(ended.value().jobs.size(), 2u);
    EXPECT_EQ(ended.value().unreadable, 1);
    EXPECT_EQ(write(ended.value().jobs[1]), write(grown(2)));
    ASSERT_EQ(store.value().write(batch), "") << "the reader has left nothing";
}

TEST_F(EndedJobsTest, NothingIsMadeAndWhatIsNoStoreIsRefused)
{
    auto missing = read_ended_jobs(folder_);
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().find(folder_), std::string::npos) << missing.error();
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
    FILE *other = fopen((folder_ + "/store.sqlite").c_str(), "w");
    ASSERT_NE(other, nullptr);
    fputs("not a database, but long enough to be read as one: ...............", other);
    fclose(other);
    EXPECT_FALSE(read_ended_jobs(folder_));
}

}  // namespace
}  // namespace elastic::rm
