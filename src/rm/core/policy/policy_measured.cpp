/* See policy_measured.h. */

#include "core/policy/policy_measured.h"

#include <cmath>

#include "core/placement.h"
#include "core/policy/policy_fill.h"

#include "base/change.h"

namespace elastic::rm {

namespace {

constexpr int TRIAL = 2; /* times the present size, at most */
/* RULE_MARGIN_PPM is at most such a part of a floor. */
constexpr int64_t MARGIN_PART = 4;
/* Noise of 10 % in the samples makes so much of a step that brings nothing. */
constexpr int64_t STEP_NOISE_PPM = 100000;
/* Without a floor: by MPI time alone fewer are tried from here on. */
constexpr int64_t DOUBT_PPM = 100000;
/* The part of a round that does not become shorter, by sizes less than a quarter off alone: so much
 * is no more than noise, or that they bring nothing. */
constexpr int64_t NEAR_DOUBT_PPM = 200000;
/* Less than this part more is not worth a change: fitted to noisy samples, the size that is best
 * moves by so much. */
constexpr int64_t WORTH_PERCENT = 125;
/* Of the sum of the logarithms of speed: an exchange between two jobs brings as much as one of them
 * 1 % faster, and so many times the error of the measured speeds. */
constexpr double EXCHANGE_GAIN_MIN = 0.01;
constexpr double EXCHANGE_ERRORS_MIN = 5;
constexpr double GAIN_OF_NOTHING = 1e-12;
constexpr int64_t STANDSTILL_PART =
    10; /* of the time since the last change, at most, for a reduction (K3) */
/* The maximum loss of a trial, relative to its possible gain: it loses while it is measured.
 * The second: if more processes than the fewest measured ones have brought nothing. */
constexpr double TRIAL_LOSS_MAX = 4, TRIAL_LOSS_FLAT_MAX = 10;
constexpr int64_t REMAINING_PER_SAMPLE = 20; /* two samples: a tenth of what remains */

bool is_known(const Scaling &scaling) { return scaling.samples > 0 || scaling.hinted; }

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

/* The same for sizes that it is to grow to. */
int64_t growth_floor_ppm(const MeasuredNumbers &numbers, Floor floor)
{
    int64_t floor_ppm = floor_ppm_of(numbers, floor);
    return std::min(floor_ppm + margin_ppm(floor_ppm), PPM - 1);
}

/* A step up that was measured is not made again if it has brought less, and is taken back if it has
 * brought less than the second.  Without a floor: if it has made the job slower. */
int64_t step_gain_ppm(int64_t floor_ppm)
{
    return floor_ppm > 0 ? floor_ppm : -STEP_NOISE_PPM / 2;
}
int64_t retained_gain_ppm(int64_t floor_ppm)
{
    return floor_ppm > 0 ? std::max<int64_t>(floor_ppm - margin_ppm(floor_ppm), 1)
                         : -STEP_NOISE_PPM;
}

/* Whether a floor of its own holds for cores that idle. */
bool is_lower(const MeasuredNumbers &numbers, Floor floor)
{
    return floor == Floor::IDLE && numbers.efficiency_idle_ppm < numbers.efficiency_ppm;
}

/* A step up from its present size has been measured, and has brought too little. */
bool is_known_to_be_vain(const MeasuredNumbers &numbers, Floor floor)
{
    const MeasuredStep &above = numbers.scaling.above;
    return is_lower(numbers, floor) && above.size > 0 &&
           above.gain_ppm < step_gain_ppm(floor_ppm_of(numbers, floor));
}

/* By more than noise moves the end. */
bool is_past_end(const Scaling &scaling)
{
    return scaling.end > 0 && scaling.size * 100 >= int64_t{scaling.end} * WORTH_PERCENT;
}
bool has_reached_end(const Scaling &scaling)
{
    return scaling.end > 0 && scaling.end <= scaling.size;
}

/* The size up to which the next processes bring so much; without a floor: as if there were no
 * end. */
int64_t useful_size(const Scaling &scaling, int64_t serial_ppm, int64_t floor_ppm)
{
    int size = scaling.end > 0 ? std::min(scaling.end, scaling.size) : scaling.size;
    int64_t useful = efficient_size(size, serial_ppm, floor_ppm);
    return scaling.end > 0 && floor_ppm > 0 ? std::min<int64_t>(useful, scaling.end) : useful;
}

/* Beyond what is measured it is doubled, and only when it is known how the present size does. */
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

/* The gain of each core between two sizes. */
double gain_of(const Scaling &scaling, const Unit &unit, int from, int to)
{
    int small = std::min(from, to), large = std::max(from, to);
    double ratio = relative_speed(scaling, large) / relative_speed(scaling, small);
    /* Past its end a job may have what nobody else can use. */
    double gain = std::max(std::log(ratio), GAIN_OF_NOTHING);
    return gain * unit.processes / (double(large - small) * unit.cores);
}

class MeasuredGain : public Gain {
  public:
    double gain(const State &state, const Job &job, int from, int to) const override
    {
        if (from == job.size()) {
            const SizeWorth &worth = worth_of(state, job);
            if (to == worth.more || to == worth.less)
                return to == worth.more ? worth.next : worth.last;
        }
        return gain_of(scaling_of(job), unit_of(state, job.spec, job.blocks), from, to);
    }
    std::function<double(int, int)> of(const State &state, const Job &job) const override
    {
        return [scaling = scaling_of(job), unit = unit_of(state, job.spec, job.blocks)](
                   int from, int to) { return gain_of(scaling, unit, from, to); };
    }
};

/* The size that fills one unit more, and the one that leaves one; 0: none. */
int one_unit_more(const JobSpec &spec, const Unit &unit, int size)
{
    int next = size_at_least(spec, size + 1);
    return next == 0 ? 0 : size_at_most(spec, static_cast<int>(unit.count(next)) * unit.processes);
}

int one_unit_less(const JobSpec &spec, const Unit &unit, int size)
{
    return size_at_most(spec, static_cast<int>(unit.count(size) - 1) * unit.processes);
}

int within(const JobSpec &spec, int size, int64_t most)
{
    return static_cast<int>(std::clamp<int64_t>(most, size, spec.maximum));
}

/* A job that waits may be started with any size up to it. */
int most_of(const State &state, const Job &job)
{
    const Learned *learned =
        job.state == JobState::PENDING ? find_learned(state.learned, job) : nullptr;
    if (learned) {
        int64_t most = measured_start(*learned, state.config.efficiency_ppm);
        return std::max(within(job.spec, 0, most), size_at_least(job.spec, 1));
    }
    return within(job.spec, job.size(), worth_of(state, job).most);
}

int most_efficient_of(const State &state, const Job &job)
{
    return within(job.spec, job.size(), worth_of(state, job).most_efficient);
}

/* No core idles, and another job is to have more. */
bool others_can_use_more(const State &state, const Job &job)
{
    const auto &elastic = state.indices().elastic;
    return state.indices().free_cores == 0 &&
           std::any_of(elastic.begin(), elastic.end(), [&](JobId id) {
               const Job &other = state.jobs.at(id);
               return id != job.id && most_efficient_of(state, other) > other.size();
           });
}

class MeasuredRules : public SizeRules {
  public:
    int most(const State &state, const Job &job) const override
    {
        return most_of(state, job);
    }
    int own_size(const State &state, const Job &job) const override
    {
        return worth_of(state, job).own;
    }
    bool may_give(const State &, const Job &) const override { return true; }
    int reduced(const State &state, const Job &job) const override
    {
        const SizeWorth &worth = worth_of(state, job);
        bool loaned = worth.reduced > 0 && worth.own < worth.reduced;
        return loaned && others_can_use_more(state, job) ? worth.own : worth.reduced;
    }
    Json why(const State &state, const Job &job, int size, const char *rule) const override
    {
        MeasuredNumbers numbers = measured_numbers(state, job);
        Json json = write(numbers);
        json["rule"] = rule;
        if (std::string_view(rule) == "reduce")
            json["wanted"] = others_can_use_more(state, job);
        json["speed_ppm"] = std::llround(relative_speed(numbers.scaling, size) * double(PPM));
        return json;
    }
    std::string words(const State &state, const Job &job, int size) const override;
    std::string explain(const State &state, const Job &job) const override;
    std::optional<SizeBounds> bounds(const State &state, const Job &job) const override
    {
        int least = size_at_least(job.spec, 1);
        return SizeBounds{least, std::max(size_at_most(job.spec, most(state, job)), least), 0};
    }
    std::optional<HeldBecause> held_because(const State &state, const Job &job) const override;
    Exchange exchange(const State &state) const override;
    bool may_change(const Exchange &exchange, const State &state, const Job &job) const override;
};

/* One that may give or get: measured at its present size, and not just changed. */
bool may_trade(const State &state, const Job &job)
{
    return job.wished_size == 0 && !job.size_request && !job.granted &&
           worth_of(state, job).is_measured;
}

int64_t trades_from_ms(const State &state, const Job &job)
{
    return std::max(state.growth_from_ms(job), job.offer_after_ms);
}

std::string sizes_measured(const Scaling &scaling)
{
    return std::to_string(scaling.sizes) + (scaling.sizes == 1 ? " size" : " sizes") + " measured";
}

std::string MeasuredRules::words(const State &state, const Job &job, int size) const
{
    MeasuredNumbers numbers = measured_numbers(state, job);
    const Scaling &scaling = numbers.scaling;
    char text[160];
    double speed = relative_speed(scaling, size), faster = 1 / speed;
    if (size == scaling.below.size)
        faster = 1 + static_cast<double>(scaling.below.gain_ppm) / static_cast<double>(PPM) *
                         (static_cast<double>(job.size()) / size - 1);
    if (size < job.size())
        snprintf(text, sizeof text,
                 "%d processes are %s: %.2f times as fast as %d, by %s", job.size(),
                 faster < 1 ? "slower" : "hardly faster", faster, size,
                 sizes_measured(scaling).c_str());
    else if (!is_known(scaling))
        snprintf(text, sizeof text, "idle cores: nothing is known of its speed yet");
    else
        snprintf(text, sizeof text, "idle cores: expected to be %.2f times as fast, by %s", speed,
                 scaling.hinted         ? "its user's hint"
                 : scaling.sizes == 1 ? "its MPI time"
                                      : sizes_measured(scaling).c_str());
    return text;
}

/* Whether the sizes at which the next processes bring enough are much greater than its own. */
bool is_worth_growing(const MeasuredNumbers &numbers)
{
    const Scaling &scaling = numbers.scaling;
    int64_t floor_ppm = growth_floor_ppm(numbers, Floor::IDLE);
    return useful_size(scaling, scaling.serial_ppm, floor_ppm) * 100 >=
               scaling.size * WORTH_PERCENT &&
           !is_known_to_be_vain(numbers, Floor::IDLE);
}

std::optional<HeldBecause> MeasuredRules::held_because(const State &state, const Job &job) const
{
    MeasuredNumbers numbers = measured_numbers(state, job);
    if (measured_most(numbers, Floor::IDLE) > numbers.scaling.size)
        return std::nullopt;
    if (!numbers.is_measured)
        return held_without_data(job);
    if (is_worth_growing(numbers))
        return numbers.remaining_ms == NEVER ? HeldBecause::NO_ESTIMATE : HeldBecause::COST;
    int64_t least = measured_least(numbers, Floor::IDLE);
    bool at_minimum = least > 0 && size_at_most(job.spec, numbers.scaling.size - 1) == 0;
    return at_minimum ? HeldBecause::AT_MINIMUM : HeldBecause::BETWEEN_THRESHOLDS;
}

/* The reason why it is not grown, the first that holds. */
std::string why_not_growing(const MeasuredNumbers &numbers, const Job &job)
{
    const Scaling &scaling = numbers.scaling;
    int64_t most = measured_most(numbers, Floor::IDLE);
    if (job.size() >= job.spec.maximum)
        return "it has the most that it can have";
    if (most > scaling.size)
        return "up to " + std::to_string(std::min<int64_t>(most, job.spec.maximum)) +
               " as cores become idle";
    if (!numbers.is_measured)
        return "not growing: not measured at this size yet";
    if (!is_worth_growing(numbers))
        return "not growing: more would not make it enough faster";
    return "not growing: it would cost more than it wins";
}

std::string MeasuredRules::explain(const State &state, const Job &job) const
{
    MeasuredNumbers numbers = measured_numbers(state, job);
    const Scaling &scaling = numbers.scaling;
    if (!is_known(scaling))
        return std::to_string(scaling.size) + " processes: nothing is known of its speed yet";
    char text[160];
    snprintf(text, sizeof text,
             "%d processes: twice as many are expected to be %.2f times as fast (%s, %d samples); ",
             scaling.size, relative_speed(scaling, 2 * scaling.size),
             scaling.hinted ? "its user's hint" : sizes_measured(scaling).c_str(),
             scaling.samples);
    int loaned = scaling.size - worth_of(state, job).own;
    std::string loan =
        loaned > 0 ? "; " + std::to_string(loaned) + " are lent until somebody waits for cores"
                   : "";
    std::string end = scaling.end > 0 ? "more than " + std::to_string(scaling.end) +
                                            " processes bring nothing; "
                                      : "";
    return text + end + why_not_growing(numbers, job) + loan;
}

/* Why one gives to another one: its own numbers, and the other's. */
Json why_given(const SizeRules &rules, const State &state, const Job &from, const Job &to,
               const Given &given, bool trial, int64_t wanted_cores)
{
    Json why = rules.why(state, from, given.size, "balance");
    why["trial"] = trial;
    why["wanted_cores"] = wanted_cores;
    why["for"] = {to.id};
    why["gets"] = write(measured_numbers(state, to));
    why["gets_size"] = given.grown;
    return why;
}

std::string words_given(const Job &from, const Scaling &scaling, const Job &to, const Given &given,
                        bool trial)
{
    char text[240];
    auto other = static_cast<unsigned long long>(to.id);
    if (trial)
        snprintf(text, sizeof text,
                 "tried, as nothing shows that %d processes are faster than %d; meanwhile "
                 "job %llu, with %d, is expected to be %.2f times as fast",
                 from.size(), given.size, other, given.grown, given.speed);
    else
        snprintf(text, sizeof text,
                 "job %llu gains more by what is given: with %d it is expected to be %.2f times as "
                 "fast, this one with %d %.2f times",
                 other, given.grown, given.speed, given.size,
                 relative_speed(scaling, given.size));
    return text;
}

/* Whether the other job fits with its additional processes on nodes that are free then. */
bool finds_capacity(const State &state, const Job &from, int size, const Job &to, int grown)
{
    Blocks staying =
        without(from.blocks, choose_leaving(state, from.blocks, from.size() - size));
    Blocks slots = slots_of(from); /* stay its own */
    Shares given = state.shares(from.spec, append(from.blocks, slots)),
           remaining = state.shares(from.spec, append(staying, slots));
    leave_differences(given, remaining);
    Space then(state);
    then.give(given);
    then.take(remaining);
    return then.fits(to.spec, grown - to.size(), present(to));
}

/* The first of these pairs that pays and fits; the others gain less than the first one, so that
 * it alone shows whether any pays. */
std::optional<Change> exchange_between(const SizeRules &rules, const State &state,
                                       const Traders &gives, const Traders &gets, bool trial,
                                       int64_t wanted_cores)
{
    for (const auto &[next, to_id] : gets) {
        const Job &to = state.jobs.at(to_id);
        MeasuredNumbers to_numbers = measured_numbers(state, to);
        for (const auto &[last, from_id] : gives) {
            if (from_id == to_id)
                continue;
            const Job &from = state.jobs.at(from_id);
            MeasuredNumbers from_numbers = measured_numbers(state, from);
            auto given = best_exchange(from.spec, from_numbers, to.spec, to_numbers, trial);
            if (!given)
                return std::nullopt;
            if (!finds_capacity(state, from, given->size, to, given->grown))
                continue;
            if (!trial)
                given = with_loan(*given, from.spec, from_numbers, to.spec, to_numbers,
                                  wanted_cores);
            auto leave = choose_leaving(state, from.blocks, from.size() - given->size);
            auto why = [=, &rules, to_id = to_id, given = *given](const State &then,
                                                                  const Job &job) {
                return why_given(rules, then, job, then.jobs.at(to_id), given, trial,
                                 wanted_cores);
            };
            return Change{from_id,        given->size,
                          std::move(leave), {},
                          words_given(from, from_numbers.scaling, to, *given, trial),
                          std::move(why)};
        }
    }
    return std::nullopt;
}

/* From whom the last process is worth least to whom the next one is worth most: so many that both
 * together gain most.  If that brings nothing: from whom it may be worth nothing. */
Exchange MeasuredRules::exchange(const State &state) const
{
    Exchange result;
    int64_t wanted_cores = 0;
    for (JobId id : state.indices().elastic) {
        const Job &job = state.jobs.at(id);
        if (!may_trade(state, job))
            continue;
        if (int64_t from_ms = trades_from_ms(state, job); from_ms > state.now_ms) {
            result.again_ms =
                result.again_ms == NEVER ? from_ms : std::min(result.again_ms, from_ms);
            continue;
        }
        const SizeWorth &worth = worth_of(state, job);
        if (worth.less > 0)
            result.gives.add(worth.last, id);
        if (worth.doubtful)
            result.doubtful.add(worth.last, id);
        if (int more = worth.exchanged - job.size(); more > 0) {
            result.gets.add(-worth.next, id);
            wanted_cores += int64_t{more} * job.spec.cores_per_process;
        }
    }
    result.change =
        exchange_between(*this, state, result.gives, result.gets, false, wanted_cores);
    if (!result.change)
        result.change = exchange_between(*this, state, result.doubtful, result.gets, true, 0);
    return result;
}

/* It is one of those that were compared, or comes before one of them. */
bool MeasuredRules::may_change(const Exchange &exchange, const State &state, const Job &job) const
{
    if (exchange.gives.has(job.id) || exchange.doubtful.has(job.id) || exchange.gets.has(job.id))
        return true;
    if (!may_trade(state, job) || trades_from_ms(state, job) > state.now_ms)
        return false;
    const SizeWorth &worth = worth_of(state, job);
    return (worth.less > 0 && exchange.gives.would_be(worth.last, job.id)) ||
           (worth.doubtful && exchange.doubtful.would_be(worth.last, job.id)) ||
           (worth.exchanged > job.size() &&
            exchange.gets.would_be(-worth.next, job.id));
}

}  // namespace

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
    /* An exchange counts on it. */
    worth = worth || scaling.end > scaling.size;
    bool pays =
        most > scaling.size && growth_pays(numbers.remaining_ms, numbers.since_ms, numbers.times,
                                           relative_speed(scaling, static_cast<int>(most)));
    return worth && pays ? most : scaling.size;
}

