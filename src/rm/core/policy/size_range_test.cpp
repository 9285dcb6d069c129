/* The range by MPI time (R), and the sizes with which all end together (T): the numbers of
 * SPEC-performance. */

#include "core/policy/size_range.h"

#include <cmath>
#include <random>

#include "core/core_driver.h"

namespace elastic::rm {
namespace {

constexpr int64_t UPPER = 100000, LOWER = 10000;

RangeNumbers numbers(int size, int64_t mtct, int64_t recent)
{
    RangeNumbers result;
    result.size = size;
    result.has_data = true;
    result.mtct_ppm = mtct;
    result.recent_mtct_ppm = recent;
    result.upper_ppm = UPPER;
    result.lower_ppm = LOWER;
    return result;
}

TEST(SizeRangeTest, R1_thresholds_themselves_are_between)
{
    JobSpec spec = malleable(2, 64);
    SizeRange unchanged{RangeKind::KEEP, 16, 16};
    EXPECT_EQ(size_range(spec, numbers(16, UPPER, UPPER)), unchanged);
    EXPECT_EQ(size_range(spec, numbers(16, LOWER, LOWER)), unchanged);
    EXPECT_EQ(size_range(spec, numbers(16, LOWER - 1, LOWER)), unchanged);
}

TEST(SizeRangeTest, R2_one_half_or_the_least_by_either_value)
{
    JobSpec spec = malleable(3, 64);
    EXPECT_EQ(size_range(spec, numbers(16, UPPER + 1, 0)), (SizeRange{RangeKind::REDUCE, 8, 8}));
    EXPECT_EQ(size_range(spec, numbers(16, 0, UPPER + 1)), (SizeRange{RangeKind::REDUCE, 8, 8}));
    EXPECT_EQ(size_range(spec, numbers(5, UPPER + 1, 0)), (SizeRange{RangeKind::REDUCE, 3, 3}));
    EXPECT_EQ(size_range(spec, numbers(3, UPPER + 1, 0)), (SizeRange{RangeKind::KEEP, 3, 3}));
    spec.size_rule = SizeRule::SQUARE;
    EXPECT_EQ(size_range(spec, numbers(36, UPPER + 1, 0)), (SizeRange{RangeKind::REDUCE, 16, 16}));
    EXPECT_EQ(size_range(spec, numbers(4, UPPER + 1, 0)), (SizeRange{RangeKind::KEEP, 4, 4}));
}

TEST(SizeRangeTest, R3_up_to_twice_as_many)
{
    JobSpec spec = malleable(3, 64);
    EXPECT_EQ(size_range(spec, numbers(16, 0, 0)), (SizeRange{RangeKind::OPTIONAL, 3, 32}));
    EXPECT_EQ(size_range(spec, numbers(40, 0, 0)), (SizeRange{RangeKind::OPTIONAL, 3, 64}));
    spec.size_rule = SizeRule::SQUARE;
    EXPECT_EQ(size_range(spec, numbers(16, 0, 0)), (SizeRange{RangeKind::OPTIONAL, 4, 25}));
}

TEST(SizeRangeTest, R4_without_data_no_size_changes)
{
    RangeNumbers nothing = numbers(16, UPPER + 1, UPPER + 1);
    nothing.has_data = false;
    EXPECT_EQ(size_range(malleable(1, 64), nothing), (SizeRange{RangeKind::KEEP, 16, 16}));
}

TEST(SizeRangeTest, R5_whole_nodes_are_halved)
{
    JobSpec spec = malleable(4, 64);
    RangeNumbers five = numbers(20, UPPER + 1, 0); /* five nodes of four */
    five.unit = 4;
    EXPECT_EQ(size_range(spec, five).high, 8);
    RangeNumbers not_full = numbers(19, UPPER + 1, 0);
    not_full.unit = 4;
    EXPECT_EQ(size_range(spec, not_full).high, 8) << "five nodes as well";
    not_full.mtct_ppm = 0;
    EXPECT_EQ(size_range(spec, not_full).high, 40);
}

TEST(SizeRangeTest, R6_a_size_that_was_too_large_is_a_ceiling)
{
    RangeNumbers below = numbers(16, 0, 0);
    below.ceiling = 32;
    EXPECT_EQ(size_range(malleable(1, 64), below).high, 24) << "between both";
    for (int too_large : {19, 16}) {
        below.ceiling = too_large;
        EXPECT_EQ(size_range(malleable(1, 64), below).high, 16) << "hardly more";
    }
    RangeNumbers above = numbers(24, UPPER + 1, UPPER + 1);
    above.ceiling = 24;
    EXPECT_EQ(size_range(malleable(1, 64), above).high, 12);
    above.proven = 16;
    EXPECT_EQ(size_range(malleable(1, 64), above).high, 16) << "as large as was not too large";
    Performance known;
    known.phase = "a";
    for (auto [size, at_ms, key] :
         {std::tuple(64, 100, "a"), {32, 200, "a"}, {8, 200, "b"}, {16, 300, "a"}}) {
        Interval interval;
        interval.size = size;
        interval.until_ms = at_ms;
        interval.key = key;
        interval.phase = {1, 1200, size >= 32 || key == std::string("b") ? 200 : 10};
        known.history.push_back(interval);
    }
    EXPECT_EQ(ceiling_of(known, UPPER, 0), 32);
    EXPECT_EQ(ceiling_of(known, UPPER, 201), 0); /* long ago */
    EXPECT_EQ(proven_of(known, 0, 32, 64), 16);
    EXPECT_EQ(proven_of(known, 0, 32, 16), 0) << "nothing smaller";
    EXPECT_EQ(proven_of(known, 301, 32, 64), 0);
}

/* For a program whose MTCT is a function of its size: from one size to the stable one. */
struct StableSize {
    int size, changes = 0;
};
StableSize stabilize(const JobSpec &spec, int first, const std::function<double(int)> &mtct,
               RangeTarget target)
{
    StableSize job{first};
    std::map<int, int64_t> had;
    for (; job.changes < 100; job.changes++) {
        int64_t now = had[job.size] = std::llround(mtct(job.size) * double(PPM));
        RangeNumbers known = numbers(job.size, now, now);
        known.target = target;
        for (auto [size, ppm] : had) {
            if (size != job.size)
                known.measured.push_back({size, ppm});
            if (ppm > UPPER && known.ceiling == 0)
                known.ceiling = size;
        }
        SizeRange range = size_range(spec, known);
        if (range.kind == RangeKind::KEEP || range.high == job.size)
            break;
        job.size = range.high;
    }
    return job;
}

/* The model reaches the same size as halving, or the next one, in no more adaptations, if
 * allowed sizes are a factor of two apart, and MTCT grows at most in proportion to the size: one
 * size alone cannot show a faster growth.  Then it may go one further.  Else it goes between the
 * thresholds. */
TEST(SizeRangeTest, R7_the_model_goes_there_at_once)
{
    JobSpec any = malleable(1, 1 << 12), powers = any;
    powers.size_rule = SizeRule::POWER_OF_TWO;
    int fewer = 0;
    for (double factor = 1e-6; factor < 1; factor *= 1.7) {
        for (double power : {0.5, 1.0, 1.5, 2.0}) {
            auto law = [=](int size) { return factor * std::pow(size, power); };
            for (int first = 1; first <= 1 << 12; first *= 2) {
                SCOPED_TRACE(testing::Message()
                             << factor << " n^" << power << ", from " << first);
                StableSize halves = stabilize(powers, first, law, RangeTarget::DOUBLE),
                        model = stabilize(powers, first, law, RangeTarget::MODEL);
                int more = power > 1 ? 1 : 0;
                EXPECT_LE(std::abs(std::log2(double(model.size) / halves.size)), 1 + more);
                EXPECT_LE(model.changes, halves.changes + more);
                fewer += model.changes < halves.changes;
                StableSize free = stabilize(any, first, law, RangeTarget::MODEL);
                EXPECT_LE(free.changes, 8);
                bool right = (law(free.size) * PPM <= UPPER || free.size == 1) &&
                    (law(free.size + 1) * PPM >= LOWER || free.size == 1 << 12);
                EXPECT_TRUE(right) << free.size << ": " << law(free.size);
            }
        }
    }
    EXPECT_GT(fewer, 50);
}

TEST(SizeRangeTest, R7_limits_and_units)
{
    RangeNumbers known = numbers(64, 0, 0);
    known.target = RangeTarget::MODEL;
    EXPECT_EQ(size_range(malleable(1, 4096), known).high, 256) << "four times as many";
    known.mtct_ppm = MTCT_MAX_PPM;
    EXPECT_EQ(size_range(malleable(1, 4096), known).high, 4) << "a sixteenth";
    known.mtct_ppm = 200000;
    EXPECT_EQ(size_range(malleable(1, 4096), known).high, 11) << "64 * 0.0316 / 0.2, rounded up";
    known.unit = 16;
    EXPECT_EQ(size_range(malleable(1, 4096), known).high, 16) << "whole nodes";
    known.unit = 1;
    known.measured = {{32, 190000}};
    EXPECT_EQ(size_range(malleable(1, 4096), known).high, 8) << "MPI takes nearly as much at half";
    Performance had;
    had.phase = "a";
    for (auto [size, mpi_us, key] :
         {std::tuple(64, 100, "a"), {32, 200, "a"}, {32, 400, "a"}, {16, 9, "b"}}) {
        Interval interval;
        interval.size = size;
        interval.key = key;
        interval.phase = {1, 1000, mpi_us};
        had.history.push_back(interval);
    }
    EXPECT_EQ(measured_mtct(had, 64), (std::vector<SizeMtct>{{32, 428571}}));
}

/* ---- T --------------------------------------------------------------------------------------- */

Balanced of(const JobSpec &spec, int64_t work, int low, int high)
{
    return {&spec, work, low, high, 1, spec.cores_per_process};
}

TEST(BalanceTest, T2_golden)
{
    JobSpec any = malleable(1, 1000);
    auto second = balance({of(any, 24 * MINUTE, 1, 1000), of(any, 12 * MINUTE, 1, 1000),
                           of(any, 24 * MINUTE, 1, 1000)},
                          20);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->end_ms, 3 * MINUTE);
    EXPECT_EQ(second->sizes, (std::vector<int>{8, 4, 8}));
    /* The first example of the specification has sizes between whole numbers; a hundred times as
     * many cores show them. */
    JobSpec more = malleable(1, 2000);
    auto first =
        balance({of(more, 4000 * MINUTE, 1, 2000), of(more, 8000 * MINUTE, 1, 2000)}, 1600);
    ASSERT_TRUE(first);
    EXPECT_NEAR(double(first->end_ms), 7.5 * MINUTE, 0.001 * 7.5 * MINUTE);
    EXPECT_NEAR(first->sizes[0], 533, 1);
    EXPECT_NEAR(first->sizes[1], 1067, 1);
}

/* The system of Compres (2017, section 10.3): x'_i / t_i - x'_{i+1} / t_{i+1} = 0, sum of
 * n_i x'_i = N; by elimination.  The new sizes are x'_i n_i. */
std::vector<double> solve_linear_system(const std::vector<double> &n, const std::vector<double> &t,
                                    double cores)
{
    size_t k = n.size();
    std::vector<std::vector<double>> rows(k, std::vector<double>(k + 1, 0));
    for (size_t i = 0; i + 1 < k; i++) {
        rows[i][i] = 1 / t[i];
        rows[i][i + 1] = -1 / t[i + 1];
    }
    for (size_t i = 0; i < k; i++)
        rows[k - 1][i] = n[i];
    rows[k - 1][k] = cores;
    for (size_t i = 0; i < k; i++) {
        for (size_t j = i + 1; j < k; j++)
            if (std::abs(rows[j][i]) > std::abs(rows[i][i]))
                std::swap(rows[i], rows[j]);
        for (size_t j = 0; j < k; j++) {
            double factor = j == i ? 0 : rows[j][i] / rows[i][i];
            for (size_t column = i; column <= k; column++)
                rows[j][column] -= factor * rows[i][column];
        }
    }
    std::vector<double> sizes;
    for (size_t i = 0; i < k; i++)
        sizes.push_back(rows[i][k] / rows[i][i] * n[i]);
    return sizes;
}

TEST(BalanceTest, T1_T2_the_published_system_has_the_same_solution)
{
    std::mt19937 random(1);
    JobSpec any = malleable(1, 10'000'000);
    for (int round = 0; round < 100; round++) {
        std::vector<double> n, t;
        std::vector<Balanced> jobs;
        double cores = 100 * (random() % 200); /* idle ones */
        for (size_t k = 2 + random() % 5; k > 0; k--) {
            n.push_back(100 * (1 + random() % 100));
            t.push_back(60000.0 * (1 + random() % 60));
            cores += n.back();
            jobs.push_back(of(any, static_cast<int64_t>(n.back() * t.back()), 1, 10'000'000));
        }
        auto found = balance(jobs, static_cast<int64_t>(cores));
        ASSERT_TRUE(found);
        std::vector<double> wanted = solve_linear_system(n, t, cores);
        for (size_t i = 0; i < n.size(); i++) {
            EXPECT_NEAR(found->sizes[i], wanted[i], 1 + 1e-3 * wanted[i]) << round;
            double end_ms = double(found->end_ms);
            EXPECT_NEAR(n[i] * t[i] / wanted[i], end_ms, 1e-2 * end_ms) << round;
        }
    }
}

TEST(BalanceTest, T3_ranges_bound_it)
{
    JobSpec any = malleable(1, 100);
    EXPECT_FALSE(balance({of(any, 100, 4, 8), of(any, 100, 5, 8)}, 8));
    EXPECT_FALSE(balance({}, 8));
    auto all_high = balance({of(any, 800, 1, 8), of(any, 400, 1, 4)}, 100);
    ASSERT_TRUE(all_high);
    EXPECT_EQ(all_high->end_ms, 100);
    EXPECT_EQ(all_high->sizes, (std::vector<int>{8, 4}));
}

TEST(BalanceTest, T5_is_not_the_floor_of_reals)
{
    JobSpec any = malleable(1, 16);
    std::vector<Balanced> jobs = {of(any, 10000, 1, 16)};
    for (int i = 0; i < 4; i++)
        jobs.push_back(of(any, 1500, 1, 16));
    auto found = balance(jobs, 16);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->end_ms, 1250);
    EXPECT_EQ(found->sizes, (std::vector<int>{8, 2, 2, 2, 2}));
}

