/* See pset_changes.h: from the decision to the end of a change; ends of processes. */

#include <algorithm>
#include <utility>

#include "stepmgr/psets/pset_changes.h"

namespace elastic {

void PsetChanges::perform(AdaptAction action)
{
    if (action == AdaptAction::START_JOINING)
        start_joining();
    else if (action == AdaptAction::OFFER_REMOVAL)
        offer_removal();
    else if (action == AdaptAction::COMPLETE)
        complete();
}

void PsetChanges::start_joining()
{
    Adaptation &a = *state_.adaptation;
    std::vector<Sets::Reply> replies;
    if (a.change.joining == 0)
        return send_may_exit();
    sets_.start_proposed();
    SetMembers known = introduce_joining(replies);
    for (const SetCaller &caller : a.entering) {
        a.awaited.insert(caller.uid);
        SetAnswer answer;
        answer.text(a.delta_name).number(a.tag).data(a.keys);
        sets_.lookup_since(caller, a.delta_name, LOOKUPS_MAX, answer);
        notify_stays(caller);
        replies.push_back({caller, answer.number(1).members(known).bytes()});
    }
    psets_.send_replies(replies);
}

/* Introduces the joining processes to each other and to known processes, so that they need no
 * rendezvous.  Returns these processes; empty: an introduced process is in a mesh with others
 * meanwhile.  Processes that wait in a rendezvous get a reply. */
SetMembers PsetChanges::introduce_joining(std::vector<Sets::Reply> &replies)
{
    const Adaptation &a = *state_.adaptation;
    std::vector<uint32_t> uids;
    if (!a.introduced || !a.known)
        return {};
    for (const SetMembers::Run &run : a.known->runs()) {
        for (uint32_t uid = run.first; uid < run.first + run.count; uid++) {
            const Process *member = state_.world.find_member(uid);
            if (member && !member->ended)
                uids.push_back(uid);
        }
    }
    auto known = SetMembers::of_list(uids);
    for (const SetCaller &caller : a.entering)
        uids.push_back(caller.uid);
    auto all = SetMembers::of_list(uids);
    return known && known->size() > 0 && all &&
        sets_.introduce(*all, replies) ? *known : SetMembers();
}

/* Sent before any process can detect that the removal is accepted. */
void PsetChanges::send_may_exit()
{
    std::set<ProxyId> proxy_ids;
    std::string uids;
    for (Process *member : state_.world.members()) {
        if (!state_.adaptation->awaited.contains(member->uid))
            continue;
        member->may_exit = true;
        proxy_ids.insert(member->proxy_id());
        uids.append(reinterpret_cast<const char *>(&member->uid), sizeof member->uid);
    }
    state_.post(proxy_ids, STEP_LET_GO, 0, uids);
}

std::optional<std::string> PsetChanges::answer(Process &process, const SetCaller &,
                                               const HasEntered &)
{
    bool awaited = state_.adaptation && state_.adaptation->state == AdaptState::APPLYING &&
                   state_.is_joining(process) && state_.adaptation->awaited.contains(process.uid);
    if (!awaited)
        return SetAnswer::wrong("no change waits for the calling process");
    sets_.run(process.uid);
    participant_done(process.uid);
    return SetAnswer().bytes();
}

void PsetChanges::participant_done(uint32_t uid)
{
    state_.adaptation->awaited.erase(uid);
    if (!state_.adaptation->awaited.empty())
        return;
    bool others_leave = std::ranges::any_of(state_.adaptation->chosen, [&](uint32_t chosen) {
        return state_.world.find_member(chosen);
    });
    bool adds = state_.adaptation->change.joining > 0;
    control_.raise(adds && others_leave ? AdaptEvent::ADDED : AdaptEvent::ALL_THERE);
}

/* SR6.  Processes that have ended meanwhile no longer need to leave. */
void PsetChanges::offer_removal()
{
    Adaptation &a = *state_.adaptation;
    state_.world.commit({{}, a.change.joining, 0}, a.group);
    a.added = std::exchange(a.change.joining, 0);
    state_.log("added", {{"size", state_.world.size()}});
    psets_.send_replies(sets_.delta_over());
    sets_.notify(UINT32_MAX);
    std::erase_if(a.chosen, [&](uint32_t uid) { return !state_.world.find_member(uid); });
    a.tag = ++last_tag_;
    a.group = -1;
    a.first_uid = 0;
    a.entering.clear();
    a.delta.reset();
    a.keys.clear();
    a.agreed_ms = 0;
    hooks_.schedule_straggler_report();
    announce_removal();
}

/* ---- the end of a change --------------------------------------------------------------------- */

void PsetChanges::complete()
{
    Adaptation &a = *state_.adaptation;
    state_.epoch = a.epoch;
    state_.epoch_began_ms = state_.now_ms;
    if (a.change.joining > 0) {
        state_.world.commit({{}, a.change.joining, 0}, a.group);
        a.change.leaving.clear();       /* they ended before the removal */
        a.change.new_size = state_.world.size();
    } else {
        a.change.leaving.clear();       /* until the notification only their number was known */
        for (const Process *member : state_.world.members()) {
            if (a.delta->contains(member->uid))
                a.change.leaving.push_back(member->world_rank);
        }
        state_.world.commit(a.change, -1);
        a.change.joining = a.added;
    }
    state_.statistics.add_size(state_.world.size());
    state_.statistics.add_times(a, state_.now_ms);
    Json freed = {{"request", a.request}, {"epoch", a.epoch}, {"hosts", a.left_hosts},
                  {"uids", a.left_uids}};
    end();
    control_.finish();
    if (!freed.at("uids").empty())
        state_.journal.add(state_.now_ms, "freed", freed);
    departures_.drop_ended();
}

/* Notifies processes that wait for joining processes before these end. */
void PsetChanges::end()
{
    const Adaptation &a = *state_.adaptation;
    if (state_.notified && state_.notified->tag == a.tag) {
        state_.notified->complete = a.state == AdaptState::COMMITTED;
        state_.notified->failed = !state_.notified->complete;
    }
    psets_.send_replies(sets_.delta_over());
    sets_.notify(UINT32_MAX);
    bool removed = a.state != AdaptState::COMMITTED && a.first_uid != 0;
    for (int i = 0; removed && i < a.change.joining; i++)
        psets_.send_replies(sets_.ended(a.first_uid + static_cast<uint32_t>(i)));
    if (a.added > 0 && a.state != AdaptState::COMMITTED)
        keep_addition();
}

/* The removal of a request that adds and removes has failed: the added processes remain. */
void PsetChanges::keep_addition()
{
    Adaptation &a = *state_.adaptation;
    a.state = AdaptState::COMMITTED;
    a.change = {{}, a.added, state_.world.size()};
    state_.epoch = a.epoch;
    state_.epoch_began_ms = state_.now_ms;
    state_.statistics.add_size(state_.world.size());
}

/* ---- ends of processes ----------------------------------------------------------------------- */

/* SL3.  A process that may exit needs no order, because the permission to its proxy is in
 * transit. */
void PsetChanges::on_aborted(const Process &process)
{
    if (!process.may_exit)
        state_.post({process.proxy_id()}, STEP_BREAK, 0,
                    {reinterpret_cast<const char *>(&process.uid), sizeof process.uid});
}

/* A process of a job that changes through sets has ended, which it may do by itself at any time. */
void PsetChanges::process_over(const Process &process, bool by_itself, const std::string &cause)
{
    bool has_entered = process.ready && state_.adaptation &&
                       state_.adaptation->state == AdaptState::APPLYING &&
                       !state_.adaptation->awaited.contains(process.uid);
    if (state_.is_joining(process) && !(has_entered && by_itself))
        control_.raise(AdaptEvent::JOINING_FAILED, cause);
    else
        member_over(process, by_itself, cause);
    bool others_come = state_.adaptation && state_.adaptation->state == AdaptState::APPLYING;
    if (state_.world.living() > 0 || others_come)
        return;
    state_.ending = true;
    if (state_.adaptation)
        control_.raise(AdaptEvent::JOB_ENDED, "the job ended (" + cause + ")");
    hooks_.job_over();
}

void PsetChanges::member_over(const Process &process, bool by_itself, const std::string &cause)
{
    if (!by_itself && process.may_exit) {
        state_.notify_user(cause + " while it was leaving; the other processes continue");
    } else if (!by_itself) {
        state_.ending = state_.broken = true;
        if (state_.adaptation)
            control_.raise(AdaptEvent::MEMBER_FAILED, cause);
    }
    departures_.process_ended();
    if (state_.adaptation && state_.adaptation->change.joining == 0)
        leaving_over(process, cause);
    late_.erase(process.uid);
    if (!state_.notified || state_.notified->uid != process.uid)
        return;
    take_notified();
    sets_.notify(UINT32_MAX);
    if (state_.adaptation && state_.adaptation->state == AdaptState::NOTIFIED)
        control_.raise(AdaptEvent::NOTIFIED_ENDED);
}

/* SF1: the next caller is notified.  But processes that wait in a rendezvous with the joining ones
 * were informed by the ended process, and possibly no other process calls.  SI8: no process waits
 * because of the ended one. */
void PsetChanges::consider_orphan()
{
    if (state_.adaptation && state_.adaptation->state == AdaptState::ORPHANED &&
        sets_.are_proposed_awaited())
        control_.raise(AdaptEvent::ABANDONED,
                       "the notified process has ended, and others wait for the joining processes");
}

/* A process of a removal has ended.  Before the agreement the removal becomes impossible; later its
 * end is expected. */
void PsetChanges::leaving_over(const Process &process, const std::string &cause)
{
    Adaptation &a = *state_.adaptation;
    if (before_agreement(a.state))
        return control_.raise(AdaptEvent::WITHDRAW, cause + " by itself: request the change again");
    if (!a.awaited.contains(process.uid))
        return;
    a.left_hosts[process.host]++;
    a.left_uids.push_back(process.uid);
    participant_done(process.uid);
}

}  // namespace elastic
