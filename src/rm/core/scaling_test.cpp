/* The dependence of speed on size, from measurements; the remaining time of a job; whether a
 * growth pays. */

#include "core/scaling.h"

#include "core/sampled_program.h"

namespace elastic::rm {
namespace {

/* A job at known sizes: intervals of its history. */
Job job_of(int size, const std::vector<std::pair<int, double>> &speeds, double share,
           int intervals = 3)
{
    Job job;
    job.spec = malleable(1, 1000);
    job.blocks = {{"n0", size}};
    Performance &known = job.performance.emplace();
    known.phase = "probe";
    for (const auto &[of, speed] : speeds) {
        for (int i = 0; i < intervals; i++) {
            Interval interval;
            interval.size = of;
            interval.ms = MINUTE;
            interval.probes = static_cast<int64_t>(static_cast<double>(MINUTE) * speed);
            interval.key = "probe";
            interval.phase.iterations = interval.probes * of;
            interval.phase.loop_us = MINUTE * 1000 * of;
            interval.phase.mpi_us =
                static_cast<int64_t>(static_cast<double>(interval.phase.loop_us) * share);
            known.history.push_back(interval);
        }
    }
    return job;
}

TEST(ScalingTest, one_size_is_extrapolated_by_its_mpi_time)
{
    Scaling scaling = scaling_of(job_of(8, {{8, 4}}, 0.25));
    EXPECT_NEAR(double(scaling.serial_ppm), 250000, 1);
    EXPECT_EQ(scaling.sizes, 1);
    EXPECT_EQ(scaling.samples, 3);
    EXPECT_EQ(scaling.proven_most, 8);
    EXPECT_NEAR(relative_speed(scaling, 16), 1 / (0.25 + 0.75 / 2), 1e-5);
    EXPECT_NEAR(relative_speed(scaling, 8), 1, 1e-9);
}

/* MPI time that agrees with the speeds, or is no evidence: the law is found. */
TEST(ScalingTest, several_sizes_give_the_law_of_amdahl)
{
    for (double serial : {0.0, 0.02, 0.1, 0.5}) {
        auto speed = amdahl(serial);
        auto part = [&](int size) { return serial * speed(size); };
        Job job = job_of(8, {{4, speed(4)}, {8, speed(8)}}, 0);
        for (Interval &each : job.performance->history)
            each.phase.mpi_us = static_cast<int64_t>(
                static_cast<double>(each.phase.loop_us) * part(each.size));
        EXPECT_NEAR(double(scaling_of(job).serial_ppm) / 1e6, part(8), 0.002) << serial;
        for (Interval &each : job.performance->history)
            each.phase = {};
        job.performance->scaling.reset();
        EXPECT_NEAR(double(scaling_of(job).serial_ppm) / 1e6, part(8), 0.001) << serial;
    }
}

TEST(ScalingTest, speeds_count_for_more_than_mpi_time)
{
    Scaling scaling = scaling_of(job_of(12, {{3, 3}, {6, 6}, {12, 6}}, 0.05)); /* it scales to 6 */
    EXPECT_EQ(scaling.end, 6);
    EXPECT_NEAR(relative_speed(scaling, 6), 1, 1e-9) << "as fast as 12";
    EXPECT_LT(relative_speed(scaling, 3), 0.55);
    EXPECT_EQ(scaling.proven_most, 12);
    scaling = scaling_of(job_of(6, {{3, 3}, {6, 6}, {12, 6}}, 0.05));
    EXPECT_LT(scaling.serial_below_ppm, 100000) << "the first six were needed";
    EXPECT_NEAR(relative_speed(scaling, 12), 1, 1e-9) << "six more were not";
}

/* Between sizes that were measured: with 8 processes it is as fast as 5 to 8 would be linearly. */
TEST(ScalingTest, an_end_is_found_between_sizes_and_only_where_there_is_one)
{
    EXPECT_EQ(scaling_of(job_of(5, {{5, 5}, {10, 8}, {20, 8}}, 0.02)).end, 8);
    EXPECT_EQ(scaling_of(job_of(10, {{5, 5}, {10, 5}}, 0.02)).end, 5) << "or fewer";
    auto amdahl = [](int size) { return 1 / (0.05 + 0.95 / size); };
    EXPECT_EQ(scaling_of(job_of(8, {{4, amdahl(4)}, {8, amdahl(8)}, {16, amdahl(16)}}, 0.02)).end,
              0);
    EXPECT_EQ(scaling_of(job_of(8, {{8, 8}}, 0.5)).end, 0) << "one size";
}

/* In a short interval the first round and a part of the last are not measured: 4 probes in 1 s
 * are 3 rounds of 0.2 s, and a wait. */
TEST(ScalingTest, rounds_are_those_that_were_measured)
{
    Interval interval;
    interval.size = 2;
    interval.ms = 1000;
    interval.probes = 4;
    interval.key = PROBE_LOOP;
    interval.phase = {6, 1200000, 0};
    auto per_second = [](const Interval &of) {
        Rounds rounds = rounds_of(of);
        return 1000 * rounds.rounds / rounds.ms;
    };
    EXPECT_DOUBLE_EQ(per_second(interval), 5);
    interval.probes = 7;
    EXPECT_DOUBLE_EQ(per_second(interval), 7) << "less than half has been measured";
    interval.probes = 4;
    interval.key = "5e";
    EXPECT_DOUBLE_EQ(per_second(interval), 4) << "its rounds are others";
    interval.key.clear();
    interval.phase = {};
    EXPECT_DOUBLE_EQ(per_second(interval), 4) << "nothing has been measured";
}

TEST(ScalingTest, another_phase_gives_no_point)
{
    Job job = job_of(8, {{4, 4}, {8, 4}}, 0.1);
    job.performance->phase = "other";
    EXPECT_EQ(scaling_of(job), (Scaling{8, 0, 0, 0, 0, 0, false}));
    job.performance->phase.clear(); /* after a commit: the last one */
    EXPECT_EQ(scaling_of(job).sizes, 2);
}

TEST(ScalingTest, a_hint_is_used_until_it_is_measured)
{
    Job job = job_of(8, {{8, 4}}, 0.25);
    job.spec.serial_ppm = 20000;
    EXPECT_NEAR(double(scaling_of(job).serial_ppm), 250000, 1);
    job.performance.reset();
    EXPECT_TRUE(scaling_of(job).hinted);
    EXPECT_NEAR(double(scaling_of(job).serial_ppm) / 1e6, 0.02 / (0.02 + 0.98 / 8), 1e-6);
}

TEST(ScalingTest, the_size_at_which_more_bring_too_little)
{
    EXPECT_GT(efficient_size(10, 0, 500000), 1 << 20);
    /* the next processes have half of the gain */
    EXPECT_EQ(efficient_size(10, 500000, 500000), 10);
    EXPECT_EQ(efficient_size(10, 200000, 500000), 40); /* with m: 8/(2m/10 + 8) = 1/2 */
    EXPECT_EQ(efficient_size(10, PPM, 500000), 0);
}

TEST(ScalingTest, J7_remaining_time_is_the_work_that_is_left)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 8);
    JobSpec spec = malleable(1, 8, 100 * MINUTE);
    spec.preferred = 4;
    JobId id = driver.submit(spec);
    driver.run(id);
    EXPECT_EQ(remaining_ms(driver.core.state(), driver.job(id)), 100 * MINUTE);
    driver.now_ms += 20 * MINUTE;
    SampledProgram program(driver, id, amdahl(0));
    program.sample(20 * MINUTE);
    EXPECT_EQ(remaining_ms(driver.core.state(), driver.job(id)), 80 * MINUTE);
    driver.send(Resize{"r", id, 8});
    driver.commit(id);
    EXPECT_EQ(remaining_ms(driver.core.state(), driver.job(id)), 40 * MINUTE);
    driver.now_ms += 50 * MINUTE;
    program.sample(50 * MINUTE);
    EXPECT_EQ(remaining_ms(driver.core.state(), driver.job(id)), 1000);
    JobId endless = driver.submit(rigid(1));
    EXPECT_EQ(remaining_ms(driver.core.state(), driver.job(endless)), NEVER);
}

