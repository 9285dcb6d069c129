/* See size_request_queue.h. */

#include "stepmgr/requests/size_request_queue.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace elastic {

namespace {

/* A process that waits for an operation or in MPIX_Comm_modify needs a separate request. */
bool can_join(Origin origin)
{
    return origin == Origin::PROGRAM || origin == Origin::HINTS;
}

bool is_joined_by(const std::optional<SizeRequest> &known, const SizeRequest &request)
{
    return known && can_join(request.origin) && known->origin != Origin::MODIFY &&
           !known->withdrawing && known->is_same(request);
}

}  // namespace

SizeRequestQueue::Turn SizeRequestQueue::turn_of(const SizeRequest &request, bool granted) const
{
    if (is_joined_by(waiting_, request) || is_joined_by(open_, request))
        return Turn::JOINS;
    if (open_ && priority_of(request.origin) < priority_of(open_->origin))
        return Turn::REFUSED;
    return open_ && granted ? Turn::WAITS : Turn::OPENS;
}

SizeRequest *SizeRequestQueue::find_same(const SizeRequest &request)
{
    if (is_joined_by(waiting_, request))
        return &*waiting_;
    return is_joined_by(open_, request) ? &*open_ : nullptr;
}

/* A hint adds nothing to a request for which a process waits. */
void SizeRequestQueue::join(SizeRequest &same, const SizeRequest &request)
{
    if (request.origin == Origin::HINTS)
        return;
    same.holders.insert(same.holders.end(), request.holders.begin(), request.holders.end());
    bool for_ever = request.until_unix_ms == 0 || same.until_unix_ms == 0;
    same.until_unix_ms = for_ever ? 0 : std::max(same.until_unix_ms, request.until_unix_ms);
    if (priority_of(request.origin) > priority_of(same.origin))
        same.origin = request.origin;
}

void SizeRequestQueue::open(SizeRequest request, uint64_t number)
{
    assert(!open_);
    open_ = std::move(request);
    open_->number = number;
}

bool SizeRequestQueue::open_waiting(uint64_t number)
{
    if (!waiting_)
        return false;
    open(*std::exchange(waiting_, std::nullopt), number);
    return true;
}

std::optional<SizeRequest> SizeRequestQueue::wait(SizeRequest request)
{
    if (waiting_ && priority_of(waiting_->origin) > priority_of(request.origin))
        return request;
    return std::exchange(waiting_, std::move(request));
}

SizeRequest SizeRequestQueue::take_open()
{
    return *std::exchange(open_, std::nullopt);
}

}  // namespace elastic
