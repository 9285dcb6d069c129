/* Policy `measured`: sizes and exchanges that depend on given numbers alone, including those of
 * a record. */

#include "core/policy/measured_exchange.h"
#include "core/policy/policy_measured_fixture.h"

namespace elastic::rm {
namespace {

/* X1: the numbers of a record alone determine the decision. */
TEST(MeasuredTest, X1_recorded_numbers_give_the_decision)
{
    const JobSpec spec = malleable(1, 16);
    std::map<std::string, int> rules;
    std::deque<SampledMachine> machines;
    for (int64_t idle_ppm : {NO_FLOOR, LOANS, NO_LOANS}) {
        /* MPI time is no evidence, except the first time */
        for (double share : {-1.0, 0.02, 0.15}) {
            SampledMachine &machine = machines.emplace_back(16);
            machine.loan_down_to(idle_ppm);
            SampledProgram::Law untold = [share](int) { return share; };
            for (int most : {2, 6, 16})
                machine.start(spec, scales_to(most), share < 0 ? nullptr : untold);
        }
    }
    for (SampledMachine &each : machines) {
        SampledMachine *machine = &each;
        machine->go_on(200);
        for (const Record &record : machine->requested) {
            Json why = record.data.at("why");
            ASSERT_TRUE(why.is_object());
            auto taken = [&](const char *key) {
                Json value = why.value(key, Json());
                why.erase(key);
                return value;
            };
            std::string rule = taken("rule").get<std::string>();
            Json is_wanted = taken("wanted"), trial = taken("trial"), whom = taken("for");
            Json other = taken("gets"), other_size = taken("gets_size");
            Json wanted = taken("wanted_cores");
            taken("speed_ppm");
            auto numbers = parse<MeasuredNumbers>(why);
            ASSERT_TRUE(numbers) << numbers.error();
            int size = record.data.at("size").get<int>();
            if (rule == "reduce") {
                int64_t least = measured_least(numbers.value(), Floor::IDLE);
                EXPECT_GT(least, 0);
                if (is_wanted.get<bool>()) /* including loans */
                    least = std::min(least, measured_least(numbers.value(), Floor::EFFICIENT));
                EXPECT_EQ(least, size);
            } else if (rule == "balance") {
                auto gets = parse<MeasuredNumbers>(other);
                ASSERT_TRUE(gets) << gets.error();
                bool tried = trial.get<bool>();
                auto given = best_exchange(spec, numbers.value(), spec, gets.value(), tried);
                ASSERT_TRUE(given);
                if (!tried)
                    given = with_loan(*given, spec, numbers.value(), spec, gets.value(),
                                      wanted.get<int64_t>());
                EXPECT_EQ(std::pair(given->size, given->grown),
                          std::pair(size, other_size.get<int>()));
                EXPECT_EQ(whom.size(), 1u);
                EXPECT_TRUE(!tried || is_doubtful(numbers.value()));
                rule = tried ? "trial" : rule;
            } else {
                EXPECT_EQ(rule, "expand");
                EXPECT_LE(size, measured_most(numbers.value(), Floor::IDLE));
                EXPECT_GT(size, numbers.value().scaling.size);
            }
            rules[rule]++;
            EXPECT_FALSE(record.data.at("reason").get<std::string>().empty());
        }
    }
    for (const char *rule : {"reduce", "balance", "trial", "expand"})
        EXPECT_GT(rules[rule], 0) << rule;
}

/* Else the released cores would go to another job, which releases them again. */
TEST(MeasuredTest, no_job_releases_cores_for_one_whose_growth_does_not_pay_yet)
{
    const JobSpec spec = malleable(1, 24);
    MeasuredNumbers gives;
    gives.scaling = {12, 0, 0, 8, 2, 6, 12};
    gives.is_measured = true;
    gives.efficiency_ppm = 500000;
    gives.since_ms = MINUTE;
    MeasuredNumbers gets = gives;
    gets.scaling = {2, 0, 0, 8, 2, 1, 2};
    gets.times.standstill_ms = 1000;
    gets.since_ms = 19999;
    EXPECT_EQ(measured_most(gets, Floor::IDLE), 2) << "its growth does not pay";
    for (bool trial : {false, true})
        EXPECT_FALSE(best_exchange(spec, gives, spec, gets, trial));
    gets.since_ms++;
    for (bool trial : {false, true})
        EXPECT_TRUE(best_exchange(spec, gives, spec, gets, trial));
}

/* K, K3: if no measurement shows that a job needs all processes, half is tried once, if that
 * pays. */
TEST(MeasuredTest, K_who_is_doubtful_and_what_is_tried)
{
    const JobSpec spec = malleable(1, 64);
    MeasuredNumbers one;
    one.scaling = {8, 20000, 20000, 2, 1, 8, 8, false};
    one.is_measured = true;
    one.efficiency_ppm = 500000;
    one.since_ms = one.sample_ms = MINUTE;
    EXPECT_TRUE(is_doubtful(one)) << "MPI time alone is known";
    auto given = best_exchange(spec, one, spec, one, true);
    ASSERT_TRUE(given);
    EXPECT_EQ(std::pair(given->size, given->grown), std::pair(4, 12));
    EXPECT_FALSE(best_exchange(spec, one, spec, one, false)) << "one loses what the other wins";

    MeasuredNumbers other = one;
    other.scaling.size = other.scaling.proven_least = other.scaling.proven_most = 64;
    EXPECT_FALSE(best_exchange(spec, one, malleable(1, 72), other, true)) << "it wins too little";
    given = best_exchange(spec, other, spec, one, true);
    ASSERT_TRUE(given);
    EXPECT_EQ(std::pair(given->size, given->grown), std::pair(51, 16)) << "so many that it shows";
    one.times.standstill_ms = MINUTE;
    EXPECT_FALSE(best_exchange(spec, one, spec, one, true)) << "it would stand still for long";

    one.remaining_ms = 20 * MINUTE;
    EXPECT_TRUE(is_doubtful(one));
    one.remaining_ms--;
    EXPECT_FALSE(is_doubtful(one)) << "its end comes too soon";
    one.remaining_ms = NEVER;
    one.scaling.sizes = 2;
    one.scaling.proven_most = 16;
    EXPECT_FALSE(is_doubtful(one)) << "more have made it faster, so these do";
    one.scaling.serial_ppm = 900000;
    EXPECT_TRUE(is_doubtful(one)) << "more have not";
    one.scaling.proven_least = 4;
    one.scaling.below = {4, 500000};
    EXPECT_FALSE(is_doubtful(one)) << "fewer have been measured";
    one.scaling.proven_least = 7;
    one.scaling.below = {};
    one.scaling.serial_below_ppm = 300000;
    EXPECT_TRUE(is_doubtful(one)) << "hardly fewer, and it is no slower with them";
    one.scaling.serial_below_ppm = 100000;
    EXPECT_FALSE(is_doubtful(one)) << "it is slower with them";
    one.scaling.above = {16, 500000};
    one.scaling.serial_below_ppm = 300000;
    EXPECT_FALSE(is_doubtful(one)) << "more have made it faster";
    one.scaling.proven_least = 8;
    one.is_measured = false;
    EXPECT_FALSE(is_doubtful(one));
}

TEST(MeasuredTest, nobody_grows_into_what_costs_more_than_it_wins)
{
    MeasuredNumbers numbers;
    numbers.scaling = {8, 50000, 50000, 4, 1, 8, 8, false};
    numbers.is_measured = true;
    numbers.efficiency_ppm = 500000;
    numbers.remaining_ms = 60 * MINUTE;
    EXPECT_EQ(measured_most(numbers, Floor::EFFICIENT), 16);
    numbers.remaining_ms = 5000;
    EXPECT_EQ(measured_most(numbers, Floor::EFFICIENT), 8);
    numbers.remaining_ms = 60 * MINUTE;
    numbers.times.standstill_ms = 10 * MINUTE;
    EXPECT_EQ(measured_most(numbers, Floor::EFFICIENT), 8);
    EXPECT_EQ(measured_least(numbers, Floor::EFFICIENT), 0);
    numbers.scaling.serial_below_ppm = 800000;
    EXPECT_EQ(measured_least(numbers, Floor::EFFICIENT), 0)
        << "it would stand still for as long as it has run";
    numbers.times.standstill_ms = 10;
    numbers.since_ms = MINUTE;
    EXPECT_EQ(measured_least(numbers, Floor::EFFICIENT), 4);
    numbers.is_measured = false;
    EXPECT_EQ(measured_least(numbers, Floor::EFFICIENT), 0);
}

}  // namespace
}  // namespace elastic::rm
