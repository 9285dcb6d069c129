/* Policy `efficient`: the jobs for whose ends the first waiting job waits end together
 * (SPEC-performance Q6c, T4). */

#include "core/policy/policy_efficient_fixture.h"
#include "core/policy/time_balance.h"
#include "core/record.h"
#include "core/shortage.h"

namespace elastic::rm {
namespace {

/* Two programs that use all their cores, with these run times in minutes, and one that needs the
 * machine. */
struct Balanced32 : Efficient {
    explicit Balanced32(int64_t first_limit = 60 * MINUTE, int64_t second_limit = 60 * MINUTE)
        : Efficient(1, 32)
    {
        first = start_one(16, first_limit, 5 * MINUTE);
        second = start_one(32, second_limit, 10 * MINUTE);
        waits = driver.submit(rigid(32, 60 * MINUTE));
    }
    JobId start_one(int maximum, int64_t limit_ms, int64_t expect_ms)
    {
        JobSpec spec = malleable(1, maximum, limit_ms);
        spec.expect_ms = expect_ms;
        return start(spec, [](int) { return 0.001; });
    }
    /* Like go_on(), but a requested adaptation is not committed. */
    void sample_both(int minutes)
    {
        for (int i = 0; i < minutes; i++) {
            driver.wait(MINUTE);
            programs[0].sample(MINUTE);
            programs[1].sample(MINUTE);
        }
    }
    JobId first = 0, second = 0, waits = 0;
};

TEST(EfficientTest, Q6c_T4_Q10_those_that_it_waits_for_end_together)
{
    Balanced32 machine;
    machine.go_on(2);
    EXPECT_EQ(machine.sizes[machine.first], (std::vector<int>{16, 9}));
    EXPECT_EQ(machine.sizes[machine.second], (std::vector<int>{16, 23}))
        << "when the other one has given";
    machine.go_on(3);
    EXPECT_EQ(machine.sizes[machine.first].size() + machine.sizes[machine.second].size(), 4u)
        << "and that is all";
    /* X3: the waiting job can show which jobs were balanced for it. */
    EXPECT_EQ(helpers_of(machine.driver.core.state(), machine.waits),
              (std::vector<Helper>{{machine.first, 16, 9, true}, {machine.second, 16, 23, true}}));
}

/* No job grows before cores are really free. */
TEST(EfficientTest, Q10_growth_waits_for_what_is_freed)
{
    Balanced32 machine;
    CoreDriver &driver = machine.driver;
    machine.sample_both(2);
    ASSERT_EQ(driver.job(machine.first).state, JobState::ADAPTING);
    EXPECT_EQ(driver.job(machine.second).state, JobState::RUNNING);
    driver.commit(machine.first, false);
    EXPECT_EQ(driver.job(machine.second).state, JobState::RUNNING);
    driver.send(StepFreed{machine.first, driver.job(machine.first).step, 1});
    ASSERT_EQ(driver.job(machine.second).state, JobState::ADAPTING);
    EXPECT_EQ(driver.job(machine.second).adaptation->size, 23);
}

TEST(EfficientTest, X1_a_balance_s_numbers_give_it)
{
    Balanced32 machine;
    CoreDriver &driver = machine.driver;
    machine.sample_both(2);
    const Record *record = driver.recorded(record::REQUESTED);
    ASSERT_TRUE(record);
    const Json &why = record->data.at("why");
    EXPECT_EQ(why.at("rule"), "balance");
    EXPECT_EQ(why.at("for"), Json({machine.waits}));
    auto balance = parse<TimeBalance>(why.at("balance"));
    ASSERT_TRUE(balance) << balance.error();
    TimeBalance all = balance.value();
    EXPECT_EQ(all.whom, machine.waits);
    EXPECT_EQ(why.at("unchanged_end_ms"), unchanged_end_ms(all));
    for (BalanceMember &member : all.members)
        member.spec = &driver.job(member.job).spec;
    auto found = worthwhile(all);
    ASSERT_TRUE(found);
    EXPECT_EQ(why.at("end_ms"), found->end_ms);
    ASSERT_EQ(all.members.front().job, record->job);
    EXPECT_EQ(record->data.at("size"), found->sizes.front());
}

/* Its own limit would end it. */
TEST(EfficientTest, Q6c_nobody_is_shrunk_beyond_its_limit)
{
    Balanced32 machine(6 * MINUTE);
    machine.go_on(2);
    ASSERT_EQ(machine.sizes[machine.first].size(), 2u);
    EXPECT_GE(machine.sizes[machine.first].back() * (6 - 2), 16 * (5 - 2));
    Balanced32 exact(5 * MINUTE);
    exact.go_on(2);
    EXPECT_EQ(exact.sizes[exact.first], (std::vector<int>{16}));
    EXPECT_EQ(exact.sizes[exact.second], (std::vector<int>{16}));
}

/* A job that may run beyond the reserved start of the first waiting job does not take idle
 * cores. */
TEST(EfficientTest, Q7_a_balance_moves_no_reservation)
{
    for (int limit : {100, 15}) {
        Efficient machine(1, 32);
        JobId ends = machine.driver.submit(rigid(8, 60 * MINUTE));
        machine.driver.run(ends);
        machine.driver.run(machine.driver.submit(rigid(8, 20 * MINUTE)));
        JobSpec brief = malleable(16, 32, limit * MINUTE);
        brief.expect_ms = 8 * MINUTE;
        JobId grows = machine.start(brief, [](int) { return 0.001; });
        machine.driver.submit(rigid(16, 60 * MINUTE));
        machine.driver.end(ends);
        machine.go_on(4);
        if (limit > 20)
            EXPECT_EQ(machine.sizes[grows], (std::vector<int>{16})) << "16 are free in 20 minutes";
        else
            EXPECT_EQ(machine.sizes[grows], (std::vector<int>{16, 24})) << "it ends before that";
    }
}

/* After a balance, a job may go ahead if it ends before the balanced end, but not if it only
 * ends before the limits. */
TEST(EfficientTest, Q8_backfill_does_not_delay_the_balanced_start)
{
    Balanced32 machine;
    machine.go_on(3);
    machine.driver.end(machine.first);
    JobId late = machine.driver.submit(rigid(1, 30 * MINUTE));
    JobId early = machine.driver.submit(rigid(1, MINUTE));
    EXPECT_EQ(machine.driver.job(late).state, JobState::PENDING);
    EXPECT_EQ(machine.driver.job(early).state, JobState::STARTING);
}

/* Expectations without a limit also give a time. */
TEST(EfficientTest, Q12_what_is_expected_will_do_without_limits)
{
    Balanced32 machine(0, 0);
    machine.go_on(2);
    EXPECT_EQ(machine.sizes[machine.first], (std::vector<int>{16, 9}));
    EXPECT_EQ(machine.sizes[machine.second], (std::vector<int>{16, 23}));
}

TEST(EfficientTest, Q6c_a_change_that_fails_is_not_repeated_at_once)
{
    Balanced32 machine;
    CoreDriver &driver = machine.driver;
    machine.sample_both(2);
    ASSERT_EQ(driver.job(machine.first).state, JobState::ADAPTING);
    const Job &job = driver.job(machine.first);
    driver.send(StepRefused{machine.first, job.step, job.adaptation->request, "no"});
    EXPECT_EQ(driver.job(machine.first).state, JobState::RUNNING);
    EXPECT_EQ(driver.job(machine.second).state, JobState::RUNNING) << "there is nothing to grow to";
}

}  // namespace
}  // namespace elastic::rm
