/*
 * See step.h: calls on process sets (psets.h).  Calls arrive from the proxies of the calling processes, and replies go
 * back to these proxies.
 */

#include "stepmgr/step/step.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "stepmgr/proto/call_bytes.h"

namespace elastic {

bool Step::add_set(const std::string &name, const SetMembers &members)
{
    return sets_.add(name, members);
}

/* A world of more processes than a set can have is none. */
void Step::add_world(uint32_t epoch, const std::vector<uint32_t> &uids)
{
    if (auto members = SetMembers::of_list(uids))
        sets_.add_world(epoch, std::move(*members));
}

/* W2: those that stay, and then those that join. */
void Step::add_coming_world()
{
    std::vector<uint32_t> uids;
    for (const Process *member : state_.world.members()) {
        if (!state_.is_leaving(*member))
            uids.push_back(member->uid);
    }
    if (state_.adaptation->group >= 0) {
        for (const Process &process : state_.world.processes(state_.adaptation->group))
            uids.push_back(process.uid);
    }
    add_world(state_.adaptation->epoch, uids);
}

/* Sets need to know of every begin and end, also in a job that does not adapt: proxies report them from now on. */
void Step::use_sets()
{
    if (!std::exchange(sets_used_, true))
        state_.post(World::agents_of(state_.world.members()), STEP_SETS, 0, "");
}

static SetSync::Held held(const Process &process, const SetReport &report)
{
    const char *bytes = reinterpret_cast<const char *>(report.call.data());
    return {process.agent(), report.rank, report.id, std::string(bytes, report.call.size())};
}

static bool is_lookup(Bytes call)
{
    return CallBytes(call).number() == PMI_SET_LOOK;
}

/* Calls that processes make without a reply (MPIR_Session_call_post).  Other calls would wait here without a bound. */
static bool may_go_unanswered(Bytes call)
{
    uint32_t what = CallBytes(call).number();
    return what == PMI_SET_MADE || what == PMI_SET_ENTERED || what == PMI_SET_ACCEPT;
}

void Step::on_set_call(Process &process, SetReport &report)
{
    if (process.ended)
        return state_.unexpected("call on a set of " + state_.describe(process) + ", which has ended");
    if (report.id == 0 && !may_go_unanswered(report.call))
        return state_.unexpected("call of " + state_.describe(process) +
                                 " that has an answer, and nobody waits for it");
    lookups_ += is_lookup(report.call);
    count_starts();
    has_begun(process.uid);
    bool may_be_accepted = notified_ && notified_->uid != process.uid && sets_.may_tell_accept(report.call);
    if (may_be_accepted || sets_.may_be_about_granted({process.uid, report.id, 0}, report.call)) {
        set_sync_.hold(held(process, report));
        return sync_sets();
    }
    answer_as_of_starts(process, report);
}

/* Messages of a process that may make sets by itself, and accept an addition without a reply, are passed on before
 * others get a reply (SA1). */
void Step::sync_sets()
{
    while (set_sync_.is_due()) {
        const Process *teller = notified_ ? find_member(notified_->uid) : nullptr;
        if (!teller || teller->ended || state_.world.disconnected(teller->agent())) {
            go_on(set_sync_.take_next(), &Step::answer_as_of_starts);
            continue;
        }
        uint64_t number = set_sync_.begin({teller->agent()});
        std::string payload(reinterpret_cast<const char *>(&number), sizeof number);
        payload.append(reinterpret_cast<const char *>(&teller->uid), sizeof teller->uid);
        state_.post({teller->agent()}, STEP_SYNC, 0, payload);
    }
}

void Step::on_synced(const Agent &agent, uint64_t number)
{
    auto held = set_sync_.answered(agent, number);
    if (!held && !state_.world.disconnected(agent))
        return state_.unexpected("answer that nobody waits for");
    go_on(held.value_or(SetSync::Calls()), &Step::answer_as_of_starts);
    sync_sets();
}

void Step::go_on(const SetSync::Calls &calls, void (Step::*with)(Process &, const SetReport &))
{
    for (const SetSync::Held &held : calls) {
        Process *process = state_.world.find(held.agent.group, static_cast<int>(held.rank));
        if (!process || process->ended)
            continue;
        SetReport report = {held.rank, held.id,
                            {reinterpret_cast<const unsigned char *>(held.call.data()), held.call.size()}};
        (this->*with)(*process, report);
    }
}

/* ---- processes of the launch that have not begun to use MPI (SR1) ----------------------------------------- */

/* The caller has begun; the proxies of all others are queried. */
void Step::count_starts()
{
    if (unbegun_)
        return;
    unbegun_.emplace();
    for (const Process &process : state_.world.processes(0)) {
        if (process.init != InitMode::UNKNOWN || process.ended)
            continue;
        unbegun_->insert(process.uid);
        sets_.start(process.uid);
    }
}

/* Or has ended. */
void Step::has_begun(uint32_t uid)
{
    if (unbegun_ && unbegun_->erase(uid) > 0)
        sets_.run(uid);
}

/* A process that has begun may have notified the caller so: it is not starting to anybody from then on (SA1). */
void Step::answer_as_of_starts(Process &process, const SetReport &report)
{
    if (unbegun_->empty() || !sets_.tells_of_starts(report.call))
        return carry_out_set_call(process, report);
    set_starts_.hold(held(process, report));
    query_starts();
}

void Step::query_starts()
{
    while (set_starts_.is_due()) {
        std::set<Agent> agents;
        for (uint32_t uid : *unbegun_) {
            const Process *process = state_.world.find(0, static_cast<int>(uid));
            if (process && !state_.world.disconnected(process->agent()))
                agents.insert(process->agent());
        }
        if (agents.empty()) {
            go_on(set_starts_.take_next(), &Step::carry_out_set_call);
            continue;
        }
        uint64_t number = set_starts_.begin(agents);
        state_.post(agents, STEP_STARTS, 0, {reinterpret_cast<const char *>(&number), sizeof number});
    }
}

bool Step::on_started(const Agent &agent, const StartedReport &report)
{
    for (uint32_t rank : report.ranks) {
        const Process *process = state_.world.find(agent.group, static_cast<int>(rank));
        if (!process || process->agent() != agent)
            return false;
        has_begun(process->uid);
    }
    if (report.number == 0)
        return true;
    auto held = set_starts_.answered(agent, report.number);
    go_on(held.value_or(SetSync::Calls()), &Step::carry_out_set_call);
    query_starts();
    return held.has_value();
}

void Step::carry_out_set_call(Process &process, const SetReport &report)
{
    state_.callers[process.uid] = process.agent();
    sets_.grow(state_.next_uid);
    SetCaller caller = {process.uid, report.id, number_of(process.agent())};
    if (auto task = parse_task_call(report.call))
        return tasks_.on_task_call(caller, *task);
    if (auto change = parse_change_call(report.call))
        return on_change_call(process, caller, *change);
    auto neighbours = is_lookup(report.call) ? state_.world.living_of(process.agent()) : std::vector<uint32_t>();
    std::erase(neighbours, process.uid);
    std::vector<Sets::Reply> replies = sets_.call(caller, report.call, neighbours);
    if (sets_.used())
        use_sets();
    log_sets();
    send_set_replies(replies);
}

/* A proxy has given others an answer in which these business cards are sent. */
bool Step::on_set_shared(const Agent &agent, const SharedReport &report)
{
    if (!report.bcs.empty() && report.bcs.greatest() >= state_.next_uid)
        return false;
    for (uint32_t rank : report.ranks) {
        const Process *process = state_.world.find(agent.group, static_cast<int>(rank));
        if (!process || process->agent() != agent)
            return false;
        if (!process->ended)
            sets_.mark_bcs_known(process->uid, report.bcs);
    }
    return true;
}

/* ---- whether an awaited process will come (SI8) ------------------------------------------------------------- */

/* Its proxy looks.  A process that has ended, or is not there, does not come. */
std::optional<std::string> Step::answer_change(Process &, const SetCaller &caller, const QueryArrival &call)
{
    const Process *member = find_member(call.uid);
    auto other = state_.callers.find(call.uid); /* one that has joined, and whose change is not complete */
    bool there = member && !member->ended;
    if ((!there && other == state_.callers.end()) || state_.world.disconnected(there ? member->agent() : other->second))
        return SetAnswer().number(0).bytes();
    Agent agent = there ? member->agent() : other->second;
    uint64_t number = ++last_arrival_query_;
    pending_arrivals_[number] = {caller, agent};
    std::string payload(reinterpret_cast<const char *>(&number), sizeof number);
    payload.append(reinterpret_cast<const char *>(&call.creation), sizeof call.creation);
    payload.append(reinterpret_cast<const char *>(&call.uid), sizeof call.uid);
    state_.post({agent}, STEP_COMES, 0, payload);
    return std::nullopt;
}

bool Step::on_comes(const Agent &agent, const ComesReport &report)
{
    auto requested = pending_arrivals_.find(report.number);
    if (requested == pending_arrivals_.end() || requested->second.agent != agent)
        return state_.world.disconnected(agent);
    SetCaller caller = requested->second.caller;
    pending_arrivals_.erase(requested);
    send_set_replies({{caller, SetAnswer().number(report.comes ? 1 : 0).bytes()}});
    return true;
}

void Step::comes_without(const Agent &agent)
{
    std::vector<Sets::Reply> replies;
    for (const auto &[number, requested] : pending_arrivals_) {
        if (requested.agent == agent)
            replies.push_back({requested.caller, SetAnswer().number(0).bytes()});
    }
    std::erase_if(pending_arrivals_, [&](const auto &entry) { return entry.second.agent == agent; });
    if (!replies.empty())
        send_set_replies(replies);
}

void Step::on_bcast(const Agent &agent, const bcast_frozen &count)
{
    send_set_replies(sets_.frozen(number_of(agent), count));
}

void Step::sets_without(const Process &process)
{
    state_.callers.erase(process.uid);
    has_begun(process.uid);
    tasks_.tasks_without(process.uid);
    pset_request_without(process);
    send_set_replies(sets_.ended(process.uid));
}

/* ---- the step protocol ------------------------------------------------------------------------------------ */

namespace {

/* "3,0-2" */
std::string format_members(const SetMembers &members, size_t runs_max)
{
    std::string text;
    for (const SetMembers::Run &run : members.runs()) {
        if (runs_max-- == 0)
            return text + ",...";
        text += (text.empty() ? "" : ",") + std::to_string(run.first);
        if (run.count > 1)
            text += "-" + std::to_string(run.first + run.count - 1);
    }
    return text;
}

const char *name_of(pmi_set_state state)
{
    switch (state) {
        case PMI_SET_PROPOSED: return "proposed";
        case PMI_SET_STARTING: return "starting";
        case PMI_SET_RUNNING: return "running";
        case PMI_SET_ENDED: return "ended";
    }
    return "?";
}

}  // namespace

/* Bounded, as a program may make sets as fast as it likes: those who follow have other events to hear of. */
void Step::log_sets()
{
    for (const Sets::Change &change : sets_.take_changes()) {
        if (!set_event_rate_.allows(state_.now_ms)) {
            set_events_skipped_++;
            continue;
        }
        log_skipped_sets();
        Json fields = {{"name", change.name},
                       {"serial", change.serial},
                       {"size", change.members.size()},
                       {"uids", format_members(change.members, PSET_RUNS_MAX)}};
        if (*change.why)
            fields["reason"] = change.why;
        state_.journal.add(state_.now_ms, change.event, fields);
    }
}

void Step::log_skipped_sets()
{
    if (uint64_t count = std::exchange(set_events_skipped_, 0))
        state_.journal.add(state_.now_ms, "sets_untold", {{"count", count}});
}

/* One more is looked for, to know whether there are more. */
std::string Step::answer_psets(const Json &id, const PsetsRequest &request) const
{
    std::vector<Sets::View> views = sets_.view(request.after, PSETS_MAX + 1);
    bool more = views.size() > PSETS_MAX;
    views.resize(std::min(views.size(), PSETS_MAX));
    Json psets = Json::array();
    for (const Sets::View &view : views)
        psets.push_back({{"name", view.name},
                         {"serial", view.serial},
                         {"size", view.size},
                         {"state", name_of(view.state)},
                         {"uids", format_members(*view.members, PSET_RUNS_MAX)}});
    return write_answer(id, {{"serial", sets_.serial()}, {"psets", psets}, {"more", more}, {"looks", lookups_}});
}

/* ---- answers to processes --------------------------------------------------------------------------------- */

/* Before an answer that contradicts than a process may cache. */
void Step::invalidate_sets()
{
    std::set<Agent> agents;
    for (uint64_t number : sets_.take_outdated()) {
        if (Agent agent = agent_of(number); !state_.world.disconnected(agent))
            agents.insert(agent);
    }
    if (agents.empty())
        return;
    uint64_t number = invalidation_.begin(agents);
    state_.post(agents, STEP_FORGET, 0, {reinterpret_cast<const char *>(&number), sizeof number});
}

void Step::on_invalidated(const Agent &agent, uint64_t number)
{
    if (invalidation_.confirmed(agent, number))
        send_set_answers();
    else if (!state_.world.disconnected(agent))
        state_.unexpected("confirmation that nobody waits for");
}

void Step::send_set_replies(const std::vector<Sets::Reply> &replies)
{
    invalidate_sets();
    for (const SetBcasts::Order &order : sets_.take_orders()) {
        std::set<Agent> to;
        for (uint64_t agent : order.agents)
            to.insert(agent_of(agent));
        state_.post(to, STEP_BCAST, 0, {reinterpret_cast<const char *>(&order.order), sizeof order.order});
    }
    for (const Sets::Reply &reply : replies)
        invalidation_.add(reply);
    send_set_answers();
}

void Step::send_set_answers()
{
    for (Sets::Reply &reply : invalidation_.take_answers()) {
        auto caller = state_.callers.find(reply.caller.uid);
        if (caller == state_.callers.end() || reply.caller.id == 0)
            continue;           /* has ended meanwhile, or does not wait */
        std::string payload;
        append_number(payload, reply.caller.uid);
        append_number(payload, reply.caller.id);
        bool is_shared = !reply.others.empty();
        if (is_shared) {
            reply.others.push_back(reply.caller.uid);   /* may query once more */
            append_members(payload, *SetMembers::of_list(reply.others));
            append_members(payload, *SetMembers::of_list(reply.bcs));
        }
        payload += reply.answer;
        state_.post({caller->second}, is_shared ? STEP_SET_SHARED : STEP_SET_ANSWER, 0, payload);
    }
}

}  // namespace elastic
