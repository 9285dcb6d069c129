/* Speed curves of programs, which are stored between their runs: the programs, the amount of
 * data, and the curves after a restart. */

#include "core/learned.h"

#include "core/program_key.h"
#include "core/sampled_program.h"

namespace elastic::rm {
namespace {

JobSpec run_of(const std::string &argument)
{
    JobSpec spec = malleable(1, 8);
    spec.uid = 7;
    spec.program = program_of({"solver", argument});
    return spec;
}

/* A run that is measured for some time at its first size. */
JobId run(CoreDriver &driver, const JobSpec &spec, int samples = 3)
{
    JobId id = driver.submit(spec);
    driver.run(id);
    SampledProgram program(driver, id, scales_to(3));
    for (int i = 0; i < samples; i++) {
        driver.wait(MINUTE);
        program.sample(MINUTE);
    }
    return id;
}

TEST(LearnedTest, commands_are_distinguished)
{
    EXPECT_EQ(program_of({"a", "b"}), program_of({"a", "b"}));
    std::set<std::string> keys = {program_of({"a", "b"}), program_of({"ab"}), program_of({"a b"}),
                                  program_of({"a", "b", ""}), program_of({"b", "a"})};
    EXPECT_EQ(keys.size(), 5u);
    for (const std::string &key : keys)
        EXPECT_TRUE(is_program(key)) << key;
    EXPECT_FALSE(is_program("0123456789ABCDEF"));
    EXPECT_FALSE(is_program("1"));
    JobSpec spec = run_of("x");
    EXPECT_EQ(check(spec), "");
    spec.program = "x";
    EXPECT_NE(check(spec), "");
}

TEST(LearnedTest, the_next_run_knows_what_the_last_one_has_measured)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId first = run(driver, run_of("x"));
    EXPECT_TRUE(driver.core.state().learned.empty()) << "it still runs";
    driver.end(first, 1);
    ASSERT_EQ(driver.core.state().learned.size(), 1u);
    const Learned &learned = driver.core.state().learned.begin()->second;
    ASSERT_EQ(learned.sizes.size(), 1u);
    EXPECT_EQ(learned.sizes[0].size, 8);
    EXPECT_EQ(learned.sizes[0].ms, 3 * MINUTE);
    EXPECT_EQ(learned.sizes[0].probes, 3 * MINUTE * 3 / 100);

    auto knows = [&](JobSpec spec) {
        JobId id = driver.submit(spec);
        driver.run(id);
        bool known = driver.job(id).performance && driver.job(id).performance->history.size() == 1;
        driver.end(id);
        return known;
    };
    EXPECT_TRUE(knows(run_of("x")));
    EXPECT_FALSE(knows(run_of("y"))) << "other arguments";
    JobSpec other = run_of("x");
    other.uid = 8;
    EXPECT_FALSE(knows(other)) << "another user";
    other = run_of("x");
    other.elasticity = Elasticity::MOLDABLE;
    EXPECT_TRUE(knows(other)) << "its size is chosen";
    other = run_of("x");
    other.elasticity = Elasticity::RIGID;
    other.maximum = other.minimum;
    EXPECT_FALSE(knows(other)) << "its size is given";
    other = run_of("x");
    other.program.clear();
    EXPECT_FALSE(knows(other)) << "no key: a script";
    EXPECT_TRUE(knows(run_of("x"))) << "a run without samples removes nothing";
}

/* J5: for the loop with the most time; new samples count soon. */
TEST(LearnedTest, it_is_bounded)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    driver.end(run(driver, run_of("long"), 100));
    const Interval &size = driver.core.state().learned.begin()->second.sizes[0];
    EXPECT_LE(size.ms, LEARNED_MS_MAX);
    EXPECT_NEAR(double(size.probes) / double(size.ms), 0.03, 0.001) << "the same speed";

    LearnedPrograms programs;
    Job job;
    job.spec = run_of("x");
    job.performance.emplace();
    for (int i = 1; i <= 20; i++)
        job.performance->history.push_back({i * MINUTE, i, MINUTE, 100, {1, 100, 1}, "probe"});
    learn(programs, job, 0);
    const Learned &learned = programs.begin()->second;
    EXPECT_EQ(learned.sizes.size(), LEARNED_SIZES_MAX);
    EXPECT_EQ(learned.sizes.front().size, 13) << "the last ones";
    EXPECT_EQ(check(learned), "");
    for (int i = 1; i <= 300; i++) {
        job.spec = run_of(std::to_string(i));
        learn(programs, job, i);
    }
    EXPECT_EQ(programs.size(), LEARNED_PROGRAMS_MAX);
    EXPECT_TRUE(programs.contains({7, run_of("300").program}));
    EXPECT_FALSE(programs.contains({7, run_of("100").program})) << "the oldest are removed";

