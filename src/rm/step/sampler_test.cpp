/* Sampler: the steps that are queried, how often, and the data that the core gets.  The tests
 * control the time, so nothing waits. */

#include "step/sampler.h"

#include <gtest/gtest.h>

namespace elastic::rm {
namespace {

constexpr int64_t INTERVAL_MS = 40, PATIENCE_MS = 60000;

/* Stands still until the test advances it. */
struct Clock {
    int64_t now_ms = 1000000;
    Loop::TimerId next_id = 1;
    std::map<std::pair<int64_t, Loop::TimerId>, Loop::Task> timers;

    /* Advances to the next timer, not beyond `until_ms`.  False: there is none until then. */
    bool step(int64_t until_ms)
    {
        if (timers.empty() || timers.begin()->first.first > until_ms) {
            now_ms = until_ms;
            return false;
        }
        auto [at, task] = *timers.begin();
        timers.erase(timers.begin());
        now_ms = std::max(now_ms, at.first);
        task();
        return true;
    }
};

class TestTime : public Sampler::Time {
  public:
    explicit TestTime(Clock &clock) : clock_(clock) {}
    int64_t now_ms() const override { return clock_.now_ms; }
    Loop::TimerId after(int64_t delay_ms, Loop::Task task) override
    {
        Loop::TimerId id = clock_.next_id++;
        clock_.timers[{clock_.now_ms + std::max<int64_t>(delay_ms, 0), id}] = std::move(task);
        return id;
    }
    void cancel(Loop::TimerId id) override
    {
        std::erase_if(clock_.timers, [id](const auto &timer) { return timer.first.second == id; });
    }

  private:
    Clock &clock_;
};

class SamplerTest : public testing::Test {
  protected:
    void make(int64_t interval_ms = INTERVAL_MS)
    {
        sampler = std::make_unique<Sampler>(std::make_unique<TestTime>(clock), interval_ms,
                                            [this](JobId id, uint32_t, int64_t write_ms) {
                                                queries[id].push_back(clock.now_ms);
                                                last_write_ms = write_ms;
                                                return can_query;
                                            });
    }
    Job &job(JobId id)
    {
        Job &one = jobs[id];
        one.id = id;
        one.step = 1;
        one.state = JobState::RUNNING;
        one.mode = StepMode::ADAPTIVE;
        return one;
    }
    void refresh(const Job &one) { sampler->update(one.id, &one); }
    bool run_until(const std::function<bool()> &condition)
    {
        int64_t until_ms = clock.now_ms + PATIENCE_MS;
        while (!condition())
            if (!clock.step(until_ms))
                return condition();
        return true;
    }
    void pass(int64_t ms)
    {
        int64_t until_ms = clock.now_ms + ms;
        while (clock.step(until_ms))
            continue;
    }
    size_t times(JobId id) { return queries[id].size(); }
    bool answer(JobId id, bool available = true, uint32_t step = 1)
    {
        PerformanceAnswer one;
        one.available = available;
        one.probes = 7;
        return sampler->take(id, step, one);
    }

