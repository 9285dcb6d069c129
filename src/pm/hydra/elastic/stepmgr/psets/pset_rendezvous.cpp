/* See pset_rendezvous.h. */

#include "stepmgr/psets/pset_rendezvous.h"

#include <algorithm>

namespace elastic {

namespace {

std::string key_of(const MeetMembers &call)
{
    std::string key;
    for (const SetMembers::Run &run : call.members.runs())
        key += std::to_string(run.first) + "+" + std::to_string(run.count) + " ";
    return key + call.tag;
}

/* All have the cards, and these processes need not meet again. */
std::string needless()
{
    return SetAnswer().number(0).number(1).bytes();
}

/* Not all have them: they meet once more. */
std::string cards_of(const SetMembers &members, const SetCards &cards)
{
    SetAnswer answer;
    answer.number(members.size());
    for (const SetMembers::Run &run : members.runs()) {
        for (uint32_t i = 0; i < run.count; i++) {
            const std::string *card = cards.find(run.first + i);
            answer.text(card ? *card : "");
        }
    }
    return answer.number(0).bytes();
}

}  // namespace

std::optional<std::string> SetMeetings::come(const SetCaller &caller, const MeetMembers &call, const SetCards &cards,
                                             const Answer &instead)
{
    if (!instead && circles_.hold(call.members))
        return call.knows ? needless() : cards_of(call.members, cards);
    std::string key = key_of(call);
    if (meetings_.size() >= most_ && !meetings_.contains(key))
        return SetAnswer::error(PMI_SET_FULL, "too many groups of processes wait for one of them");
    auto [place, is_new] = meetings_.try_emplace(key);
    Meeting &meeting = place->second;
    if (is_new) {
        meeting.members = call.members;
        meeting.is_for_cards = !instead;
    }
    if (!meeting.guests.try_emplace(caller.uid, caller).second)
        return SetAnswer::error(PMI_SET_WRONG, "the calling process waits in the same meeting already");
    meeting.all_know = meeting.all_know && call.knows;
    if (meeting.guests.size() < meeting.members.size())
        return std::nullopt;
    if (instead)
        end(place, instead());
    else if (meeting.all_know && circles_.join(meeting.members))
        end_needless(cards);
    else
        end(place, meeting.all_know ? SetAnswer().number(0).number(0).bytes() : cards_of(meeting.members, cards));
    return std::nullopt;        /* the caller is among those who have waited */
}

bool SetMeetings::introduce(const SetMembers &members, const SetCards &cards)
{
    bool joined = circles_.join(members);
    if (joined)
        end_needless(cards);
    return joined;
}

/* To those whose members are one circle now: others of them may be told that they need not come.  Who was introduced
 * may lack cards, and comes once more. */
void SetMeetings::end_needless(const SetCards &cards)
{
    for (auto next = meetings_.begin(); next != meetings_.end();) {
        if (next->second.is_for_cards && circles_.hold(next->second.members))
            next = end(next, next->second.all_know ? needless() : cards_of(next->second.members, cards));
        else
            ++next;
    }
}

SetMeetings::Meetings::iterator SetMeetings::end(Meetings::iterator meeting, const std::string &answer)
{
    for (const auto &[uid, guest] : meeting->second.guests)
        replies_.push_back({guest, answer});
    return meetings_.erase(meeting);
}

bool SetMeetings::wait_for_any(const Uids &uids) const
{
    return std::ranges::any_of(meetings_, [&](const auto &meeting) { return meeting.second.members.any_of(uids); });
}

void SetMeetings::without(uint32_t uid)
{
    circles_.departed(uid);
    for (auto next = meetings_.begin(); next != meetings_.end();) {
        next->second.guests.erase(uid);
        if (next->second.members.contains(uid))
            next = end(next, SetAnswer::error(PMI_SET_MEMBER_ENDED, "process " + std::to_string(uid) + " has ended"));
        else
            ++next;
    }
}

}  // namespace elastic
