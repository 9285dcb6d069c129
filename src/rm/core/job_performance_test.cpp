/* Results of samples: sums, phases, trends, history; impossible samples are refused. */

#include "core/job_performance.h"

#include <gtest/gtest.h>

#include <random>

#include "core/core_driver.h"
#include "core/redundant.h"

namespace elastic::rm {
namespace {

constexpr int64_t MINUTE_MS = 60000;

LoopSample loop(const std::string &key, int64_t iterations, int64_t loop_us, int64_t mpi_us,
                const std::string &parent = "")
{
    return {key, parent, {iterations, loop_us, mpi_us}, 0, PPM};
}

Sample sample(int64_t epoch_ms, int64_t probes, std::vector<LoopSample> loops, uint64_t epoch = 0,
              int size = 4)
{
    return {epoch, size, size, probes, epoch_ms, std::move(loops)};
}

/* A job that is sampled each minute, and the values that each interval adds. */
struct Sampled {
    Performance known;
    int64_t probes = 0, at_ms = 0;
    LoopSums sums;
    size_t window = 5;

    void add(int64_t loop_us, int64_t mpi_us, int64_t more_probes = 10)
    {
        at_ms += MINUTE_MS;
        probes += more_probes;
        sums = {sums.iterations + 4 * more_probes, sums.loop_us + loop_us, sums.mpi_us + mpi_us};
        Sample next = sample(at_ms, probes, {{"probe", "", sums, 0, PPM}});
        ASSERT_EQ(check(next), "");
        ASSERT_TRUE(is_change(known, next));
        take(known, next, at_ms, window);
        ASSERT_EQ(check(known), "");
    }
};

TEST(PerformanceTest, J4_mtct_is_mpi_by_computing_time)
{
    EXPECT_EQ(mtct_ppm({1, 100, 0}), 0);
    EXPECT_EQ(mtct_ppm({1, 110, 10}), 100000);
    EXPECT_EQ(mtct_ppm({1, 100, 50}), PPM);
    EXPECT_EQ(mtct_ppm({1, 100, 100}), MTCT_MAX_PPM);
    EXPECT_EQ(mtct_ppm({1, SAMPLE_SUM_MAX, SAMPLE_SUM_MAX - 1}), MTCT_MAX_PPM);
    EXPECT_EQ(mtct_ppm({1, SAMPLE_SUM_MAX, SAMPLE_SUM_MAX / 2}), PPM);
    EXPECT_NEAR(static_cast<double>(*mtct_ppm({1, SAMPLE_SUM_MAX, SAMPLE_SUM_MAX / 11})), 100000,
                1);
    EXPECT_EQ(mtct_ppm({0, 0, 0}), std::nullopt);
    EXPECT_EQ(mpi_share_ppm({1, 100, 25}), 250000);
    EXPECT_EQ(mpi_share_ppm({1, SAMPLE_SUM_MAX, SAMPLE_SUM_MAX}), PPM);
    EXPECT_EQ(mpi_share_ppm({}), std::nullopt);
}

TEST(PerformanceTest, J4_J5_ratios_are_of_sums_since_the_commit)
{
    Sampled job;
    job.add(1000, 100);
    EXPECT_FALSE(has_data(job.known)) << "one sample";
    job.add(3000, 900);
    EXPECT_TRUE(has_data(job.known));
    EXPECT_EQ(accumulated_mtct_ppm(job.known), PPM / 3);        /* 1000 of 4000 */
    EXPECT_EQ(recent_mtct_ppm(job.known), PPM / 3) << "with fewer than 3 the ratio of sums";
    EXPECT_EQ(phase_sums(job.known), (LoopSums{80, 4000, 1000}));
    EXPECT_EQ(job.known.history.size(), 2u);
    EXPECT_EQ(job.known.history[1].phase, (LoopSums{40, 3000, 900}));
    EXPECT_EQ(job.known.history[1].probes, 10);
    EXPECT_EQ(job.known.history[1].ms, MINUTE_MS);
    invalidate_epoch(job.known, 1);
    EXPECT_EQ(accumulated_mtct_ppm(job.known), std::nullopt);
    EXPECT_EQ(recent_mtct_ppm(job.known), std::nullopt);
    EXPECT_FALSE(has_data(job.known));
    EXPECT_EQ(job.known.history.size(), 2u) << "the history remains";
}

TEST(PerformanceTest, X3_the_phase_is_described)
{
    Performance known;
    EXPECT_FALSE(measured_loop(known));
    Sample first = sample(1000, 10, {loop("5e", 4 * 412, int64_t{4} * 412 * 500000, 100)});
    first.loops[0].name = "solver+0x1a2b";
    take(known, first, 1000, 5);
    auto measured = measured_loop(known);
    ASSERT_TRUE(measured);
    EXPECT_EQ(describe(*measured), "solver+0x1a2b (4 ranks, 412 iterations of 0.5 s)");
    measured->name.clear();
    EXPECT_EQ(describe(*measured), "loop 5e (4 ranks, 412 iterations of 0.5 s)");
    measured->key = "probe";
    EXPECT_EQ(describe(*measured), "the loop that probes (4 ranks, 412 iterations of 0.5 s)");
}

TEST(PerformanceTest, the_time_for_which_it_was_suspended_counts_nowhere)
{
    Sampled job;
    job.add(1000, 100);
    size_t intervals = job.known.history.size();
    job.known.interrupted = true;
    job.add(900000, 800000);
    EXPECT_EQ(job.known.history.size(), intervals);
    EXPECT_EQ(phase_sums(job.known).loop_us, 0);
    EXPECT_EQ(recent_mtct_ppm(job.known), std::nullopt);
    job.add(1000, 100);
    EXPECT_EQ(job.known.history.size(), intervals + 1);
    EXPECT_EQ(phase_sums(job.known).loop_us, 1000);
    EXPECT_EQ(job.known.statistics.count, 1);
}

TEST(PerformanceTest, J6_few_iterations_are_no_data)
{
    Sampled job;
    job.add(1000, 100, 1);
    job.add(1000, 100, 1);
    EXPECT_FALSE(has_data(job.known)) << "2 iterations of each rank";
    job.add(1000, 100, 1);
    EXPECT_TRUE(has_data(job.known));
}

TEST(PerformanceTest, J5_the_trend_is_the_line_at_the_newest_within_what_was_seen)
{
    Sampled rising;
    for (int64_t mpi_us : {100, 200, 300, 400, 500})
        rising.add(1000 + mpi_us, mpi_us);      /* MTCT 0.1, 0.2, ... */
    EXPECT_NEAR(static_cast<double>(*recent_mtct_ppm(rising.known)), 500000, 1);
    rising.add(1600, 600);
    EXPECT_NEAR(static_cast<double>(*recent_mtct_ppm(rising.known)), 600000, 1)
        << "of the last five";
    EXPECT_EQ(rising.known.window.size(), 5u);

    Sampled jumping;
    for (int64_t mpi_us : {0, 0, 0, 0, 300})
        jumping.add(1000 + mpi_us, mpi_us);     /* the line ends at 0.18 */
    EXPECT_NEAR(static_cast<double>(*recent_mtct_ppm(jumping.known)), 180000, 1);

    Sampled falling;
    for (int64_t mpi_us : {900, 0, 0, 0, 0})
        falling.add(1000 + mpi_us, mpi_us);     /* the line ends below 0 */
    EXPECT_EQ(recent_mtct_ppm(falling.known), 0);
}

TEST(PerformanceTest, J6_statistics_are_of_intervals)
{
    Sampled job;
    for (int64_t mpi_us : {100, 300, 200, 200})
        job.add(1000 + mpi_us, mpi_us);
    const MtctStatistics &statistics = job.known.statistics;
    EXPECT_EQ(statistics.count, 4);
    EXPECT_EQ(statistics.mean_ppm(), 200000);
    EXPECT_EQ(statistics.min_ppm, 100000);
    EXPECT_EQ(statistics.max_ppm, 300000);
    EXPECT_NEAR(static_cast<double>(statistics.deviation_ppm()), 70710, 100);
    MtctStatistics many;
    for (int i = 0; i < 1000000; i++)
        many.add(i % 2 ? MTCT_MAX_PPM : 0);
    EXPECT_NEAR(static_cast<double>(many.mean_ppm()), 5e8, 1e6);
    EXPECT_NEAR(static_cast<double>(many.deviation_ppm()), 5e8, 1e6);
}

TEST(PerformanceTest, J3_J5_the_phase_is_the_longest_loop_and_the_outermost_of_equals)
{
    Performance known;
    take(known,
         sample(1, 1,
                {loop("a", 4, 1000, 10), loop("b", 4, 960, 10, "a"), loop("c", 4, 1000, 500, "b")}),
         1, 5);
    EXPECT_EQ(known.phase, "a") << "the outermost within 5 % of c";
    take(
        known,
        sample(2, 2,
               {loop("a", 8, 2000, 20), loop("b", 8, 3960, 40, "a"), loop("c", 8, 1100, 500, "b")}),
        2, 5);
    EXPECT_EQ(known.phase, "b") << "it takes longest in the last interval";
    EXPECT_EQ(phase_sums(known), (LoopSums{4, 3000, 30})) << "since it has become the phase";
    EXPECT_EQ(known.window.size(), 1u);
    EXPECT_EQ(known.statistics.count, 1);
    EXPECT_EQ(known.history.size(), 2u);
    take(known, sample(3, 3, {}), 3, 5);
    EXPECT_EQ(known.phase, "b") << "a sample without loops changes none";
    EXPECT_EQ(phase_sums(known), (LoopSums{4, 3000, 30}));
    EXPECT_EQ(known.history.back().phase, LoopSums());
    EXPECT_EQ(known.history.back().probes, 1);
}

TEST(PerformanceTest, loops_around_each_other_end)
{
    Performance known;
    take(known, sample(1, 1, {loop("a", 1, 1000, 1, "b"), loop("b", 1, 1000, 1, "a")}), 1, 5);
    EXPECT_FALSE(known.phase.empty());
}

TEST(PerformanceTest, sums_that_fall_are_no_interval)
{
    Performance known;
    take(known, sample(1, 1, {loop("probe", 40, 1000, 100)}), 1, 5);
    Sample less = sample(2, 2, {loop("probe", 30, 900, 50)});
    ASSERT_TRUE(is_change(known, less));
    take(known, less, 2, 5);
    EXPECT_EQ(known.statistics.count, 1);
    EXPECT_EQ(known.history.back().phase, LoopSums());
    EXPECT_EQ(accumulated_mtct_ppm(known), mtct_ppm({30, 900, 50}));
}

/* Even if the inner loop was short: unknown parts of an interval do not count. */
TEST(PerformanceTest, an_outer_loop_whose_sums_fall_is_no_phase)
{
    Performance known;
    take(known, sample(1000, 10, {loop("a", 10, 1000, 100, "b"), loop("b", 10, 500, 100)}), 1000,
         5);
    ASSERT_EQ(known.phase, "a");
    Sample next = sample(2000, 20, {loop("a", 20, 1050, 110, "b"), loop("b", 5, 10, 1)});
    ASSERT_TRUE(is_change(known, next));
    take(known, next, 2000, 5);
    EXPECT_EQ(check(known), "");
    EXPECT_EQ(known.phase, "a");
    EXPECT_EQ(known.history.back().phase, (LoopSums{10, 50, 10}));
}

TEST(PerformanceTest, J2_what_is_not_new_is_known_as_such)
{
    Performance known;
    Sample first = sample(1000, 10, {loop("probe", 40, 1000, 100)});
    ASSERT_TRUE(is_change(known, first));
    take(known, first, 1000, 5);
    EXPECT_FALSE(is_change(known, first)) << "repeated";
    EXPECT_FALSE(is_change(known, sample(900, 11, {}))) << "of the past";
    EXPECT_FALSE(is_change(known, sample(2000, 9, {}))) << "of the past";
    EXPECT_FALSE(is_change(known, sample(2000, 10, first.loops))) << "it stands still";
    EXPECT_FALSE(is_change(known, sample(2000, 11, {}, 1))) << "of another epoch";
    EXPECT_TRUE(is_change(known, sample(2000, 11, {})));
    EXPECT_TRUE(is_change(known, sample(2000, 10, {loop("probe", 41, 1010, 100)})));
}

TEST(PerformanceTest, what_cannot_be_is_named)
{
    auto wrong = [](auto change) {
        Sample one = sample(1000, 10, {loop("probe", 40, 1000, 100)});
        change(one);
        return check(one);
    };
    EXPECT_EQ(wrong([](Sample &) {}), "");
    EXPECT_NE(wrong([](Sample &s) { s.size = 0; }), "");
    EXPECT_NE(wrong([](Sample &s) { s.processes = 5; }), "");
    EXPECT_NE(wrong([](Sample &s) { s.processes = 0; }), "");
    EXPECT_NE(wrong([](Sample &s) { s.probes = -1; }), "");
    EXPECT_NE(wrong([](Sample &s) { s.epoch_ms = SAMPLE_SUM_MAX + 1; }), "");
    EXPECT_NE(wrong([](Sample &s) { s.loops[0].sums.mpi_us = 1001; }), "");
    EXPECT_NE(wrong([](Sample &s) { s.loops[0].sums.iterations = -1; }), "");
    EXPECT_NE(wrong([](Sample &s) { s.loops[0].ratio_min_ppm = PPM + 1; }), "");
    EXPECT_NE(wrong([](Sample &s) { s.loops[0].key = "<b>"; }), "");
    EXPECT_NE(wrong([](Sample &s) { s.loops[0].name.assign(LOOP_NAME_BYTES_MAX + 1, 'x'); }), "");
    EXPECT_NE(wrong([](Sample &s) { s.loops.push_back(s.loops[0]); }), "");
    EXPECT_NE(wrong([](Sample &s) { s.loops.assign(SAMPLE_LOOPS_MAX + 1, s.loops[0]); }), "");
}

/* For any samples the result is bounded, and unchanged after its conversion to JSON and back. */
TEST(PerformanceTest, any_samples_leave_what_holds)
{
    std::mt19937_64 random(1);
    auto below = [&](int64_t n) {
        return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
    };
    for (int seed = 0; seed < 200; seed++) {
        Performance known;
        int64_t at_ms = 0, taken = 0;
        for (int i = 0; i < 300; i++) {
            at_ms += below(1000);
            Sample next = sample(at_ms, known.newest.probes + below(5) - 1, {}, known.newest.epoch);
            next.size = next.processes = 1 + static_cast<int>(known.newest.epoch % 3);
            for (int64_t loops = below(4); loops > 0; loops--) {
                int64_t most = int64_t{1} << below(54), loop_us = below(most) + 1;
                /* In sequence: the arguments of one call have no order. */
                std::string key(1, static_cast<char>('a' + below(3))),
                    parent(1, static_cast<char>('a' + below(3)));
                int64_t iterations = below(1000), mpi_us = below(loop_us);
                next.loops.push_back(loop(key, iterations, loop_us, mpi_us, parent));
            }
            if (below(50) == 0)
                invalidate_epoch(known, known.newest.epoch + 1);
            if (is_change(known, next)) {
                take(known, next, at_ms, 5);
                taken++;
            }
            ASSERT_EQ(check(known), "");
            for (auto value : {accumulated_mtct_ppm(known), recent_mtct_ppm(known)})
                ASSERT_TRUE(!value || (*value >= 0 && *value <= MTCT_MAX_PPM));
        }
        ASSERT_GT(taken, 50);
        Json json = write(known);
        auto again = parse<Performance>(json);
        ASSERT_TRUE(again.ok()) << again.error();
        ASSERT_EQ(write(again.value()), json);
        ASSERT_LT(json.dump().size(), 20000u);
    }
}

TEST(PerformanceTest, the_history_of_a_long_run_has_all_of_it)
{
    Sampled job;
    for (int i = 0; i < 10000; i++)
        job.add(1000, i < 5000 ? 100 : 500);
    const std::vector<Interval> &history = job.known.history;
    ASSERT_LE(history.size(), PERFORMANCE_HISTORY_MAX);
    int64_t ms = 0, probes = 0;
    for (const Interval &interval : history) {
        ms += interval.ms;
        probes += interval.probes;
    }
    int64_t longest = 0;
    for (const Interval &interval : history)
        longest = std::max(longest, interval.ms);
    EXPECT_LT(longest, 4 * 10000 * MINUTE_MS / static_cast<int64_t>(PERFORMANCE_HISTORY_MAX))
        << "all is about as fine";
    EXPECT_EQ(ms, 10000 * MINUTE_MS);
    EXPECT_EQ(probes, 100000);
    EXPECT_EQ(mpi_share_ppm(history.front().phase), 100000);
    EXPECT_EQ(mpi_share_ppm(history.back().phase), 500000);
}

TEST(PerformanceTest, intervals_of_different_sizes_stay_apart)
{
    Performance known;
    for (int i = 0; i < 1000; i++) {
        take(known, sample(1000, 10, {}, static_cast<uint64_t>(i), 1 + i % 2), i, 5);
        ASSERT_LE(known.history.size(), PERFORMANCE_HISTORY_MAX);
        invalidate_epoch(known, static_cast<uint64_t>(i) + 1);
    }
    for (size_t i = 1; i < known.history.size(); i++)
        EXPECT_NE(known.history[i].size, known.history[i - 1].size);
    EXPECT_EQ(known.history.back().until_ms, 999);
}

/* ---- in the core ----------------------------------------------------------------------------- */

class SampledJobTest : public testing::Test {
  protected:
    SampledJobTest()
    {
        id = core.submit(malleable(2, 8));
        core.run(id);
    }
    void notify(const Sample &reported, uint32_t step = 1)
    {
        core.send(StepSampled{id, step, reported});
    }
    Sample now(int64_t epoch_ms, int64_t probes, uint64_t epoch = 0) const
    {
        return sample(epoch_ms, probes, {loop("probe", 100 * probes, 1000 * probes, 100 * probes)},
                      epoch, core.job(id).size());
    }
    bool is_known(const Sample &reported)
    {
        return is_redundant(core.core.state(), StepSampled{id, 1, reported});
    }

