/* See size_range.h. */

#include "core/policy/size_range.h"

namespace elastic::rm {

SizeRange size_range(const JobSpec &spec, const RangeNumbers &numbers)
{
    int size = numbers.size, least = size_at_least(spec, 1);
    int units = (size + numbers.unit - 1) / numbers.unit;
    SizeRange keep{RangeKind::KEEP, size, size};
    if (!numbers.has_data)
        return keep;
    if (numbers.mtct_ppm > numbers.upper_ppm || numbers.recent_mtct_ppm > numbers.upper_ppm) {
        int half = std::max(units / 2, 1) * numbers.unit;
        int target = std::max(size_at_most(spec, half), least);
        return target < size ? SizeRange{RangeKind::REDUCE, target, target} : keep;
    }
    if (numbers.mtct_ppm >= numbers.lower_ppm || numbers.recent_mtct_ppm >= numbers.lower_ppm)
        return keep;
    int64_t twice = std::min(int64_t{2} * units * numbers.unit, int64_t{spec.maximum});
    if (numbers.ceiling > 0)
        twice = std::min(twice, int64_t{numbers.ceiling} - 1);
    int high = std::max(size_at_most(spec, static_cast<int>(twice)), size);
    return {RangeKind::OPTIONAL, std::min(least, size), high};
}

int ceiling_of(const Performance &known, int64_t upper_ppm, int64_t since_ms)
{
    int ceiling = 0;
    for (const Interval &interval : known.history) {
        bool counts = interval.until_ms >= since_ms && !interval.key.empty() &&
                      (known.phase.empty() || interval.key == known.phase);
        if (counts && mtct_ppm(interval.phase).value_or(0) > upper_ppm)
            ceiling = ceiling == 0 ? interval.size : std::min(ceiling, interval.size);
    }
    return ceiling;
}

/* ---- all end together ------------------------------------------------------------------------ */

namespace {

/* The smallest allowed size by which it ends in `ms`; 0: none of its range. */
int size_to_end(const Balanced &job, int64_t ms)
{
    int64_t wanted = (job.work + ms - 1) / ms;
    if (wanted > job.high)
        return 0;
    int size = size_at_least(*job.spec, std::max(static_cast<int>(wanted), job.low));
    return size > job.high ? 0 : size;
}

bool fits(const std::vector<Balanced> &jobs, int64_t ms, int64_t cores)
{
    for (const Balanced &job : jobs) {
        int size = size_to_end(job, ms);
        cores -= int64_t{size} * job.spec->cores_per_process;
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
