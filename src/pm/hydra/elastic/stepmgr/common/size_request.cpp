/* See size_request.h. */

#include "stepmgr/common/size_request.h"

#include <algorithm>

namespace elastic {

const char *to_string(SizeRequestKind kind)
{
    switch (kind) {
        case SizeRequestKind::PROCESSES:
        case SizeRequestKind::MODIFY: return "processes";
    }
    return "?";
}

const char *to_string(SizeRequestEnd end)
{
    switch (end) {
        case SizeRequestEnd::GRANTED: return "granted";
        case SizeRequestEnd::REFUSED: return "refused";
        case SizeRequestEnd::WITHDRAWN: return "withdrawn";
    }
    return "?";
}

bool SizeRequest::is_same(const SizeRequest &other) const
{
    return kind == other.kind && size == other.size && size_min == other.size_min &&
           size_max == other.size_max && reason == other.reason;
}

Result<int> best_size(const SizeRequest &size_request, const Range &range, const ProgramSizes *rule)
{
    int low = std::max(size_request.size_min, range.min), high = std::min(size_request.size_max, range.max);
    std::string limits = std::to_string(range.min) + ":" + std::to_string(range.max);
    if (low > high)
        return Error{"mpiexec was started with --adapt-range " + limits};
    int size = std::clamp(size_request.size, low, high);
    if (!rule || rule->allows(size))
        return size;
    if (auto smaller = rule->next(size, -1, low))
        return *smaller;
    if (auto greater = rule->next(size, 1, high))
        return *greater;
    return Error{rule->refusal(size) + " (and mpiexec was started with --adapt-range " + limits + ")"};
}

bool RequestRate::allows(int64_t now_ms)
{
    int64_t next = std::max(full_at_ms_, now_ms) + EVERY_MS;
    if (next - now_ms > AT_ONCE * EVERY_MS)
        return false;
    full_at_ms_ = next;
    return true;
}

}  // namespace elastic
