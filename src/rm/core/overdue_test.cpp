/* Agreed changes of size whose programs do not reach a probe: no other job waits without end for
 * their cores. */

#include "core/core_driver.h"
#include "core/forecast.h"
#include "core/record.h"
#include "core/shortage.h"

namespace elastic::rm {
namespace {

/* On 12 cores: a job with 8 that is requested to release some, for one that waits for 4; 2 idle. */
struct OverdueTest : testing::Test {
    OverdueTest() : driver(PolicyKind::FILL, 3, 4)
    {
        silent = driver.submit(malleable(1, 8, 100000 * SECOND));
        driver.run(silent);
        ends = driver.submit(rigid(2, 10000 * SECOND));
        driver.run(ends);
        waits = driver.submit(rigid(4, 1000 * SECOND));
        driver.send(StepAccepted{silent, 1, 1, 77});
    }
    const State &state() const { return driver.core.state(); }
    const Config &config() const { return state().config; }
    /* It is requested to withdraw, but does not. */
    void be_patient()
    {
        driver.wait(config().adapt_patience_ms);
        ASSERT_TRUE(driver.last<CancelRequest>());
        EXPECT_FALSE(is_overdue(driver.job(silent))) << "it may still be withdrawn";
        for (int i = 0; i < 10 && !is_overdue(driver.job(silent)); i++)
            driver.wait(config().answer_timeout_ms);
        ASSERT_TRUE(is_overdue(driver.job(silent)));
    }

    CoreDriver driver;
    JobId silent = 0, ends = 0, waits = 0;
};

TEST_F(OverdueTest, what_does_not_come_is_counted_on_by_nobody)
{
    EXPECT_EQ(shortage(state(), driver.job(waits))->giving, (std::vector<Giving>{{silent, 2}}));
    EXPECT_LT(forecast(state(), waits).start_ms, state().now_ms + SECOND);
    JobId brief = driver.submit(rigid(2, 100 * SECOND));
    JobId lasting = driver.submit(rigid(2, 20000 * SECOND));
    EXPECT_EQ(driver.job(brief).state, JobState::PENDING) << "the idle cores are promised";
    ASSERT_NO_FATAL_FAILURE(be_patient());
    const Record *record = driver.recorded(record::OVERDUE);
    ASSERT_TRUE(record);
    EXPECT_EQ(record->job, silent);
    EXPECT_EQ(record->data.at("request"), 1);
    EXPECT_EQ(record->data.at("size"), 6);
    EXPECT_EQ(driver.job(brief).state, JobState::STARTING) << "it ends before the new promise";
    EXPECT_EQ(driver.job(lasting).state, JobState::PENDING);
    EXPECT_EQ(driver.job(waits).state, JobState::PENDING);
    EXPECT_FALSE(state().indices().freeing.contains(silent));
    auto missing = shortage(state(), driver.job(waits));
    EXPECT_TRUE(missing->giving.empty());
    EXPECT_EQ(missing->overdue, (std::vector<Giving>{{silent, 2}}));
    EXPECT_TRUE(helpers_of(state(), waits).empty());
    EXPECT_EQ(forecast(state(), waits).waits_for, ends) << "its end is what is truly to come";
    EXPECT_EQ(forecast(state(), waits).start_ms, driver.job(ends).limit_at_ms);
    driver.run(brief);
    driver.end(brief);
    EXPECT_EQ(driver.job(lasting).state, JobState::PENDING) << "it would outlast the promise";
    driver.end(ends);
    EXPECT_EQ(driver.job(waits).state, JobState::STARTING);
    EXPECT_EQ(driver.job(silent).size(), 8);
}

TEST_F(OverdueTest, who_comes_later_is_served_and_counts_again)
{
    ASSERT_NO_FATAL_FAILURE(be_patient());
    for (int i = 0; i < 20; i++)
        driver.wait(100 * SECOND);      /* it is reported once */
    int reported = 0;
    Core again;
    for (const Event &event : driver.log) {
        for (const Action &action : again.handle(event)) {
            const Record *record = std::get_if<Record>(&action);
            reported += record && record->event == record::OVERDUE;
        }
    }
    EXPECT_EQ(reported, 1);
    EXPECT_EQ(again.snapshot(), driver.core.snapshot()) << "replayed it is the same";
    auto restored = Core::restore(Json::parse(driver.core.snapshot().dump()));
    ASSERT_TRUE(restored);
    EXPECT_TRUE(is_overdue(restored.value().state().jobs.at(silent)));

    driver.send(StepCommitted{silent, 1, 1, 1, 2000 * SECOND});
    EXPECT_EQ(driver.job(silent).mean_standstill_ms, NEVER) << "it has not stood still for so long";
    EXPECT_FALSE(is_overdue(driver.job(silent)));
    EXPECT_TRUE(state().indices().freeing.contains(silent)) << "they leave";
    driver.send(StepFreed{silent, 1, 1});
    EXPECT_EQ(driver.job(waits).state, JobState::STARTING);
    driver.run(waits);
    JobId next = driver.submit(rigid(3));
    ASSERT_TRUE(driver.job(silent).adaptation) << "it is requested as of any other";
    EXPECT_EQ(driver.job(silent).adaptation->whom, std::vector<JobId>{next});
    EXPECT_EQ(shortage(state(), driver.job(next))->giving.size(), 1u);
}

TEST_F(OverdueTest, it_may_still_be_withdrawn)
{
    ASSERT_NO_FATAL_FAILURE(be_patient());
    driver.send(StepWithdrawn{{silent, 1, 1, "cancelled"}});
    EXPECT_TRUE(driver.recorded(record::WITHDRAWN));
    EXPECT_EQ(driver.job(silent).state, JobState::RUNNING);
    EXPECT_EQ(driver.job(silent).size(), 8);
}

TEST_F(OverdueTest, it_ends_and_gives_all)
{
    ASSERT_NO_FATAL_FAILURE(be_patient());
    driver.end(silent);
    EXPECT_EQ(driver.job(silent).state, JobState::DONE);
    EXPECT_EQ(driver.job(waits).state, JobState::STARTING);
}

/* Its joining processes keep their cores: they wait for it in MPI. */
TEST(OverdueGrowthTest, stays_booked_and_is_counted_on_by_nobody)
{
    CoreDriver driver(PolicyKind::FILL, 2, 4);
    JobId other = driver.submit(rigid(4, 1000 * SECOND));
    driver.run(other);
    JobId silent = driver.submit(malleable(1, 8, 100000 * SECOND));
    driver.run(silent);
    driver.end(other);
    ASSERT_EQ(driver.job(silent).adaptation.value().size, 8);
    driver.send(StepAccepted{silent, 1, 1, 1});
    for (int i = 0; i < 20; i++)
        driver.wait(driver.core.state().config.adapt_patience_ms);
    ASSERT_TRUE(is_overdue(driver.job(silent)));
    EXPECT_EQ(driver.core.state().indices().free_cores, 0);
    JobId waits = driver.submit(rigid(4));
    EXPECT_EQ(forecast(driver.core.state(), waits).waits_for, silent) << "its end alone";
    driver.send(StepCommitted{silent, 1, 1, 1, 5});
    EXPECT_EQ(driver.job(silent).size(), 8);
    EXPECT_EQ(driver.job(silent).adaptation.value().whom, std::vector<JobId>{waits});
}

}  // namespace
}  // namespace elastic::rm
