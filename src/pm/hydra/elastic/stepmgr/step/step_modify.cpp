/*
 * See step.h: MPIX_Comm_modify, an adaptation that all processes of the world wait for.  DM1-DM6.
 *
 * It is a size request (step_size_request.cpp) of rank 0 for one size.  Every process agrees by its call, so that no
 * probes are needed, and a rigid program can use it.  The addresses of a rigid program are not known before: each
 * process sends its own with its first call.  Without a resource manager and without --adapt-range, each size is
 * granted that mpiexec can start.
 */

#include <algorithm>

#include "stepmgr/step/step.h"

namespace elastic {

/* A member gives its address, or one that MPIX_Comm_modify creates has initialised. */
void Step::on_modifies(Process &process, const InitReport &report)
{
    if (process.takes_part)
        return unexpected("second address of " + state_.describe(process));
    process.takes_part = true;
    process.bc = report.bc;
    process.pid_namespace = report.pid_namespace;
    if (process.init != InitMode::UNKNOWN)
        return;
    process.init = state_.mode == InitMode::ADAPTIVE ? InitMode::ADAPTIVE : InitMode::RIGID;
    if (process.group == 0) {
        launch_unreported_--;   /* that it is rigid was said before there was a core */
        become_rigid(process);
    }
}

void Step::on_modify(const Process &process, const SizeRequestReport &report)
{
    SizeRequest size_request;
    size_request.kind = SizeRequestKind::MODIFY;
    size_request.size = size_request.size_min = size_request.size_max = report.size;
    size_request.reason = report.reason;
    size_request.holders.push_back({process.uid, report.number, process.agent()});
    size_request.rank = process.world_rank;
    if (state_.mode == InitMode::SETS)
        return send_size_request_end(size_request.holders, SizeRequestEnd::REFUSED,
                                     "the job changes through process sets", PMI_ADAPT_WISH_SETS);
    if (state_.adaptation && !before_agreement(state_.adaptation->state))
        return send_size_request_end(size_request.holders, SizeRequestEnd::REFUSED, "another adaptation is agreed on",
                                     PMI_ADAPT_WISH_AGAIN);
    begin_modify(size_request);
}

/* An adaptation that is under way and not agreed on is withdrawn. */
void Step::begin_modify(const SizeRequest &size_request)
{
    if (state_.adaptation)
        raise(AdaptEvent::WITHDRAW, "modify");
    replace_size_request(size_request);
}

bool Step::all_take_part() const
{
    return std::all_of(state_.world.members().begin(), state_.world.members().end(),
                       [](const Process *process) { return process->takes_part; });
}

void Step::consider_modify()
{
    if (state_.adaptation || !all_take_part())
        return;
    if (!size_request_->notified)
        log_size_request();     /* a manager may answer at once */
    if (size_request_->size == state_.world.size())
        return end_size_request(SizeRequestEnd::GRANTED, "");
    if (state_.managed)
        return;                 /* the manager decides */
    if (std::string why = why_refused(size_request_->size); !why.empty())
        return end_size_request(SizeRequestEnd::REFUSED, why);
    grant_size_request(size_request_->size);
}

/* Of a resource manager: what the processes wait for, and nothing else. */
std::optional<ProtocolError> Step::check_modify(const Json &id, int size) const
{
    if (state_.adaptation || !all_take_part())
        return ProtocolError{id, ErrorCode::BUSY, "the program is about to change its size: try again in a moment"};
    if (size != size_request_->size)
        return ProtocolError{id, ErrorCode::BUSY,
                             "the program waits in MPIX_Comm_modify for " + std::to_string(size_request_->size) +
                                 " processes: give it these, or refuse wish " + std::to_string(size_request_->number)};
    return std::nullopt;
}

}  // namespace elastic
