/* See size_range.h. */

#include "core/policy/size_range.h"

#include <cmath>
#include <span>

namespace elastic::rm {

namespace {

constexpr int MODEL_SHRINK = 16, MODEL_GROW = 4; /* factors of the present size, at most (R7) */

/* With n processes a round takes alpha + beta n in MPI and gamma / n outside, so that MTCT / n
 * is a + b n: fitted by least squares, both at least 0; half or double of `present` counts as
 * near. */
std::pair<double, double> fit_mtct(std::span<const SizeMtct> points, int present)
{
    double all = 0, n = 0, nn = 0, y = 0, ny = 0;
    for (const SizeMtct &point : points) {
        double size = point.size, mtct = static_cast<double>(point.mtct_ppm);
        double distance = std::log2(size / present), weight = std::exp(-distance * distance / 2);
        all += weight;
        n += weight * size;
        nn += weight * size * size;
        y += weight * mtct / size;
        ny += weight * mtct;
    }
    double spread = all * nn - n * n;
    double b = spread > 1e-12 * all * nn ? (all * ny - n * y) / spread : 0, a = (y - b * n) / all;
    if (b < 0)
        return {y / all, 0};
    return a < 0 ? std::pair(0.0, ny / nn) : std::pair(a, b);
}

/* R7: the greatest real size whose expected MTCT is at most the mean of the thresholds. */
double size_by_model(const RangeNumbers &numbers)
{
    double wanted = std::sqrt(static_cast<double>(numbers.upper_ppm) *
                              static_cast<double>(numbers.lower_ppm));
    std::vector<SizeMtct> points = numbers.measured;
    points.push_back({numbers.size, std::max(numbers.mtct_ppm, numbers.recent_mtct_ppm)});
    auto [a, b] = fit_mtct(points, numbers.size);
    /* b x^2 + a x = wanted, for small b as well */
    double root = a + std::sqrt(a * a + 4 * b * wanted);
    double size = root > 0 ? 2 * wanted / root : HUGE_VAL;
    double present = numbers.size;
    return std::clamp(size, present / MODEL_SHRINK, present * MODEL_GROW);
}

/* R5; the last unit may be partly used. */
int units_of(const RangeNumbers &numbers)
{
    return (numbers.size + numbers.unit - 1) / numbers.unit;
}

/* The size of clause R2: never beyond the model's size, and at least the next smaller size. */
int size_reduced(const JobSpec &spec, const RangeNumbers &numbers)
{
    int least = size_at_least(spec, 1);
    int half = std::max(units_of(numbers) / 2, 1) * numbers.unit;
    if (numbers.target == RangeTarget::DOUBLE)
        return std::max({size_at_most(spec, half), size_at_most(spec, numbers.proven), least});
    int units = static_cast<int>(std::ceil(size_by_model(numbers) / numbers.unit));
    int size = size_at_least(spec, std::max(units, 1) * numbers.unit);
    bool smaller = size > 0 && size < numbers.size;
    return smaller ? size : std::max(size_at_most(spec, numbers.size - 1), least);
}

/* The maximum of clause R3.  Below a size that was too large (R6) it is the middle of both, if
 * that is a quarter more: each try halves the interval, so that tries end. */
int64_t size_grown(const RangeNumbers &numbers)
{
    int64_t below = numbers.ceiling > 0 ? numbers.ceiling - 1 : std::numeric_limits<int>::max();
    if (numbers.target == RangeTarget::MODEL)
        return std::min(static_cast<int64_t>(size_by_model(numbers)), below);
    int64_t twice = int64_t{2} * units_of(numbers) * numbers.unit;
    if (twice <= below)
        return twice;
    int64_t middle = (numbers.size + numbers.ceiling) / 2;
    return middle * 4 >= int64_t{numbers.size} * 5 ? middle - middle % numbers.unit : numbers.size;
}

bool is_of_phase(const Performance &known, const Interval &interval)
{
    return !interval.key.empty() && (known.phase.empty() || interval.key == known.phase);
}

}  // namespace

SizeRange size_range(const JobSpec &spec, const RangeNumbers &numbers)
{
    int size = numbers.size, least = size_at_least(spec, 1);
    SizeRange keep{RangeKind::KEEP, size, size};
    if (!numbers.has_data)
        return keep;
    if (numbers.mtct_ppm > numbers.upper_ppm || numbers.recent_mtct_ppm > numbers.upper_ppm) {
        int target = size_reduced(spec, numbers);
        return target < size ? SizeRange{RangeKind::REDUCE, target, target} : keep;
    }
    if (numbers.mtct_ppm >= numbers.lower_ppm || numbers.recent_mtct_ppm >= numbers.lower_ppm)
        return keep;
    int64_t most = std::min(size_grown(numbers), int64_t{spec.maximum});
    int high = std::max(size_at_most(spec, static_cast<int>(most)), size);
    return {RangeKind::OPTIONAL, std::min(least, size), high};
}

int ceiling_of(const Performance &known, int64_t upper_ppm, int64_t since_ms)
{
    int ceiling = 0;
    for (const Interval &interval : known.history) {
        bool counts = interval.until_ms >= since_ms && is_of_phase(known, interval);
        if (counts && mtct_ppm(interval.phase).value_or(0) > upper_ppm)
            ceiling = ceiling == 0 ? interval.size : std::min(ceiling, interval.size);
    }
    return ceiling;
}

int proven_of(const Performance &known, int64_t since_ms, int ceiling, int size)
{
    int below = ceiling > 0 ? std::min(ceiling, size) : size, proven = 0;
    for (const Interval &interval : known.history) {
        bool counts = interval.until_ms >= since_ms && is_of_phase(known, interval);
        if (counts && interval.size < below)
            proven = std::max(proven, interval.size);
    }
    return proven;
}

std::vector<SizeMtct> measured_mtct(const Performance &known, int present_size)
{
    std::map<int, Interval> sums;
    for (const Interval &interval : known.history) {
        if (interval.size == present_size || !is_of_phase(known, interval))
            continue;
        auto [sum, is_new] = sums.try_emplace(interval.size, interval);
        if (!is_new)
            join(sum->second, interval);
    }
    std::vector<SizeMtct> measured;
    for (const auto &[size, sum] : sums)
        if (auto mtct = mtct_ppm(sum.phase))
            measured.push_back({size, *mtct});
    return measured;
}

/* ---- all end together ------------------------------------------------------------------------ */

namespace {

/* The smallest allowed size with which it ends in `ms`; 0: none of its range. */
int size_to_end(const Balanced &job, int64_t ms)
{
    int64_t wanted = (job.work + ms - 1) / ms;
    if (wanted > job.high)
        return 0;
    if (job.low == job.high)
        return job.low;
    int size = size_at_least(*job.spec, std::max(static_cast<int>(wanted), job.low));
    return size > job.high ? 0 : size;
}

bool fits(const std::vector<Balanced> &jobs, int64_t ms, int64_t cores)
{
    for (const Balanced &job : jobs) {
        int size = size_to_end(job, ms);
        cores -= job.cores(size);
        if (size == 0 || cores < 0)
            return false;
    }
    return true;
}

}  // namespace

std::optional<Balance> balance(const std::vector<Balanced> &jobs, int64_t cores)
{
    if (jobs.empty())
        return std::nullopt;
    int64_t low = 1, high = 1;
    for (const Balanced &job : jobs) {
        low = std::max(low, (job.work + job.high - 1) / job.high);
        high = std::max(high, (job.work + job.low - 1) / job.low);
    }
    if (!fits(jobs, high, cores))
        return std::nullopt;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (fits(jobs, middle, cores))
            high = middle;
        else
            low = middle + 1;
    }
    Balance result{low, {}};
    for (const Balanced &job : jobs)
        result.sizes.push_back(size_to_end(job, low));
    return result;
}

}  // namespace elastic::rm
