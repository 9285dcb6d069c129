/* See step.h: what the rows of adaptation_table.h do. */

#include <algorithm>
#include <cassert>
#include <iterator>

#include "stepmgr/step.h"

namespace elastic {

namespace {

constexpr size_t LAUNCH_ERROR_BYTES = 1024;
constexpr int64_t PACE_MS = 2;          /* daemons see how fast the program probes */

const char *to_string(Source source)
{
    switch (source) {
        case Source::SCHEDULE: return "schedule";
        case Source::POLICY: return "policy";
        case Source::CLIENT: return "client";
        case Source::WISH: return "wish";
        case Source::PROGRAM: return "program";
    }
    return "?";
}

std::string sizes_of(const Adaptation &adaptation)
{
    return std::to_string(adaptation.old_size) + " -> " +
           std::to_string(adaptation.change.new_size) + " processes";
}

}  // namespace

/* An event of the adaptation under way, or of the step when there is none. */
void Step::log(const char *event, Json fields)
{
    Json all = Json::object();
    if (adaptation_) {
        all["request"] = adaptation_->request;
        all["epoch"] = adaptation_->epoch;
    }
    all.update(fields);
    journal_.add(now_ms_, event, all);
}

Adaptation &Step::accept(Source source, const std::string &origin, const ChangeRequest &asked,
                         const Change &change)
{
    assert(!adaptation_);
    Adaptation &a = adaptation_.emplace();
    a.request = next_request_++;
    a.source = source;
    a.origin = origin;
    a.asked = asked;
    a.change = change;
    a.old_size = world_.size();
    a.epoch = epoch_ + 1;       /* a withdrawn adaptation's number is used again: boards count on it */
    a.reason = origin;
    a.requested_ms = now_ms_;
    Json fields = {{"source", to_string(source)},
                   {"old_size", a.old_size},
                   {"size", change.new_size},
                   {"joining", change.joining},
                   {"leaving", change.leaving}};
    if (asked.program)
        fields["program"] = *asked.program;
    if (!asked.tag.empty())
        fields["tag"] = asked.tag;
    log("requested", fields);
    return a;
}

/* What a schedule or policy wants.  An entry that cannot be applied is skipped, with a line. */
void Step::offer(const Offer &offer)
{
    auto change = resolve(offer.change);
    if (!change) {
        journal_.add(now_ms_, "skipped", {{"origin", offer.origin}, {"reason", change.error()}});
        bool same_size = offer.change.size == world_.size() && !offer.change.leave;
        if (!same_size)
            effects_.tell_user(effects_.context,
                               (offer.origin + " is skipped: " + change.error()).c_str());
        return;
    }
    if (std::string why = why_no_room(change.value().new_size); !why.empty()) {
        journal_.add(now_ms_, "skipped", {{"origin", offer.origin}, {"reason", why}});
        offers_.postpone(now_ms_);
        return;
    }
    accept(offers_.is_schedule() ? Source::SCHEDULE : Source::POLICY, offer.origin, offer.change,
           change.value());
    begin();
}

void Step::begin()
{
    plan_behind();
    if (mode_ == InitMode::SETS)
        return begin_set_change();
    if (adaptation_->change.joining > 0)
        launch();
    else
        raise(AdaptEvent::NOBODY_JOINS);
}

void Step::launch()
{
    Adaptation &a = *adaptation_;
    if (mode_ == InitMode::SETS && next_uid_ + static_cast<uint32_t>(a.change.joining) > PMI_SET_PROCESSES_MAX)
        return raise(AdaptEvent::LAUNCH_REFUSED,
                     "a job that changes through process sets can have " + std::to_string(PMI_SET_PROCESSES_MAX) +
                         " processes over its life, and has had " + std::to_string(next_uid_) +
                         ": end it, and start it anew from a checkpoint");
    a.first_uid = next_uid_;
    next_uid_ += static_cast<uint32_t>(a.change.joining);       /* never used again, even if it fails */
    if (mode_ == InitMode::SETS)
        sets_.propose(a.first_uid, static_cast<uint32_t>(a.change.joining));
    log("launching", {{"joining", a.change.joining}, {"hosts", a.asked.hosts}});
    std::vector<const char *> hosts;
    for (const std::string &host : a.asked.hosts)
        hosts.push_back(host.c_str());
    char error[LAUNCH_ERROR_BYTES] = "";
    int group = -1;
    int status = effects_.launch(effects_.context, a.epoch, a.change.joining, a.asked.program.value_or(0),
                                 a.old_size, a.first_uid, a.source == Source::PROGRAM, hosts.data(),
                                 static_cast<int>(hosts.size()), &group, error, sizeof error);
    if (status != 0) {
        raise(AdaptEvent::LAUNCH_REFUSED,
              error[0] ? error : "the joining processes could not be started");
        return;
    }
    a.group = group;
    raise(AdaptEvent::LAUNCHED);
}

void Step::raise(AdaptEvent event, const std::string &why)
{
    const AdaptTransition *row = mode_ == InitMode::SETS ? find_set_transition(adaptation_->state, event)
                                                         : find_transition(adaptation_->state, event);
    if (!row) {
        unexpected(std::string(to_string(event)) + " while " + to_string(adaptation_->state));
        return;
    }
    adaptation_->state = row->next;
    if (adaptation_->end_reason.empty())
        adaptation_->end_reason = why;  /* the first cause; others follow from it */
    perform(row->action);
    if (adaptation_ && is_end(adaptation_->state)) {
        if (mode_ == InitMode::SETS)
            end_set_change();
        if (adaptation_->added > 0 && adaptation_->state != AdaptState::COMMITTED)
            keep_addition();
        finish();
    }
}

void Step::perform(AdaptAction action)
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
        case AdaptAction::START_JOINERS:
            return start_joiners();
        case AdaptAction::OFFER_REMOVAL:
            return offer_removal();
        case AdaptAction::COMPLETE:
            return complete_set_change();
        case AdaptAction::REMOVE_JOINERS:
            return remove_joiners();
        case AdaptAction::THAW:
            return thaw();
        case AdaptAction::ASK_COUNTS:
            return start_ending();
        case AdaptAction::ABORT_STEP:
            return abort_step();
    }
}

