/* See step.h: what the program says of itself beside its steps: which sizes it can use, and which messages it had not
 * received when a window closed. */

#include "stepmgr/step/step.h"

namespace elastic {

/* ---- sizes --------------------------------------------------------------------------------------- */

/* From now on; what is under way and not agreed on is withdrawn. */
void Step::on_sizes(const SizesReport &report)
{
    if (sizes_ && sizes_->text() == report.rule)
        return;
    auto rule = ProgramSizes::parse(report.rule);
    if (!rule) {
        unexpected("rule for sizes: " + rule.error());
        return;
    }
    sizes_ = rule.value();
    state_.log("sizes", {{"rule", sizes_->text()}});
    if (!state_.adaptation || sizes_->allows(state_.adaptation->change.new_size))
        return;
    std::string why = sizes_->refusal(state_.adaptation->change.new_size);
    bool late = !before_agreement(state_.adaptation->state);
    if (late || state_.adaptation->source != Source::CLIENT)
        state_.effects.notify_user(state_.effects.context,
                             (state_.adaptation->origin + (late ? " takes place all the same, it has been agreed on: "
                                                           : " is skipped: ") + why).c_str());
    if (!late)
        raise(AdaptEvent::WITHDRAW, why);
}

Result<Change> Step::resolve(const ChangeRequest &request) const
{
    auto change = resolve_change(state_.world.size(), request, state_.programs);
    if (change && sizes_ && !sizes_->allows(change.value().new_size))
        return Error{sizes_->refusal(change.value().new_size)};
    return change;
}

void Step::notify_policy_stops()
{
    state_.effects.notify_user(state_.effects.context,
                               ("the adaptation policy stops: the program can use no other size of "
                                "--adapt-range, by MPIX_Adapt_sizes it can use '" +
                                shorten(sizes_->text(), 100) + "'").c_str());
}

/* ---- messages that nobody received ------------------------------------------------------------------ */

/* Notified together when the adaptation ends; a report on a slower way comes after that. */
void Step::on_unreceived(const Process &process, uint32_t epoch, const UnreceivedReport &report)
{
    bool under_way = state_.adaptation && epoch == state_.adaptation->epoch;
    if (!under_way && (epoch != state_.epoch || epoch == 0)) {
        unexpected("messages that were not received in epoch " + std::to_string(epoch));
        return;
    }
    std::string text = std::to_string(report.count) + " on " + report.communicator + " to " +
                       state_.describe(process) + " (the first from rank " + std::to_string(report.source) +
                       " with tag " + std::to_string(report.tag) + ")";
    if (under_way && state_.adaptation->unreceived.size() >= UNRECEIVED_EVENTS_MAX) {
        state_.adaptation->unreceived.emplace_back();
        return;
    }
    state_.journal.add(state_.now_ms, "unreceived", {{"epoch", epoch},
                                         {"communicator", report.communicator},
                                         {"count", report.count},
                                         {"rank", process.world_rank < 0 ? process.rank : process.world_rank},
                                         {"joining", state_.is_joining(process)},
                                         {"host", process.host},
                                         {"source", report.source},
                                         {"tag", report.tag}});
    if (under_way)
        state_.adaptation->unreceived.push_back(text);
    else
        state_.effects.notify_user(state_.effects.context, ("adaptation " + std::to_string(epoch) +
                                                            ": nobody had received these messages by "
                                                            "MPI_Comm_adapt_commit, they are lost: " + text).c_str());
}

void Step::notify_unreceived()
{
    const Adaptation &a = *state_.adaptation;
    if (a.unreceived.empty())
        return;
    std::string text;
    for (size_t i = 0; i < std::min(a.unreceived.size(), UNRECEIVED_TEXT_MAX); i++)
        text += (text.empty() ? "" : "; ") + a.unreceived[i];
    if (a.unreceived.size() > UNRECEIVED_TEXT_MAX)
        text += "; and on " + std::to_string(a.unreceived.size() - UNRECEIVED_TEXT_MAX) + " more processes";
    state_.effects.notify_user(state_.effects.context,
                               ("adaptation " + std::to_string(a.epoch) + " (" + std::to_string(a.old_size) +
                                " -> " + std::to_string(a.change.new_size) + " processes): nobody had received "
                                "these messages by MPI_Comm_adapt_commit, they are lost: " + text).c_str());
}

}  // namespace elastic