/* SPEC-epop L2: (total - iteration) iterations of mean length, from 3 on. */
TEST(ScalingTest, J7_L2_progress_in_a_phase_goes_before_both)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 8);
    JobId id = driver.submit(malleable(4, 4, 100 * MINUTE));
    driver.run(id);
    SampledProgram program(driver, id, amdahl(0));
    auto left_ms = [&](PhasePosition position) {
        program.position = position;
        driver.now_ms += MINUTE;
        program.sample(MINUTE);
        return remaining_ms(driver.core.state(), driver.job(id));
    };
    EXPECT_EQ(left_ms({1, false, 412, 1000, 300000}), 588 * 300);
    EXPECT_EQ(left_ms({1, false, 1000, 1000, 300000}), 1000) << "at least a second";
    EXPECT_EQ(left_ms({1, false, 2, 1000, 300000}), 97 * MINUTE) << "too few: by its limit";
    EXPECT_EQ(left_ms({1, false, 500, -1, 300000}), 96 * MINUTE) << "no total";
    EXPECT_EQ(left_ms({1, false, 500, 1000, -1}), 95 * MINUTE) << "not measured";
    EXPECT_GT(left_ms({1, false, 3, SAMPLE_SUM_MAX, SAMPLE_SUM_MAX}), 0) << "whatever it is";
}

