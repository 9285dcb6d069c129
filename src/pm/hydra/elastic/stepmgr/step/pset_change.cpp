/*
 * See step.h: a change through process sets, from the query of the first process to its end.  One process is notified,
 * and accepts or declines for all; no other process waits.  A request that adds and removes processes is two changes.
 * SR1, SR3-SR9, SR11, SJ1, SL1, SF1-SF3, SW1.
 */

#include <algorithm>
#include <cassert>
#include <utility>

#include "stepmgr/step/step.h"

namespace elastic {

namespace {

constexpr size_t LOOKUPS_MAX = 8;       /* at sets, for who has been let go */

std::string wrong(const std::string &text)
{
    return SetAnswer::error(PMI_SET_WRONG, text);
}

/* That there is one of this kind, without its name. */
std::string only(pmi_set_change kind)
{
    return SetAnswer().number(kind).text("").number(0).data({}).number(0).bytes();
}

std::string tag_is_wrong(uint32_t tag)
{
    return wrong("the calling process has not been told a change with tag " +
                 std::to_string(static_cast<int32_t>(tag)) + ", or has answered it already");
}

}  // namespace

void Step::on_change_call(Process &process, const SetCaller &caller, const ChangeCall &call)
{
    auto answer = std::visit([&](const auto &known) { return answer_change(process, caller, known); }, call);
    psets_.log_changes();
    if (answer)
        psets_.send_replies({{caller, std::move(*answer)}});
}

/* ---- a job that changes through sets ------------------------------------------------------------------------ */

/* SW1 */
std::string Step::cannot_be_dynamic() const
{
    bool some_adapt = std::ranges::any_of(
        state_.world.members(), [](const Process *process) { return process->init == InitMode::ADAPTIVE; });
    bool windows = state_.mode == InitMode::ADAPTIVE || (state_.mode != InitMode::SETS && some_adapt);
    return windows ? SetAnswer::error(PMI_SET_WINDOWS, "the program has called MPI_Init_adapt, so that its processes "
                                                       "change in windows, not through process sets")
                   : "";
}

std::optional<std::string> Step::answer_change(Process &, const SetCaller &, const BecomeDynamic &)
{
    if (std::string error = cannot_be_dynamic(); !error.empty())
        return error;
    if (state_.mode != InitMode::SETS)
        become_dynamic();
    return SetAnswer().bytes();
}

std::optional<std::string> Step::answer_change(Process &, const SetCaller &caller, const QueryArrival &call)
{
    return psets_.query_arrival(caller, call);
}

void Step::become_dynamic()
{
    state_.mode = InitMode::SETS;
    state_.epoch_began_ms = state_.now_ms;
    psets_.track_ends();
    post_by_sets();
    state_.log("adaptive", {{"size", state_.world.size()}, {"mode", "sets"}});
    requests_.adaptive();
    if (state_.adaptation && !state_.ending)
        begin();
}

std::optional<std::string> Step::answer_change(Process &process, const SetCaller &, const AddHints &call)
{
    if (std::string error = cannot_be_dynamic(); !error.empty())
        return error;
    if (state_.mode != InitMode::SETS)
        become_dynamic();
    return requests_.add_hints(process.uid, call.hints);
}

/* SW1: before anybody is notified so, MPI_Init_adapt is refused everywhere. */
void Step::post_by_sets()
{
    std::set<Agent> agents = World::agents_of(state_.world.members());
    uint64_t number = psets_.begin_invalidation(agents);
    state_.post(agents, STEP_BY_SETS, 0, {reinterpret_cast<const char *>(&number), sizeof number});
}

/* ---- from the request to the offer -------------------------------------------------------------------------- */

void Step::begin_set_change()
{
    Adaptation &a = *state_.adaptation;
    a.tag = ++last_tag_;
    for (int rank : a.requested.leave.value_or(std::vector<int>{}))
        a.chosen.push_back(state_.world.members()[static_cast<size_t>(rank)]->uid);
    a.ready_ms = state_.now_ms; /* if nobody joins */
    if (a.change.joining > 0)
        return launch();
    announce_removal();
    raise(AdaptEvent::NOBODY_JOINS);
}

/* Before anybody can be notified of it, nobody caches that no change removes him. */
void Step::announce_removal()
{
    if (std::exchange(stay_notified_, false))
        sets_.outdate_all();
    psets_.send_replies({});
}

/* Whom joining processes may get to know before anybody is notified of them: all that run, if they know each other. */
SetMembers Step::who_can_be_introduced() const
{
    std::vector<uint32_t> uids;
    for (const Process *member : state_.world.members())
        uids.push_back(member->uid);
    auto running = SetMembers::of_list(uids);
    return running && sets_.know_each_other(*running) ? *running : SetMembers();
}

/* Others than joining processes that query so were started in other ways. */
std::optional<std::string> Step::answer_change(Process &process, const SetCaller &caller, const EnterJob &call)
{
    if (state_.mode != InitMode::SETS || !state_.is_joining(process))
        return SetAnswer().number(0).number(0).bytes();
    if (state_.adaptation->state != AdaptState::JOINING || process.ready)
        return wrong("the calling process waits already");
    sets_.set_bc(process.uid, call.bc);
    if (!state_.adaptation->known)
        state_.adaptation->known = who_can_be_introduced();
    SetAnswer answer;
    answer.number(1);
    sets_.append_bcs(caller, *state_.adaptation->known, answer);
    return answer.bytes();
}

/* A joining process waits for its change; one whose change has come to nothing waits for its own end. */
std::optional<std::string> Step::answer_change(Process &process, const SetCaller &caller, const AwaitAccept &call)
{
    bool joins = state_.mode == InitMode::SETS && state_.is_joining(process);
    if (!joins && process.group > 0 && process.world_rank < 0)
        return std::nullopt;
    if (!joins)
        return wrong("the calling process does not join");
    if (state_.adaptation->state != AdaptState::JOINING || process.ready)
        return wrong("the calling process waits already");
    process.ready = true;
    state_.adaptation->introduced = state_.adaptation->introduced && call.introduced;
    state_.adaptation->entering.push_back(caller);
    state_.log("ready", {{"rank", process.rank}, {"host", process.host}, {"uid", process.uid}});
    if (--state_.adaptation->unready == 0) {
        state_.adaptation->ready_ms = state_.now_ms;
        raise(AdaptEvent::ALL_READY);
    }
    return std::nullopt;
}

/* ---- telling it --------------------------------------------------------------------------------------------- */

/* SR4: whom the resource manager has chosen, if the set holds them; else the set's last members. */
std::optional<SetMembers> Step::choose_leaving(const SetMembers &bound) const
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
        for (uint32_t uid = run->first + run->count; uid-- > run->first && leaving.size() < a.change.leaving.size();) {
            if (runs.contains(uid))
                leaving.push_back(uid);
        }
    }
    std::ranges::reverse(leaving);
    return SetMembers::of_list(leaving);
}

