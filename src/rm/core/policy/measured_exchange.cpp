/* See measured_exchange.h. */

#include "core/policy/measured_exchange.h"

#include <cmath>

namespace elastic::rm {

namespace {

/* Minimum gain of an exchange between two jobs, in the sum of the logarithms of speed: as much
 * as 1 % for one of them, and a multiple of the error of the measured speeds. */
constexpr double EXCHANGE_GAIN_MIN = 0.01;
constexpr double EXCHANGE_ERRORS_MIN = 5;
/* The maximum loss of a trial, relative to its possible gain: a trial loses until it is
 * measured.  The second: if more processes than the smallest measured number have given no gain. */
constexpr double TRIAL_LOSS_MAX = 4, TRIAL_LOSS_FLAT_MAX = 10;

/* Its size, up to `most`, with the cores of a donor that keeps `given_size`. */
int size_with(const JobSpec &to, const MeasuredNumbers &gets, int most,
              const MeasuredNumbers &gives, int given_size)
{
    int64_t units = gives.unit.count(gives.scaling.size) - gives.unit.count(given_size);
    int64_t more = gets.unit.count(gets.scaling.size) + units * gives.unit.cores / gets.unit.cores;
    return size_at_most(to, static_cast<int>(std::min<int64_t>(most, more * gets.unit.processes)));
}

}  // namespace

int most_exchanged(const JobSpec &spec, const MeasuredNumbers &numbers)
{
    int64_t most = std::min(most_without_margin(numbers), measured_most(numbers, Floor::IDLE));
    return size_between(spec, numbers.scaling.size, most);
}

/* The number of processes with the greatest joint gain.  For a trial: with the greatest gain of
 * the recipient, because the donor may lose nothing, and large enough to be measurable. */
std::optional<Given> best_exchange(const JobSpec &from, const MeasuredNumbers &gives,
                                   const JobSpec &to, const MeasuredNumbers &gets, bool trial)
{
    if (gives.times.standstill_ms * STANDSTILL_PART > gives.since_ms)
        return std::nullopt;
    int present = gives.scaling.size, most = most_exchanged(to, gets);
    double loss_max = has_reached_end(gives.scaling) ? TRIAL_LOSS_FLAT_MAX : TRIAL_LOSS_MAX;
    std::optional<Given> best;
    /* Speeds are multiplied, because adding their logarithms took a twentieth of a simulation's
     * time. */
    double error = std::hypot(gives.scaling.error_ppm, gets.scaling.error_ppm) / double(PPM);
    double best_speeds = std::exp(std::max(EXCHANGE_GAIN_MIN, EXCHANGE_ERRORS_MIN * error));
    for (int size = one_unit_less(from, gives.unit, present), grown = 0;
         size > 0 && TRIAL * size >= present && grown < most;
         size = one_unit_less(from, gives.unit, size)) {
        if (trial && size * WORTH_PERCENT > present * int64_t{100})
            continue;
        grown = size_with(to, gets, most, gives, size);
        double wins = relative_speed(gets.scaling, grown);
        double keeps = relative_speed(gives.scaling, size);
        double speeds = trial ? wins : wins * keeps;
        if (speeds > best_speeds &&
            (!trial || -std::log(keeps) <= loss_max * std::log(wins))) {
            best_speeds = speeds;
            best = {size, grown, wins};
        }
    }
    return best;
}

Given with_loan(Given given, const JobSpec &from, const MeasuredNumbers &gives, const JobSpec &to,
                const MeasuredNumbers &gets, int64_t wanted_cores)
{
    int64_t own = measured_least(gives, Floor::EFFICIENT);
    const Unit &unit = gives.unit;
    int64_t units = unit.count(gives.scaling.size) - wanted_cores / unit.cores;
    int size = size_at_least(from, static_cast<int>(std::max(own, units * unit.processes)));
    if (own == 0 || size == 0 || size >= given.size)
        return given;
    int grown = size_with(to, gets, most_exchanged(to, gets), gives, size);
    return {size, grown, relative_speed(gets.scaling, grown)};
}

}  // namespace elastic::rm
