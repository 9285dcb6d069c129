/* See size_request.h. */

#include "stepmgr/adapt/size_request.h"

#include <algorithm>

namespace elastic {

const char *to_string(WishKind kind)
{
    switch (kind) {
        case WishKind::PROCESSES:
        case WishKind::MODIFY: return "processes";
    }
    return "?";
}

const char *to_string(WishEnd end)
{
    switch (end) {
        case WishEnd::GRANTED: return "granted";
        case WishEnd::REFUSED: return "refused";
        case WishEnd::WITHDRAWN: return "withdrawn";
    }
    return "?";
}

bool Wish::is_same(const Wish &other) const
{
    return kind == other.kind && size == other.size && size_min == other.size_min &&
           size_max == other.size_max && reason == other.reason;
}

Result<int> best_size(const Wish &wish, const Range &range, const ProgramSizes *rule)
{
    int low = std::max(wish.size_min, range.min), high = std::min(wish.size_max, range.max);
    std::string limits = std::to_string(range.min) + ":" + std::to_string(range.max);
    if (low > high)
        return Error{"mpiexec was started with --adapt-range " + limits};
    int size = std::clamp(wish.size, low, high);
    if (!rule || rule->allows(size))
        return size;
    if (auto smaller = rule->next(size, -1, low))
        return *smaller;
    if (auto greater = rule->next(size, 1, high))
        return *greater;
    return Error{rule->refusal(size) + " (and mpiexec was started with --adapt-range " + limits + ")"};
}

bool WishRate::allows(int64_t now_ms)
{
    int64_t next = std::max(full_at_ms_, now_ms) + EVERY_MS;
    if (next - now_ms > AT_ONCE * EVERY_MS)
        return false;
    full_at_ms_ = next;
    return true;
}

}  // namespace elastic
