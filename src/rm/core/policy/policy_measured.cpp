/* See policy_measured.h. */

#include "core/policy/policy_measured.h"

#include <cmath>

#include "base/change.h"
#include "core/placement.h"
#include "core/policy/measured_exchange.h"
#include "core/policy/measured_worth.h"
#include "core/policy/policy_fill.h"

namespace elastic::rm {

namespace {

/* A waiting job may be started with any size up to this one. */
int most_of(const State &state, const Job &job)
{
    const Learned *learned =
        job.state == JobState::PENDING ? find_learned(state.learned, job) : nullptr;
    if (learned) {
        int64_t most = measured_start(*learned, state.config.efficiency_ppm);
        return std::max(size_between(job.spec, 0, most), size_at_least(job.spec, 1));
    }
    return size_between(job.spec, job.size(), worth_of(state, job).most);
}

int most_efficient_of(const State &state, const Job &job)
{
    return size_between(job.spec, job.size(), worth_of(state, job).most_efficient);
}

/* No core idles, and another job should have more. */
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

/* A possible donor or recipient: measured at its present size, and not just changed. */
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
        snprintf(text, sizeof text, "idle cores: its speed is not known yet");
    else
        snprintf(text, sizeof text, "idle cores: expected to be %.2f times as fast, by %s", speed,
                 scaling.hinted         ? "its user's hint"
                 : scaling.sizes == 1 ? "its MPI time"
                                      : sizes_measured(scaling).c_str());
    return text;
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
        return "it has its largest size";
    if (most > scaling.size)
        return "up to " + std::to_string(std::min<int64_t>(most, job.spec.maximum)) +
               " as cores become idle";
    if (!numbers.is_measured)
        return "not growing: not measured at this size yet";
    if (!is_worth_growing(numbers))
        return "not growing: more would give too little speed-up";
    return "not growing: it would cost more than it gains";
}

std::string MeasuredRules::explain(const State &state, const Job &job) const
{
    MeasuredNumbers numbers = measured_numbers(state, job);
    const Scaling &scaling = numbers.scaling;
    if (!is_known(scaling))
        return std::to_string(scaling.size) + " processes: its speed is not known yet";
    char text[160];
    snprintf(text, sizeof text,
             "%d processes: twice as many are expected to be %.2f times as fast (%s, %d samples); ",
             scaling.size, relative_speed(scaling, 2 * scaling.size),
             scaling.hinted ? "its user's hint" : sizes_measured(scaling).c_str(),
             scaling.samples);
    int loaned = scaling.size - worth_of(state, job).own;
    std::string loan =
        loaned > 0 ? "; " + std::to_string(loaned) + " are loaned until a job waits for cores"
                   : "";
    std::string end = scaling.end > 0 ? "more than " + std::to_string(scaling.end) +
                                            " processes give no gain; "
                                      : "";
    return text + end + why_not_growing(numbers, job) + loan;
}

/* Why a job releases processes to another one: the numbers of both. */
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
                 "trial: no measurement shows that %d processes are faster than %d; job %llu, with "
                 "%d, is expected to be %.2f times as fast",
                 from.size(), given.size, other, given.grown, given.speed);
    else
        snprintf(text, sizeof text,
                 "job %llu gains more from these cores: with %d it is expected to be %.2f times as "
                 "fast, this one with %d %.2f times",
                 other, given.grown, given.speed, given.size,
                 relative_speed(scaling, given.size));
    return text;
}

/* Whether the other job fits with its additional processes on the nodes that are then free. */
bool finds_capacity(const State &state, const Job &from, int size, const Job &to, int grown)
{
    Blocks staying =
        without(from.blocks, choose_leaving(state, from.blocks, from.size() - size));
    Blocks slots = slots_of(from); /* it keeps them */
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

/* From the job whose last process has the lowest value to the job whose next process has the
 * highest: the number with the greatest joint gain.  If that gives no gain: from a job whose
 * last processes may have no value. */
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

/* It is one of the compared jobs, or comes before one of them. */
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

const Policy &measured_policy()
{
    static const MeasuredRules rules;
    static const Fill policy(measured_gain(), rules);
    return policy;
}

}  // namespace elastic::rm
