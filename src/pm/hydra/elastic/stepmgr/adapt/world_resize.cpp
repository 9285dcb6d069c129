/* See world_resize.h: the actions of the rows of adaptation_table.h. */

#include "stepmgr/adapt/world_resize.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "stepmgr/adapt/plan.h"
#include "stepmgr/proto/protocol.h"

namespace elastic {

namespace {

constexpr size_t LAUNCH_ERROR_BYTES = 1024;
constexpr int64_t PACE_MS = 2;  /* time in which proxies measure the rate of probes */

std::string sizes_of(const Adaptation &adaptation)
{
    return std::to_string(adaptation.old_size) + " -> " +
           std::to_string(adaptation.change.new_size) + " processes";
}

}  // namespace

const Adaptation &WorldResize::accept(const SizeRequest &request, const Change &change)
{
    assert(!state_.adaptation);
    Adaptation &a = state_.adaptation.emplace();
    a.request = next_request_++;
    a.origin = request.origin;
    a.label = request.label();
    a.requested = request.wanted;
    a.change = change;
    a.old_size = state_.world.size();
    /* the epoch of a withdrawn adaptation is used again, as boards require */
    a.epoch = state_.epoch + 1;
    a.reason = request.reason.empty() ? a.label : request.reason.substr(0, REASON_MAX_BYTES);
    a.deadline_unix_ms = request.deadline_unix_ms;
    a.requested_ms = state_.now_ms;
    Json fields = {{"source", to_string(a.origin)},
                   {"old_size", a.old_size},
                   {"size", change.new_size},
                   {"joining", change.joining},
                   {"leaving", change.leaving}};
    if (a.requested.program)
        fields["program"] = *a.requested.program;
    if (!a.requested.tag.empty())
        fields["tag"] = a.requested.tag;
    state_.log("requested", fields);
    return a;
}

void WorldResize::begin()
{
    hooks_.schedule_straggler_report();
    if (state_.mode == InitMode::SETS)
        return hooks_.begin_pset_change();
    if (state_.adaptation->change.joining > 0)
        launch();
    else
        raise(AdaptEvent::NOBODY_JOINS);
}

void WorldResize::launch()
{
    Adaptation &a = *state_.adaptation;
    a.first_uid = state_.next_uid;
    /* never used again, even if it fails */
    state_.next_uid += static_cast<uint32_t>(a.change.joining);
    state_.log("launching", {{"joining", a.change.joining}, {"hosts", a.requested.hosts}});
    std::vector<const char *> hosts;
    for (const std::string &host : a.requested.hosts)
        hosts.push_back(host.c_str());
    char error[LAUNCH_ERROR_BYTES] = "";
    int group = -1;
    int status = state_.effects.launch(state_.effects.context, a.epoch, a.change.joining,
                                       a.requested.program.value_or(0), a.old_size, a.first_uid,
                                       a.origin == Origin::MODIFY, hosts.data(),
                                       static_cast<int>(hosts.size()), &group, error, sizeof error);
    if (status != 0) {
        raise(AdaptEvent::LAUNCH_REFUSED,
              error[0] ? error : "the joining processes could not be started");
        return;
    }
    a.group = group;
    raise(AdaptEvent::LAUNCHED);
}

void WorldResize::raise(AdaptEvent event, const std::string &why)
{
    const AdaptTransition *row = state_.mode == InitMode::SETS
                                     ? find_set_transition(state_.adaptation->state, event)
                                     : find_transition(state_.adaptation->state, event);
    if (!row) {
        state_.unexpected(std::string(to_string(event)) + " while " +
                          to_string(state_.adaptation->state));
        return;
    }
    state_.adaptation->state = row->next;
    if (state_.adaptation->end_reason.empty())
        /* the first cause; later ones are its consequences */
        state_.adaptation->end_reason = why;
    perform(row->action);
    if (state_.adaptation && is_end(state_.adaptation->state)) {
        if (state_.mode == InitMode::SETS)
            hooks_.end_pset_change();
        finish();
    }
}

void WorldResize::perform(AdaptAction action)
{
    switch (action) {
        case AdaptAction::NONE:
            return;
        case AdaptAction::SEND_PLAN:
            return send_plan();
        case AdaptAction::SEND_TARGET:
            return send_target();
        case AdaptAction::RELEASE:
            return release();
        case AdaptAction::START_JOINING:
        case AdaptAction::OFFER_REMOVAL:
        case AdaptAction::COMPLETE:
            return hooks_.act_on_psets(action);
        case AdaptAction::REMOVE_JOINING:
            return remove_joining();
        case AdaptAction::THAW:
            return thaw();
        case AdaptAction::QUERY_COUNTS:
            return hooks_.query_counts();
        case AdaptAction::ABORT_STEP:
            return abort_step();
    }
}

/* Step 4 begins.  The plan is the first message on each connection, so that boards have it before a
 * process can be notified.  The world gets it after the joining processes have prepared for it: a
 * joining process could never receive a message that arrives before it has the sender's address. */
void WorldResize::send_plan()
{
    Adaptation &a = *state_.adaptation;
    a.ready_ms = state_.now_ms;
    hooks_.schedule_straggler_report();
    a.pre_proxies = World::proxies_of(state_.world.members());
    a.proxy_ids = a.pre_proxies;
    std::span<const Process> joining;
    if (a.group >= 0) {
        joining = state_.world.processes(a.group);
        for (const Process &process : joining)
            a.prepare_pending.insert(process.proxy_id());
        a.proxy_ids.insert(a.prepare_pending.begin(), a.prepare_pending.end());
    }
    a.plan = build_plan({a.epoch, a.deadline_unix_ms, a.reason, a.origin == Origin::MODIFY},
                        a.change, state_.world.members(), joining);
    state_.log("plan", {{"bytes", a.plan.size()}, {"daemons", a.proxy_ids.size()}});
    if (a.plan.size() > STEP_PAYLOAD_MAX)
        return raise(AdaptEvent::PLAN_TOO_LARGE,
                     "the addresses of " + std::to_string(a.old_size + a.change.joining) +
                         " processes have " + std::to_string(a.plan.size()) +
                         " bytes, and a proxy accepts at most " + std::to_string(STEP_PAYLOAD_MAX) +
                         ": request a smaller world");
    a.freeze_pending = a.pre_proxies;
    a.commit_pending = a.proxy_ids;
    send(a.prepare_pending, STEP_PLAN, a.plan);
    if (a.prepare_pending.empty())
        send_plan_to_world();
}

/* Processes that probe soon have prepared when they are notified, and then wait for a shorter time.
 * The freeze does not wait for the others. */
void WorldResize::send_plan_to_world()
{
    Adaptation &a = *state_.adaptation;
    send(a.pre_proxies, STEP_PLAN, a.plan);
    a.plan.clear();
    planned_epoch_ = a.epoch;
    a.paced_ms = state_.now_ms + (margin_ == 0 ? std::min(PACE_MS, prepare_ms_) : 0);
    std::set_difference(a.proxy_ids.begin(), a.proxy_ids.end(), a.greeted.begin(), a.greeted.end(),
                        std::inserter(a.prepare_hoped, a.prepare_hoped.end()));
    freeze_in(prepare_ms_);
}

void WorldResize::freeze_in(int64_t ms)
{
    state_.adaptation->freeze_at_ms = state_.now_ms + std::max<int64_t>(ms, 0);
    if (ms <= 0)
        send_freeze();
}

void WorldResize::send_freeze()
{
    state_.adaptation->freeze_at_ms = -1;
    state_.adaptation->freeze_sent = true;
    for (const ProxyId &proxy_id : state_.adaptation->pre_proxies)
        freezes_pending_[proxy_id]++;
    send(state_.adaptation->pre_proxies, STEP_FREEZE, write_number(margin_));
}

void WorldResize::send_target()
{
    Adaptation &a = *state_.adaptation;
    a.agreed_ms = state_.now_ms;
    hooks_.schedule_straggler_report();
    state_.log("target", {{"target", a.target}});
    hooks_.add_coming_world();
    send(a.proxy_ids, STEP_TARGET, write_number(a.target));
}

/* Step 6: the new world becomes the present one. */
void WorldResize::release()
{
    Adaptation &a = *state_.adaptation;
    state_.epoch = a.epoch;
    state_.epoch_began_ms = state_.now_ms;
    std::vector<Process *> left = state_.world.commit(a.change, a.group);
    state_.statistics.add_size(state_.world.size());
    state_.statistics.add_times(a, state_.now_ms);
    send(a.proxy_ids, STEP_RELEASE, {});
    finish();
    track_left(left);
    if (state_.world.living() == 0)
        hooks_.job_over();
}

void WorldResize::track_left(const std::vector<Process *> &left)
{
    if (left.empty())
        return;
    LeftProcesses leaving{state_.last_end.request, static_cast<int>(left.size()), {}, {}};
    for (Process *process : left) {
        process->left_epoch = state_.epoch;
        leaving.uids.push_back(process->uid);
        leaving.hosts[process->host]++;
        hooks_.process_left(*process);
    }
    left_[state_.epoch] = std::move(leaving);
    for (Process *process : left) {
        if (process->ended)     /* it ended before the release */
            left_over(*process);
    }
}

void WorldResize::thaw()
{
    send(state_.adaptation->pre_proxies, STEP_THAW, {});
    remove_joining();
}

void WorldResize::remove_joining()
{
    if (state_.adaptation->group < 0)
        return;
    state_.killed_groups.insert(state_.adaptation->group);
    state_.effects.kill_group(state_.effects.context, state_.adaptation->group);
}

void WorldResize::abort_step()
{
    state_.ending = state_.broken = true;
    std::string what = "adaptation " + std::to_string(state_.adaptation->epoch) + " (" +
                       sizes_of(*state_.adaptation) + ")";
    state_.adaptation->end_reason =
        termination_.empty()
            ? state_.adaptation->end_reason + ", after " + what +
                  " was agreed on and before all processes had committed it"
            : termination_ + " while " + what + " was in progress, and all processes are ended";
    state_.effects.abort_step(state_.effects.context, state_.adaptation->end_reason.c_str());
}

/* The only end of the request. */
void WorldResize::finish()
{
    Adaptation &a = *state_.adaptation;
    const char *result = to_string(a.state);
    bool committed = a.state == AdaptState::COMMITTED;
    Json fields = {{"source", to_string(a.origin)},
                   {"old_size", a.old_size},
                   {"size", committed ? a.change.new_size : a.old_size},
                   {"joining", a.change.joining},
                   {"leaving", a.change.leaving},
                   {"duration_ms", state_.now_ms - a.requested_ms}};
    if (!a.end_reason.empty())
        fields["reason"] = a.end_reason;
    state_.log(result, fields);

    state_.statistics.add_end(a.state);
    if (a.state == AdaptState::WITHDRAWN && state_.ending && !state_.broken)
        hooks_.notify_unfinished();
    if (a.state == AdaptState::FAILED && !state_.ending)
        state_.notify_user("adaptation " + std::to_string(a.epoch) + " (" +
                           sizes_of(a) + ", " + a.label + ") failed: " +
                           a.end_reason + "; the job continues unchanged");
    if (a.waiter) {
        fields.update({{"request", a.request}, {"epoch", a.epoch}, {"result", result}});
        state_.reply(a.waiter->client, write_answer(a.waiter->id, {{"end", fields}}));
    }
    hooks_.notify_unreceived();
    state_.last_end = {a.request, a.state, committed ? "" : a.end_reason};
    Adaptation ended = std::move(*state_.adaptation);
    state_.adaptation.reset();
    hooks_.ended(ended);
}

void WorldResize::send(const std::set<ProxyId> &proxy_ids, step_command command,
                       std::string_view payload)
{
    state_.post(proxy_ids, command, state_.adaptation->epoch, payload);
}

}  // namespace elastic
