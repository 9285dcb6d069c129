/* See step.h: what the program says of itself beside its steps: which sizes it can use, and which messages it had not
 * received when a window closed. */

#include "stepmgr/step.h"

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
    log("sizes", {{"rule", sizes_->text()}});
    if (!adaptation_ || sizes_->allows(adaptation_->change.new_size))
        return;
    std::string why = sizes_->refusal(adaptation_->change.new_size);
    bool late = !before_agreement(adaptation_->state);
    if (late || adaptation_->source != Source::CLIENT)
        effects_.tell_user(effects_.context,
                           (adaptation_->origin + (late ? " takes place all the same, it has been agreed on: "
                                                        : " is skipped: ") + why).c_str());
    if (!late)
        raise(AdaptEvent::WITHDRAW, why);
}

Result<Change> Step::resolve(const ChangeRequest &request) const
{
    auto change = resolve_change(world_.size(), request, programs_);
    if (change && sizes_ && !sizes_->allows(change.value().new_size))
        return Error{sizes_->refusal(change.value().new_size)};
    return change;
}

void Step::tell_policy_stops()
{
    effects_.tell_user(effects_.context,
                       ("the adaptation policy stops: the program can use no other size of "
                        "--adapt-range, by MPIX_Adapt_sizes it can use '" +
                        shorten(sizes_->text(), 100) + "'").c_str());
}

/* ---- messages that nobody received ------------------------------------------------------------------ */

/* Told together when the adaptation ends; a report on a slower way comes after that. */
void Step::on_unreceived(const Process &process, uint32_t epoch, const UnreceivedReport &report)
{
    bool under_way = adaptation_ && epoch == adaptation_->epoch;
    if (!under_way && (epoch != epoch_ || epoch == 0)) {
        unexpected("messages that were not received in epoch " + std::to_string(epoch));
        return;
    }
    std::string text = std::to_string(report.count) + " on " + report.communicator + " to " +
                       describe(process) + " (the first from rank " + std::to_string(report.source) +
                       " with tag " + std::to_string(report.tag) + ")";
    if (under_way && adaptation_->unreceived.size() >= UNRECEIVED_EVENTS_MAX) {
        adaptation_->unreceived.emplace_back();
        return;
    }
    journal_.add(now_ms_, "unreceived", {{"epoch", epoch},
                                         {"communicator", report.communicator},
                                         {"count", report.count},
                                         {"rank", process.world_rank < 0 ? process.rank : process.world_rank},
                                         {"joining", is_joiner(process)},
                                         {"host", process.host},
                                         {"source", report.source},
                                         {"tag", report.tag}});
    if (under_way)
        adaptation_->unreceived.push_back(text);
    else
        effects_.tell_user(effects_.context, ("adaptation " + std::to_string(epoch) +
                                              ": nobody had received these messages by "
                                              "MPI_Comm_adapt_commit, they are lost: " + text).c_str());
}

void Step::tell_unreceived()
{
    const Adaptation &a = *adaptation_;
    if (a.unreceived.empty())
        return;
    std::string text;
    for (size_t i = 0; i < std::min(a.unreceived.size(), UNRECEIVED_TEXT_MAX); i++)
        text += (text.empty() ? "" : "; ") + a.unreceived[i];
    if (a.unreceived.size() > UNRECEIVED_TEXT_MAX)
        text += "; and on " + std::to_string(a.unreceived.size() - UNRECEIVED_TEXT_MAX) + " more processes";
    effects_.tell_user(effects_.context,
                       ("adaptation " + std::to_string(a.epoch) + " (" + std::to_string(a.old_size) +
                        " -> " + std::to_string(a.change.new_size) + " processes): nobody had received "
                        "these messages by MPI_Comm_adapt_commit, they are lost: " + text).c_str());
}

}  // namespace elastic