int64_t measured_least(const MeasuredNumbers &numbers, Floor floor)
{
    const Scaling &scaling = numbers.scaling;
    /* MPI time alone only makes it doubtful: half as many are tried, once. */
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
    /* From the largest size down, as a job would be reduced, or up once. */
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
    /* More than these have not made it faster, or nothing else has been measured at all. */
    bool saturated =
        has_reached_end(scaling) ||
        PPM - scaling.serial_ppm < std::max<int64_t>(numbers.efficiency_ppm - RULE_MARGIN_PPM, 1);
    bool untold = is_least && (scaling.sizes == 1 || saturated);
    /* Or only near sizes, which prove little, and nothing good. */
    bool near_alone = scaling.sizes > 1 && scaling.below.size == 0 && scaling.above.size == 0;
    bool stays = (is_least ? scaling.serial_ppm : scaling.serial_below_ppm) >= NEAR_DOUBT_PPM;
    bool long_enough = numbers.remaining_ms == NEVER ||
                       numbers.remaining_ms >= REMAINING_PER_SAMPLE * numbers.sample_ms;
    return numbers.is_measured && (untold || (near_alone && stays)) && long_enough;
}

namespace {

/* Of one that gets, at most.  No margin, as the exchange must gain enough. */
int most_exchanged(const JobSpec &to, const MeasuredNumbers &gets)
{
    const Scaling &scaling = gets.scaling;
    int64_t floor_ppm = floor_ppm_of(gets, Floor::EFFICIENT), most = SIZE_MAX_PROCESSES;
    if (is_known(scaling))
        most = tried_most(gets, useful_size(scaling, scaling.serial_ppm, floor_ppm));
    return within(to, scaling.size, most);
}

/* Its size, up to `most`, with what another one gives that is left with `given_size`. */
int size_with(const JobSpec &to, const MeasuredNumbers &gets, int most,
              const MeasuredNumbers &gives, int given_size)
{
    int64_t units = gives.unit.count(gives.scaling.size) - gives.unit.count(given_size);
    int64_t more = gets.unit.count(gets.scaling.size) + units * gives.unit.cores / gets.unit.cores;
    return size_at_most(to, static_cast<int>(std::min<int64_t>(most, more * gets.unit.processes)));
}

}  // namespace