TEST(ScalingTest, J7_the_expected_time_goes_before_the_limit)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 8);
    JobSpec spec = rigid(4, 100 * MINUTE);
    spec.expect_ms = 10 * MINUTE;
    JobId id = driver.submit(spec);
    driver.run(id);
    EXPECT_EQ(remaining_ms(driver.core.state(), driver.job(id)), 10 * MINUTE);
}

TEST(ScalingTest, K1_means_are_exponential_and_K2_weighs_them)
{
    CoreDriver driver(PolicyKind::FCFS, 1, 8);
    JobId id = driver.submit(malleable(1, 8));
    driver.run(id);
    EXPECT_EQ(adaptation_times(driver.job(id)).standstill_ms, 500);
    EXPECT_EQ(adaptation_times(driver.job(id)).duration_ms, 2000);
    for (int64_t standstill_ms : {400, 800}) {
        driver.send(Resize{"r" + std::to_string(standstill_ms), id, driver.job(id).size() - 1});
        const Adaptation change = *driver.job(id).adaptation;
        driver.send(StepAccepted{id, 1, change.request, change.request});
        driver.now_ms += 1000;
        driver.send(StepCommitted{id, 1, change.request, driver.job(id).epoch + 1, standstill_ms});
    }
    EXPECT_EQ(adaptation_times(driver.job(id)).standstill_ms, 500); /* 400 + (800 - 400)/4 */
    EXPECT_EQ(adaptation_times(driver.job(id)).duration_ms, 1000);
    AdaptationTimes times{100, 1000};
    EXPECT_TRUE(growth_pays(4000, 0, times, 4.0 / 3)); /* gains 1 s */
    EXPECT_FALSE(growth_pays(3900, 0, times, 4.0 / 3));
    EXPECT_FALSE(growth_pays(3999, 0, {1, 1000}, 2)); /* ends before the change would be done */
    EXPECT_TRUE(growth_pays(NEVER, 2000, times, 2));
    EXPECT_FALSE(growth_pays(NEVER, 1999, times, 2));
}

}  // namespace
}  // namespace elastic::rm
