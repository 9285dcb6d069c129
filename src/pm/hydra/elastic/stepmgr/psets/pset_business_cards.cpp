/* See pset_business_cards.h. */

#include "stepmgr/psets/pset_business_cards.h"

#include <algorithm>
#include <iterator>

namespace elastic {

void SetCards::give(uint32_t uid, const std::string &card)
{
    if (!card.empty())
        cards_.try_emplace(uid, card);
}

const std::string *SetCards::find(uint32_t uid) const
{
    auto card = cards_.find(uid);
    return card == cards_.end() ? nullptr : &card->second;
}

void SetCards::add(Intervals &intervals, uint32_t first, uint32_t end)
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

std::vector<SetCards::Card> SetCards::lacking(uint32_t uid, const SetMembers &members) const
{
    static const Intervals none;
    std::vector<Card> news;
    size_t bytes = 0;
    auto entry = told_.find(uid);
    const Intervals &told = entry == told_.end() ? none : entry->second;
    for (const SetMembers::Run &run : members.runs()) {
        const uint32_t end = run.first + run.count;
        auto card = cards_.lower_bound(run.first);
        while (card != cards_.end() && card->first < end && bytes < TOLD_BYTES_MAX) {
            auto known = told.upper_bound(card->first);
            if (known != told.begin() && std::prev(known)->second > card->first) {
                card = cards_.lower_bound(std::prev(known)->second);
                continue;
            }
            news.push_back(*card);
            bytes += card->second.size();
            ++card;
        }
    }
    return news;
}

std::vector<SetCards::Card> SetCards::tell(uint32_t uid, const SetMembers &members)
{
    std::vector<Card> news = lacking(uid, members);
    for (const Card &card : news)
        add(told_[uid], card.first, card.first + 1);
    return news;
}

bool SetCards::lacks_only(uint32_t uid, const SetMembers &members, const std::set<uint32_t> &cards) const
{
    return std::ranges::all_of(lacking(uid, members), [&](const Card &card) { return cards.contains(card.first); });
}

void SetCards::told(uint32_t uid, const SetMembers &cards)
{
    for (const SetMembers::Run &run : cards.runs())
        add(told_[uid], run.first, run.first + run.count);
}

void SetCards::departed(uint32_t uid)
{
    cards_.erase(uid);
    told_.erase(uid);
}

}  // namespace elastic
