/*
 * See size_requests.h: sizes that come without a request, of the schedule or policy, and the rule of the program for
 * sizes that it can use (MPIX_Adapt_sizes).
 */

#include "stepmgr/requests/size_requests.h"

namespace elastic {

/* ---- the schedule or policy ------------------------------------------------------------------------- */

/* As many as are due: one that is skipped, or withdrawn at once, is followed by the next one. */
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
        offer(*due);
    }
}

/* A change of a schedule or policy.  An entry that cannot be applied is skipped, with a line. */
void SizeRequests::offer(const Offer &offer)
{
    auto change = resolve(offer.change);
    if (!change) {
        state_.journal.add(state_.now_ms, "skipped", {{"origin", offer.origin}, {"reason", change.error()}});
        bool same_size = offer.change.size == state_.world.size() && !offer.change.leave;
        if (!same_size)
            state_.notify_user(offer.origin + " is skipped: " + change.error());
        return;
    }
    if (std::string why = hooks_.why_no_capacity(change.value().new_size); !why.empty()) {
        state_.journal.add(state_.now_ms, "skipped", {{"origin", offer.origin}, {"reason", why}});
        source_.postpone(state_.now_ms);
        return;
    }
    control_.accept(source_.is_schedule() ? Source::SCHEDULE : Source::POLICY, offer.origin, offer.change,
                    change.value());
    control_.begin();
}

void SizeRequests::report_policy_stops()
{
    state_.notify_user("the adaptation policy stops: the program can use no other size of "
                       "--adapt-range, by MPIX_Adapt_sizes it can use '" +
                       shorten(rule_->text(), 100) + "'");
}

/* Sizes that were not offered are reported. */
void SizeRequests::job_over(const std::string &rigid_because)
{
    if (state_.mode == InitMode::UNKNOWN && source_.any())
        state_.notify_user("no adaptation was offered: the program ended without MPI_Init_adapt, and without having "
                           "looked for changes through process sets");
    else if (state_.mode == InitMode::RIGID && source_.any())
        state_.notify_user("the adaptation " + std::string(source_.is_schedule() ? "schedule" : "policy") +
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
                       " never offered: the program ended before");
}

/* ---- the rule of the program ------------------------------------------------------------------------- */

/* From now on; what is under way and not agreed on is withdrawn. */
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
    if (late || state_.adaptation->source != Source::CLIENT)
        state_.notify_user(state_.adaptation->origin +
                           (late ? " is carried out all the same, it has been agreed on: " : " is skipped: ") + why);
    if (!late)
        control_.raise(AdaptEvent::WITHDRAW, why);
}

Result<Change> SizeRequests::resolve(const ChangeRequest &request) const
{
    auto change = resolve_change(state_.world.size(), request, state_.programs);
    if (change && rule_ && !rule_->allows(change.value().new_size))
        return Error{rule_->refusal(change.value().new_size)};
    return change;
}

}  // namespace elastic