/* T4: no assignment of allowed sizes ends earlier; checked by trying all. */
TEST(BalanceTest, T4_is_the_best_of_all_assignments)
{
    std::mt19937_64 random(1);
    for (int round = 0; round < 300; round++) {
        std::vector<JobSpec> specs(3, malleable(1, 9));
        std::vector<Balanced> jobs;
        for (JobSpec &spec : specs) {
            spec.size_rule = static_cast<SizeRule>(std::vector{0, 2, 3}[random() % 3]);
            spec.cores_per_process = 1 + static_cast<int>(random() % 2);
            int low = size_at_least(spec, 1 + static_cast<int>(random() % 3));
            jobs.push_back(
                of(spec, 1 + static_cast<int64_t>(random() % 5000), low, size_at_most(spec, 9)));
        }
        int64_t cores = 3 + static_cast<int64_t>(random() % 20);
        double best = INFINITY;
        for (int code = 0; code < 1000; code++) {
            int sizes[] = {code % 10, code / 10 % 10, code / 100};
            int64_t used = 0;
            double end = 0;
            bool allowed = true;
            for (size_t i = 0; i < 3; i++) {
                allowed = allowed && sizes[i] >= jobs[i].low && sizes[i] <= jobs[i].high &&
                          size_at_most(specs[i], sizes[i]) == sizes[i];
                used += int64_t{sizes[i]} * specs[i].cores_per_process;
                end = std::max(end, double(jobs[i].work) / std::max(sizes[i], 1));
            }
            if (allowed && used <= cores)
                best = std::min(best, end);
        }
        auto found = balance(jobs, cores);
        ASSERT_EQ(found.has_value(), best < INFINITY) << round;
        if (found) {
            EXPECT_EQ(found->end_ms, static_cast<int64_t>(std::ceil(best))) << round;
        }
    }
}

}  // namespace
}  // namespace elastic::rm
