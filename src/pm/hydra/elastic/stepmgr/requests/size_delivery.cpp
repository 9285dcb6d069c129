/*
 * See size_requests.h: from size requests to the adaptation; requests of the schedule or policy;
 * the rule of the program for sizes that it can use (MPIX_Adapt_sizes).
 */

#include "stepmgr/requests/size_requests.h"

namespace elastic {

/* ---- the way to the adaptation --------------------------------------------------------------- */

/* --adapt-range without a policy is for clients and MPIX_Comm_modify; other origins choose a size
 * in it. */
std::variant<Change, SizeRefusal> SizeRequests::check(const SizeRequest &request) const
{
    using Cause = SizeRefusal::Cause;
    auto change = resolve_change(state_.world.size(), request.wanted, state_.programs);
    if (!change)
        return SizeRefusal{Cause::CHANGE, change.error()};
    int size = change.value().new_size;
    if (rule_ && !rule_->allows(size))
        return SizeRefusal{Cause::PROGRAM_SIZES, rule_->refusal(size)};
    const auto &range = source_.requests_range();
    bool is_limited = request.origin == Origin::CLIENT || request.origin == Origin::MODIFY;
    if (is_limited && range && !range->holds(size))
        return SizeRefusal{Cause::RANGE,
                           "mpiexec was started with --adapt-range " + std::to_string(range->min) +
                               ":" + std::to_string(range->max) + ": request a size in that range"};
    if (std::string why = hooks_.why_no_capacity(size); !why.empty())
        return SizeRefusal{Cause::CAPACITY, why};
    return change.value();
}

DeliveredRequest SizeRequests::deliver(SizeRequest request, const Change &change)
{
    if (request.origin == Origin::CLIENT && is_modify()) {
        request.origin = Origin::MODIFY;
        request.number = queue_.open()->number;
    }
    const Adaptation &a = control_.accept(request, change);
    DeliveredRequest delivered = {a.request, a.epoch, a.old_size};
    if (SizeRequest *open = queue_.find(request.number))
        open->request = a.request;
    if (state_.adapts() || is_modify()) /* else when all processes have initialised */
        control_.begin();
    return delivered;
}

std::optional<uint64_t> SizeRequests::deliver_for_operation(int size)
{
    SizeRequest request;
    request.origin = Origin::OPERATION;
    request.wanted.size = size;
    auto checked = check(request);
    const Change *change = std::get_if<Change>(&checked);
    return change ? std::optional(deliver(request, *change).request) : std::nullopt;
}

/* ---- the schedule or policy ------------------------------------------------------------------ */

/* Takes all requests that are due: after one that is skipped, or withdrawn at once, the next one
 * follows. */
void SizeRequests::consider_source()
{
    while (state_.adapts() && !state_.adaptation && !state_.ending) {
        if (source_.due() && *source_.due() <= state_.now_ms)
            hooks_.drop_ended();
        bool offering = source_.any();
        auto due = source_.take(state_.now_ms, state_.world.size(), rule_ ? &*rule_ : nullptr);
        if (offering && !source_.any() && rule_)
            report_policy_stops();
        if (!due)
            break;
        deliver_from_source(*due);
    }
}

/* Skips an entry that cannot be applied, with a message. */
void SizeRequests::deliver_from_source(const SizeRequest &request)
{
    auto checked = check(request);
    if (const Change *change = std::get_if<Change>(&checked)) {
        deliver(request, *change);
        return;
    }
    const auto &[cause, why] = std::get<SizeRefusal>(checked);
    state_.journal.add(state_.now_ms, "skipped", {{"origin", request.label()}, {"reason", why}});
    bool same_size = request.wanted.size == state_.world.size() && !request.wanted.leave;
    if (cause == SizeRefusal::Cause::CAPACITY)
        source_.postpone(state_.now_ms);
    else if (!same_size)
        state_.notify_user(request.label() + " is skipped: " + why);
}

void SizeRequests::report_policy_stops()
{
    state_.notify_user("the adaptation policy stops: the program can use no other size of "
                       "--adapt-range, its rule of MPIX_Adapt_sizes is '" +
                       shorten(rule_->text(), 100) + "'");
}

/* Reports sizes that were not offered. */
void SizeRequests::job_over(const std::string &rigid_because)
{
    if (state_.mode == InitMode::UNKNOWN && source_.any())
        state_.notify_user(
            "no adaptation was offered: the program ended without calling MPI_Init_adapt or "
            "querying changes through process sets");
    else if (state_.mode == InitMode::RIGID && source_.any())
        state_.notify_user("the adaptation " +
                           std::string(source_.is_schedule() ? "schedule" : "policy") +
                           " was not used: " + rigid_because);
    else if (state_.adapts() && !state_.broken)
        report_never_offered();
}

void SizeRequests::report_never_offered()
{
    auto [first, last] = source_.left();
    if (first > last)
        return;
    state_.journal.add(state_.now_ms, "never_offered", {{"first", first}, {"last", last}});
    state_.notify_user((first == last ? "entry " + std::to_string(first)
                        : "entries " + std::to_string(first) + " to " + std::to_string(last)) +
                       " of the adaptation schedule " + (first == last ? "was" : "were") +
                       " never offered: the program ended first");
}

/* ---- the rule of the program ----------------------------------------------------------------- */

/* Sets the rule.  Withdraws an adaptation that is not agreed on. */
void SizeRequests::on_sizes(const SizesReport &report)
{
    if (rule_ && rule_->text() == report.rule)
        return;
    auto rule = ProgramSizes::parse(report.rule);
    if (!rule) {
        state_.unexpected("rule for sizes: " + rule.error());
        return;
    }
    rule_ = rule.value();
    state_.log("sizes", {{"rule", rule_->text()}});
    if (!state_.adaptation || rule_->allows(state_.adaptation->change.new_size))
        return;
    std::string why = rule_->refusal(state_.adaptation->change.new_size);
    bool late = !before_agreement(state_.adaptation->state);
    if (late || state_.adaptation->origin != Origin::CLIENT)
        state_.notify_user(
            state_.adaptation->label +
            (late ? " is carried out nevertheless, because it is agreed on: " : " is skipped: ") +
            why);
    if (!late)
        control_.raise(AdaptEvent::WITHDRAW, why);
}

}  // namespace elastic
