/* See step.h: process sets (psets.h).  Calls come from the daemons of those who ask, and the answers go back there. */

#include "stepmgr/step.h"

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
    for (const Process *member : world_.members()) {
        if (!is_leaving(*member))
            uids.push_back(member->uid);
    }
    if (adaptation_->group >= 0) {
        for (const Process &process : world_.processes(adaptation_->group))
            uids.push_back(process.uid);
    }
    add_world(adaptation_->epoch, uids);
}

/* Sets need to know of every begin and end, also in a job that does not adapt: daemons report them from now on. */
void Step::use_sets()
{
    if (!std::exchange(sets_used_, true))
        post(World::agents_of(world_.members()), STEP_SETS, 0, "");
}

static SetSync::Held held(const Process &process, const SetReport &report)
{
    const char *bytes = reinterpret_cast<const char *>(report.call.data());
    return {process.agent(), report.rank, report.id, std::string(bytes, report.call.size())};
}

static bool is_look(Bytes call)
{
    return CallBytes(call).number() == PMI_SET_LOOK;
}

/* Those that processes make so (MPIR_Session_call_say).  Of others as many as a process likes might wait here. */
static bool may_go_unanswered(Bytes call)
{
    uint32_t what = CallBytes(call).number();
    return what == PMI_SET_MADE || what == PMI_SET_ENTERED || what == PMI_SET_ACCEPT;
}

void Step::on_set_call(Process &process, SetReport &report)
{
    if (process.ended)
        return unexpected("call on a set of " + describe(process) + ", which has ended");
    if (report.id == 0 && !may_go_unanswered(report.call))
        return unexpected("call of " + describe(process) + " that has an answer, and nobody waits for it");
    looks_ += is_look(report.call);
    count_starts();
    has_begun(process.uid);
    bool may_be_accepted = told_ && told_->uid != process.uid && sets_.tells_of_accept(report.call);
    if (may_be_accepted || sets_.may_be_about_granted({process.uid, report.id, 0}, report.call)) {
        set_sync_.hold(held(process, report));
        return sync_sets();
    }
    answer_as_of_starts(process, report);
}

/* What has been said by who may make sets by itself, and accept an addition without being answered, is passed on before
 * others are answered (SA1). */
void Step::sync_sets()
{
    while (set_sync_.is_due()) {
        const Process *teller = told_ ? find_member(told_->uid) : nullptr;
        if (!teller || teller->ended || world_.departed(teller->agent())) {
            go_on(set_sync_.take_next(), &Step::answer_as_of_starts);
            continue;
        }
        uint64_t number = set_sync_.begin({teller->agent()});
        std::string payload(reinterpret_cast<const char *>(&number), sizeof number);
        payload.append(reinterpret_cast<const char *>(&teller->uid), sizeof teller->uid);
        post({teller->agent()}, STEP_SYNC, 0, payload);
    }
}

void Step::on_synced(const Agent &agent, uint64_t number)
{
    auto held = set_sync_.answered(agent, number);
    if (!held && !world_.departed(agent))
        return unexpected("answer that nobody waits for");
    go_on(held.value_or(SetSync::Calls()), &Step::answer_as_of_starts);
    sync_sets();
}

void Step::go_on(const SetSync::Calls &calls, void (Step::*with)(Process &, const SetReport &))
{
    for (const SetSync::Held &held : calls) {
        Process *process = world_.find(held.agent.group, static_cast<int>(held.rank));
        if (!process || process->ended)
            continue;
        SetReport report = {held.rank, held.id,
                            {reinterpret_cast<const unsigned char *>(held.call.data()), held.call.size()}};
        (this->*with)(*process, report);
    }
}

/* ---- processes of the launch that have not begun to use MPI (SR1) ----------------------------------------- */

