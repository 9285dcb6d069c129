/* See pset_rendezvous.h. */

#include "stepmgr/psets/pset_rendezvous.h"

#include <algorithm>

namespace elastic {

namespace {

std::string key_of(const RendezvousMembers &call)
{
    std::string key;
    for (const SetMembers::Run &run : call.members.runs())
        key += std::to_string(run.first) + "+" + std::to_string(run.count) + " ";
    return key + call.tag;
}

/* The reply when all have the business cards: these processes need no further rendezvous. */
std::string needless()
{
    return SetAnswer().number(0).number(1).bytes();
}

/* The reply with the business cards, because some processes lack them: one more rendezvous
 * follows. */
std::string bcs_of(const SetMembers &members, const PsetBcTable &bcs)
{
    SetAnswer answer;
    answer.number(members.size());
    for (const SetMembers::Run &run : members.runs()) {
        for (uint32_t i = 0; i < run.count; i++) {
            const std::string *bc = bcs.find(run.first + i);
            answer.text(bc ? *bc : "");
        }
    }
    return answer.number(0).bytes();
}

}  // namespace

std::optional<std::string> PsetRendezvous::come(const SetCaller &caller,
                                                const RendezvousMembers &call,
                                                const PsetBcTable &bcs, const Answer &instead)
{
    if (!instead && meshes_.hold(call.members))
        return call.knows ? needless() : bcs_of(call.members, bcs);
    std::string key = key_of(call);
    if (rendezvous_.size() >= most_ && !rendezvous_.contains(key))
        return SetAnswer::error(PMI_SET_FULL,
                                "too many groups of processes wait for one of their members");
    auto [entry, is_new] = rendezvous_.try_emplace(key);
    Rendezvous &rendezvous = entry->second;
    if (is_new) {
        rendezvous.members = call.members;
        rendezvous.wants_bcs = !instead;
    }
    if (!rendezvous.guests.try_emplace(caller.uid, caller).second)
        return SetAnswer::wrong("the calling process waits in the same rendezvous already");
    rendezvous.all_know = rendezvous.all_know && call.knows;
    if (rendezvous.guests.size() < rendezvous.members.size())
        return std::nullopt;
    if (instead)
        end(entry, instead());
    else if (rendezvous.all_know && meshes_.join(rendezvous.members))
        end_needless(bcs);
    else
        end(entry, rendezvous.all_know ? SetAnswer().number(0).number(0).bytes()
                                       : bcs_of(rendezvous.members, bcs));
    return std::nullopt;        /* replies_ contains the reply to the caller */
}

bool PsetRendezvous::introduce(const SetMembers &members, const PsetBcTable &bcs)
{
    bool joined = meshes_.join(members);
    if (joined)
        end_needless(bcs);
    return joined;
}

/* Ends each rendezvous whose members are one full mesh now, because its other members may not enter
 * any more.  An introduced process may lack business cards, and then enters again. */
void PsetRendezvous::end_needless(const PsetBcTable &bcs)
{
    for (auto next = rendezvous_.begin(); next != rendezvous_.end();) {
        if (next->second.wants_bcs && meshes_.hold(next->second.members))
            next =
                end(next, next->second.all_know ? needless() : bcs_of(next->second.members, bcs));
        else
            ++next;
    }
}

PsetRendezvous::Meetings::iterator PsetRendezvous::end(Meetings::iterator rendezvous,
                                                       const std::string &answer)
{
    for (const auto &[uid, guest] : rendezvous->second.guests)
        replies_.push_back({guest, answer});
    return rendezvous_.erase(rendezvous);
}

bool PsetRendezvous::wait_for_any(const Uids &uids) const
{
    return std::ranges::any_of(rendezvous_, [&](const auto &rendezvous) {
        return rendezvous.second.members.any_of(uids);
    });
}

void PsetRendezvous::without(uint32_t uid)
{
    meshes_.disconnected(uid);
    for (auto next = rendezvous_.begin(); next != rendezvous_.end();) {
        next->second.guests.erase(uid);
        if (next->second.members.contains(uid))
            next = end(next, SetAnswer::error(PMI_SET_MEMBER_ENDED,
                                              "process " + std::to_string(uid) + " has ended"));
        else
            ++next;
    }
}

}  // namespace elastic