/* Includes processes of a removal that have ended before it was accepted: it is announced once more (SF1). */
std::optional<SetMembers> Step::all_processes() const
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

/* Nothing: it is not for whoever names this set. */
std::optional<SetMembers> Step::choose_delta(const SetMembers &bound) const
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

std::optional<std::string> Step::answer_change(Process &process, const SetCaller &caller, const GetChange &call)
{
    if (std::string error = cannot_be_dynamic(); !error.empty())
        return error;
    if (state_.mode != InitMode::SETS)
        become_dynamic();
    drop_ended();
    sets_.set_bc(caller.uid, call.bc);
    std::string error;
    SetOperand bound = call.bound;
    if (bound.name.empty() && !bound.members)
        bound.members = all_processes();
    auto members = sets_.resolve_operand(bound, error);
    if (!members)
        return error;
    bool may_be_notified = state_.adaptation && process.world_rank >= 0 &&
                           find_set_transition(state_.adaptation->state, AdaptEvent::ASKED);
    auto delta = may_be_notified ? choose_delta(*members) : std::nullopt;
    if (!delta)
        return only(PMI_SET_CHANGE_NONE);
    if (call.only_query)
        return only(state_.adaptation->change.joining > 0 ? PMI_SET_CHANGE_ADD : PMI_SET_CHANGE_SUB);
    return notify_change(process, *delta) ? answer_notified(caller) : sets_.full_error();
}

/* SR2: a process queries when its board says so.  Boards of processes that are not members yet need not know. */
void Step::post_offer()
{
    bool can_be_notified = state_.mode == InitMode::SETS && state_.adaptation &&
                           find_set_transition(state_.adaptation->state, AdaptEvent::ASKED);
    uint32_t offer = can_be_notified ? state_.adaptation->tag : 0;
    if (std::exchange(offer_, offer) != offer)
        state_.post(World::agents_of(state_.world.members()), STEP_OFFER, 0,
                    {reinterpret_cast<const char *>(&offer), sizeof offer});
}