    /* Invalid values of a false step stay within bounds, too. */
    job.spec = run_of("lies");
    for (Interval &interval : job.performance->history)
        interval = {1, 1, 1, SAMPLE_SUM_MAX, {SAMPLE_SUM_MAX, SAMPLE_SUM_MAX, 0}, "probe"};
    learn(programs, job, 1000);
    EXPECT_EQ(check(programs.at({7, job.spec.program})), "");
}

/* X3: the final size of an earlier run is the first size of the next one, for moldable jobs,
 * too. */
TEST(LearnedTest, X3_it_decides_the_size_that_the_next_run_starts_with)
{
    auto start = [](CoreDriver &driver, const JobSpec &spec) {
        JobId id = driver.submit(spec);
        driver.run(id);
        return id;
    };
    for (PolicyKind policy : {PolicyKind::EFFICIENT, PolicyKind::MEASURED}) {
        CoreDriver driver(policy, 1, 8);
        Config config = driver.core.state().config;
        config.efficiency_idle_ppm = config.efficiency_ppm; /* nothing is loaned */
        driver.send(Configure{config});
        JobId first = start(driver, run_of("x"));
        ASSERT_EQ(driver.job(first).size(), 8) << "nothing is known of it";
        bool efficient = policy == PolicyKind::EFFICIENT;
        SampledProgram program(driver, first, efficient ? amdahl(0.05) : scales_to(2));
        for (int i = 0; i < 60; i++) {
            driver.wait(MINUTE);
            program.sample(MINUTE);
            if (driver.job(first).state == JobState::ADAPTING)
                driver.commit(first);
        }
        int size = driver.job(first).size();
        ASSERT_LE(size, 4) << to_string(policy);
        driver.end(first);
        for (Elasticity kind : {Elasticity::MALLEABLE, Elasticity::MOLDABLE}) {
            JobSpec again = run_of("x");
            again.elasticity = kind;
            JobId next = start(driver, again);
            EXPECT_LE(driver.job(next).size(), size)
                << to_string(policy) << ", " << to_string(kind);
            EXPECT_GE(driver.job(next).size(), 2);
            driver.end(next);
        }
        JobSpec at_least = run_of("x");
        at_least.minimum = 6;
        JobId large = start(driver, at_least);
        EXPECT_EQ(driver.job(large).size(), 6) << "its user set it";
        driver.end(large);
        JobId other = start(driver, run_of("y"));
        EXPECT_EQ(driver.job(other).size(), 8) << "other arguments";
    }
}

/* No end of its scaling is known: twice the known size, not all. */
TEST(LearnedTest, X3_beyond_what_has_been_measured_it_is_doubled)
{
    for (PolicyKind policy : {PolicyKind::EFFICIENT, PolicyKind::MEASURED}) {
        CoreDriver driver(policy, 1, 16);
        JobId blocker = driver.submit(rigid(13));
        driver.run(blocker);
        JobSpec spec = run_of("x");
        spec.maximum = 16;
        JobId first = driver.submit(spec);
        driver.run(first);
        ASSERT_EQ(driver.job(first).size(), 3);
        SampledProgram program(driver, first, amdahl(0));
        for (int i = 0; i < 5; i++) {
            driver.wait(MINUTE);
            program.sample(MINUTE);
        }
        driver.end(first);
        driver.end(blocker);
        JobId next = driver.submit(spec);
        EXPECT_EQ(driver.job(next).size(), 6) << to_string(policy);
    }
}

/* K1: the cost of changes in earlier runs. */
TEST(LearnedTest, K1_what_changes_cost_is_known_to_the_next_run)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    JobId first = run(driver, run_of("x"));
    JobId waits = driver.submit(rigid(4));
    driver.now_ms += 3000;
    driver.commit(first);
    driver.run(waits);
    driver.end(waits);
    driver.end(first);
    JobId next = driver.submit(run_of("x"));
    driver.run(next);
    EXPECT_EQ(driver.job(next).mean_duration_ms, 3000);
    EXPECT_EQ(driver.job(next).committed, 0u);
}

TEST(LearnedTest, snapshot_and_replay_keep_it)
{
    CoreDriver driver(PolicyKind::FILL, 1, 8);
    driver.end(run(driver, run_of("x")));
    Json snapshot = driver.core.snapshot();
    auto again = Core::restore(Json::parse(snapshot.dump()));
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(again.value().snapshot(), snapshot);
    ASSERT_EQ(snapshot.at("learned").size(), 1u);
    Core replayed;
    for (const Event &event : driver.log)
        replayed.handle(event);
    EXPECT_EQ(replayed.snapshot(), snapshot);

    Json broken = snapshot;
    broken["learned"][0]["sizes"] = Json::array();
    EXPECT_FALSE(Core::restore(broken));
    broken = snapshot;
    broken["learned"][0]["program"] = "";
    EXPECT_FALSE(Core::restore(broken));
    broken = snapshot;
    for (size_t i = 0; i < LEARNED_PROGRAMS_MAX; i++)
        broken["learned"].push_back(snapshot["learned"][0]);
    EXPECT_FALSE(Core::restore(broken));
}

}  // namespace
}  // namespace elastic::rm
