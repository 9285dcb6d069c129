/* See policy_efficient.h. */

#include "core/policy/policy_efficient.h"

#include "core/policy/policy_fill.h"

namespace elastic::rm {

namespace {

constexpr int64_t STANDSTILL_PART =
    10; /* maximum part of the time since the last commit, for a reduction (K3) */
constexpr int64_t REMAINING_PER_DURATION = 2; /* else its end comes first (K3) */
/* For a job that starts: greater than any remaining time of a job (Q9).  For a job with unknown
 * remaining time. */
constexpr double START_GAIN = 1e18, UNKNOWN_GAIN = 0.5;

/* If samples have errors of a tenth, the true MPI time lies between these parts. */
constexpr double TRUE_LEAST = 0.9, TRUE_MOST = 1.12;

/* Its value for another MPI share than the measured one. */
int64_t with_mpi_time(int64_t mtct_ppm, double factor)
{
    auto all = static_cast<double>(PPM), mtct = static_cast<double>(mtct_ppm);
    double rest = all + mtct - factor * mtct; /* of the loop's time */
    double other = rest > 0 ? factor * mtct / rest * all : static_cast<double>(MTCT_MAX_PPM);
    return static_cast<int64_t>(std::min(other, static_cast<double>(MTCT_MAX_PPM)));
}

/* Clause R, but without changes that may be caused by errors of a tenth in the samples. */
SizeRange range_of(const EfficientNumbers &numbers, const JobSpec &spec)
{
    SizeRange range = size_range(spec, numbers.range);
    if (range.kind == RangeKind::KEEP)
        return range;
    RangeNumbers doubted = numbers.range;
    double factor = range.kind == RangeKind::REDUCE ? TRUE_LEAST : TRUE_MOST;
    doubted.mtct_ppm = with_mpi_time(doubted.mtct_ppm, factor);
    doubted.recent_mtct_ppm = with_mpi_time(doubted.recent_mtct_ppm, factor);
    if (size_range(spec, doubted).kind == range.kind)
        return range;
    return {RangeKind::KEEP, numbers.range.size, numbers.range.size};
}

bool is_above(const RangeNumbers &range)
{
    return range.mtct_ppm > range.upper_ppm || range.recent_mtct_ppm > range.upper_ppm;
}

/* It should have fewer processes, but cannot. */
bool is_at_minimum(const RangeNumbers &range, const JobSpec &spec)
{
    return is_above(range) && size_at_most(spec, range.size - 1) == 0;
}

/* F1: the job that runs longest gets all cores that it may have before the next one gets any. */
class LongestFirst : public Gain {
  public:
    double gain(const State &state, const Job &job, int from, int to) const override
    {
        if (to < from)
            return 0; /* among donors, sizes decide */
        if (job.state == JobState::PENDING)
            return START_GAIN / to;
        int64_t left_ms = remaining_ms(state, job);
        return left_ms == NEVER ? UNKNOWN_GAIN : static_cast<double>(left_ms);
    }
};

/* Maximum size for the start of a run of the program (X3): the size that it would have reached,
 * from the greatest of its sizes at which MPI did not take too much time. */
int start_size(const State &state, const Job &job, const Learned &learned)
{
    const Config &config = state.config;
    EfficientNumbers numbers;
    RangeNumbers &range = numbers.range;
    range.upper_ppm = config.mtct_upper_ppm;
    range.lower_ppm = config.mtct_lower_ppm;
    range.target = config.range;
    for (const Interval &interval : learned.sizes) {
        auto mtct = mtct_ppm(interval.phase);
        bool is_above = mtct && *mtct > range.upper_ppm;
        if (is_above)
            range.ceiling = interval.size;
        if (mtct && (!is_above || !range.has_data)) {
            range.has_data = true;
            range.size = interval.size;
            range.mtct_ppm = range.recent_mtct_ppm = *mtct;
        }
        if (is_above)
            break;
    }
    return range.has_data ? range_of(numbers, job.spec).high : job.spec.maximum;
}

class EfficientRules : public SizeRules {
  public:
    int most(const State &state, const Job &job) const override;
    bool may_give(const State &state, const Job &job) const override
    {
        EfficientNumbers numbers = efficient_numbers(state, job);
        bool long_enough =
            numbers.remaining_ms == NEVER ||
            numbers.remaining_ms > REMAINING_PER_DURATION * numbers.times.duration_ms;
        return range_of(numbers, job.spec).kind == RangeKind::OPTIONAL && long_enough;
    }
    bool gives_later() const override { return false; }
    bool borrows(const State &, const Job &job) const override
    {
        /* in this run or an earlier one */
        bool has_changed = job.mean_duration_ms != NEVER;
        return has_changed && job.refusals == 0 && !job.withheld_loan;
    }
    bool balances() const override { return true; }
    int reduced(const State &state, const Job &job) const override
    {
        if (!state.config.reduce_when_idle && state.indices().queue.empty())
            return 0;
        if (!job.performance || !has_data(*job.performance)) /* the usual case, decided at once */
            return 0;
        EfficientNumbers numbers = efficient_numbers(state, job);
        SizeRange range = range_of(numbers, job.spec);
        bool cheap = numbers.times.standstill_ms * STANDSTILL_PART <= numbers.since_ms;
        return range.kind == RangeKind::REDUCE && cheap ? range.high : 0;
    }
    Json why(const State &state, const Job &job, int, const char *rule) const override
    {
        Json json = write(efficient_numbers(state, job));
        json["rule"] = rule;
        if (auto loop = job.performance ? measured_loop(*job.performance) : std::nullopt)
            json["loop"] = write(*loop);
        return json;
    }
    std::string words(const State &state, const Job &job, int size) const override;
    std::string explain(const State &state, const Job &job) const override;
    std::optional<SizeBounds> bounds(const State &state, const Job &job) const override
    {
        EfficientNumbers numbers = efficient_numbers(state, job);
        SizeRange range = range_of(numbers, job.spec);
        return SizeBounds{range.low, range.high, numbers.range.ceiling};
    }
    std::optional<HeldBecause> held_because(const State &state, const Job &job) const override;
};

int EfficientRules::most(const State &state, const Job &job) const
{
    if (job.state == JobState::PENDING) { /* Q5 */
        const State::Indices &indices = state.indices();
        const Learned *learned = find_learned(state.learned, job);
        int most = learned ? start_size(state, job, *learned) : job.spec.maximum;
        most = std::clamp(most, size_at_least(job.spec, 1), job.spec.maximum);
        if (indices.queue.size() <= 1)
            return most;
        int64_t sharers = static_cast<int64_t>(indices.allocated.size()) + waiting_sharers(state);
        int64_t share =
            indices.up_cores / std::max<int64_t>(sharers, 1) / job.spec.cores_per_process;
        return std::max(static_cast<int>(std::min<int64_t>(share, most)),
                        size_at_least(job.spec, 1));
    }
    EfficientNumbers numbers = efficient_numbers(state, job);
    SizeRange range = range_of(numbers, job.spec);
    bool grows = range.kind == RangeKind::OPTIONAL && range.high > job.size();
    double speed = static_cast<double>(range.high) / job.size();
    bool pays = grows && growth_pays(numbers.remaining_ms, numbers.since_ms, numbers.times, speed);
    return pays ? range.high : job.size();
}

std::optional<HeldBecause> EfficientRules::held_because(const State &state, const Job &job) const
{
    EfficientNumbers numbers = efficient_numbers(state, job);
    const RangeNumbers &range = numbers.range;
    if (!range.has_data)
        return held_without_data(job);
    if (most(state, job) > job.size())
        return std::nullopt;
    SizeRange sizes = range_of(numbers, job.spec);
    if (sizes.kind == RangeKind::REDUCE)        /* not performed yet (K3) */
        return HeldBecause::COST;
    if (sizes.kind == RangeKind::KEEP)
        return is_at_minimum(range, job.spec) ? HeldBecause::AT_MINIMUM
                                              : HeldBecause::BETWEEN_THRESHOLDS;
    if (sizes.high == job.size())       /* else AT_MAXIMUM, or the next size is too large */
        return range.ceiling > 0 ? HeldBecause::CEILING : HeldBecause::AT_MAXIMUM;
    return numbers.remaining_ms == NEVER ? HeldBecause::NO_ESTIMATE : HeldBecause::COST;
}

std::string EfficientRules::words(const State &state, const Job &job, int size) const
{
    RangeNumbers numbers = efficient_numbers(state, job).range;
    auto ratio = [](int64_t ppm) { return static_cast<double>(ppm) / static_cast<double>(PPM); };
    char text[160];
    snprintf(text, sizeof text, "MPI takes %.3g of the computing time (recently %.3g), %s %.3g",
             ratio(numbers.mtct_ppm), ratio(numbers.recent_mtct_ppm),
             size < job.size() ? "more than" : "less than",
             ratio(size < job.size() ? numbers.upper_ppm : numbers.lower_ppm));
    auto loop = job.performance ? measured_loop(*job.performance) : std::nullopt;
    return text + (loop ? ", in " + describe(*loop) : "");
}

std::string EfficientRules::explain(const State &state, const Job &job) const
{
    EfficientNumbers numbers = efficient_numbers(state, job);
    SizeRange range = range_of(numbers, job.spec);
    auto ratio = [](int64_t ppm) { return static_cast<double>(ppm) / static_cast<double>(PPM); };
    if (!numbers.range.has_data)
        return std::to_string(job.size()) + " processes, unchanged: not measured at this size yet";
    char text[200];
    snprintf(text, sizeof text,
             "%d processes: MPI takes %.3g of the computing time (recently %.3g); ", job.size(),
             ratio(numbers.range.mtct_ppm), ratio(numbers.range.recent_mtct_ppm));
    char then[160];
    if (range.kind == RangeKind::REDUCE)
        snprintf(then, sizeof then, "more than %.3g: to be reduced to %d",
                 ratio(numbers.range.upper_ppm), range.high);
    else if (range.kind == RangeKind::OPTIONAL)
        snprintf(then, sizeof then, "less than %.3g: from %d to %d", ratio(numbers.range.lower_ppm),
                 range.low, range.high);
    else if (is_at_minimum(numbers.range, job.spec))
        snprintf(then, sizeof then, "more than %.3g, but it has its smallest size",
                 ratio(numbers.range.upper_ppm));
    else
        snprintf(then, sizeof then, "unchanged, as it is not surely outside of %.3g to %.3g",
                 ratio(numbers.range.lower_ppm), ratio(numbers.range.upper_ppm));
    std::string loaned = job.loaned == 0 ? "" : "; " + std::to_string(job.loaned) +
                                                 " are loaned until a waiting job needs them";
    return std::string(text) + then + loaned;
}

}  // namespace

EfficientNumbers efficient_numbers(const State &state, const Job &job)
{
    const Config &config = state.config;
    EfficientNumbers numbers;
    numbers.range.size = job.size();
    numbers.range.unit = unit_of(state, job.spec, job.blocks).processes;
    numbers.range.upper_ppm = config.mtct_upper_ppm;
    numbers.range.lower_ppm = config.mtct_lower_ppm;
    numbers.range.target = config.range;
    if (job.performance && has_data(*job.performance)) {
        const Performance &known = *job.performance;
        auto mtct = accumulated_mtct_ppm(known), recent = recent_mtct_ppm(known);
        numbers.range.has_data = mtct && recent;
        numbers.range.mtct_ppm = mtct.value_or(0);
        numbers.range.recent_mtct_ppm = recent.value_or(0);
        int64_t since_ms = known.sampled_ms - config.ceiling_hold_ms;
        numbers.range.ceiling = ceiling_of(known, config.mtct_upper_ppm, since_ms);
        numbers.range.proven = proven_of(known, since_ms, numbers.range.ceiling, job.size());
        if (config.range == RangeTarget::MODEL)
            numbers.range.measured = measured_mtct(known, job.size());
    }
    numbers.remaining_ms = remaining_ms(state, job);
    numbers.since_ms = sampled_since_ms(job);
    numbers.times = adaptation_times(job);
    return numbers;
}

const SizeRules &efficient_rules()
{
    static const EfficientRules rules;
    return rules;
}

const Policy &efficient_policy()
{
    static const LongestFirst gain;
    static const Fill policy(gain, efficient_rules());
    return policy;
}

}  // namespace elastic::rm