/* False: there is no capacity for its set. */
bool Step::notify_change(const Process &process, const SetMembers &delta)
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
    if (state_.notified && (state_.notified->complete || state_.notified->lost))
        late_.insert_or_assign(state_.notified->uid, *state_.notified);
    late_.erase(process.uid);
    state_.notified = NotifiedChange{a.tag, process.uid};
    sets_.notify(process.uid);
    psets_.log_changes();
    state_.log("told", {{"uid", process.uid}, {"tag", state_.notified->tag}, {"name", a.delta_name}});
    raise(AdaptEvent::ASKED);
    return true;
}

/* SR11; who is notified looks at the delta next. */
std::string Step::answer_notified(const SetCaller &caller)
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
    bool introduced = a.change.joining > 0 && a.introduced && a.known && a.known->contains(caller.uid);
    uint32_t first = sets_.grant(caller.uid);
    return answer.number(introduced ? 1 : 0).number(first).number(first ? PMI_SET_GRANT : 0).bytes();
}

/* SI4 */
std::optional<std::string> Step::answer_change(Process &process, const SetCaller &caller, const QueryLeaving &)
{
    bool removes = state_.mode == InitMode::SETS && state_.adaptation && state_.adaptation->change.joining == 0;
    bool leaves = removes && state_.adaptation->delta && state_.adaptation->delta->contains(process.uid);
    if (!removes)
        notify_stays(caller);
    return SetAnswer().number(leaves ? 1 : 0).number(removes ? 0 : 1).bytes();
}

/* That no change removes the caller; it may cache that until there is a removal. */
void Step::notify_stays(const SetCaller &caller)
{
    sets_.may_cache(caller);
    stay_notified_ = true;
}

/* It is not announced any more; whoever was has said all that it had to say before. */
NotifiedChange Step::take_notified()
{
    sets_.end_grant();
    return *std::exchange(state_.notified, std::nullopt);
}

/* What this process was notified last, under this tag, and has not answered.  SR9: another one may be notified the
 * next change before. */
std::optional<NotifiedChange> Step::take_notified_of(uint32_t uid, uint32_t tag)
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

/* ---- the answer of the process that was notified ---------------------------------------------------------------- */

/* A removal may be complete before it is accepted (SR9), and an addition may have failed (SF2). */
std::optional<std::string> Step::answer_change(Process &process, const SetCaller &, const AcceptChange &call)
{
    if (std::string error = cannot_be_dynamic(); !error.empty())
        return error;
    auto notified = take_notified_of(process.uid, call.tag);
    if (!notified)
        return tag_is_wrong(call.tag);
    if (notified->lost)
        return SetAnswer::error(PMI_SET_LOST, "processes that were to join have ended");
    state_.log("accepted", {{"uid", process.uid}, {"tag", notified->tag}});
    if (!notified->complete) {
        state_.adaptation->keys = call.keys;
        taken();
    }
    return SetAnswer().bytes();
}

/* SL3: who is to leave has until the deadline, if there is one. */
void Step::taken()
{
    Adaptation &a = *state_.adaptation;
    a.agreed_ms = state_.now_ms;
    sets_.delta_accepted();
    stragglers_.schedule_straggler_report();
    if (a.straggler_report_ms >= 0 && a.change.joining == 0 && a.deadline_unix_ms > state_.unix_now_ms())
        a.straggler_report_ms = static_cast<int64_t>(a.deadline_unix_ms) - state_.unix_ms_at_zero;
    raise(AdaptEvent::TAKE);
}

std::optional<std::string> Step::answer_change(Process &process, const SetCaller &, const DeclineChange &call)
{
    if (std::string error = cannot_be_dynamic(); !error.empty())
        return error;
    auto notified = take_notified_of(process.uid, call.tag);
    if (!notified)
        return tag_is_wrong(call.tag);
    if (notified->complete) {   /* it can be accepted only */
        late_.insert_or_assign(process.uid, *notified);
        return tag_is_wrong(call.tag);
    }
    if (notified->lost)
        return SetAnswer().bytes();
    state_.log("declined", {{"uid", process.uid}, {"tag", notified->tag}});
    psets_.send_replies(sets_.free_delta());
    raise(AdaptEvent::DECLINE, "declined");
    return SetAnswer().bytes();
}

