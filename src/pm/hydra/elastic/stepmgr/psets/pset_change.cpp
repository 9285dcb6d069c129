/*
 * See step.h: a change through process sets, from the first process that asks for it to its end.  One process is told,
 * and accepts or declines for all; nobody else waits.  A request that adds and removes is two changes.  SR1, SR3-SR9,
 * SR11, SJ1, SL1, SF1-SF3, SW1.
 */

#include <algorithm>
#include <cassert>
#include <utility>

#include "stepmgr/step.h"

namespace elastic {

namespace {

constexpr size_t LOOKS_MAX = 8; /* at sets, for who has been let go */

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
    log_sets();
    if (answer)
        tell_sets({{caller, std::move(*answer)}});
}

/* ---- a job that changes through sets ------------------------------------------------------------------------ */

/* SW1 */
std::string Step::cannot_be_dynamic() const
{
    bool some_adapt = std::ranges::any_of(
        world_.members(), [](const Process *process) { return process->init == InitMode::ADAPTIVE; });
    bool windows = mode_ == InitMode::ADAPTIVE || (mode_ != InitMode::SETS && some_adapt);
    return windows ? SetAnswer::error(PMI_SET_WINDOWS, "the program has called MPI_Init_adapt, so that its processes "
                                                       "change in windows, not through process sets")
                   : "";
}

std::optional<std::string> Step::answer_change(Process &, const SetCaller &, const BecomeDynamic &)
{
    if (std::string error = cannot_be_dynamic(); !error.empty())
        return error;
    if (mode_ != InitMode::SETS)
        become_dynamic();
    return SetAnswer().bytes();
}

void Step::become_dynamic()
{
    mode_ = InitMode::SETS;
    epoch_began_ms_ = now_ms_;
    use_sets();
    say_by_sets();
    log("adaptive", {{"size", world_.size()}, {"mode", "sets"}});
    offers_.adaptive(now_ms_);
    if (adaptation_ && !ending_)
        begin();
}

/* SW1: before anybody is told so, MPI_Init_adapt is refused everywhere. */
void Step::say_by_sets()
{
    std::set<Agent> agents = World::agents_of(world_.members());
    uint64_t number = set_forgets_.begin(agents);
    post(agents, STEP_BY_SETS, 0, {reinterpret_cast<const char *>(&number), sizeof number});
}

/* ---- from the request to the offer -------------------------------------------------------------------------- */

void Step::begin_set_change()
{
    Adaptation &a = *adaptation_;
    a.tag = ++last_tag_;
    for (int rank : a.asked.leave.value_or(std::vector<int>{}))
        a.chosen.push_back(world_.members()[static_cast<size_t>(rank)]->uid);
    a.ready_ms = now_ms_;       /* if nobody joins */
    if (a.change.joining > 0)
        return launch();
    announce_removal();
    raise(AdaptEvent::NOBODY_JOINS);
}

/* Before anybody can be told of it, nobody remembers that no change removes him. */
void Step::announce_removal()
{
    if (std::exchange(stay_told_, false))
        sets_.outdate_all();
    tell_sets({});
}

/* Whom joining processes may get to know before anybody is told of them: all that run, if they know each other. */
SetMembers Step::who_can_be_introduced() const
{
    std::vector<uint32_t> uids;
    for (const Process *member : world_.members())
        uids.push_back(member->uid);
    auto running = SetMembers::of_list(uids);
    return running && sets_.know_each_other(*running) ? *running : SetMembers();
}

/* Others than joining processes that ask so were started in other ways. */
std::optional<std::string> Step::answer_change(Process &process, const SetCaller &caller, const EnterJob &call)
{
    if (mode_ != InitMode::SETS || !is_joiner(process))
        return SetAnswer().number(0).number(0).bytes();
    if (adaptation_->state != AdaptState::JOINING || process.ready)
        return wrong("the calling process waits already");
    sets_.give_card(process.uid, call.card);
    if (!adaptation_->known)
        adaptation_->known = who_can_be_introduced();
    SetAnswer answer;
    answer.number(1);
    sets_.tell_cards(caller, *adaptation_->known, answer);
    return answer.bytes();
}

/* A joining process waits for its change; one whose change has come to nothing waits for its own end. */
std::optional<std::string> Step::answer_change(Process &process, const SetCaller &caller, const AwaitAccept &call)
{
    bool joins = mode_ == InitMode::SETS && is_joiner(process);
    if (!joins && process.group > 0 && process.world_rank < 0)
        return std::nullopt;
    if (!joins)
        return wrong("the calling process does not join");
    if (adaptation_->state != AdaptState::JOINING || process.ready)
        return wrong("the calling process waits already");
    process.ready = true;
    adaptation_->introduced = adaptation_->introduced && call.introduced;
    adaptation_->entering.push_back(caller);
    log("ready", {{"rank", process.rank}, {"host", process.host}, {"uid", process.uid}});
    if (--adaptation_->unready == 0) {
        adaptation_->ready_ms = now_ms_;
        raise(AdaptEvent::ALL_READY);
    }
    return std::nullopt;
}

/* ---- telling it --------------------------------------------------------------------------------------------- */

/* SR4: whom the resource manager has chosen, if the set holds them; else the set's last members. */
std::optional<SetMembers> Step::choose_leaving(const SetMembers &bound) const
{
    const Adaptation &a = *adaptation_;
    std::vector<uint32_t> running, leaving;
    for (const Process *process : world_.members()) {
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

/* Those of a removal that have ended before it was accepted, too: it is told once more (SF1). */
std::optional<SetMembers> Step::all_processes() const
{
    std::vector<uint32_t> uids;
    for (const Process *member : world_.members())
        uids.push_back(member->uid);
    auto running = SetMembers::of_list(uids);
    if (!running || !adaptation_ || !adaptation_->delta)
        return running;
    const SetMembers *both[] = {&*running, &*adaptation_->delta};
    return SetMembers::union_of(both);
}

/* Nothing: it is not for whoever names this set. */
std::optional<SetMembers> Step::choose_delta(const SetMembers &bound) const
{
    const Adaptation &a = *adaptation_;
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
    if (mode_ != InitMode::SETS)
        become_dynamic();
    drop_ended();
    sets_.give_card(caller.uid, call.card);
    std::string error;
    SetOperand bound = call.bound;
    if (bound.name.empty() && !bound.members)
        bound.members = all_processes();
    auto members = sets_.look_up(bound, error);
    if (!members)
        return error;
    bool may_be_told = adaptation_ && process.world_rank >= 0 &&
                       find_set_transition(adaptation_->state, AdaptEvent::ASKED);
    auto delta = may_be_told ? choose_delta(*members) : std::nullopt;
    if (!delta)
        return only(PMI_SET_CHANGE_NONE);
    if (call.only_look)
        return only(adaptation_->change.joining > 0 ? PMI_SET_CHANGE_ADD : PMI_SET_CHANGE_SUB);
    return tell_change(process, *delta) ? answer_told(caller) : sets_.tell_full();
}

/* SR2: a process asks when its board says so.  Boards of processes that are not members yet need not know. */
void Step::tell_offer()
{
    bool can_be_told = mode_ == InitMode::SETS && adaptation_ &&
                       find_set_transition(adaptation_->state, AdaptEvent::ASKED);
    uint32_t offer = can_be_told ? adaptation_->tag : 0;
    if (std::exchange(offer_, offer) != offer)
        post(World::agents_of(world_.members()), STEP_OFFER, 0, {reinterpret_cast<const char *>(&offer), sizeof offer});
}

/* False: there is no room for its set. */
bool Step::tell_change(const Process &process, const SetMembers &delta)
{
    Adaptation &a = *adaptation_;
    bool adds = a.change.joining > 0;
    if (!a.delta) {
        a.delta_name = sets_.add_delta(a.tag, adds ? PMI_SET_OP_ADD : PMI_SET_OP_SUB, delta);
        if (a.delta_name.empty())
            return false;
        a.delta = delta;
        for (const Process *member : world_.members()) {
            if (!adds && delta.contains(member->uid))
                a.awaited.insert(member->uid);
        }
    }
    if (told_ && (told_->complete || told_->lost))
        late_.insert_or_assign(told_->uid, *told_);
    late_.erase(process.uid);
    told_ = ToldChange{a.tag, process.uid};
    sets_.tell(process.uid);
    log_sets();
    log("told", {{"uid", process.uid}, {"tag", told_->tag}, {"name", a.delta_name}});
    raise(AdaptEvent::ASKED);
    return true;
}

/* SR11; who is told looks at the delta next. */
std::string Step::answer_told(const SetCaller &caller)
{
    const Adaptation &a = *adaptation_;
    int new_size = a.change.joining > 0 ? a.old_size + a.change.joining : a.change.new_size;
    SetAnswer answer;
    answer.number(a.change.joining > 0 ? PMI_SET_CHANGE_ADD : PMI_SET_CHANGE_SUB)
        .text(a.delta_name)
        .number(told_->tag)
        .data({{"mpix_reason", a.reason},
               {"mpix_deadline", std::to_string(a.deadline_unix_ms / 1000)},
               {"mpix_old_size", std::to_string(a.old_size + a.added)},
               {"mpix_new_size", std::to_string(new_size)}});
    std::string latest = sets_.find_latest(caller.uid, a.delta_name);
    answer.number(latest.empty() ? 1 : 2);
    sets_.look(caller, a.delta_name, answer);
    if (!latest.empty())
        sets_.look(caller, latest, answer);
    bool introduced = a.change.joining > 0 && a.introduced && a.known && a.known->contains(caller.uid);
    uint32_t first = sets_.grant(caller.uid);
    return answer.number(introduced ? 1 : 0).number(first).number(first ? PMI_SET_GRANT : 0).bytes();
}

/* SI4 */
std::optional<std::string> Step::answer_change(Process &process, const SetCaller &caller, const AskLeaves &)
{
    bool removes = mode_ == InitMode::SETS && adaptation_ && adaptation_->change.joining == 0;
    bool leaves = removes && adaptation_->delta && adaptation_->delta->contains(process.uid);
    if (!removes)
        tell_stays(caller);
    return SetAnswer().number(leaves ? 1 : 0).number(removes ? 0 : 1).bytes();
}

/* That no change removes the caller; it may remember that until there is a removal. */
void Step::tell_stays(const SetCaller &caller)
{
    sets_.remembers(caller);
    stay_told_ = true;
}

/* It is not told any more; whoever was has said all that it had to say before. */
ToldChange Step::take_told()
{
    sets_.end_grant();
    return *std::exchange(told_, std::nullopt);
}

/* What this process was told last, under this tag, and has not answered.  SR9: another one may be told the next change
 * before. */
std::optional<ToldChange> Step::take_told_of(uint32_t uid, uint32_t tag)
{
    if (told_ && told_->uid == uid && told_->tag == tag)
        return take_told();
    auto late = late_.find(uid);
    if (late == late_.end() || late->second.tag != tag)
        return std::nullopt;
    ToldChange told = late->second;
    late_.erase(late);
    return told;
}

/* ---- the answer of the process that was told ---------------------------------------------------------------- */

/* A removal may be complete before it is accepted (SR9), and an addition may have failed (SF2). */
std::optional<std::string> Step::answer_change(Process &process, const SetCaller &, const AcceptChange &call)
{
    if (std::string error = cannot_be_dynamic(); !error.empty())
        return error;
    auto told = take_told_of(process.uid, call.tag);
    if (!told)
        return tag_is_wrong(call.tag);
    if (told->lost)
        return SetAnswer::error(PMI_SET_LOST, "processes that were to join have ended");
    log("accepted", {{"uid", process.uid}, {"tag", told->tag}});
    if (!told->complete) {
        adaptation_->keys = call.keys;
        taken();
    }
    return SetAnswer().bytes();
}

/* SL3: who is to leave has until the deadline, if there is one. */
void Step::taken()
{
    Adaptation &a = *adaptation_;
    a.agreed_ms = now_ms_;
    sets_.delta_accepted();
    plan_behind();
    if (a.behind_at_ms >= 0 && a.change.joining == 0 && a.deadline_unix_ms > unix_now_ms())
        a.behind_at_ms = static_cast<int64_t>(a.deadline_unix_ms) - unix_ms_at_zero_;
    raise(AdaptEvent::TAKE);
}

std::optional<std::string> Step::answer_change(Process &process, const SetCaller &, const DeclineChange &call)
{
    if (std::string error = cannot_be_dynamic(); !error.empty())
        return error;
    auto told = take_told_of(process.uid, call.tag);
    if (!told)
        return tag_is_wrong(call.tag);
    if (told->complete) {       /* it can be accepted only */
        late_.insert_or_assign(process.uid, *told);
        return tag_is_wrong(call.tag);
    }
    if (told->lost)
        return SetAnswer().bytes();
    log("declined", {{"uid", process.uid}, {"tag", told->tag}});
    tell_sets(sets_.free_delta());
    raise(AdaptEvent::DECLINE, "declined");
    return SetAnswer().bytes();
}

void Step::start_joiners()
{
    Adaptation &a = *adaptation_;
    std::vector<Sets::Reply> replies;
    if (a.change.joining == 0)
        return let_go();
    sets_.start_proposed();
    SetMembers known = introduce_joiners(replies);
    for (const SetCaller &caller : a.entering) {
        a.awaited.insert(caller.uid);
        SetAnswer answer;
        answer.text(a.delta_name).number(a.tag).data(a.keys);
        sets_.look_since(caller, a.delta_name, LOOKS_MAX, answer);
        tell_stays(caller);
        replies.push_back({caller, answer.number(1).members(known).bytes()});
    }
    tell_sets(replies);
}

/* Whom the joining processes, and those of each other, need not meet; whoever waits for them to is answered.  Nobody,
 * if there are others by now whom these know. */
SetMembers Step::introduce_joiners(std::vector<Sets::Reply> &replies)
{
    const Adaptation &a = *adaptation_;
    std::vector<uint32_t> uids;
    if (!a.introduced || !a.known)
        return {};
    for (const SetMembers::Run &run : a.known->runs()) {
        for (uint32_t uid = run.first; uid < run.first + run.count; uid++) {
            const Process *member = find_member(uid);
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
void Step::let_go()
{
    std::set<Agent> agents;
    std::string uids;
    for (Process *member : world_.members()) {
        if (!adaptation_->awaited.contains(member->uid))
            continue;
        member->let_go = true;
        agents.insert(member->agent());
        uids.append(reinterpret_cast<const char *>(&member->uid), sizeof member->uid);
    }
    post(agents, STEP_LET_GO, 0, uids);
}

std::optional<std::string> Step::answer_change(Process &process, const SetCaller &, const HasEntered &)
{
    bool awaited = adaptation_ && adaptation_->state == AdaptState::TAKEN && is_joiner(process) &&
                   adaptation_->awaited.contains(process.uid);
    if (!awaited)
        return wrong("nobody waits for the calling process");
    sets_.run(process.uid);
    is_there(process.uid);
    return SetAnswer().bytes();
}

void Step::is_there(uint32_t uid)
{
    adaptation_->awaited.erase(uid);
    if (!adaptation_->awaited.empty())
        return;
    bool others_leave = std::ranges::any_of(adaptation_->chosen, [&](uint32_t chosen) { return find_member(chosen); });
    bool adds = adaptation_->change.joining > 0;
    raise(adds && others_leave ? AdaptEvent::ADDED : AdaptEvent::ALL_THERE);
}

/* SR6.  Those that have ended meanwhile need not leave any more. */
void Step::offer_removal()
{
    Adaptation &a = *adaptation_;
    world_.commit({{}, a.change.joining, 0}, a.group);
    a.added = std::exchange(a.change.joining, 0);
    log("added", {{"size", world_.size()}});
    tell_sets(sets_.delta_over());
    sets_.tell(UINT32_MAX);
    std::erase_if(a.chosen, [&](uint32_t uid) { return !find_member(uid); });
    a.tag = ++last_tag_;
    a.group = -1;
    a.first_uid = 0;
    a.entering.clear();
    a.delta.reset();
    a.keys.clear();
    a.agreed_ms = 0;
    plan_behind();
    announce_removal();
}

/* ---- the end of a change ------------------------------------------------------------------------------------ */

void Step::complete_set_change()
{
    Adaptation &a = *adaptation_;
    epoch_ = a.epoch;
    epoch_began_ms_ = now_ms_;
    if (a.change.joining > 0) {
        world_.commit({{}, a.change.joining, 0}, a.group);
        a.change.leaving.clear();       /* they have ended before it was their turn */
        a.change.new_size = world_.size();
    } else {
        a.change.leaving.clear();       /* until somebody was told these were only so many */
        for (const Process *member : world_.members()) {
            if (a.delta->contains(member->uid))
                a.change.leaving.push_back(member->world_rank);
        }
        world_.commit(a.change, -1);
        a.change.joining = a.added;
    }
    if (statistics_.sizes.size() < SUMMARY_SIZES_MAX)
        statistics_.sizes.push_back(world_.size());
    statistics_.launch_ms += a.ready_ms - a.requested_ms;
    statistics_.agree_ms += (a.agreed_ms > 0 ? a.agreed_ms : now_ms_) - a.ready_ms;
    statistics_.window_ms += a.agreed_ms > 0 ? now_ms_ - a.agreed_ms : 0;
    Json freed = {{"request", a.request}, {"epoch", a.epoch}, {"hosts", a.left_hosts}, {"uids", a.left_uids}};
    end_set_change();
    finish();
    if (!freed.at("uids").empty())
        journal_.add(now_ms_, "freed", freed);
    drop_ended();
}

/* The removal of a request that does both has come to nothing: what was added is there. */
void Step::keep_addition()
{
    Adaptation &a = *adaptation_;
    a.state = AdaptState::COMMITTED;
    a.change = {{}, a.added, world_.size()};
    epoch_ = a.epoch;
    epoch_began_ms_ = now_ms_;
    if (statistics_.sizes.size() < SUMMARY_SIZES_MAX)
        statistics_.sizes.push_back(world_.size());
}

/* Whoever waits for joining processes that will not come is told so before they have ended. */
void Step::end_set_change()
{
    const Adaptation &a = *adaptation_;
    if (told_ && told_->tag == a.tag) {
        told_->complete = a.state == AdaptState::COMMITTED;
        told_->lost = !told_->complete;
    }
    tell_sets(sets_.delta_over());
    sets_.tell(UINT32_MAX);
    bool removed = a.state != AdaptState::COMMITTED && a.first_uid != 0;
    for (int i = 0; removed && i < a.change.joining; i++)
        tell_sets(sets_.ended(a.first_uid + static_cast<uint32_t>(i)));
}

/* ---- ends of processes -------------------------------------------------------------------------------------- */

/* SL1: who has ended outside of a removal is out of the world, and the resource manager is told.  All at once, as in a
 * large job they end one after the other; not while a change is under way, which was asked for with the ranks of
 * before, and not at the end of the job. */
void Step::drop_ended()
{
    Change change;
    std::vector<uint32_t> uids;
    std::map<std::string, int> hosts;

    left_at_ms_ = -1;
    if (mode_ != InitMode::SETS || adaptation_ || ending_ || world_.living() == world_.size())
        return;
    for (const Process *process : world_.members()) {
        if (!process->ended)
            continue;
        change.leaving.push_back(process->world_rank);
        uids.push_back(process->uid);
        hosts[process->host]++;
    }
    int old_size = world_.size();
    world_.commit(change, -1);
    epoch_++;
    epoch_began_ms_ = now_ms_;
    journal_.add(now_ms_, "left", {{"epoch", epoch_},
                                   {"old_size", old_size},
                                   {"size", world_.size()},
                                   {"leaving", change.leaving},
                                   {"hosts", hosts},
                                   {"uids", uids}});
}

/* SL3.  A daemon that has not heard that its process was let go is about to. */
void Step::on_broke(const Process &process)
{
    if (!process.let_go)
        post({process.agent()}, STEP_BREAK, 0, {reinterpret_cast<const char *>(&process.uid), sizeof process.uid});
}

/* A process of a job that changes through sets has ended: it may do so at any time, by itself. */
void Step::set_process_over(const Process &process, bool by_itself, const std::string &cause)
{
    bool has_entered = process.ready && adaptation_ && adaptation_->state == AdaptState::TAKEN &&
                       !adaptation_->awaited.contains(process.uid);
    if (is_joiner(process) && !(has_entered && by_itself))
        raise(AdaptEvent::JOINER_LOST, cause);
    else
        set_member_over(process, by_itself, cause);
    bool others_come = adaptation_ && adaptation_->state == AdaptState::TAKEN;
    if (world_.living() > 0 || others_come)
        return;
    ending_ = true;
    if (adaptation_)
        raise(AdaptEvent::JOB_ENDED, "the job ended (" + cause + ")");
    job_over();
}

void Step::set_member_over(const Process &process, bool by_itself, const std::string &cause)
{
    if (!by_itself && process.let_go) {
        effects_.tell_user(effects_.context, (cause + " when it was to leave; the others go on").c_str());
    } else if (!by_itself) {
        ending_ = broken_ = true;
        if (adaptation_)
            raise(AdaptEvent::MEMBER_LOST, cause);
    }
    if (left_at_ms_ < 0)
        left_at_ms_ = now_ms_ + LEFT_MS;
    if (adaptation_ && adaptation_->change.joining == 0)
        leaving_over(process, cause);
    late_.erase(process.uid);
    if (!told_ || told_->uid != process.uid)
        return;
    take_told();
    sets_.tell(UINT32_MAX);
    if (adaptation_ && adaptation_->state == AdaptState::TOLD)
        raise(AdaptEvent::TELLER_ENDED);
}

/* After every event.  SF1: the next caller is told; but whoever meets with those who would join has been told of them
 * by the one that has ended, and there may be nobody else who calls.  SI8: nobody waits because of that one. */
void Step::consider_orphan()
{
    if (adaptation_ && adaptation_->state == AdaptState::ORPHANED && sets_.are_proposed_awaited())
        raise(AdaptEvent::ABANDONED, "who was told of it has ended, and others wait for those who would join");
}

/* Of whom there are fewer than a removal counted on, before anybody was told; or one that is awaited. */
void Step::leaving_over(const Process &process, const std::string &cause)
{
    Adaptation &a = *adaptation_;
    if (before_agreement(a.state))
        return raise(AdaptEvent::WITHDRAW, cause + " by itself: ask again");
    if (!a.awaited.contains(process.uid))
        return;
    a.left_hosts[process.host]++;
    a.left_uids.push_back(process.uid);
    is_there(process.uid);
}

}  // namespace elastic
