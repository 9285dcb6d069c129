/* See process_sets.h: calls, processes that have not begun to use MPI, processes that are
 * awaited. */

#include "stepmgr/psets/process_sets.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "stepmgr/proto/call_bytes.h"

namespace elastic {

/* A world with more processes than a set can have is not added. */
void ProcessSets::add_world(uint32_t epoch, const std::vector<uint32_t> &uids)
{
    if (auto members = SetMembers::of_list(uids))
        sets_.add_world(epoch, std::move(*members));
}

/* W2: first the staying, then the joining processes. */
void ProcessSets::add_coming_world()
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

/* Sets need every begin and end of a process, also in a job that does not adapt.  Proxies report
 * them from now on. */
void ProcessSets::track_ends()
{
    if (!std::exchange(tracks_ends_, true))
        state_.post(World::proxies_of(state_.world.members()), STEP_SETS, 0, "");
}

static SetSync::Held held(const Process &process, const SetReport &report)
{
    const char *bytes = reinterpret_cast<const char *>(report.call.data());
    return {process.proxy_id(), report.rank, report.id, std::string(bytes, report.call.size())};
}

static bool is_lookup(Bytes call)
{
    return CallBytes(call).number() == PMI_SET_LOOK;
}

/* Calls that processes make without a reply (MPIR_Session_call_post).  Other calls would wait here
 * without a bound. */
static bool may_go_unanswered(Bytes call)
{
    uint32_t what = CallBytes(call).number();
    return what == PMI_SET_MADE || what == PMI_SET_ENTERED || what == PMI_SET_ACCEPT;
}

void ProcessSets::on_call(Process &process, SetReport &report)
{
    if (process.ended)
        return state_.unexpected("call on a set of " + state_.describe(process) +
                                 ", which has ended");
    if (report.id == 0 && !may_go_unanswered(report.call))
        return state_.unexpected("call of " + state_.describe(process) +
                                 " without an id for its reply");
    lookups_ += is_lookup(report.call);
    count_starts();
    has_begun(process.uid);
    bool may_be_accepted = state_.notified && state_.notified->uid != process.uid &&
                           sets_.may_report_accept(report.call);
    if (may_be_accepted || sets_.may_be_about_granted({process.uid, report.id, 0}, report.call)) {
        sync_.hold(held(process, report));
        return sync();
    }
    answer_as_of_starts(process, report);
}

/* A process that may make sets by itself may also accept an addition without a reply.  Its messages
 * are forwarded before others get a reply (SA1). */
void ProcessSets::sync()
{
    while (sync_.is_due()) {
        const Process *teller =
            state_.notified ? state_.world.find_member(state_.notified->uid) : nullptr;
        if (!teller || teller->ended || state_.world.disconnected(teller->proxy_id())) {
            continue_with(sync_.take_next(), &ProcessSets::answer_as_of_starts);
            continue;
        }
        uint64_t number = sync_.begin({teller->proxy_id()});
        std::string payload(reinterpret_cast<const char *>(&number), sizeof number);
        payload.append(reinterpret_cast<const char *>(&teller->uid), sizeof teller->uid);
        state_.post({teller->proxy_id()}, STEP_SYNC, 0, payload);
    }
}

void ProcessSets::on_synced(const ProxyId &proxy_id, uint64_t number)
{
    auto held = sync_.answered(proxy_id, number);
    if (!held && !state_.world.disconnected(proxy_id))
        return state_.unexpected("reply that is not expected");
    continue_with(held.value_or(SetSync::Calls()), &ProcessSets::answer_as_of_starts);
    sync();
}

void ProcessSets::continue_with(const SetSync::Calls &calls,
                                void (ProcessSets::*with)(Process &, const SetReport &))
{
    for (const SetSync::Held &held : calls) {
        Process *process = state_.world.find(held.proxy_id.group, static_cast<int>(held.rank));
        if (!process || process->ended)
            continue;
        SetReport report = {
            held.rank,
            held.id,
            {reinterpret_cast<const unsigned char *>(held.call.data()), held.call.size()}};
        (this->*with)(*process, report);
    }
}

/* ---- processes of the launch that have not begun to use MPI (SR1) ---------------------------- */

/* The caller has begun to use MPI. All other processes of the launch count as not begun until their
 * proxies reply. */
void ProcessSets::count_starts()
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

/* The process has begun to use MPI, or has ended. */
void ProcessSets::has_begun(uint32_t uid)
{
    if (unbegun_ && unbegun_->erase(uid) > 0)
        sets_.run(uid);
}

/* A process that has begun may have notified the caller of that; from then on no reply may show it
 * as starting (SA1). */
void ProcessSets::answer_as_of_starts(Process &process, const SetReport &report)
{
    if (unbegun_->empty() || !sets_.reports_starts(report.call))
        return carry_out(process, report);
    starts_.hold(held(process, report));
    query_starts();
}

void ProcessSets::query_starts()
{
    while (starts_.is_due()) {
        std::set<ProxyId> proxy_ids;
        for (uint32_t uid : *unbegun_) {
            const Process *process = state_.world.find(0, static_cast<int>(uid));
            if (process && !state_.world.disconnected(process->proxy_id()))
                proxy_ids.insert(process->proxy_id());
        }
        if (proxy_ids.empty()) {
            continue_with(starts_.take_next(), &ProcessSets::carry_out);
            continue;
        }
        uint64_t number = starts_.begin(proxy_ids);
        state_.post(proxy_ids, STEP_STARTS, 0,
                    {reinterpret_cast<const char *>(&number), sizeof number});
    }
}

bool ProcessSets::on_started(const ProxyId &proxy_id, const StartedReport &report)
{
    for (uint32_t rank : report.ranks) {
        const Process *process = state_.world.find(proxy_id.group, static_cast<int>(rank));
        if (!process || process->proxy_id() != proxy_id)
            return false;
        has_begun(process->uid);
    }
    if (report.number == 0)
        return true;
    auto held = starts_.answered(proxy_id, report.number);
    continue_with(held.value_or(SetSync::Calls()), &ProcessSets::carry_out);
    query_starts();
    return held.has_value();
}

void ProcessSets::carry_out(Process &process, const SetReport &report)
{
    state_.callers[process.uid] = process.proxy_id();
    sets_.grow(state_.next_uid);
    SetCaller caller = {process.uid, report.id, number_of(process.proxy_id())};
    if (auto task = parse_task_call(report.call))
        return hooks_.task_call(caller, *task);
    if (auto change = parse_change_call(report.call))
        return hooks_.change_call(process, caller, *change);
    auto neighbours = is_lookup(report.call) ? state_.world.living_of(process.proxy_id())
                                             : std::vector<uint32_t>();
    std::erase(neighbours, process.uid);
    std::vector<Sets::Reply> replies = sets_.call(caller, report.call, neighbours);
    if (sets_.used())
        track_ends();
    log_changes();
    send_replies(replies);
}

/* A proxy has passed a reply with these business cards to other processes. */
bool ProcessSets::on_shared(const ProxyId &proxy_id, const SharedReport &report)
{
    if (!report.bcs.empty() && report.bcs.greatest() >= state_.next_uid)
        return false;
    for (uint32_t rank : report.ranks) {
        const Process *process = state_.world.find(proxy_id.group, static_cast<int>(rank));
        if (!process || process->proxy_id() != proxy_id)
            return false;
        if (!process->ended)
            sets_.mark_bcs_known(process->uid, report.bcs);
    }
    return true;
}

/* ---- ends of proxies ------------------------------------------------------------------------- */

ProcessSets::FreeCalls ProcessSets::proxy_disconnected(const ProxyId &proxy_id)
{
    invalidation_.disconnected(proxy_id);
    SetSync::Calls synced = sync_.disconnected(proxy_id);
    return {std::move(synced), starts_.disconnected(proxy_id)};
}

void ProcessSets::continue_calls(const ProxyId &proxy_id, const FreeCalls &calls)
{
    send_answers();
    arrivals_without(proxy_id);
    continue_with(calls.synced, &ProcessSets::answer_as_of_starts);
    continue_with(calls.started, &ProcessSets::carry_out);
    sync();
    query_starts();
}

/* ---- whether an awaited process will come (SI8) ---------------------------------------------- */

/* The proxy of the process replies.  A process that has ended or does not exist will not take
 * part. */
std::optional<std::string> ProcessSets::query_arrival(const SetCaller &caller,
                                                      const QueryArrival &call)
{
    const Process *member = state_.world.find_member(call.uid);
    auto other =
        state_.callers.find(call.uid); /* has joined, but its change is not complete */
    bool there = member && !member->ended;
    if ((!there && other == state_.callers.end()) ||
        state_.world.disconnected(there ? member->proxy_id() : other->second))
        return SetAnswer().number(0).bytes();
    ProxyId proxy_id = there ? member->proxy_id() : other->second;
    uint64_t number = ++last_arrival_query_;
    pending_arrivals_[number] = {caller, proxy_id};
    std::string payload(reinterpret_cast<const char *>(&number), sizeof number);
    payload.append(reinterpret_cast<const char *>(&call.creation), sizeof call.creation);
    payload.append(reinterpret_cast<const char *>(&call.uid), sizeof call.uid);
    state_.post({proxy_id}, STEP_COMES, 0, payload);
    return std::nullopt;
}

bool ProcessSets::on_comes(const ProxyId &proxy_id, const ComesReport &report)
{
    auto requested = pending_arrivals_.find(report.number);
    if (requested == pending_arrivals_.end() || requested->second.proxy_id != proxy_id)
        return state_.world.disconnected(proxy_id);
    SetCaller caller = requested->second.caller;
    pending_arrivals_.erase(requested);
    send_replies({{caller, SetAnswer().number(report.comes ? 1 : 0).bytes()}});
    return true;
}

void ProcessSets::arrivals_without(const ProxyId &proxy_id)
{
    std::vector<Sets::Reply> replies;
    for (const auto &[number, requested] : pending_arrivals_) {
        if (requested.proxy_id == proxy_id)
            replies.push_back({requested.caller, SetAnswer().number(0).bytes()});
    }
    std::erase_if(pending_arrivals_,
                  [&](const auto &entry) { return entry.second.proxy_id == proxy_id; });
    if (!replies.empty())
        send_replies(replies);
}

void ProcessSets::on_bcast(const ProxyId &proxy_id, const BcastReport &count)
{
    send_replies(sets_.frozen(number_of(proxy_id), count));
}

}  // namespace elastic
