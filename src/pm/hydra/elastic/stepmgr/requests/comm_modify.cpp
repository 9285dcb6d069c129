/*
 * See size_requests.h: MPIX_Comm_modify, an adaptation for which all processes of the world wait.
 * DM1-DM6.
 *
 * It is a size request of rank 0 for one size.  Each process agrees by its call, so no probes are
 * needed, and a rigid program can use it.  The addresses of a rigid program are not known before:
 * each process sends its own with its first call.  Without a resource manager and --adapt-range,
 * every size that mpiexec can start is granted.
 */

#include <algorithm>

#include "stepmgr/requests/size_requests.h"

namespace elastic {

void SizeRequests::on_modify(const Process &process, const SizeRequestReport &report)
{
    SizeRequest size_request;
    size_request.origin = Origin::MODIFY;
    size_request.wanted.size = size_request.size_min = size_request.size_max = report.size;
    size_request.reason = report.reason;
    size_request.holders.push_back({process.uid, report.number, process.proxy_id()});
    size_request.rank = process.world_rank;
    if (state_.mode == InitMode::SETS)
        return send_end(size_request.holders, SizeRequestEnd::REFUSED,
                        "the job changes through process sets", PMI_ADAPT_REQUEST_SETS);
    if (state_.adaptation && !before_agreement(state_.adaptation->state))
        return send_end(size_request.holders, SizeRequestEnd::REFUSED,
                        "another adaptation is agreed on", PMI_ADAPT_REQUEST_AGAIN);
    if (state_.adaptation)      /* it is not agreed on */
        control_.raise(AdaptEvent::WITHDRAW, "modify");
    submit(size_request);
}

bool SizeRequests::all_take_part() const
{
    return std::all_of(state_.world.members().begin(), state_.world.members().end(),
                       [](const Process *process) { return process->takes_part; });
}

void SizeRequests::consider_modify()
{
    if (state_.adaptation || !all_take_part())
        return;
    if (!queue_.open()->notified)
        log_open();             /* a resource manager may reply at once */
    if (queue_.open()->wanted.size == state_.world.size())
        return end(SizeRequestEnd::GRANTED, "");
    if (state_.managed)
        return;                 /* the resource manager decides */
    grant(queue_.open()->wanted.size);
}

/* Requests of a resource manager must be for the size for which the processes wait. */
std::optional<ProtocolError> SizeRequests::check_modify(const Json &id, int size) const
{
    if (state_.adaptation || !all_take_part())
        return ProtocolError{id, ErrorCode::BUSY,
                             "the program is about to change its size: try again in a moment"};
    const SizeRequest &open = *queue_.open();
    if (size != open.wanted.size)
        return ProtocolError{id, ErrorCode::BUSY,
                             "the program waits in MPIX_Comm_modify for " +
                             std::to_string(open.wanted.size) +
                                 " processes: grant that size, or refuse size request " +
                                 std::to_string(open.number)};
    return std::nullopt;
}

}  // namespace elastic
