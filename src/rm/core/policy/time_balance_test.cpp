/* Whether a balance is worth a change, and of which jobs: SPEC-performance T6, Q6c, K2. */

#include "core/policy/time_balance.h"

#include "core/core_driver.h"

namespace elastic::rm {
namespace {

struct Machine {
    JobSpec any = malleable(1, 1000);
    TimeBalance balance{7, 0, {}};

    void add(int size, int64_t minutes, int low, int high)
    {
        BalanceMember member;
        member.job = balance.members.size() + 1;
        member.size = size;
        member.work = size * minutes * MINUTE;
        member.low = low;
        member.high = high;
        member.spec = &any;
        balance.members.push_back(member);
        balance.cores += size;
    }
    std::vector<int> sizes() const
    {
        auto found = worthwhile(balance);
        return found ? found->sizes : std::vector<int>();
    }
};

TEST(TimeBalanceTest, T4_all_end_together)
{
    Machine machine;
    machine.add(16, 5, 1, 32);
    machine.add(16, 10, 1, 32);
    EXPECT_EQ(unchanged_end_ms(machine.balance), 10 * MINUTE);
    EXPECT_EQ(machine.sizes(), (std::vector<int>{11, 21}));
}

TEST(TimeBalanceTest, R4_an_unchanged_job_takes_part_with_its_size)
{
    Machine machine;
    machine.add(8, 6, 8, 8);
    machine.add(16, 4, 1, 32);
    machine.add(16, 10, 1, 32);
    EXPECT_EQ(machine.sizes(), (std::vector<int>{8, 9, 23}));
    machine.add(8, 12, 8, 8);
    EXPECT_EQ(machine.sizes(), std::vector<int>()) << "nobody can end before it";
}

/* The first need not release cores that the second cannot use. */
TEST(TimeBalanceTest, T6_who_need_not_change_keeps_what_it_has)
{
    Machine machine;
    machine.add(8, 2, 1, 16);
    machine.add(8, 10, 8, 12);
    machine.balance.cores += 4;
    EXPECT_EQ(machine.sizes(), (std::vector<int>{8, 12}));
}

TEST(TimeBalanceTest, Q6c_K2_small_gains_change_nothing)
{
    Machine machine;
    machine.add(100, 100, 1, 200);
    machine.add(100, 108, 1, 200);
    EXPECT_EQ(machine.sizes(), std::vector<int>()) << "less than 5 % sooner";
    machine.balance.members[0].work = 100 * 90 * MINUTE;
    EXPECT_EQ(machine.sizes(), (std::vector<int>{91, 109}));
    machine.balance.members[1].times.duration_ms = 8 * MINUTE;
    EXPECT_EQ(machine.sizes(), std::vector<int>()) << "the change takes as long";
    machine.balance.members[1].times = {500, 2000};
    machine.balance.members[0].times.standstill_ms = MINUTE;
    EXPECT_EQ(machine.sizes(), std::vector<int>())
        << "who shrinks stands still for more than a tenth of what is won";
    machine.balance.members[0].times.standstill_ms = 500;
    machine.balance.members[1].times.standstill_ms = MINUTE;
    EXPECT_EQ(machine.sizes(), std::vector<int>()) << "and so does who grows";
}

/* Of two that could grow, the one whose change costs too much is not changed, and the rest is
 * solved again. */
TEST(TimeBalanceTest, T6_K2_who_does_not_pay_is_taken_out)
{
    Machine machine;
    machine.add(16, 2, 1, 32);
    machine.add(4, 10, 1, 32);
    machine.add(4, 6, 1, 32);
    EXPECT_EQ(machine.sizes(), (std::vector<int>{8, 10, 6}));
    machine.balance.members[2].times.standstill_ms = MINUTE;
    EXPECT_EQ(machine.sizes(), (std::vector<int>{13, 7, 4}));
}

TEST(TimeBalanceTest, R5_whole_nodes_are_given_and_filled)
{
    Machine machine;
    for (int64_t minutes : {5, 10})
        machine.add(16, minutes, 1, 64);
    for (BalanceMember &member : machine.balance.members)
        member.unit = member.unit_cores = 4;
    EXPECT_EQ(machine.sizes(), (std::vector<int>{12, 20}));
}

}  // namespace
}  // namespace elastic::rm