    CoreDriver core{PolicyKind::FILL, 2, 4};
    JobId id = 0;
};

TEST_F(SampledJobTest, samples_are_stored_with_the_job)
{
    EXPECT_FALSE(is_known(now(1000, 10)));
    notify(now(1000, 10));
    ASSERT_TRUE(core.job(id).performance);
    EXPECT_EQ(core.job(id).performance->phase, "probe");
    EXPECT_TRUE(is_known(now(1000, 10)));
    EXPECT_TRUE(is_known(now(900, 9)));
    EXPECT_FALSE(is_known(now(2000, 20)));
}

TEST_F(SampledJobTest, J2_those_of_another_world_have_no_effect)
{
    Sample other_size = now(1000, 10);
    other_size.size++;
    for (const Sample &reported : {now(1000, 10, 1), now(1000, 10, 7), other_size}) {
        EXPECT_TRUE(is_known(reported));
        notify(reported);
        EXPECT_FALSE(core.job(id).performance);
    }
    notify(now(1000, 10), 2);
    EXPECT_FALSE(core.job(id).performance);
}

TEST_F(SampledJobTest, J2_J5_a_commit_begins_anew_and_a_late_sample_does_not_count)
{
    notify(now(1000, 10));
    Sample late = now(2000, 20);
    core.send(Resize{"r", id, 4});
    Sample of_new_world = now(500, 5, 1);
    of_new_world.size = of_new_world.processes = 4;
    EXPECT_FALSE(is_known(of_new_world)) << "the commit may have been told and not handled";
    core.commit(id);
    ASSERT_EQ(core.job(id).size(), 4);
    EXPECT_EQ(core.job(id).performance->samples, 0);
    notify(late);
    EXPECT_EQ(core.job(id).performance->samples, 0);
    notify(of_new_world);
    EXPECT_EQ(core.job(id).performance->samples, 1);
    EXPECT_EQ(core.job(id).performance->history.size(), 2u);
    EXPECT_EQ(core.job(id).performance->history.back().size, 4);
}

TEST_F(SampledJobTest, a_step_that_is_not_believed_has_none)
{
    core.send(StepBroken{id, 1, "test"});
    EXPECT_TRUE(is_known(now(1000, 10)));
    notify(now(1000, 10));
    EXPECT_FALSE(core.job(id).performance);
}

TEST_F(SampledJobTest, the_next_step_knows_nothing_of_the_last_and_an_ended_job_all)
{
    notify(now(1000, 10));
    core.end(id);
    EXPECT_TRUE(core.job(id).performance) << "for people";
    notify(now(2000, 20));
    EXPECT_EQ(core.job(id).performance->samples, 1);
    JobSpec again = malleable(2, 8);
    again.requeue = true;
    id = core.submit(again);
    core.run(id);
    notify(now(1000, 10));
    core.send(StepLost{id, 1, "test"});
    EXPECT_FALSE(core.job(id).performance);
}

TEST_F(SampledJobTest, a_snapshot_has_them_and_one_that_cannot_be_is_refused)
{
    notify(now(1000, 10));
    notify(now(2000, 20));
    Json snapshot = core.core.snapshot();
    auto again = Core::restore(snapshot);
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(again.value().snapshot(), snapshot);
    Json &performance = snapshot["jobs"][0]["performance"];
    ASSERT_TRUE(performance.is_object());
    performance["history"][0]["phase"]["mpi_us"] = int64_t{1} << 60;
    EXPECT_FALSE(Core::restore(snapshot));
}

}  // namespace
}  // namespace elastic::rm
