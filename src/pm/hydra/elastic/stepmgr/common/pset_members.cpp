/* See pset_members.h.  Operations work on runs, so that their cost depends on the number of runs,
 * not of processes. */

#include "stepmgr/common/pset_members.h"

#include <algorithm>
#include <map>

namespace elastic {

namespace {

using Run = SetMembers::Run;

uint64_t end_of(const Run &run)
{
    return uint64_t{run.first} + run.count;
}

/* An unordered set of uids. */
class Uids {
  public:
    Uids() = default;
    explicit Uids(const std::vector<Run> &runs)
    {
        for (const Run &run : runs)
            add(run);
    }
    void add(const Run &run)
    {
        uint64_t first = run.first, end = end_of(run);
        auto at = first_from(first);
        for (; at != ends_.end() && at->first <= end; at = ends_.erase(at)) {
            first = std::min(first, at->first);
            end = std::max(end, at->second);
        }
        ends_.emplace(first, end);
    }
    /* The parts of a run that this set contains (`inside`), or does not contain, in order. */
    template <class Take> void cut(const Run &run, bool inside, Take take) const
    {
        uint64_t at = run.first, end = end_of(run);
        auto emit = [&](uint64_t first, uint64_t last, bool is_inside) {
            if (first < last && is_inside == inside)
                take(Run{static_cast<uint32_t>(first), static_cast<uint32_t>(last - first)});
        };
        for (auto next = first_from(at); next != ends_.end() && next->first < end; ++next) {
            uint64_t first = std::max(at, next->first),
                     last = std::max(first, std::min(end, next->second));
            emit(at, first, false);
            emit(first, last, true);
            at = last;
        }
        emit(at, end, false);
    }
    bool overlaps(const Run &run) const
    {
        bool is = false;
        cut(run, true, [&](const Run &) { is = true; });
        return is;
    }

  private:
    /* The first run that ends at or after this uid. */
    std::map<uint64_t, uint64_t>::const_iterator first_from(uint64_t uid) const
    {
        auto at = ends_.upper_bound(uid);
        return at != ends_.begin() && std::prev(at)->second >= uid ? std::prev(at) : at;
    }

    /* by the first uid of each run; runs do not touch */
    std::map<uint64_t, uint64_t> ends_;
};

}  // namespace

void SetMembers::append(Run run)
{
    size_ += run.count;
    if (!runs_.empty() && end_of(runs_.back()) == run.first)
        runs_.back().count += run.count;
    else
        runs_.push_back(run);
}

std::optional<SetMembers> SetMembers::of_runs(std::span<const Run> runs)
{
    SetMembers members;
    Uids seen;
    for (const Run &run : runs) {
        if (run.count == 0 || end_of(run) > UINT32_MAX || members.size_ + run.count > MAX ||
            seen.overlaps(run))
            return std::nullopt;
        seen.add(run);
        members.append(run);
    }
    return members;
}

std::optional<SetMembers> SetMembers::of_list(std::span<const uint32_t> uids)
{
    std::vector<Run> runs;
    for (uint32_t uid : uids) {
        if (!runs.empty() && end_of(runs.back()) == uid)
            runs.back().count++;
        else
            runs.push_back({uid, 1});
    }
    return of_runs(runs);
}

bool SetMembers::contains(uint32_t uid) const
{
    return std::ranges::any_of(runs_, [&](const Run &run) {
        return uid >= run.first && uid < end_of(run);
    });
}

std::optional<uint32_t> SetMembers::find_any(const std::set<uint32_t> &uids) const
{
    if (uids.empty())
        return std::nullopt;
    for (const Run &run : runs_) {
        auto found = uids.lower_bound(run.first);
        if (found != uids.end() && *found < end_of(run))
            return *found;
    }
    return std::nullopt;
}

size_t SetMembers::count_of(const std::set<uint32_t> &uids) const
{
    size_t n = 0;
    for (const Run &run : runs_) {
        for (auto at = uids.lower_bound(run.first); at != uids.end() && *at < end_of(run); ++at)
            n++;
    }
    return n;
}

uint32_t SetMembers::first_without(const std::set<uint32_t> &uids) const
{
    for (const Run &run : runs_) {
        uint64_t at = run.first;
        for (auto next = uids.lower_bound(run.first);
             next != uids.end() && *next == at && at < end_of(run); ++next)
            at++;
        if (at < end_of(run))
            return static_cast<uint32_t>(at);
    }
    return UINT32_MAX;
}

uint32_t SetMembers::greatest() const
{
    uint64_t end = 0;
    for (const Run &run : runs_)
        end = std::max(end, end_of(run));
    return static_cast<uint32_t>(end - 1);
}

std::optional<SetMembers> SetMembers::union_of(std::span<const SetMembers *const> operands)
{
    SetMembers result;
    Uids seen;
    for (const SetMembers *operand : operands) {
        for (const Run &run : operand->runs_) {
            seen.cut(run, false, [&](const Run &part) { result.append(part); });
            seen.add(run);
        }
        if (result.size_ > MAX)
            return std::nullopt;
    }
    return result;
}

SetMembers SetMembers::intersection_of(std::span<const SetMembers *const> operands)
{
    SetMembers result = *operands.front();
    for (const SetMembers *operand : operands.subspan(1)) {
        Uids inside(operand->runs_);
        SetMembers rest;
        for (const Run &run : result.runs_)
            inside.cut(run, true, [&](const Run &part) { rest.append(part); });
        result = std::move(rest);
    }
    return result;
}

SetMembers SetMembers::difference_of(std::span<const SetMembers *const> operands)
{
    Uids others;
    for (const SetMembers *operand : operands.subspan(1)) {
        for (const Run &run : operand->runs_)
            others.add(run);
    }
    SetMembers result;
    for (const Run &run : operands.front()->runs_)
        others.cut(run, false, [&](const Run &part) { result.append(part); });
    return result;
}

std::vector<SetMembers> SetMembers::split(std::span<const uint32_t> sizes) const
{
    std::vector<SetMembers> parts;
    auto run = runs_.begin();
    uint32_t used = 0;          /* of that run */
    for (uint32_t size : sizes) {
        SetMembers &part = parts.emplace_back();
        for (uint32_t left = size; left > 0 && run != runs_.end();) {
            uint32_t n = std::min(left, run->count - used);
            part.append({run->first + used, n});
            used += n;
            left -= n;
            if (used == run->count) {
                ++run;
                used = 0;
            }
        }
    }
    return parts;
}

}  // namespace elastic