/* Step 4 begins: from here on boards know.  The plan goes first on each connection, so that it is
 * in place before anybody can be told.  The world gets it when the joining processes have taken it in:
 * a message that reaches one of them while it learns its sender's address would never be received. */
void Step::send_plan()
{
    Adaptation &a = *adaptation_;
    a.ready_ms = now_ms_;
    plan_behind();
    a.pre_agents = World::agents_of(world_.members());
    a.agents = a.pre_agents;
    std::span<const Process> joining;
    if (a.group >= 0) {
        joining = world_.processes(a.group);
        for (const Process &process : joining)
            a.prepare_owed.insert(process.agent());
        a.agents.insert(a.prepare_owed.begin(), a.prepare_owed.end());
    }
    a.plan = build_plan({a.epoch, a.deadline_unix_ms, a.reason, a.source == Source::PROGRAM}, a.change,
                        world_.members(), joining);
    log("plan", {{"bytes", a.plan.size()}, {"daemons", a.agents.size()}});
    if (a.plan.size() > STEP_PAYLOAD_MAX)
        return raise(AdaptEvent::PLAN_TOO_LARGE,
                     "the addresses of " + std::to_string(a.old_size + a.change.joining) + " processes are " +
                         std::to_string(a.plan.size()) + " bytes, and node daemons take " +
                         std::to_string(STEP_PAYLOAD_MAX) + " at once: ask for a smaller world");
    a.freeze_owed = a.pre_agents;
    a.commit_owed = a.agents;
    send(a.prepare_owed, STEP_PLAN, a.plan);
    if (a.prepare_owed.empty())
        send_plan_to_world();
}

/* Processes that probe soon have prepared themselves when they are told, and stand still for a
 * shorter time.  Those that do not are not waited for. */
void Step::send_plan_to_world()
{
    Adaptation &a = *adaptation_;
    send(a.pre_agents, STEP_PLAN, a.plan);
    a.plan.clear();
    planned_epoch_ = a.epoch;
    a.paced_ms = now_ms_ + (margin_ == 0 ? std::min(PACE_MS, prepare_ms_) : 0);
    std::set_difference(a.agents.begin(), a.agents.end(), a.greeted.begin(), a.greeted.end(),
                        std::inserter(a.prepare_hoped, a.prepare_hoped.end()));
    freeze_in(prepare_ms_);
}

void Step::freeze_in(int64_t ms)
{
    adaptation_->freeze_at_ms = now_ms_ + std::max<int64_t>(ms, 0);
    if (ms <= 0)
        send_freeze();
}

void Step::send_freeze()
{
    adaptation_->freeze_at_ms = -1;
    adaptation_->freeze_sent = true;
    for (const Agent &agent : adaptation_->pre_agents)
        freezes_unanswered_[agent]++;
    send(adaptation_->pre_agents, STEP_FREEZE, write_number(margin_));
}

void Step::send_target()
{
    Adaptation &a = *adaptation_;
    a.agreed_ms = now_ms_;
    plan_behind();
    log("target", {{"target", a.target}});
    add_coming_world();
    send(a.agents, STEP_TARGET, write_number(a.target));
}

