/* See measured_sizes.h. */

#include "core/policy/measured_sizes.h"

#include <cmath>

#include "base/change.h"

namespace elastic::rm {

namespace {

/* RULE_MARGIN_PPM is at most this part of a floor. */
constexpr int64_t MARGIN_PART = 4;
/* Noise of 10 % in the samples can produce this gain for a step without any gain. */
constexpr int64_t STEP_NOISE_PPM = 100000;
/* Without a floor: from this MPI time on, fewer processes are tried. */
constexpr int64_t DOUBT_PPM = 100000;
/* The part of a round that does not become shorter, by sizes less than a quarter off alone: so much
 * is no more than noise, or that they bring nothing. */
constexpr int64_t NEAR_DOUBT_PPM = 200000;
constexpr int64_t REMAINING_PER_SAMPLE = 20; /* two samples: a tenth of the remaining time */

bool is_sampled(const Job &job) { return job.performance && has_data(*job.performance); }

int64_t floor_ppm_of(const MeasuredNumbers &numbers, Floor floor)
{
    return floor == Floor::EFFICIENT
               ? numbers.efficiency_ppm
               : std::min(numbers.efficiency_ppm, numbers.efficiency_idle_ppm);
}

int64_t margin_ppm(int64_t floor_ppm)
{
    return std::min(RULE_MARGIN_PPM, floor_ppm / MARGIN_PART);
}

/* The same for sizes to which it could grow. */
int64_t growth_floor_ppm(const MeasuredNumbers &numbers, Floor floor)
{
    int64_t floor_ppm = floor_ppm_of(numbers, floor);
    return std::min(floor_ppm + margin_ppm(floor_ppm), PPM - 1);
}

/* A measured step up is not repeated if its gain was below the first value, and is taken back if
 * it was below the second.  Without a floor: if it has made the job slower. */
int64_t step_gain_ppm(int64_t floor_ppm)
{
    return floor_ppm > 0 ? floor_ppm : -STEP_NOISE_PPM / 2;
}
int64_t retained_gain_ppm(int64_t floor_ppm)
{
    return floor_ppm > 0 ? std::max<int64_t>(floor_ppm - margin_ppm(floor_ppm), 1)
                         : -STEP_NOISE_PPM;
}

/* Whether a separate floor applies to cores that would idle. */
bool is_lower(const MeasuredNumbers &numbers, Floor floor)
{
    return floor == Floor::IDLE && numbers.efficiency_idle_ppm < numbers.efficiency_ppm;
}

/* A step up from its present size has been measured, and its gain was too small. */
bool is_known_to_be_vain(const MeasuredNumbers &numbers, Floor floor)
{
    const MeasuredStep &above = numbers.scaling.above;
    return is_lower(numbers, floor) && above.size > 0 &&
           above.gain_ppm < step_gain_ppm(floor_ppm_of(numbers, floor));
}

/* The size exceeds the end by more than its noise. */
bool is_past_end(const Scaling &scaling)
{
    return scaling.end > 0 && scaling.size * 100 >= int64_t{scaling.end} * WORTH_PERCENT;
}

/* The size up to which the next processes gain this much; without a floor: as if there were no
 * end. */
int64_t useful_size(const Scaling &scaling, int64_t serial_ppm, int64_t floor_ppm)
{
    int size = scaling.end > 0 ? std::min(scaling.end, scaling.size) : scaling.size;
    int64_t useful = efficient_size(size, serial_ppm, floor_ppm);
    return scaling.end > 0 && floor_ppm > 0 ? std::min<int64_t>(useful, scaling.end) : useful;
}

/* Beyond the measured sizes it is doubled, but only when the present size has been measured. */
int64_t tried_most(const MeasuredNumbers &numbers, int64_t most)
{
    const Unit &unit = numbers.unit;
    const Scaling &scaling = numbers.scaling;
    int64_t trial = numbers.is_measured ? TRIAL * unit.count(scaling.size) * unit.processes : 0;
    if (!scaling.hinted)
        most = std::min(most, std::max<int64_t>(trial, scaling.proven_most));
    most = std::min<int64_t>(most, SIZE_MAX_PROCESSES);
    return most - most % unit.processes;
}

/* It has fewer processes than ever before.  Without a floor that may be a trial, which must last
 * until it is measured. */
bool is_being_tried(const MeasuredNumbers &numbers, Floor floor)
{
    const Scaling &scaling = numbers.scaling;
    return floor_ppm_of(numbers, floor) == 0 && scaling.size < scaling.proven_least;
}

}  // namespace

bool is_known(const Scaling &scaling) { return scaling.samples > 0 || scaling.hinted; }

bool has_reached_end(const Scaling &scaling)
{
    return scaling.end > 0 && scaling.end <= scaling.size;
}

bool is_worth_growing(const MeasuredNumbers &numbers)
{
    const Scaling &scaling = numbers.scaling;
    int64_t floor_ppm = growth_floor_ppm(numbers, Floor::IDLE);
    return useful_size(scaling, scaling.serial_ppm, floor_ppm) * 100 >=
               scaling.size * WORTH_PERCENT &&
           !is_known_to_be_vain(numbers, Floor::IDLE);
}

MeasuredNumbers measured_numbers(const State &state, const Job &job)
{
    int64_t sample_ms =
        is_sampled(job) ? job.performance->newest.epoch_ms / job.performance->samples : 0;
    return {scaling_of(job),
            is_sampled(job),
            unit_of(state, job.spec, job.blocks),
            state.config.efficiency_ppm,
            state.config.efficiency_idle_ppm,
            remaining_ms(state, job),
            sampled_since_ms(job),
            sample_ms,
            adaptation_times(job)};
}

int64_t measured_most(const MeasuredNumbers &numbers, Floor floor)
{
    const Scaling &scaling = numbers.scaling;
    if (!is_known(scaling))
        return SIZE_MAX_PROCESSES;
    int64_t floor_ppm = growth_floor_ppm(numbers, floor);
    int64_t most = tried_most(numbers, useful_size(scaling, scaling.serial_ppm, floor_ppm));
    if (scaling.hinted)
        return std::max<int64_t>(most, scaling.size);
    if (is_being_tried(numbers, floor))
        return scaling.size;
    bool worth =
        most * 100 >= scaling.size * WORTH_PERCENT && !is_known_to_be_vain(numbers, floor);
    /* An exchange relies on it. */
    worth = worth || scaling.end > scaling.size;
    bool pays =
        most > scaling.size && growth_pays(numbers.remaining_ms, numbers.since_ms, numbers.times,
                                           relative_speed(scaling, static_cast<int>(most)));
    return worth && pays ? most : scaling.size;
}

int64_t measured_least(const MeasuredNumbers &numbers, Floor floor)
{
    const Scaling &scaling = numbers.scaling;
    /* MPI time alone only raises a doubt: half of the processes are tried, once. */
    int64_t floor_ppm = floor_ppm_of(numbers, floor);
    /* Near 0 the fit of the model is too coarse: the gain of the last step counts. */
    bool by_step = is_lower(numbers, floor) && scaling.below.size > 0;
    bool by_mpi_time = scaling.sizes == 1 || (is_lower(numbers, floor) && !by_step);
    int64_t exploration_ppm = floor_ppm > 0 ? floor_ppm : DOUBT_PPM;
    int64_t limit_ppm =
        by_mpi_time ? exploration_ppm + margin_ppm(exploration_ppm) : retained_gain_ppm(floor_ppm);
    int64_t serial_ppm = is_past_end(scaling) ? PPM : scaling.serial_below_ppm;
    int64_t gain_ppm = by_step ? scaling.below.gain_ppm : PPM - serial_ppm;
    bool hardly_faster = gain_ppm < limit_ppm;
    bool cheap = numbers.times.standstill_ms * STANDSTILL_PART <= numbers.since_ms;
    if (!numbers.is_measured || !hardly_faster || !cheap)
        return 0;
    int64_t least = (scaling.size + 1) / TRIAL;
    if (by_step)
        least = std::max<int64_t>(least, scaling.below.size);
    else if (!by_mpi_time)
        least = std::max(least, useful_size(scaling, scaling.serial_below_ppm, floor_ppm));
    const Unit &unit = numbers.unit;
    int64_t least_count = unit.count(least);
    if (unit.processes > 1)
        return least_count < unit.count(scaling.size) ? least_count * unit.processes : 0;
    return least;
}

int64_t measured_start(const Learned &learned, int64_t efficiency_ppm)
{
    constexpr int ROUNDS_MAX = 8;
    Performance known;
    known.history = learned.sizes;
    MeasuredNumbers numbers;
    numbers.is_measured = true;
    numbers.efficiency_ppm = efficiency_ppm;
    numbers.times = {0, 0};
    numbers.scaling = scaling_of(known, learned.sizes.back().size);
    /* From the largest size down, like a reduction of the job, or up once. */
    for (int round = 0; round < ROUNDS_MAX; round++) {
        int64_t least = measured_least(numbers, Floor::EFFICIENT);
        if (least == 0 || least >= numbers.scaling.size)
            return round > 0 ? numbers.scaling.size : measured_most(numbers, Floor::EFFICIENT);
        numbers.scaling = scaling_of(known, static_cast<int>(least));
    }
    return numbers.scaling.size;
}

bool is_doubtful(const MeasuredNumbers &numbers)
{
    const Scaling &scaling = numbers.scaling;
    bool is_least = scaling.proven_least == scaling.size;
    /* More processes have not made it faster, or no other size has been measured. */
    bool saturated =
        has_reached_end(scaling) ||
        PPM - scaling.serial_ppm < std::max<int64_t>(numbers.efficiency_ppm - RULE_MARGIN_PPM, 1);
    bool untold = is_least && (scaling.sizes == 1 || saturated);
    /* Or only near sizes are measured, which prove little, and show no gain. */
    bool near_alone = scaling.sizes > 1 && scaling.below.size == 0 && scaling.above.size == 0;
    bool stays = (is_least ? scaling.serial_ppm : scaling.serial_below_ppm) >= NEAR_DOUBT_PPM;
    bool long_enough = numbers.remaining_ms == NEVER ||
                       numbers.remaining_ms >= REMAINING_PER_SAMPLE * numbers.sample_ms;
    return numbers.is_measured && (untold || (near_alone && stays)) && long_enough;
}

int64_t most_without_margin(const MeasuredNumbers &numbers)
{
    const Scaling &scaling = numbers.scaling;
    int64_t floor_ppm = floor_ppm_of(numbers, Floor::EFFICIENT);
    return is_known(scaling)
               ? tried_most(numbers, useful_size(scaling, scaling.serial_ppm, floor_ppm))
               : SIZE_MAX_PROCESSES;
}

}  // namespace elastic::rm
