/* See step.h: MPIX_Comm_modify, an adaptation that all processes of the world wait for.  DM1-DM6.
 *
 * It is a wish (step_size_request.cpp) of rank 0 for one size, which every process has agreed to by calling: what of
 * it is not agreed on by probes.  So it can be had in a rigid program as well, of which no addresses are known
 * before: each process gives its own when it calls for the first time.  Without a resource manager, and without
 * --adapt-range, any size is granted that mpiexec can start. */

#include <algorithm>

#include "stepmgr/step.h"

namespace elastic {

/* A member gives its address, or one that MPIX_Comm_modify creates has initialised. */
void Step::on_modifies(Process &process, const InitReport &report)
{
    if (process.takes_part)
        return unexpected("second address of " + describe(process));
    process.takes_part = true;
    process.card = report.card;
    process.pid_namespace = report.pid_namespace;
    if (process.init != InitMode::UNKNOWN)
        return;
    process.init = mode_ == InitMode::ADAPTIVE ? InitMode::ADAPTIVE : InitMode::RIGID;
    if (process.group == 0) {
        launch_unreported_--;   /* that it is rigid was said before there was a core */
        become_rigid(process);
    }
}

void Step::on_modify(const Process &process, const WishReport &report)
{
    Wish wish;
    wish.kind = WishKind::MODIFY;
    wish.size = wish.size_min = wish.size_max = report.size;
    wish.reason = report.reason;
    wish.holders.push_back({process.uid, report.number, process.agent()});
    wish.rank = process.world_rank;
    if (mode_ == InitMode::SETS)
        return tell_wish_end(wish.holders, WishEnd::REFUSED, "the job changes through process sets",
                             PMI_ADAPT_WISH_SETS);
    if (adaptation_ && !before_agreement(adaptation_->state))
        return tell_wish_end(wish.holders, WishEnd::REFUSED, "another adaptation is agreed on",
                             PMI_ADAPT_WISH_AGAIN);
    begin_modify(wish);
}

/* What is under way and not agreed on makes room. */
void Step::begin_modify(const Wish &wish)
{
    if (adaptation_)
        raise(AdaptEvent::WITHDRAW, "modify");
    replace_wish(wish);
}

bool Step::all_take_part() const
{
    return std::all_of(world_.members().begin(), world_.members().end(),
                       [](const Process *process) { return process->takes_part; });
}

void Step::consider_modify()
{
    if (adaptation_ || !all_take_part())
        return;
    if (!wish_->told)
        tell_wish();            /* a manager may answer at once */
    if (wish_->size == world_.size())
        return end_wish(WishEnd::GRANTED, "");
    if (managed_)
        return;                 /* the manager decides */
    if (std::string why = why_refused(wish_->size); !why.empty())
        return end_wish(WishEnd::REFUSED, why);
    grant_wish(wish_->size);
}

/* Of a resource manager: what the processes wait for, and nothing else. */
std::optional<ProtocolError> Step::check_modify(const Json &id, int size) const
{
    if (adaptation_ || !all_take_part())
        return ProtocolError{id, ErrorCode::BUSY, "the program is about to change its size: try again in a moment"};
    if (size != wish_->size)
        return ProtocolError{id, ErrorCode::BUSY,
                             "the program waits in MPIX_Comm_modify for " + std::to_string(wish_->size) +
                                 " processes: give it these, or refuse wish " + std::to_string(wish_->number)};
    return std::nullopt;
}

}  // namespace elastic