/* Step 6: the new world is the world. */
void Step::release()
{
    Adaptation &a = *adaptation_;
    epoch_ = a.epoch;
    epoch_began_ms_ = now_ms_;
    std::vector<Process *> left = world_.commit(a.change, a.group);
    if (statistics_.sizes.size() < SUMMARY_SIZES_MAX)
        statistics_.sizes.push_back(world_.size());
    statistics_.launch_ms += a.ready_ms - a.requested_ms;
    statistics_.agree_ms += a.agreed_ms - a.ready_ms;
    statistics_.window_ms += now_ms_ - a.agreed_ms;
    send(a.agents, STEP_RELEASE, {});
    finish();
    depart(left);
    if (world_.living() == 0)
        job_over();
}

void Step::depart(const std::vector<Process *> &left)
{
    if (left.empty())
        return;
    Departure departure{last_end_.request, static_cast<int>(left.size()), {}, {}};
    for (Process *process : left) {
        process->left_epoch = epoch_;
        departure.uids.push_back(process->uid);
        departure.hosts[process->host]++;
        wish_without(*process, "the process that has made it has left");
    }
    departures_[epoch_] = std::move(departure);
    for (Process *process : left) {
        if (process->ended)     /* it did not wait to be released */
            leaver_over(*process);
    }
}

void Step::thaw()
{
    send(adaptation_->pre_agents, STEP_THAW, {});
    remove_joiners();
}

void Step::remove_joiners()
{
    if (adaptation_->group < 0)
        return;
    killed_groups_.insert(adaptation_->group);
    effects_.kill_group(effects_.context, adaptation_->group);
}

void Step::abort_step()
{
    ending_ = broken_ = true;
    std::string what = "adaptation " + std::to_string(adaptation_->epoch) + " (" + sizes_of(*adaptation_) + ")";
    adaptation_->end_reason =
        told_to_end_.empty() ? adaptation_->end_reason + ", after " + what +
                                   " was agreed on and before all processes had committed it"
                             : told_to_end_ + " while " + what + " was under way, and no process goes on";
    effects_.abort_step(effects_.context, adaptation_->end_reason.c_str());
}

/* The one end of the request. */
void Step::finish()
{
    Adaptation &a = *adaptation_;
    const char *result = to_string(a.state);
    bool committed = a.state == AdaptState::COMMITTED;
    Json fields = {{"source", to_string(a.source)},
                   {"old_size", a.old_size},
                   {"size", committed ? a.change.new_size : a.old_size},
                   {"joining", a.change.joining},
                   {"leaving", a.change.leaving},
                   {"duration_ms", now_ms_ - a.requested_ms}};
    if (!a.end_reason.empty())
        fields["reason"] = a.end_reason;
    log(result, fields);

    (committed                          ? statistics_.committed
     : a.state == AdaptState::WITHDRAWN ? statistics_.withdrawn
                                        : statistics_.failed)++;
    if (a.state == AdaptState::WITHDRAWN && ending_ && !broken_)
        tell_unfinished();
    if (a.state == AdaptState::FAILED && !ending_)
        effects_.tell_user(effects_.context, ("adaptation " + std::to_string(a.epoch) + " (" +
                                              sizes_of(a) + ", " + a.origin + ") failed: " +
                                              a.end_reason + "; the job goes on as it was").c_str());
    if (a.waiter) {
        fields.update({{"request", a.request}, {"epoch", a.epoch}, {"result", result}});
        effects_.reply(effects_.context, a.waiter->client,
                       write_answer(a.waiter->id, {{"end", fields}}).c_str());
    }
    tell_unreceived();
    last_end_ = {a.request, a.state, committed ? "" : a.end_reason};
    Adaptation ended = std::move(*adaptation_);
    adaptation_.reset();
    if (mode_ == InitMode::SETS && world_.living() < world_.size())
        left_at_ms_ = now_ms_;
    wish_after(ended);
    if (offers_.ended(now_ms_, committed) && !ending_)
        effects_.tell_user(effects_.context, "the adaptation policy stops: too many adaptations in "
                                             "a row were not committed");
}

void Step::send(const std::set<Agent> &agents, step_command command, std::string_view payload)
{
    post(agents, command, adaptation_->epoch, payload);
}

/* To those that have not departed. */
void Step::post(const std::set<Agent> &agents, step_command command, uint32_t epoch, std::string_view payload)
{
    std::vector<step_agent> to;
    for (const Agent &agent : agents) {
        if (!world_.departed(agent) || task_worlds_.contains(agent.group))
            to.push_back({agent.group, agent.proxy});
    }
    if (!to.empty())
        effects_.send(effects_.context, to.data(), static_cast<int>(to.size()), command, epoch, payload.data(),
                      payload.size());
}

}  // namespace elastic
