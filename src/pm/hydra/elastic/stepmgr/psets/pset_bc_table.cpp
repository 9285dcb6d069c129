/* See pset_bc_table.h. */

#include "stepmgr/psets/pset_bc_table.h"

#include <algorithm>
#include <iterator>

namespace elastic {

void PsetBcTable::give(uint32_t uid, const std::string &bc)
{
    if (!bc.empty())
        bcs_.try_emplace(uid, bc);
}

const std::string *PsetBcTable::find(uint32_t uid) const
{
    auto bc = bcs_.find(uid);
    return bc == bcs_.end() ? nullptr : &bc->second;
}

void PsetBcTable::add(Intervals &intervals, uint32_t first, uint32_t end)
{
    auto next = intervals.lower_bound(first);
    if (next != intervals.begin() && std::prev(next)->second >= first) {
        --next;
        first = next->first;
    }
    while (next != intervals.end() && next->first <= end) {
        end = std::max(end, next->second);
        next = intervals.erase(next);
    }
    intervals[first] = end;
}

std::vector<PsetBcTable::Bc> PsetBcTable::lacking(uint32_t uid, const SetMembers &members) const
{
    static const Intervals none;
    std::vector<Bc> news;
    size_t bytes = 0;
    auto entry = notified_.find(uid);
    const Intervals &notified = entry == notified_.end() ? none : entry->second;
    for (const SetMembers::Run &run : members.runs()) {
        const uint32_t end = run.first + run.count;
        auto bc = bcs_.lower_bound(run.first);
        while (bc != bcs_.end() && bc->first < end && bytes < TOLD_BYTES_MAX) {
            auto known = notified.upper_bound(bc->first);
            if (known != notified.begin() && std::prev(known)->second > bc->first) {
                bc = bcs_.lower_bound(std::prev(known)->second);
                continue;
            }
            news.push_back(*bc);
            bytes += bc->second.size();
            ++bc;
        }
    }
    return news;
}

std::vector<PsetBcTable::Bc> PsetBcTable::notify(uint32_t uid, const SetMembers &members)
{
    std::vector<Bc> news = lacking(uid, members);
    for (const Bc &bc : news)
        add(notified_[uid], bc.first, bc.first + 1);
    return news;
}

bool PsetBcTable::lacks_only(uint32_t uid, const SetMembers &members,
                             const std::set<uint32_t> &bcs) const
{
    return std::ranges::all_of(lacking(uid, members),
                               [&](const Bc &bc) { return bcs.contains(bc.first); });
}

void PsetBcTable::notified(uint32_t uid, const SetMembers &bcs)
{
    for (const SetMembers::Run &run : bcs.runs())
        add(notified_[uid], run.first, run.first + run.count);
}

void PsetBcTable::disconnected(uint32_t uid)
{
    bcs_.erase(uid);
    notified_.erase(uid);
}

}  // namespace elastic
