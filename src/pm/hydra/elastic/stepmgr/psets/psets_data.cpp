/* See psets.h: data, broadcasts, rendezvous, open operations. */

#include <algorithm>
#include <iterator>
#include <utility>

#include "stepmgr/psets/psets.h"
#include "stepmgr/psets/psets_errors.h"

namespace elastic {

using namespace psets_errors;

/* ---- data ------------------------------------------------------------------------------------ */

std::optional<std::string> Sets::answer(const Caller &, const PutData &call)
{
    Set *set = find(call.name);
    if (!set)
        return unknown(call.name);
    size_t bytes = set->data_bytes;
    for (const auto &[key, value] : call.data) {
        auto old = set->data.find(key);
        bytes += value.size();
        bytes = old == set->data.end() ? bytes + key.size() : bytes - old->second.size();
    }
    if (bytes > limits_.data)
        return full("a set has at most " + std::to_string(limits_.data) + " bytes of data");
    for (const auto &[key, value] : call.data)
        set->data[key] = value;
    set->data_bytes = bytes;
    return SetAnswer().bytes();
}

/* Nothing: it has to wait. */
std::optional<std::string> Sets::lookup(const Round &round)
{
    const Set *set = find(round.name);
    if (!set)
        return unknown(round.name);
    std::vector<SetData::const_iterator> found;
    bool all = round.keys.empty();
    for (auto entry = set->data.begin(); all && entry != set->data.end(); ++entry)
        found.push_back(entry);
    for (const std::string &key : round.keys) {
        if (auto entry = set->data.find(key); entry != set->data.end())
            found.push_back(entry);
    }
    if (round.wait && found.size() < (all ? 1 : round.keys.size())) {
        if (auto ended = set->members.find_any(ended_))
            return member_ended(*ended, round.name);
        return std::nullopt;
    }
    SetAnswer answer;
    answer.number(found.size());
    for (const auto &entry : found)
        answer.text(entry->first).text(entry->second);
    return answer.bytes();
}

/* A string for the participants: a set, or a name with the members that it has for the caller. */
std::string Sets::describe(const SetOperand &callers)
{
    if (!callers.members)
        return callers.name == ALL ? ALL : std::to_string(find(callers.name)->id);
    std::string text = callers.name;
    for (const SetMembers::Run &run : callers.members->runs())
        text += " " + std::to_string(run.first) + "+" + std::to_string(run.count);
    return text;
}

/* Reads the participants; returns an error if the caller is not one of them. */
std::string Sets::check_caller(const Caller &caller, const SetOperand &callers, SetMembers &all,
                               Operands &members)
{
    std::string error = resolve(std::span(&callers, 1), all, members);
    if (error.empty() && !members.front()->contains(caller.uid))
        return SetAnswer::wrong("the calling process is not in " + callers.name);
    return error;
}

std::optional<std::string> Sets::answer(const Caller &caller, const GetData &call)
{
    SetMembers all;
    Operands callers;
    if (std::string error = check_caller(caller, call.callers, all, callers); !error.empty())
        return error;
    std::string who = describe(call.callers);
    if (rounds_.size() >= limits_.rounds ||
        (lookups_.size() >= limits_.rounds && !lookups_.contains(who)))
        return full(
            "too many queries of data wait for calls of other processes of their set");
    auto [slot, is_first] = rounds_.try_emplace({who, lookups_[who][caller.uid]++});
    Round &round = slot->second;
    if (is_first) {
        round.callers = *callers.front();
        round.pending_from = round.callers.size() - round.callers.count_of(ended_);
        round.name = call.name;
        round.keys = call.keys;
        round.wait = call.wait;
        round.answer = lookup(round);
    }
    round.requested.insert(caller.uid);
    round.pending_from--;
    auto answer = round.answer;
    if (!answer)
        round.waiting.push_back(caller);
    else if (round.pending_from == 0)
        rounds_.erase(slot);
    return answer;
}

void Sets::lookup_again(std::vector<Reply> &replies)
{
    for (auto next = rounds_.begin(); next != rounds_.end();) {
        Round &round = next->second;
        if (!round.answer && (round.answer = lookup(round))) {
            for (const Caller &caller : round.waiting)
                replies.push_back({caller, *round.answer});
            round.waiting.clear();
        }
        next = round.answer && round.pending_from == 0 ? rounds_.erase(next) : std::next(next);
    }
}

/* ---- broadcasts ------------------------------------------------------------------------------ */

std::optional<std::string> Sets::answer(const Caller &caller, const JoinBcast &call)
{
    SetMembers all;
    Operands callers;
    if (std::string error = check_caller(caller, call.callers, all, callers); !error.empty())
        return error;
    if (call.callers.name == ALL && !call.callers.members)
        return SetAnswer::wrong(std::string(ALL) +
                     " differs between processes, and has no broadcast");
    return bcasts_.join(caller, describe(call.callers), *callers.front(), call.slot, ended_);
}

std::optional<std::string> Sets::answer(const Caller &caller, const GiveText &call)
{
    return bcasts_.give(caller, call.slot, call.text, ended_);
}

std::optional<std::string> Sets::answer(const Caller &caller, const TakeTurn &call)
{
    return bcasts_.turn(caller, call.slot, call.number, ended_);
}

std::vector<Sets::Reply> Sets::frozen(uint64_t proxy_id, const BcastReport &count)
{
    bcasts_.frozen(proxy_id, count, ended_);
    return bcasts_.take_replies();
}

std::vector<Sets::View> Sets::view(uint32_t after, size_t most) const
{
    std::vector<View> views;
    for (auto next = by_serial_.upper_bound(after); next != by_serial_.end() && views.size() < most;
         ++next) {
        const Set &set = *next->second;
        views.push_back(
            {set.name, set.serial, set.members.size(), state_of(set.members), &set.members});
    }
    return views;
}

/* ---- rendezvous ------------------------------------------------------------------------------ */

/* A rendezvous with processes of a change that is not accepted must wait: a process that could
 * accept the change does not wait for the rendezvous. */
std::optional<std::string> Sets::answer(const Caller &caller, const RendezvousMembers &call)
{
    if (!is_of_job(call.members))
        return foreign();
    if (!call.members.contains(caller.uid))
        return SetAnswer::wrong("the calling process is not a member");
    if (auto ended = call.members.find_any(ended_))
        return member_ended(*ended, "the group");
    if (auto proposed = call.members.find_any(proposed_); proposed && caller.uid == notified_)
        return SetAnswer::error(PMI_SET_FOREIGN,
                                "process " + std::to_string(*proposed) +
                                    " of the group joins by a change that the calling process has "
                                    "to accept first");
    bcs_.give(caller.uid, call.bc);
    if (!bcs_.find(caller.uid))
        return SetAnswer::wrong("the calling process has not sent its address");
    return rendezvous_.come(caller, call, bcs_);
}

bool Sets::know_each_other(const SetMembers &members) const
{
    if (members.size() == 0 || members.size() > PMI_SET_INTRODUCED_MAX || members.any_of(ended_))
        return false;
    for (const SetMembers::Run &run : members.runs()) {
        for (uint32_t i = 0; i < run.count; i++) {
            if (!bcs_.find(run.first + i))
                return false;
        }
    }
    return rendezvous_.know_each_other(members);
}

bool Sets::introduce(const SetMembers &members, std::vector<Reply> &replies)
{
    bool introduced = !members.any_of(ended_) && rendezvous_.introduce(members, bcs_);
    std::ranges::move(rendezvous_.take_replies(), std::back_inserter(replies));
    return introduced;
}

std::optional<std::string> Sets::answer(const Caller &, const CountEnded &call)
{
    ends_are_counted_ = true;
    return is_of_job(call.members) ? SetAnswer().number(call.members.count_of(ended_)).bytes()
                                   : foreign();
}

/* The caller knows the members of mpi://..., but not whether they have ended. */
std::optional<std::string> Sets::answer(const Caller &caller, const NotifyState &call)
{
    if (!is_of_job(call.members))
        return foreign();
    ends_are_counted_ = true;
    pmi_set_state state = state_of(call.members);
    bool lasts = state == PMI_SET_RUNNING || state == PMI_SET_ENDED;
    if (lasts)
        may_cache(caller);
    return SetAnswer()
        .number(state)
        .number(call.members.first_without(ended_))
        .number(lasts ? 1 : 0)
        .bytes();
}

/* Whether the reply shows the state of a set with one of these uids, or the running processes. */
bool Sets::mentions(Bytes bytes, const Uids &uids)
{
    auto call = parse_set_call(bytes);
    if (!call)
        return false;
    if (const auto *lookup = std::get_if<LookupSet>(&*call)) {
        const Set *set = find(lookup->name);
        return set ? set->members.any_of(uids) : lookup->name == ALL;
    }
    if (const auto *notify = std::get_if<NotifyState>(&*call))
        return notify->members.any_of(uids);
    const auto *make = std::get_if<MakeSets>(&*call);
    return make && std::ranges::any_of(make->operands, [](const SetOperand &operand) {
               return operand.name == ALL;
           });
}

bool Sets::reports_starts(Bytes call)
{
    return mentions(call, starting_);
}

bool Sets::may_report_accept(Bytes call)
{
    return !proposed_.empty() && mentions(call, proposed_);
}

/* ---- operations that change who is there ----------------------------------------------------- */

void Sets::open_op(const std::string &bound, OpenOp op)
{
    if (Set *set = find(bound))
        set->open = std::move(op);
}

const Sets::OpenOp *Sets::find_open_op(const std::string &bound)
{
    const Set *set = find(bound);
    return set && set->open ? &*set->open : nullptr;
}

/* `name`: the set to which the operation was bound, a set that it made, or a set made from
 * these. */
std::optional<std::string> Sets::close_op(const std::string &name)
{
    Set *set = find(name);
    if (!set)
        return unknown(name);
    auto is_of = [&](const std::string &made) {
        return made == set->name || std::ranges::find(set->operands, made) != set->operands.end();
    };
    auto is_closed = [&](const Set &bound) {
        return bound.open && (&bound == set || std::ranges::any_of(bound.open->names, is_of));
    };
    for (auto &[other, bound] : sets_) {
        if (is_closed(*bound))
            bound->open.reset();
    }
    for (auto &world : worlds_) {
        if (is_closed(*world))
            world->open.reset();
    }
    return SetAnswer().bytes();
}

std::string Sets::combine(uint32_t uid, pmi_set_op op, const std::string &first,
                          const std::string &second)
{
    std::string error;
    const SetOperand of[] = {{first, {}}, {second, {}}};
    auto a = resolve_operand(of[0], error), b = resolve_operand(of[1], error);
    if (!a || !b)
        return "";
    const SetMembers *members[] = {&*a, &*b};
    auto sum = op == PMI_SET_OP_UNION ? SetMembers::union_of(members)
                                      : std::optional(SetMembers::difference_of(members));
    if (!sum || !has_capacity(1, sum->runs().size()))
        return "";
    Set set;
    set.members = std::move(*sum);
    set.op = op;
    set.operands = {first, second};
    return make({uid}, "", std::move(set));
}

std::vector<Sets::Reply> Sets::gather(const Caller &caller, const QueryOp &call,
                                      const PsetRendezvous::Answer &answer)
{
    SetMembers all;
    Operands callers;
    std::string error = check_caller(caller, call.callers, all, callers);
    if (error.empty() && !find(call.name))
        error = unknown(call.name);
    auto ended = error.empty() ? callers.front()->find_any(ended_) : std::nullopt;
    if (ended)
        error = member_ended(*ended, call.callers.name);
    if (!error.empty())
        return {{caller, error}};
    if (auto refused = rendezvous_.come(caller, {"query " + call.name, "", *callers.front(), true},
                                      bcs_, answer))
        return {{caller, *refused}};
    return rendezvous_.take_replies();
}

}  // namespace elastic