void Step::release_joining()
{
    Adaptation &a = *state_.adaptation;
    std::vector<Sets::Reply> replies;
    if (a.change.joining == 0)
        return may_exit();
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

/* Whom the joining processes, and those of each other, need not meet; whoever waits for them to is answered.  Nobody,
 * if there are others by now whom these know. */
SetMembers Step::introduce_joining(std::vector<Sets::Reply> &replies)
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
    return known && known->size() > 0 && all && sets_.introduce(*all, replies) ? *known : SetMembers();
}

/* Before anybody can know that it has been accepted. */
void Step::may_exit()
{
    std::set<Agent> agents;
    std::string uids;
    for (Process *member : state_.world.members()) {
        if (!state_.adaptation->awaited.contains(member->uid))
            continue;
        member->may_exit = true;
        agents.insert(member->agent());
        uids.append(reinterpret_cast<const char *>(&member->uid), sizeof member->uid);
    }
    state_.post(agents, STEP_LET_GO, 0, uids);
}

std::optional<std::string> Step::answer_change(Process &process, const SetCaller &, const HasEntered &)
{
    bool awaited = state_.adaptation && state_.adaptation->state == AdaptState::TAKEN && state_.is_joining(process) &&
                   state_.adaptation->awaited.contains(process.uid);
    if (!awaited)
        return wrong("nobody waits for the calling process");
    sets_.run(process.uid);
    is_there(process.uid);
    return SetAnswer().bytes();
}

void Step::is_there(uint32_t uid)
{
    state_.adaptation->awaited.erase(uid);
    if (!state_.adaptation->awaited.empty())
        return;
    bool others_leave = std::ranges::any_of(state_.adaptation->chosen,
                                            [&](uint32_t chosen) { return state_.world.find_member(chosen); });
    bool adds = state_.adaptation->change.joining > 0;
    raise(adds && others_leave ? AdaptEvent::ADDED : AdaptEvent::ALL_THERE);
}

/* SR6.  Those that have ended meanwhile need not leave any more. */
void Step::offer_removal()
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
    stragglers_.schedule_straggler_report();
    announce_removal();
}

/* ---- the end of a change ------------------------------------------------------------------------------------ */

void Step::complete_set_change()
{
    Adaptation &a = *state_.adaptation;
    state_.epoch = a.epoch;
    state_.epoch_began_ms = state_.now_ms;
    if (a.change.joining > 0) {
        state_.world.commit({{}, a.change.joining, 0}, a.group);
        a.change.leaving.clear();       /* they have ended before it was their turn */
        a.change.new_size = state_.world.size();
    } else {
        a.change.leaving.clear();       /* until somebody was notified these were only so many */
        for (const Process *member : state_.world.members()) {
            if (a.delta->contains(member->uid))
                a.change.leaving.push_back(member->world_rank);
        }
        state_.world.commit(a.change, -1);
        a.change.joining = a.added;
    }
    state_.statistics.add_size(state_.world.size());
    state_.statistics.add_times(a, state_.now_ms);
    Json freed = {{"request", a.request}, {"epoch", a.epoch}, {"hosts", a.left_hosts}, {"uids", a.left_uids}};
    end_set_change();
    finish();
    if (!freed.at("uids").empty())
        state_.journal.add(state_.now_ms, "freed", freed);
    drop_ended();
}

/* The removal of a request that does both has come to nothing: what was added is there. */
void Step::keep_addition()
{
    Adaptation &a = *state_.adaptation;
    a.state = AdaptState::COMMITTED;
    a.change = {{}, a.added, state_.world.size()};
    state_.epoch = a.epoch;
    state_.epoch_began_ms = state_.now_ms;
    state_.statistics.add_size(state_.world.size());
}

/* Processes that wait for joining processes are notified before these have ended. */
void Step::end_set_change()
{
    const Adaptation &a = *state_.adaptation;
    if (state_.notified && state_.notified->tag == a.tag) {
        state_.notified->complete = a.state == AdaptState::COMMITTED;
        state_.notified->lost = !state_.notified->complete;
    }
    psets_.send_replies(sets_.delta_over());
    sets_.notify(UINT32_MAX);
    bool removed = a.state != AdaptState::COMMITTED && a.first_uid != 0;
    for (int i = 0; removed && i < a.change.joining; i++)
        psets_.send_replies(sets_.ended(a.first_uid + static_cast<uint32_t>(i)));
}

