/* See size_request.h. */

#include "stepmgr/common/size_request.h"

#include <algorithm>

namespace elastic {

namespace {

struct OriginRow {
    const char *name, *label;
    int priority;
};

/* Requests of clients, schedules and policies never wait, and are never replaced. */
const OriginRow &row_of(Origin origin)
{
    static const OriginRow ROWS[] = {
        {"program", "MPIX_Comm_modify", 3},     /* MODIFY */
        {"client", "resize request", 0},        /* CLIENT */
        {"wish", "the program's size request", 2},      /* PROGRAM */
        {"wish", "the program's request", 2},   /* OPERATION */
        {"wish", "the program's size request", 1},      /* HINTS */
        {"schedule", "schedule entry ", 0},     /* SCHEDULE */
        {"policy", "policy", 0},        /* POLICY */
    };
    return ROWS[static_cast<size_t>(origin)];
}

}  // namespace

const char *to_string(Origin origin)
{
    return row_of(origin).name;
}

int priority_of(Origin origin)
{
    return row_of(origin).priority;
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

std::string SizeRequest::label() const
{
    std::string label = row_of(origin).label;
    return origin == Origin::SCHEDULE ? label + std::to_string(entry) : label;
}

bool SizeRequest::is_same(const SizeRequest &other) const
{
    return wanted.size == other.wanted.size && size_min == other.size_min &&
           size_max == other.size_max && reason == other.reason;
}

Result<int> best_size(const SizeRequest &size_request, const Range &range, const ProgramSizes *rule)
{
    int low = std::max(size_request.size_min, range.min),
        high = std::min(size_request.size_max, range.max);
    std::string limits = std::to_string(range.min) + ":" + std::to_string(range.max);
    if (low > high)
        return Error{"mpiexec was started with --adapt-range " + limits};
    int size = std::clamp(size_request.wanted.size, low, high);
    if (!rule || rule->allows(size))
        return size;
    if (auto smaller = rule->next(size, -1, low))
        return *smaller;
    if (auto greater = rule->next(size, 1, high))
        return *greater;
    return Error{rule->refusal(size) + " (and mpiexec was started with --adapt-range " + limits +
                 ")"};
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
