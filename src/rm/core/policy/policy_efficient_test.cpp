/* Policy `efficient`: halves sizes by MPI time, doubles them below the threshold, the longest
 * running job first; the sizes of the dissertation's figures (SPEC-performance G, 14.7). */

#include <cmath>

#include "core/policy/policy_efficient.h"
#include "core/policy/policy_efficient_fixture.h"
#include "core/record.h"
#include "core/shortage.h"

namespace elastic::rm {
namespace {

JobSpec squares(int minimum, int maximum)
{
    JobSpec spec = malleable(minimum, maximum);
    spec.size_rule = SizeRule::SQUARE;
    return spec;
}

TEST(EfficientTest, R2_halves_down_to_the_least_that_is_right)
{
    Efficient machine(1, 64);
    JobSpec spec = malleable(2, 64);
    spec.size_rule = SizeRule::POWER_OF_TWO;
    JobId gauss = machine.start(spec, [](int) { return 0.12; });
    machine.go_on(60);
    EXPECT_EQ(machine.sizes[gauss], (std::vector<int>{64, 32, 16, 8, 4, 2}));
    EXPECT_EQ(machine.held(gauss), HeldBecause::AT_MINIMUM); /* X2 */
    auto bounds = machine.bounds(gauss);
    ASSERT_TRUE(bounds);
    EXPECT_EQ(std::pair(bounds->low, bounds->high), std::pair(2, 2));
    EXPECT_EQ(bounds->ceiling, 2) << "it is too large even at that";
}

TEST(EfficientTest, R8_not_while_nobody_waits_if_so_configured)
{
    Config config = CoreDriver::config_of(PolicyKind::EFFICIENT);
    config.reduce_when_idle = false;
    Efficient machine(config, 1, 8);
    JobId job = machine.start(malleable(1, 8), [](int) { return 0.5; });
    machine.go_on(20);
    EXPECT_EQ(machine.sizes[job], (std::vector<int>{8}));
}

TEST(EfficientTest, R4_between_the_thresholds_no_size_changes)
{
    Efficient machine(1, 8);
    JobId job = machine.start(malleable(1, 8), [](int) { return 0.05; });
    machine.go_on(5);
    JobId waits = machine.driver.submit(rigid(4));
    machine.go_on(20);
    EXPECT_EQ(machine.sizes[job], (std::vector<int>{8}));
    EXPECT_EQ(machine.held(job), HeldBecause::AT_MAXIMUM); /* X2 */
    EXPECT_EQ(machine.held(waits), std::nullopt);
}

TEST(EfficientTest, X2_held_because)
{
    Efficient machine(1, 8);
    machine.start(rigid(4), [](int) { return 0.0; });
    JobId job = machine.start(malleable(1, 8), [](int) { return 0.05; });
    machine.go_on(1);
    EXPECT_EQ(machine.held(job), HeldBecause::NO_DATA);
    machine.go_on(10);
    EXPECT_EQ(machine.sizes[job], (std::vector<int>{4}));
    EXPECT_EQ(machine.held(job), HeldBecause::BETWEEN_THRESHOLDS);
    auto bounds = machine.bounds(job);
    ASSERT_TRUE(bounds);
    EXPECT_EQ(std::tuple(bounds->low, bounds->high, bounds->ceiling), std::tuple(4, 4, 0));
}

TEST(EfficientTest, R3_gives_to_those_that_wait_when_it_has_data)
{
    Efficient machine(1, 8);
    JobId job = machine.start(malleable(1, 8), [](int) { return 0.001; });
    JobId waits = machine.driver.submit(rigid(4));
    EXPECT_EQ(machine.driver.job(job).size(), 8);
    machine.go_on(5);
    EXPECT_EQ(machine.driver.job(job).size(), 4);
    EXPECT_EQ(machine.driver.job(waits).state, JobState::STARTING);
}

/* Its processes do not run a common loop: it is no candidate in any case. */
TEST(EfficientTest, J3_a_job_without_a_loop_of_all_processes_does_not_change)
{
    Efficient machine(1, 8);
    CoreDriver &driver = machine.driver;
    JobId job = driver.submit(malleable(1, 16));
    driver.run(job);
    driver.submit(rigid(4));
    for (int64_t minute = 1; minute <= 10; minute++) {
        driver.wait(MINUTE);
        driver.send(StepSampled{job, 1, {0, 8, 8, 10 * minute, minute * MINUTE, {}}});
    }
    EXPECT_EQ(driver.job(job).size(), 8);
    EXPECT_EQ(driver.job(job).state, JobState::RUNNING);
    EXPECT_EQ(driver.job(job).performance->samples, 10);
    auto bounds = machine.bounds(job);
    ASSERT_TRUE(bounds);
    EXPECT_EQ(std::pair(bounds->low, bounds->high), std::pair(8, 8));
    EXPECT_EQ(machine.held(job), HeldBecause::NOT_SPMD);
}

/* Another job's pending release suffices: no other job is shrunk. */
TEST(EfficientTest, Q6a_what_arrives_is_the_waiting_job_s)
{
    Efficient machine(1, 16);
    CoreDriver &driver = machine.driver;
    JobSpec half = malleable(1, 8);
    JobId reduced = machine.start(half, [](int) { return 0.5; });
    JobId could_give = machine.start(half, [](int) { return 0.001; });
    JobId waits = driver.submit(rigid(4));
    for (int i = 0; i < 2; i++) {
        driver.wait(MINUTE);
        machine.programs[0].sample(MINUTE);
        machine.programs[1].sample(MINUTE);
    }
    ASSERT_EQ(driver.job(reduced).state, JobState::ADAPTING);
    EXPECT_EQ(driver.job(could_give).state, JobState::RUNNING);
    driver.commit(reduced);
    EXPECT_EQ(driver.job(waits).state, JobState::STARTING);
    EXPECT_EQ(driver.job(could_give).size(), 8);
}

/* The job that is most above its share releases first, and alone if that suffices; jobs release
 * cores of their shares only if needed. */
TEST(EfficientTest, Q6b_who_has_most_gives_first_and_as_few_as_can_be)
{
    for (int wanted : {3, 12}) {
        Efficient machine(1, 16);
        JobSpec large = malleable(1, 12), small = malleable(1, 4);
        JobId most = machine.start(large, [](int) { return 0.001; });
        JobId least = machine.start(small, [](int) { return 0.001; });
        ASSERT_EQ(machine.driver.job(most).size() + machine.driver.job(least).size(), 16);
        machine.go_on(3);
        JobId waits = machine.driver.submit(rigid(wanted));
        machine.commit();
        EXPECT_EQ(machine.driver.job(waits).state, JobState::STARTING) << wanted;
        EXPECT_LT(machine.driver.job(most).size(), 12) << wanted;
        if (wanted == 3)
            EXPECT_EQ(machine.driver.job(least).size(), 4);
        else
            EXPECT_LT(machine.driver.job(least).size(), 4);
    }
}

/* Idle cores are for waiting jobs; running jobs get only the rest. */
TEST(EfficientTest, Q9_who_waits_starts_before_anybody_grows)
{
    Efficient machine(1, 16);
    CoreDriver &driver = machine.driver;
    JobId first = driver.submit(rigid(8)), second = driver.submit(rigid(4));
    driver.run(first);
    driver.run(second);
    JobId grows = machine.start(malleable(4, 16, 600 * MINUTE), [](int) { return 0.0; });
    machine.go_on(5);
    ASSERT_EQ(driver.job(grows).size(), 4);
    JobId waits = driver.submit(rigid(8));
    machine.go_on(5);
    driver.end(first);
    machine.commit();
    EXPECT_EQ(driver.job(waits).state, JobState::STARTING);
    EXPECT_EQ(driver.job(grows).size(), 4);
    driver.end(second);
    machine.commit();
    EXPECT_EQ(driver.job(grows).size(), 8);
}

/* The job that runs longest gets all idle cores that it may have. */
TEST(EfficientTest, F1_who_runs_longest_gets_first)
{
    Config config = CoreDriver::config_of(PolicyKind::EFFICIENT);
    Efficient machine(config, 1, 16);
    JobId blocker = machine.driver.submit(rigid(8));
    machine.driver.run(blocker);
    JobId brief = machine.start(malleable(4, 16, 60 * MINUTE), [](int) { return 0.0; });
    ASSERT_EQ(machine.driver.job(brief).size(), 8);
    machine.driver.send(Resize{"r", brief, 4});
    machine.driver.commit(brief);
    JobId longest = machine.start(malleable(4, 16, 600 * MINUTE), [](int) { return 0.0; });
    ASSERT_EQ(machine.driver.job(longest).size(), 4);
    machine.go_on(5);
    machine.driver.end(blocker);
    machine.commit();
    EXPECT_EQ(machine.driver.job(longest).size(), 8); /* twice as many */
    machine.go_on(30);
    EXPECT_EQ(machine.driver.job(longest).size(), 12);
    EXPECT_EQ(machine.driver.job(brief).size(), 4) << "its user wished so";
}

/* G, figure 14.7: Cannon and GE on 32 nodes of 16 cores; scaling models of SPEC-performance. */
TEST(EfficientTest, G147_cannon_grows_and_gauss_gives)
{
    Efficient machine(1, 512);
    JobSpec gauss = malleable(16, 256);
    gauss.size_rule = SizeRule::POWER_OF_TWO;
    gauss.preferred = 256;
    JobSpec cannon = squares(16, 512);
    cannon.preferred = 256;
    JobId second = machine.start(gauss, [](int size) { return size >= 2 ? 0.12 : 0; });
    ASSERT_EQ(machine.sizes[second].front(), 256);
    JobId first = machine.start(cannon, [](int) { return 0.001; });
    ASSERT_EQ(machine.sizes[first].front(), 256);
    machine.go_on(60);
    EXPECT_EQ(machine.sizes[second], (std::vector<int>{256, 128, 64, 32, 16}));
    EXPECT_EQ(machine.sizes[first], (std::vector<int>{256, 361, 441, 484}));
}

/* G, figure 14.8: the same with smaller matrices, with whole nodes: both release cores, and none
 * grows. */
TEST(EfficientTest, G148_small_cannon_gives_as_well)
{
    Efficient machine(32, 16);
    JobSpec gauss = malleable(16, 256);
    gauss.whole_nodes = true;
    gauss.size_rule = SizeRule::POWER_OF_TWO;
    gauss.preferred = 256;
    JobSpec cannon = squares(16, 512);
    cannon.whole_nodes = true;
    cannon.preferred = 256;
    JobId second = machine.start(gauss, [](int) { return 0.12; });
    ASSERT_EQ(machine.sizes[second].front(), 256);
    JobId first = machine.start(cannon, [](int size) {
        return 0.00002 * std::pow(size, 1.5) + 0.014 * std::sqrt(size);
    });
    ASSERT_EQ(machine.sizes[first].front(), 256);
    machine.go_on(60);
    EXPECT_EQ(machine.sizes[first], (std::vector<int>{256, 121, 64, 25}));
    EXPECT_EQ(machine.sizes[second], (std::vector<int>{256, 128, 64, 32, 16}));
    EXPECT_EQ(machine.driver.core.state().indices().free_cores, (32 - 2 - 1) * 16)
        << "idle nodes stay idle";
}

/* R1: samples with errors of a tenth cause no wrong change; changes far from the thresholds are
 * still made. */
TEST(EfficientTest, R1_noise_of_a_tenth_makes_no_wrong_decision)
{
    for (double mtct : {0.0101, 0.012, 0.03, 0.09, 0.099}) {
        Efficient machine(1, 16);
        machine.start(rigid(8), [](int) { return 0.0; });
        JobId job = machine.start(malleable(1, 16), [mtct](int) { return mtct; });
        machine.driver.end(machine.ids.front());
        machine.ids.erase(machine.ids.begin());
        machine.programs.pop_front();
        machine.go_on(300, 0.1);
        EXPECT_EQ(machine.sizes[job], (std::vector<int>{8})) << mtct;
        EXPECT_EQ(machine.held(job), HeldBecause::BETWEEN_THRESHOLDS) << mtct;
    }
    for (double mtct : {0.001, 0.008, 0.13, 0.5}) {
        Efficient machine(1, 16);
        machine.start(rigid(8), [](int) { return 0.0; });
        JobId job = machine.start(malleable(4, 16), [mtct](int) { return mtct; });
        machine.driver.end(machine.ids.front());
        machine.ids.erase(machine.ids.begin());
        machine.programs.pop_front();
        machine.go_on(30, 0.1);
        EXPECT_EQ(machine.sizes[job], (std::vector<int>{8, mtct > 0.1 ? 4 : 16})) << mtct;
    }
}

/* Q13, X1: sizes become stable, and each record's numbers give its range. */
TEST(EfficientTest, Q13_X1_sizes_become_stable_with_a_reason)
{
    for (double slope : {0.0005, 0.002, 0.01}) {
        Efficient machine(2, 32);
        JobId first = machine.start(malleable(1, 64), [slope](int size) { return slope * size; });
        JobId second = machine.start(malleable(1, 64), [](int) { return 0.001; });
        machine.go_on(60);
        size_t changes = machine.sizes[first].size() + machine.sizes[second].size();
        EXPECT_LE(changes, 2 * (2 * 6 + 2) + 2u);
        machine.go_on(100);
        EXPECT_EQ(machine.sizes[first].size() + machine.sizes[second].size(), changes) << slope;
    }
}

/* R6: a size that was too large is not tried again, and the way back ends at a size that was
 * not. */
TEST(EfficientTest, R6_Q13_a_kink_is_found_and_not_passed)
{
    Config config = CoreDriver::config_of(PolicyKind::EFFICIENT);
    config.ceiling_hold_ms = 1000 * MINUTE;
    for (int kink = 1; kink <= 32; kink++) {
        Efficient machine(config, 1, 33);
        machine.start(rigid(32), [](int) { return 0.0; });
        SampledProgram::Law mtct = [kink](int size) { return size > kink ? 0.5 : 0.001; };
        JobId job = machine.start(malleable(1, 32), mtct);
        machine.driver.end(machine.ids.front());
        machine.ids.erase(machine.ids.begin());
        machine.programs.pop_front();
        machine.go_on(60);
        const std::vector<int> sizes = machine.sizes[job];
        std::string had;
        for (int size : sizes)
            had += std::to_string(size) + " ";
        EXPECT_LE(sizes.back(), kink) << had;
        EXPECT_GE(5 * sizes.back(), 4 * kink - 4) << "what lies between is not searched: " << had;
        EXPECT_LE(sizes.size() - 1, 2 * 5 + 2u) << had;
        machine.go_on(100);
        EXPECT_EQ(machine.sizes[job].size(), sizes.size()) << had;
    }
}

TEST(EfficientTest, X1_the_record_s_numbers_give_the_decision)
{
    Efficient machine(1, 16);
    JobSpec spec = malleable(1, 16);
    machine.start(spec, [](int) { return 0.3; });
    machine.driver.wait(MINUTE);
    machine.programs[0].sample(MINUTE);
    machine.driver.wait(MINUTE);
    machine.programs[0].sample(MINUTE);
    const Record *record = machine.driver.recorded(record::REQUESTED);
    ASSERT_TRUE(record);
    Json why = record->data.at("why");
    EXPECT_EQ(why.at("rule"), "reduce");
    why.erase("rule");
    auto loop = parse<MeasuredLoop>(why.at("loop"));
    ASSERT_TRUE(loop) << loop.error();
    EXPECT_EQ(loop.value().processes, 16);
    EXPECT_EQ(loop.value().samples, 2);
    why.erase("loop");
    EXPECT_NE(record->data.at("reason").get<std::string>().find(
                  ", more than 0.1, in the loop that probes (16 ranks, "),
              std::string::npos)
        << record->data.at("reason");
    auto numbers = parse<EfficientNumbers>(why);
    ASSERT_TRUE(numbers) << numbers.error();
    EXPECT_EQ(size_range(spec, numbers.value().range).high, record->data.at("size").get<int>());
    EXPECT_NEAR(double(numbers.value().range.mtct_ppm), 300000, 10);
}

}  // namespace
}  // namespace elastic::rm