    Clock clock;
    std::map<JobId, Job> jobs;
    std::map<JobId, std::vector<int64_t>> queries;
    bool can_query = true;
    int64_t last_write_ms = -1;
    std::unique_ptr<Sampler> sampler;
};

TEST_F(SamplerTest, J2_a_running_adaptive_step_is_queried_periodically)
{
    make();
    refresh(job(1));
    EXPECT_EQ(times(1), 0u) << "not at once: it has just begun";
    ASSERT_TRUE(run_until([&] { return times(1) >= 4; }));
    EXPECT_EQ(last_write_ms, Sampler::WRITE_MS);
    EXPECT_GE(queries[1][3] - queries[1][2], INTERVAL_MS) << "after the first two";
}

TEST_F(SamplerTest, others_are_not)
{
    make(2);
    job(1).mode = StepMode::RIGID;
    job(2).mode = StepMode::UNKNOWN;
    job(3).state = JobState::ADAPTING;
    job(4).broken = "test";
    job(5).state = JobState::STARTING;
    for (auto &[id, one] : jobs)
        refresh(one);
    sampler->update(6, nullptr);
    pass(50);
    for (JobId id = 1; id <= 6; id++)
        EXPECT_EQ(times(id), 0u) << id;
}

TEST_F(SamplerTest, J2_a_step_is_not_queried_during_an_adaptation)
{
    make();
    refresh(job(1));
    ASSERT_TRUE(run_until([&] { return times(1) > 0; }));
    jobs[1].state = JobState::ADAPTING;
    refresh(jobs[1]);
    size_t before = times(1);
    pass(3 * INTERVAL_MS);
    EXPECT_EQ(times(1), before);
    jobs[1].state = JobState::RUNNING;
    jobs[1].epoch = 1;
    refresh(jobs[1]);
    ASSERT_TRUE(run_until([&] { return times(1) > before; }));
}

TEST_F(SamplerTest, the_core_receives_due_samples_and_not_those_for_display)
{
    make();
    refresh(job(1));
    EXPECT_FALSE(answer(1)) << "no query is open";
    ASSERT_TRUE(run_until([&] { return times(1) == 1; }));
    EXPECT_TRUE(answer(1));
    EXPECT_FALSE(answer(1)) << "once";
    ASSERT_TRUE(run_until([&] { return times(1) == 2; }));
    EXPECT_FALSE(answer(1, false)) << "nothing is known";
    EXPECT_FALSE(answer(1, true, 2)) << "of another step";
    EXPECT_FALSE(answer(2)) << "of another job";
    EXPECT_EQ(sampler->counts().taken, 3u);
    EXPECT_EQ(sampler->counts().unavailable, 1u);
    ASSERT_TRUE(sampler->newest(1));
    EXPECT_FALSE(sampler->newest(1)->answer.available);
    sampler->update(1, nullptr);
    EXPECT_FALSE(sampler->newest(1)) << "nothing is stored of jobs that are over";
    EXPECT_FALSE(answer(1));
}

TEST_F(SamplerTest, display_queries_at_most_once_a_second)
{
    make(PATIENCE_MS);
    refresh(job(1));
    sampler->query_soon(2);
    for (int i = 0; i < 1000; i++)
        sampler->query_soon(1);
    EXPECT_LE(times(1), 2u);
    EXPECT_GE(times(1), 1u);
    EXPECT_FALSE(answer(1));
    EXPECT_TRUE(sampler->newest(1));
}

TEST_F(SamplerTest, a_query_that_cannot_be_sent_is_sent_later)
{
    can_query = false;
    make(2);
    refresh(job(1));
    pass(200);
    EXPECT_LE(times(1), 2u) << "not again and again";
    EXPECT_GE(times(1), 1u);
    can_query = true;
    size_t before = times(1);
    ASSERT_TRUE(run_until([&] { return times(1) > before; }));
}

TEST_F(SamplerTest, J2_B1_switched_off_steps_are_instructed_to_measure_nothing)
{
    make(0);
    refresh(job(1));
    ASSERT_TRUE(run_until([&] { return times(1) == 1; }));
    EXPECT_EQ(last_write_ms, 0);
    pass(50);
    EXPECT_FALSE(answer(1));
    EXPECT_FALSE(sampler->newest(1));
    sampler->query_soon(1);
    EXPECT_EQ(times(1), 1u);
    jobs[1].epoch = 1;          /* joining processes have not received it */
    refresh(jobs[1]);
    ASSERT_TRUE(run_until([&] { return times(1) == 2; }));
}

TEST_F(SamplerTest, many_steps_together_have_a_rate)
{
    make(2);
    for (JobId id = 1; id <= 80; id++)
        refresh(job(id));
    auto total = [&] {
        size_t sum = 0;
        for (const auto &[id, each] : queries)
            sum += each.size();
        return sum;
    };
    int64_t begin_ms = clock.now_ms;
    ASSERT_TRUE(run_until([&] { return total() >= 60; }));
    EXPECT_GE(clock.now_ms - begin_ms, 900) << "40 at once, then 20 in a second";
    EXPECT_LE(clock.now_ms - begin_ms, 1200);
    ASSERT_TRUE(run_until([&] { return queries.size() == 80; })) << "and each comes to its turn";
}

}  // namespace
}  // namespace elastic::rm
