/* See process_sets.h: replies, invalidation, events, lists for clients. */

#include "stepmgr/psets/process_sets.h"

#include <algorithm>
#include <utility>

#include "stepmgr/proto/call_bytes.h"

namespace elastic {

/* ---- the step protocol ----------------------------------------------------------------------- */

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

/* The rate is limited: a program may make sets very fast, and clients need other events too. */
void ProcessSets::log_changes()
{
    for (const Sets::Change &change : sets_.take_changes()) {
        if (!event_rate_.allows(state_.now_ms)) {
            events_skipped_++;
            continue;
        }
        log_skipped();
        Json fields = {{"name", change.name},
                       {"serial", change.serial},
                       {"size", change.members.size()},
                       {"uids", format_members(change.members, PSET_RUNS_MAX)}};
        if (*change.why)
            fields["reason"] = change.why;
        state_.journal.add(state_.now_ms, change.event, fields);
    }
}

void ProcessSets::log_skipped()
{
    if (uint64_t count = std::exchange(events_skipped_, 0))
        state_.journal.add(state_.now_ms, "sets_untold", {{"count", count}});
}

/* Takes one more set, to see whether there are more. */
std::string ProcessSets::answer_psets(const Json &id, const PsetsRequest &request) const
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
    return write_answer(
        id, {{"serial", sets_.serial()}, {"psets", psets}, {"more", more}, {"looks", lookups_}});
}

/* ---- answers to processes -------------------------------------------------------------------- */

/* Called before a reply that contradicts data which a process may cache. */
void ProcessSets::invalidate()
{
    std::set<ProxyId> proxy_ids;
    for (uint64_t number : sets_.take_outdated()) {
        if (ProxyId proxy_id = proxy_id_of(number); !state_.world.disconnected(proxy_id))
            proxy_ids.insert(proxy_id);
    }
    if (proxy_ids.empty())
        return;
    uint64_t number = invalidation_.begin(proxy_ids);
    state_.post(proxy_ids, STEP_INVALIDATE, 0,
                {reinterpret_cast<const char *>(&number), sizeof number});
}

void ProcessSets::on_invalidated(const ProxyId &proxy_id, uint64_t number)
{
    if (invalidation_.confirmed(proxy_id, number))
        send_answers();
    else if (!state_.world.disconnected(proxy_id))
        state_.unexpected("confirmation that is not expected");
}

void ProcessSets::send_replies(const std::vector<Sets::Reply> &replies)
{
    invalidate();
    for (const SetBcasts::Order &order : sets_.take_orders()) {
        std::set<ProxyId> to;
        for (uint64_t proxy_id : order.proxy_ids)
            to.insert(proxy_id_of(proxy_id));
        state_.post(to, STEP_BCAST, 0,
                    {reinterpret_cast<const char *>(&order.order), sizeof order.order});
    }
    for (const Sets::Reply &reply : replies)
        invalidation_.add(reply);
    send_answers();
}

void ProcessSets::send_answers()
{
    for (Sets::Reply &reply : invalidation_.take_answers()) {
        auto caller = state_.callers.find(reply.caller.uid);
        if (caller == state_.callers.end() || reply.caller.id == 0)
            continue;           /* the process has ended meanwhile, or does not wait */
        std::string payload;
        append_number(payload, reply.caller.uid);
        append_number(payload, reply.caller.id);
        bool is_shared = !reply.others.empty();
        if (is_shared) {
            /* the caller may send the same query again */
            reply.others.push_back(reply.caller.uid);
            append_members(payload, *SetMembers::of_list(reply.others));
            append_members(payload, *SetMembers::of_list(reply.bcs));
        }
        payload += reply.answer;
        state_.post({caller->second}, is_shared ? STEP_SET_SHARED : STEP_SET_ANSWER, 0, payload);
    }
}

}  // namespace elastic
