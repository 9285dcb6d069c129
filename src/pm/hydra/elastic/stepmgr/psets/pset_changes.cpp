/* See pset_changes.h: from the request to the decision of the notified process. */

#include "stepmgr/psets/pset_changes.h"

#include <algorithm>
#include <utility>

namespace elastic {

namespace {

/* The reply for a change of this kind, without a name. */
std::string only(pmi_set_change kind)
{
    return SetAnswer().number(kind).text("").number(0).data({}).number(0).bytes();
}

std::string wrong_tag(uint32_t tag)
{
    return SetAnswer::wrong("the calling process has not been notified of a change with tag " +
                 std::to_string(static_cast<int32_t>(tag)) +
                 ", or has accepted or declined it already");
}

}  // namespace

/* ---- the job changes through process sets ---------------------------------------------------- */

std::optional<std::string> PsetChanges::answer(Process &, const SetCaller &, const BecomeDynamic &)
{
    if (std::string error = mode_.ensure(); !error.empty())
        return error;
    return SetAnswer().bytes();
}

std::optional<std::string> PsetChanges::answer(Process &process, const SetCaller &,
                                               const AddHints &call)
{
    if (std::string error = mode_.ensure(); !error.empty())
        return error;
    return requests_.add_hints(process.uid, call.hints);
}

/* ---- from the request to the offer ----------------------------------------------------------- */

void PsetChanges::begin()
{
    Adaptation &a = *state_.adaptation;
    a.tag = ++last_tag_;
    for (int rank : a.requested.leave.value_or(std::vector<int>{}))
        a.chosen.push_back(state_.world.members()[static_cast<size_t>(rank)]->uid);
    a.ready_ms = state_.now_ms; /* if no processes join */
    if (a.change.joining > 0)
        return launch_joining();
    announce_removal();
    control_.raise(AdaptEvent::NOBODY_JOINS);
}

void PsetChanges::launch_joining()
{
    auto joining = static_cast<uint32_t>(state_.adaptation->change.joining);
    if (state_.next_uid + joining > PMI_SET_PROCESSES_MAX)
        return control_.raise(
            AdaptEvent::LAUNCH_REFUSED, "a job that changes through process sets can have " +
                std::to_string(PMI_SET_PROCESSES_MAX) + " processes in its lifetime, and has had " +
                std::to_string(state_.next_uid) + ": end it, and restart it from a checkpoint");
    sets_.propose(state_.next_uid, joining);
    control_.launch();
}

/* Before a process is notified, no process may cache any more that no change removes it. */
void PsetChanges::announce_removal()
{
    if (std::exchange(stay_notified_, false))
        sets_.outdate_all();
    psets_.send_replies({});
}

/* Processes whose addresses the joining ones may get before the notification: all running ones, if
 * each of them has the addresses of the others. */
SetMembers PsetChanges::introducible() const
{
    std::vector<uint32_t> uids;
    for (const Process *member : state_.world.members())
        uids.push_back(member->uid);
    auto running = SetMembers::of_list(uids);
    return running && sets_.know_each_other(*running) ? *running : SetMembers();
}

/* A process that does not join was started in another way. */
std::optional<std::string> PsetChanges::answer(Process &process, const SetCaller &caller,
                                               const EnterJob &call)
{
    if (state_.mode != InitMode::SETS || !state_.is_joining(process))
        return SetAnswer().number(0).number(0).bytes();
    if (state_.adaptation->state != AdaptState::JOINING || process.ready)
        return SetAnswer::wrong("the calling process waits already");
    sets_.set_bc(process.uid, call.bc);
    if (!state_.adaptation->known)
        state_.adaptation->known = introducible();
    SetAnswer answer;
    answer.number(1);
    sets_.append_bcs(caller, *state_.adaptation->known, answer);
    return answer.bytes();
}

/* A joining process waits for its change; one whose change has failed waits for its own end. */
std::optional<std::string> PsetChanges::answer(Process &process, const SetCaller &caller,
                                               const AwaitAccept &call)
{
    bool joins = state_.mode == InitMode::SETS && state_.is_joining(process);
    if (!joins && process.group > 0 && process.world_rank < 0)
        return std::nullopt;
    if (!joins)
        return SetAnswer::wrong("the calling process is not a joining process");
    if (state_.adaptation->state != AdaptState::JOINING || process.ready)
        return SetAnswer::wrong("the calling process waits already");
    process.ready = true;
    state_.adaptation->introduced = state_.adaptation->introduced && call.introduced;
    state_.adaptation->entering.push_back(caller);
    state_.log("ready", {{"rank", process.rank}, {"host", process.host}, {"uid", process.uid}});
    if (--state_.adaptation->unready == 0) {
        state_.adaptation->ready_ms = state_.now_ms;
        control_.raise(AdaptEvent::ALL_READY);
    }
    return std::nullopt;
}

/* ---- notification ---------------------------------------------------------------------------- */

/* SR4: the processes that the resource manager has chosen, if the set contains them; else the last
 * members of the set. */
std::optional<SetMembers> PsetChanges::choose_leaving(const SetMembers &bound) const
{
    const Adaptation &a = *state_.adaptation;
    std::vector<uint32_t> running, leaving;
    for (const Process *process : state_.world.members()) {
        if (bound.contains(process->uid) && !process->ended)
            running.push_back(process->uid);
    }
    if (!a.chosen.empty()) {
        bool all = std::ranges::all_of(a.chosen, [&](uint32_t uid) { return bound.contains(uid); });
        return all ? SetMembers::of_list(a.chosen) : std::nullopt;
    }
    if (running.size() < a.change.leaving.size())
        return std::nullopt;
    const std::set<uint32_t> runs(running.begin(), running.end());
    for (auto run = bound.runs().rbegin(); run != bound.runs().rend(); ++run) {
        for (uint32_t uid = run->first + run->count;
             uid-- > run->first && leaving.size() < a.change.leaving.size();) {
            if (runs.contains(uid))
                leaving.push_back(uid);
        }
    }
    std::ranges::reverse(leaving);
    return SetMembers::of_list(leaving);
}

/* Includes processes of a removal that ended before it was accepted, because it is announced again
 * (SF1). */
std::optional<SetMembers> PsetChanges::all_processes() const
{
    std::vector<uint32_t> uids;
    for (const Process *member : state_.world.members())
        uids.push_back(member->uid);
    auto running = SetMembers::of_list(uids);
    if (!running || !state_.adaptation || !state_.adaptation->delta)
        return running;
    const SetMembers *both[] = {&*running, &*state_.adaptation->delta};
    return SetMembers::union_of(both);
}

/* Nothing: the change does not concern this set. */
std::optional<SetMembers> PsetChanges::choose_delta(const SetMembers &bound) const
{
    const Adaptation &a = *state_.adaptation;
    if (a.change.joining > 0) {
        const SetMembers::Run joining = {a.first_uid, static_cast<uint32_t>(a.change.joining)};
        return SetMembers::of_runs(std::span(&joining, 1));
    }
    if (!a.delta)
        return choose_leaving(bound);
    const SetMembers *operands[] = {&*a.delta, &bound};
    return SetMembers::intersection_of(operands) == *a.delta ? a.delta : std::nullopt;
}

std::optional<std::string> PsetChanges::answer(Process &process, const SetCaller &caller,
                                               const GetChange &call)
{
    if (std::string error = mode_.ensure(); !error.empty())
        return error;
    departures_.drop_ended();
    sets_.set_bc(caller.uid, call.bc);
    std::string error;
    SetOperand bound = call.bound;
    if (bound.name.empty() && !bound.members)
        bound.members = all_processes();
    auto members = sets_.resolve_operand(bound, error);
    if (!members)
        return error;
    auto delta = is_on_offer() && process.world_rank >= 0 ? choose_delta(*members) : std::nullopt;
    if (!delta)
        return only(PMI_SET_CHANGE_NONE);
    if (call.only_query)
        return only(state_.adaptation->change.joining > 0 ? PMI_SET_CHANGE_ADD
                                                          : PMI_SET_CHANGE_SUB);
    return notify_change(process, *delta) ? answer_notified(caller) : sets_.full_error();
}

bool PsetChanges::is_on_offer() const
{
    return state_.mode == InitMode::SETS && state_.adaptation &&
           find_set_transition(state_.adaptation->state, AdaptEvent::QUERIED);
}

std::string PsetChanges::accept_for(const Process &process, const std::string &bound)
{
    departures_.drop_ended();
    std::string error;
    auto members = sets_.resolve_operand({bound, {}}, error);
    auto delta = members && process.world_rank >= 0 ? choose_delta(*members) : std::nullopt;
    if (!delta || !notify_change(process, *delta))
        return "";
    std::string name = state_.adaptation->delta_name;
    NotifiedChange notified = take_notified();
    state_.log("accepted", {{"uid", notified.uid}, {"tag", notified.tag}});
    change_accepted();
    return name;
}

/* SR2: a process queries when its board shows the offer.  Boards of processes that are not members
 * yet need not show it. */
void PsetChanges::post_offer()
{
    uint32_t offer = is_on_offer() ? state_.adaptation->tag : 0;
    if (std::exchange(offer_, offer) != offer)
        state_.post(World::proxies_of(state_.world.members()), STEP_OFFER, 0,
                    {reinterpret_cast<const char *>(&offer), sizeof offer});
}

/* False: there is no capacity for its set. */
bool PsetChanges::notify_change(const Process &process, const SetMembers &delta)
{
    Adaptation &a = *state_.adaptation;
    bool adds = a.change.joining > 0;
    if (!a.delta) {
        a.delta_name = sets_.add_delta(a.tag, adds ? PMI_SET_OP_ADD : PMI_SET_OP_SUB, delta);
        if (a.delta_name.empty())
            return false;
        a.delta = delta;
        for (const Process *member : state_.world.members()) {
            if (!adds && delta.contains(member->uid))
                a.awaited.insert(member->uid);
        }
    }
    if (state_.notified && (state_.notified->complete || state_.notified->failed))
        late_.insert_or_assign(state_.notified->uid, *state_.notified);
    late_.erase(process.uid);
    state_.notified = NotifiedChange{a.tag, process.uid};
    sets_.notify(process.uid);
    psets_.log_changes();
    state_.log("told",
               {{"uid", process.uid}, {"tag", state_.notified->tag}, {"name", a.delta_name}});
    control_.raise(AdaptEvent::QUERIED);
    return true;
}

/* SR11.  The reply contains the delta, because the notified process would query it next. */
std::string PsetChanges::answer_notified(const SetCaller &caller)
{
    const Adaptation &a = *state_.adaptation;
    int new_size = a.change.joining > 0 ? a.old_size + a.change.joining : a.change.new_size;
    SetAnswer answer;
    answer.number(a.change.joining > 0 ? PMI_SET_CHANGE_ADD : PMI_SET_CHANGE_SUB)
        .text(a.delta_name)
        .number(state_.notified->tag)
        .data({{"mpix_reason", a.reason},
               {"mpix_deadline", std::to_string(a.deadline_unix_ms / 1000)},
               {"mpix_old_size", std::to_string(a.old_size + a.added)},
               {"mpix_new_size", std::to_string(new_size)}});
    std::string latest = sets_.find_latest(caller.uid, a.delta_name);
    answer.number(latest.empty() ? 1 : 2);
    sets_.lookup(caller, a.delta_name, answer);
    if (!latest.empty())
        sets_.lookup(caller, latest, answer);
    bool introduced =
        a.change.joining > 0 && a.introduced && a.known && a.known->contains(caller.uid);
    uint32_t first = sets_.grant(caller.uid);
    return answer.number(introduced ? 1 : 0).number(first).number(first ? PMI_SET_GRANT
        : 0).bytes();
}

/* SI4 */
std::optional<std::string> PsetChanges::answer(Process &process, const SetCaller &caller,
                                               const QueryLeaving &)
{
    bool removes = state_.mode == InitMode::SETS && state_.adaptation &&
                   state_.adaptation->change.joining == 0;
    bool leaves =
        removes && state_.adaptation->delta && state_.adaptation->delta->contains(process.uid);
    if (!removes)
        notify_stays(caller);
    return SetAnswer().number(leaves ? 1 : 0).number(removes ? 0 : 1).bytes();
}

/* No change removes the caller, which may cache that until there is a removal. */
void PsetChanges::notify_stays(const SetCaller &caller)
{
    sets_.may_cache(caller);
    stay_notified_ = true;
}

/* Ends the announcement.  All earlier messages of the notified process have arrived. */
NotifiedChange PsetChanges::take_notified()
{
    sets_.end_grant();
    return *std::exchange(state_.notified, std::nullopt);
}

/* Takes the change with this tag, if this process was notified of it and has not decided.  SR9:
 * another process may have been notified of the next change meanwhile. */
std::optional<NotifiedChange> PsetChanges::take_notified_of(uint32_t uid, uint32_t tag)
{
    if (state_.notified && state_.notified->uid == uid && state_.notified->tag == tag)
        return take_notified();
    auto late = late_.find(uid);
    if (late == late_.end() || late->second.tag != tag)
        return std::nullopt;
    NotifiedChange notified = late->second;
    late_.erase(late);
    return notified;
}

/* ---- the decision of the notified process ---------------------------------------------------- */

/* A removal may be complete before it is accepted (SR9), and an addition may have failed (SF2). */
std::optional<std::string> PsetChanges::answer(Process &process, const SetCaller &,
                                               const AcceptChange &call)
{
    if (std::string error = mode_.refusal(); !error.empty())
        return error;
    auto notified = take_notified_of(process.uid, call.tag);
    if (!notified)
        return wrong_tag(call.tag);
    if (notified->failed)
        return SetAnswer::error(PMI_SET_LOST, "joining processes have ended");
    state_.log("accepted", {{"uid", process.uid}, {"tag", notified->tag}});
    if (!notified->complete) {
        state_.adaptation->keys = call.keys;
        change_accepted();
    }
    return SetAnswer().bytes();
}

/* SL3: leaving processes have until the deadline, if there is one. */
void PsetChanges::change_accepted()
{
    Adaptation &a = *state_.adaptation;
    a.agreed_ms = state_.now_ms;
    sets_.delta_accepted();
    hooks_.schedule_straggler_report();
    if (a.straggler_report_ms >= 0 && a.change.joining == 0 &&
        a.deadline_unix_ms > state_.unix_now_ms())
        a.straggler_report_ms = static_cast<int64_t>(a.deadline_unix_ms) - state_.unix_ms_at_zero;
    control_.raise(AdaptEvent::ACCEPT);
}

std::optional<std::string> PsetChanges::answer(Process &process, const SetCaller &,
                                               const DeclineChange &call)
{
    if (std::string error = mode_.refusal(); !error.empty())
        return error;
    auto notified = take_notified_of(process.uid, call.tag);
    if (!notified)
        return wrong_tag(call.tag);
    if (notified->complete) {   /* the process can only accept it */
        late_.insert_or_assign(process.uid, *notified);
        return wrong_tag(call.tag);
    }
    if (notified->failed)
        return SetAnswer().bytes();
    state_.log("declined", {{"uid", process.uid}, {"tag", notified->tag}});
    psets_.send_replies(sets_.free_delta());
    control_.raise(AdaptEvent::DECLINE, "declined");
    return SetAnswer().bytes();
}

}  // namespace elastic