/* So many that both together gain most; of a trial, that the other one does, as who gives may lose
 * nothing.  Of a trial so many that it shows. */
std::optional<Given> best_exchange(const JobSpec &from, const MeasuredNumbers &gives,
                                   const JobSpec &to, const MeasuredNumbers &gets, bool trial)
{
    if (gives.times.standstill_ms * STANDSTILL_PART > gives.since_ms)
        return std::nullopt;
    int present = gives.scaling.size, most = most_exchanged(to, gets);
    double loss_max = has_reached_end(gives.scaling) ? TRIAL_LOSS_FLAT_MAX : TRIAL_LOSS_MAX;
    std::optional<Given> best;
    /* Speeds are multiplied, as adding their logarithms took a twentieth of a simulation's time. */
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

SizeWorth find_worth(const State &state, const Job &job)
{
    MeasuredNumbers numbers = measured_numbers(state, job);
    const Scaling &scaling = numbers.scaling;
    SizeWorth worth;
    worth.is_measured = numbers.is_measured;
    worth.most = measured_most(numbers, Floor::IDLE);
    worth.most_efficient = measured_most(numbers, Floor::EFFICIENT);
    worth.exchanged = most_exchanged(job.spec, numbers);
    int64_t least = measured_least(numbers, Floor::IDLE);
    int64_t own = measured_least(numbers, Floor::EFFICIENT);
    worth.reduced = least == 0 ? 0 : size_at_least(job.spec, static_cast<int>(least));
    worth.own = own == 0 ? scaling.size
                         : std::min(size_at_least(job.spec, static_cast<int>(own)), scaling.size);
    int size = scaling.size;
    worth.more = one_unit_more(job.spec, numbers.unit, size);
    worth.less = one_unit_less(job.spec, numbers.unit, size);
    worth.doubtful = is_doubtful(numbers) && worth.less > 0;
    if (worth.more > 0)
        worth.next = gain_of(scaling, numbers.unit, size, worth.more);
    if (worth.less > 0)
        worth.last = gain_of(scaling, numbers.unit, size, worth.less);
    return worth;
}

const SizeWorth &worth_of(const State &state, const Job &job)
{
    if (!job.worth)
        job.worth = find_worth(state, job);
    return *job.worth;
}

const Gain &measured_gain()
{
    static const MeasuredGain gain;
    return gain;
}

const Policy &measured_policy()
{
    static const MeasuredRules rules;
    static const Fill policy(measured_gain(), rules);
    return policy;
}

}  // namespace elastic::rm