/* Whoever asks for this has begun; for all others their daemons are asked. */
void Step::count_starts()
{
    if (unbegun_)
        return;
    unbegun_.emplace();
    for (const Process &process : world_.processes(0)) {
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

/* A process that has begun may have told the caller so: it is not starting to anybody from then on (SA1). */
void Step::answer_as_of_starts(Process &process, const SetReport &report)
{
    if (unbegun_->empty() || !sets_.tells_of_starts(report.call))
        return carry_out_set_call(process, report);
    set_starts_.hold(held(process, report));
    ask_for_starts();
}

void Step::ask_for_starts()
{
    while (set_starts_.is_due()) {
        std::set<Agent> agents;
        for (uint32_t uid : *unbegun_) {
            const Process *process = world_.find(0, static_cast<int>(uid));
            if (process && !world_.departed(process->agent()))
                agents.insert(process->agent());
        }
        if (agents.empty()) {
            go_on(set_starts_.take_next(), &Step::carry_out_set_call);
            continue;
        }
        uint64_t number = set_starts_.begin(agents);
        post(agents, STEP_STARTS, 0, {reinterpret_cast<const char *>(&number), sizeof number});
    }
}

bool Step::on_started(const Agent &agent, const StartedReport &report)
{
    for (uint32_t rank : report.ranks) {
        const Process *process = world_.find(agent.group, static_cast<int>(rank));
        if (!process || process->agent() != agent)
            return false;
        has_begun(process->uid);
    }
    if (report.number == 0)
        return true;
    auto held = set_starts_.answered(agent, report.number);
    go_on(held.value_or(SetSync::Calls()), &Step::carry_out_set_call);
    ask_for_starts();
    return held.has_value();
}

void Step::carry_out_set_call(Process &process, const SetReport &report)
{
    set_callers_[process.uid] = process.agent();
    sets_.grow(next_uid_);
    SetCaller caller = {process.uid, report.id, number_of(process.agent())};
    if (auto task = parse_task_call(report.call))
        return on_task_call(caller, *task);
    if (auto change = parse_change_call(report.call))
        return on_change_call(process, caller, *change);
    auto neighbours = is_look(report.call) ? world_.living_of(process.agent()) : std::vector<uint32_t>();
    std::erase(neighbours, process.uid);
    std::vector<Sets::Reply> replies = sets_.call(caller, report.call, neighbours);
    if (sets_.used())
        use_sets();
    log_sets();
    tell_sets(replies);
}

/* A daemon has given others an answer in which these cards are told. */
bool Step::on_set_shared(const Agent &agent, const SharedReport &report)
{
    if (!report.cards.empty() && report.cards.greatest() >= next_uid_)
        return false;
    for (uint32_t rank : report.ranks) {
        const Process *process = world_.find(agent.group, static_cast<int>(rank));
        if (!process || process->agent() != agent)
            return false;
        if (!process->ended)
            sets_.told_cards(process->uid, report.cards);
    }
    return true;
}

/* ---- whether an awaited process will come (SI8) ------------------------------------------------------------- */

/* Its daemon looks.  Who has ended, or is not there, does not come. */
std::optional<std::string> Step::answer_change(Process &, const SetCaller &caller, const AskComes &call)
{
    const Process *member = find_member(call.uid);
    auto other = set_callers_.find(call.uid);   /* one that has joined, and whose change is not complete */
    bool there = member && !member->ended;
    if ((!there && other == set_callers_.end()) || world_.departed(there ? member->agent() : other->second))
        return SetAnswer().number(0).bytes();
    Agent agent = there ? member->agent() : other->second;
    uint64_t number = ++last_asked_comes_;
    asked_comes_[number] = {caller, agent};
    std::string payload(reinterpret_cast<const char *>(&number), sizeof number);
    payload.append(reinterpret_cast<const char *>(&call.creation), sizeof call.creation);
    payload.append(reinterpret_cast<const char *>(&call.uid), sizeof call.uid);
    post({agent}, STEP_COMES, 0, payload);
    return std::nullopt;
}

bool Step::on_comes(const Agent &agent, const ComesReport &report)
{
    auto asked = asked_comes_.find(report.number);
    if (asked == asked_comes_.end() || asked->second.agent != agent)
        return world_.departed(agent);
    SetCaller caller = asked->second.caller;
    asked_comes_.erase(asked);
    tell_sets({{caller, SetAnswer().number(report.comes ? 1 : 0).bytes()}});
    return true;
}

void Step::comes_without(const Agent &agent)
{
    std::vector<Sets::Reply> replies;
    for (const auto &[number, asked] : asked_comes_) {
        if (asked.agent == agent)
            replies.push_back({asked.caller, SetAnswer().number(0).bytes()});
    }
    std::erase_if(asked_comes_, [&](const auto &entry) { return entry.second.agent == agent; });
    if (!replies.empty())
        tell_sets(replies);
}

void Step::on_bcast(const Agent &agent, const bcast_frozen &count)
{
    tell_sets(sets_.frozen(number_of(agent), count));
}

void Step::sets_without(const Process &process)
{
    set_callers_.erase(process.uid);
    has_begun(process.uid);
    tasks_without(process.uid);
    set_request_without(process);
    tell_sets(sets_.ended(process.uid));
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
        if (!set_event_rate_.allows(now_ms_)) {
            set_events_untold_++;
            continue;
        }
        log_untold_sets();
        Json fields = {{"name", change.name},
                       {"serial", change.serial},
                       {"size", change.members.size()},
                       {"uids", format_members(change.members, PSET_RUNS_MAX)}};
        if (*change.why)
            fields["reason"] = change.why;
        journal_.add(now_ms_, change.event, fields);
    }
}

void Step::log_untold_sets()
{
    if (uint64_t count = std::exchange(set_events_untold_, 0))
        journal_.add(now_ms_, "sets_untold", {{"count", count}});
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
    return write_answer(id, {{"serial", sets_.serial()}, {"psets", psets}, {"more", more}, {"looks", looks_}});
}

/* ---- answers to processes --------------------------------------------------------------------------------- */

/* Before an answer that tells otherwise than a process may remember. */
void Step::outdate_sets()
{
    std::set<Agent> agents;
    for (uint64_t number : sets_.take_outdated()) {
        if (Agent agent = agent_of(number); !world_.departed(agent))
            agents.insert(agent);
    }
    if (agents.empty())
        return;
    uint64_t number = set_forgets_.begin(agents);
    post(agents, STEP_FORGET, 0, {reinterpret_cast<const char *>(&number), sizeof number});
}

void Step::on_forgotten(const Agent &agent, uint64_t number)
{
    if (set_forgets_.confirmed(agent, number))
        send_set_answers();
    else if (!world_.departed(agent))
        unexpected("confirmation that nobody waits for");
}

void Step::tell_sets(const std::vector<Sets::Reply> &replies)
{
    outdate_sets();
    for (const SetBcasts::Order &order : sets_.take_orders()) {
        std::set<Agent> to;
        for (uint64_t agent : order.agents)
            to.insert(agent_of(agent));
        post(to, STEP_BCAST, 0, {reinterpret_cast<const char *>(&order.order), sizeof order.order});
    }
    for (const Sets::Reply &reply : replies)
        set_forgets_.add(reply);
    send_set_answers();
}

void Step::send_set_answers()
{
    for (Sets::Reply &reply : set_forgets_.take_answers()) {
        auto caller = set_callers_.find(reply.caller.uid);
        if (caller == set_callers_.end() || reply.caller.id == 0)
            continue;           /* has ended meanwhile, or does not wait */
        std::string payload;
        append_number(payload, reply.caller.uid);
        append_number(payload, reply.caller.id);
        bool is_shared = !reply.others.empty();
        if (is_shared) {
            reply.others.push_back(reply.caller.uid);   /* may ask once more */
            append_members(payload, *SetMembers::of_list(reply.others));
            append_members(payload, *SetMembers::of_list(reply.cards));
        }
        payload += reply.answer;
        post({caller->second}, is_shared ? STEP_SET_SHARED : STEP_SET_ANSWER, 0, payload);
    }
}

}  // namespace elastic