/* ---- ends of processes -------------------------------------------------------------------------------------- */

/* SL1: who has ended outside of a removal is out of the world, and the resource manager is notified.  All at once, as
 * in a large job they end one after the other; not while a change is under way, which was requested with the ranks of
 * before, and not at the end of the job. */
void Step::drop_ended()
{
    Change change;
    std::vector<uint32_t> uids;
    std::map<std::string, int> hosts;

    left_at_ms_ = -1;
    if (state_.mode != InitMode::SETS || state_.adaptation || state_.ending ||
        state_.world.living() == state_.world.size())
        return;
    for (const Process *process : state_.world.members()) {
        if (!process->ended)
            continue;
        change.leaving.push_back(process->world_rank);
        uids.push_back(process->uid);
        hosts[process->host]++;
    }
    int old_size = state_.world.size();
    state_.world.commit(change, -1);
    state_.epoch++;
    state_.epoch_began_ms = state_.now_ms;
    state_.journal.add(state_.now_ms, "left", {{"epoch", state_.epoch},
                                   {"old_size", old_size},
                                   {"size", state_.world.size()},
                                   {"leaving", change.leaving},
                                   {"hosts", hosts},
                                   {"uids", uids}});
}

/* SL3.  A proxy that has not heard that its process was let go is about to. */
void Step::on_broke(const Process &process)
{
    if (!process.may_exit)
        state_.post({process.agent()}, STEP_BREAK, 0,
                    {reinterpret_cast<const char *>(&process.uid), sizeof process.uid});
}

/* A process of a job that changes through sets has ended: it may do so at any time, by itself. */
void Step::set_process_over(const Process &process, bool by_itself, const std::string &cause)
{
    bool has_entered = process.ready && state_.adaptation && state_.adaptation->state == AdaptState::TAKEN &&
                       !state_.adaptation->awaited.contains(process.uid);
    if (state_.is_joining(process) && !(has_entered && by_itself))
        raise(AdaptEvent::JOINER_LOST, cause);
    else
        set_member_over(process, by_itself, cause);
    bool others_come = state_.adaptation && state_.adaptation->state == AdaptState::TAKEN;
    if (state_.world.living() > 0 || others_come)
        return;
    state_.ending = true;
    if (state_.adaptation)
        raise(AdaptEvent::JOB_ENDED, "the job ended (" + cause + ")");
    job_over();
}

void Step::set_member_over(const Process &process, bool by_itself, const std::string &cause)
{
    if (!by_itself && process.may_exit) {
        state_.effects.notify_user(state_.effects.context, (cause + " when it was to leave; the others go on").c_str());
    } else if (!by_itself) {
        state_.ending = state_.broken = true;
        if (state_.adaptation)
            raise(AdaptEvent::MEMBER_LOST, cause);
    }
    if (left_at_ms_ < 0)
        left_at_ms_ = state_.now_ms + LEFT_MS;
    if (state_.adaptation && state_.adaptation->change.joining == 0)
        leaving_over(process, cause);
    late_.erase(process.uid);
    if (!state_.notified || state_.notified->uid != process.uid)
        return;
    take_notified();
    sets_.notify(UINT32_MAX);
    if (state_.adaptation && state_.adaptation->state == AdaptState::TOLD)
        raise(AdaptEvent::TELLER_ENDED);
}

/* After every event.  SF1: the next caller is notified; but whoever meets with those who would join has been notified
 * of them by the one that has ended, and there may be nobody else who calls.  SI8: nobody waits because of that one.
 * */
void Step::consider_orphan()
{
    if (state_.adaptation && state_.adaptation->state == AdaptState::ORPHANED && sets_.are_proposed_awaited())
        raise(AdaptEvent::ABANDONED, "who was told of it has ended, and others wait for those who would join");
}

/* A process has ended that a removal counted on, before a process was notified; or its end is awaited. */
void Step::leaving_over(const Process &process, const std::string &cause)
{
    Adaptation &a = *state_.adaptation;
    if (before_agreement(a.state))
        return raise(AdaptEvent::WITHDRAW, cause + " by itself: ask again");
    if (!a.awaited.contains(process.uid))
        return;
    a.left_hosts[process.host]++;
    a.left_uids.push_back(process.uid);
    is_there(process.uid);
}

}  // namespace elastic
