/* Policy `efficient`: halves by MPI time, doubles below the threshold, who runs longest first;
 * the sizes of the dissertation's figures (SPEC-performance G, 14.7). */

#include "core/policy/policy_efficient.h"

#include <cmath>

#include "core/record.h"
#include "core/sampled_program.h"

namespace elastic::rm {
namespace {

constexpr int64_t MINUTE = 60000;

/* MPI share of a loop whose MPI time by computing time is `mtct`. */
SampledProgram::Law share_of(SampledProgram::Law mtct)
{
    return [mtct = std::move(mtct)](int size) { return mtct(size) / (1 + mtct(size)); };
}

struct Efficient {
    explicit Efficient(const Config &config, int nodes, int cores) : driver(config)
    {
        for (int i = 0; i < nodes; i++)
            driver.send(NodeUp{"n" + std::to_string(i), cores});
    }
    Efficient(int nodes, int cores)
        : Efficient(CoreDriver::config_of(PolicyKind::EFFICIENT), nodes, cores)
    {
    }

    JobId start(const JobSpec &spec, SampledProgram::Law mtct)
    {
        JobId id = driver.submit(spec);
        driver.run(id);
        ids.push_back(id);
        programs.emplace_back(driver, id, amdahl(0), share_of(std::move(mtct)));
        sizes[id].push_back(driver.job(id).size());
        return id;
    }
    void go_on(int minutes)
    {
        for (int i = 0; i < minutes; i++) {
            driver.wait(MINUTE);
            for (SampledProgram &program : programs) {
                program.sample(MINUTE);
                commit();
            }
            commit();
        }
    }
    void commit()
    {
        for (JobId id : ids) {
            if (driver.job(id).state != JobState::ADAPTING)
                continue;
            driver.commit(id);
            sizes[id].push_back(driver.job(id).size());
        }
    }

    std::optional<HeldBecause> held(JobId id) const
    {
        return policy(PolicyKind::EFFICIENT).held_because(driver.core.state(), driver.job(id));
    }

    std::optional<SizeBounds> bounds(JobId id) const
    {
        return policy(PolicyKind::EFFICIENT).bounds(driver.core.state(), driver.job(id));
    }

    CoreDriver driver;
    std::vector<JobId> ids;
    std::deque<SampledProgram> programs;
    std::map<JobId, std::vector<int>> sizes;
};

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

TEST(EfficientTest, R4_between_the_thresholds_it_is_kept_for_everybody)
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

/* Of what idles the job that runs longest gets all that it may have. */
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

/* G, figure 14.7: Cannon and GE on 32 nodes of 16 cores; laws of SPEC-performance. */
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

/* G, figure 14.8: the same with smaller matrices, by whole nodes: both give, and nobody grows. */
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

/* Q13, X1: it comes to rest, and each record's numbers give its range. */
TEST(EfficientTest, Q13_X1_comes_to_rest_and_says_why)
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
    auto numbers = parse<EfficientNumbers>(why);
    ASSERT_TRUE(numbers) << numbers.error();
    EXPECT_EQ(size_range(spec, numbers.value().range).high, record->data.at("size").get<int>());
    EXPECT_NEAR(double(numbers.value().range.mtct_ppm), 300000, 10);
}

}  // namespace
}  // namespace elastic::rm
