/* See step.h: groups, proxies, processes and time. */

#include "stepmgr/step/step.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>

#include "stepmgr/state/step_status.h"

namespace elastic {

Result<std::unique_ptr<Step>> Step::create(const step_config &config, const step_effects &effects)
{
    auto source = SizeSource::create(config);
    if (!source)
        return Error{source.error()};
    return std::unique_ptr<Step>(new Step(config, effects, std::move(source.value())));
}

Step::Step(const step_config &config, const step_effects &effects, SizeSource source)
    : state_(config, effects),
      resize_(state_, config,
              {[this] { pset_changes_.begin(); },
               [this](AdaptAction action) { pset_changes_.perform(action); },
               [this] { pset_changes_.end(); },
               [this] { psets_.add_coming_world(); },
               [this] { stragglers_.schedule_straggler_report(); },
               [this] { stragglers_.start_ending(); },
               [this] { stragglers_.notify_unfinished(); },
               [this] { unreceived_.notify_user(); },
               [this](const Process &process) {
                   requests_.process_left(process, "the process that made the request has left");
               },
               [this](const Adaptation &ended) {
                   pset_departures_.adaptation_ended();
                   requests_.adaptation_ended(ended);
               },
               [this] { job_over(); }}),
      mode_(state_, resize_, requests_, [this](uint32_t uid) { psets_.has_begun(uid); }),
      psets_(state_, {[this](const SetCaller &caller, const TaskCall &call) {
                          tasks_.on_task_call(caller, call);
                      },
                      [this](Process &process, const SetCaller &caller, const ChangeCall &call) {
                          pset_operations_.on_change_call(process, caller, call);
                      }}),
      pset_mode_(state_, psets_, resize_, requests_), pset_departures_(state_),
      pset_changes_(state_, psets_, pset_mode_, pset_departures_, resize_, requests_,
                    {[this] { stragglers_.schedule_straggler_report(); },
                     [this] { job_over(); }}),
      pset_operations_(state_, psets_, pset_mode_, pset_departures_, pset_changes_, resize_,
                       requests_),
      requests_(state_, std::move(source), resize_,
                {[this](int size) { return tasks_.why_no_capacity(size); },
                 [this] { return tasks_.held(); },
                 [this] { pset_departures_.drop_ended(); },
                 [this] { return pset_operations_.is_open(); },
                 [this](SizeRequestEnd end, const std::string &reason) {
                     pset_operations_.size_request_ended(end, reason);
                 }}),
      resizes_(state_, requests_, resize_), unreceived_(state_), state_output_(state_, config),
      sampler_(state_), stragglers_(state_, config.straggler_ms,
                  {[this] {
                       return PsetChangeWait{psets_.pending_invalidation(),
                                             state_.notified ? state_.notified->uid : 0};
                   },
                   [this](AdaptEvent event) { resize_.raise(event); }}),
      tasks_(state_, config,
             {[this](const std::vector<SetReply> &replies) { psets_.send_replies(replies); },
              [this] { psets_.track_ends(); }})
{
}

/* ---- events from mpiexec --------------------------------------------------------------------- */

void Step::id(const std::string &step_id)
{
    state_.step_id = step_id;
    state_.journal.id(step_id);
}

void Step::group(int64_t now_ms, int group, std::span<const step_process> processes)
{
    state_.now_ms = now_ms;
    if (group == 0 && state_.world.size() == 0 && !state_.over)
        launch_started(processes);
    else if (state_.adaptation && state_.adaptation->group == group &&
             state_.adaptation->state == AdaptState::LAUNCHING)
        resize_.joining_started(group, processes);
    else if (tasks_.is_task_world(group))
        tasks_.task_world_started(group, processes);
    else if (!state_.is_apart(group))
        state_.unexpected("placement of group " + std::to_string(group));
    after_event();
}

void Step::launch_started(std::span<const step_process> processes)
{
    state_.world.add_group(0, 0, processes);
    state_.next_uid = static_cast<uint32_t>(processes.size());
    mode_.launched(processes.size());
    std::vector<uint32_t> uids(processes.size());
    std::iota(uids.begin(), uids.end(), 0u);
    psets_.add_world(0, uids);
    state_.statistics.add_size(state_.world.size());
    requests_.launched();
    state_.log("started", {{"program", state_.program}, {"size", state_.world.size()}});
    psets_.log_changes();
}

void Step::report(int64_t now_ms, const ProxyId &proxy_id, step_report report, uint32_t epoch,
                  Bytes payload)
{
    state_.now_ms = now_ms;
    auto process_of = [&](uint32_t rank) -> Process * {
        Process *process =
            rank > INT32_MAX ? nullptr : state_.world.find(proxy_id.group, static_cast<int>(rank));
        return process && process->proxy == proxy_id.number ? process : nullptr;
    };
    bool understood = false;
    switch (report) {
        case REPORT_INIT:
            if (auto init = parse_init(payload); init && process_of(init->rank))
                understood = true, mode_.on_init(*process_of(init->rank), *init);
            break;
        case REPORT_READY:
            if (auto ready = parse_ready(payload); ready && process_of(ready->rank))
                understood = true, resize_.on_ready(*process_of(ready->rank), epoch, *ready);
            break;
        case REPORT_UNABLE:
            if (auto unable = parse_unable(payload); unable && process_of(unable->rank))
                understood = true, resize_.on_unable(*process_of(unable->rank), epoch, unable->why);
            break;
        case REPORT_PREPARED:
            if (payload.empty() && state_.world.known(proxy_id))
                understood = true, resize_.on_prepared(proxy_id, epoch);
            break;
        case REPORT_GREETED:
            if (payload.empty() && state_.world.known(proxy_id))
                understood = true, resize_.on_greeted(proxy_id, epoch);
            break;
        case REPORT_FROZEN:
            if (auto frozen = parse_frozen(payload); frozen && state_.world.known(proxy_id))
                understood = true, resize_.on_frozen(proxy_id, epoch, frozen->ceiling);
            break;
        case REPORT_COMMITTED:
            if (payload.empty() && state_.world.known(proxy_id))
                understood = true, resize_.on_committed(proxy_id, epoch);
            break;
        case REPORT_COUNTS:
            if (auto counts = parse_counts(payload); counts && state_.world.known(proxy_id))
                understood = true, stragglers_.on_counts(proxy_id, epoch, counts->counts);
            break;
        case REPORT_PERFORMANCE:
            if (auto performance = parse_performance(payload);
                performance && state_.world.known(proxy_id))
                understood = true, sampler_.on_performance(proxy_id, epoch, *performance);
            break;
        case REPORT_LOOPS:
            if (auto loops = parse_loops(payload); loops && state_.world.known(proxy_id))
                understood = true, sampler_.on_loops(epoch, *loops);
            break;
        case REPORT_EXITED:
            if (auto exited = parse_exited(payload); exited && process_of(exited->rank))
                understood = true, on_exited(*process_of(exited->rank), exited->wait_status);
            break;
        case REPORT_SIZES:
            if (auto sizes = parse_sizes(payload); sizes && process_of(sizes->rank))
                understood = true, requests_.on_sizes(*sizes);
            break;
        case REPORT_SIZE_REQUEST:
            if (auto size_request = parse_size_request(payload);
                size_request && process_of(size_request->rank))
                understood = true,
                requests_.on_size_request(*process_of(size_request->rank), *size_request);
            break;
        case REPORT_SIZE_REQUEST_WITHDRAWN:
            if (auto withdrawn = parse_size_request_withdrawn(payload);
                withdrawn && process_of(withdrawn->rank))
                understood = true,
                requests_.on_withdrawn(*process_of(withdrawn->rank), withdrawn->number);
            break;
        case REPORT_SET_CALL:
            if (auto call = parse_set_report(payload); call && process_of(call->rank))
                understood = true, psets_.on_call(*process_of(call->rank), *call);
            break;
        case REPORT_BCAST:
            if (auto count = parse_bcast(payload))
                understood = true, psets_.on_bcast(proxy_id, *count);
            break;
        case REPORT_INVALIDATED:
            if (auto invalidated = parse_invalidated(payload);
                invalidated && state_.world.known(proxy_id))
                understood = true, psets_.on_invalidated(proxy_id, invalidated->number);
            break;
        case REPORT_SYNCED:
            if (auto synced = parse_synced(payload); synced && state_.world.known(proxy_id))
                understood = true, psets_.on_synced(proxy_id, synced->number);
            break;
        case REPORT_STARTED:
            if (auto started = parse_started(payload); started && state_.world.known(proxy_id))
                understood = psets_.on_started(proxy_id, *started);
            break;
        case REPORT_SET_SHARED:
            if (auto shared = parse_set_shared(payload); shared && state_.world.known(proxy_id))
                understood = psets_.on_shared(proxy_id, *shared);
            break;
        case REPORT_COMES:
            if (auto comes = parse_comes(payload); comes && state_.world.known(proxy_id))
                understood = psets_.on_comes(proxy_id, *comes);
            break;
        case REPORT_TASK:
            if (auto task = parse_task_report(payload))
                understood = tasks_.on_task(proxy_id, *task);
            break;
        case REPORT_BROKE:
            if (auto broke = parse_broke(payload); broke && process_of(broke->rank))
                understood = true, pset_changes_.on_aborted(*process_of(broke->rank));
            break;
        case REPORT_UNRECEIVED:
            if (auto unreceived = parse_unreceived(payload);
                unreceived && process_of(unreceived->rank))
                understood = true,
                unreceived_.on_report(*process_of(unreceived->rank), epoch, *unreceived);
            break;
    }
    if (!understood && !state_.is_apart(proxy_id.group))
        state_.unexpected("report " + std::to_string(static_cast<int>(report)) + " of " +
                   std::to_string(payload.size()) + " bytes from proxy " +
                   std::to_string(proxy_id.number) + " of group " + std::to_string(proxy_id.group));
    after_event();
}

void Step::proxy_disconnected(int64_t now_ms, const ProxyId &proxy_id)
{
    state_.now_ms = now_ms;
    bool unplaced = state_.adaptation && state_.adaptation->group == proxy_id.group &&
                    !state_.world.known(proxy_id);
    if (unplaced)
        resize_.raise(AdaptEvent::JOINING_FAILED,
                      "the proxy for the joining processes has ended");
    else if (!state_.world.known(proxy_id) && !state_.is_apart(proxy_id.group))
        state_.unexpected("end of unknown proxy " + std::to_string(proxy_id.number) + " of group " +
                   std::to_string(proxy_id.group));
    resize_.proxy_disconnected(proxy_id);
    ProcessSets::FreeCalls free_calls = psets_.proxy_disconnected(proxy_id);
    for (Process *process : state_.world.mark_disconnected(proxy_id)) {
        state_.world.mark_ended(*process);
        process_over(*process, false, "has failed with its proxy");
    }
    psets_.continue_calls(proxy_id, free_calls);
    tasks_.tasks_without(proxy_id);
    stragglers_.proxy_disconnected(proxy_id);
    sampler_.proxy_disconnected(proxy_id);
    after_event();
}

void Step::proxy_up(int64_t now_ms, int group)
{
    state_.now_ms = now_ms;
    tasks_.proxy_up(group);
    after_event();
}

void Step::time(int64_t now_ms)
{
    state_.now_ms = now_ms;
    if (wake_ms_ >= 0 && now_ms >= wake_ms_)
        wake_ms_ = -1;          /* the caller's timer has expired */
    resize_.check_deadline();
    stragglers_.check_time();
    resize_.check_freeze();
    if (state_.adaptation && state_.adaptation->state == AdaptState::ENDING)
        stragglers_.ending_time();
    sampler_.check_time();
    pset_departures_.check_time();
    requests_.check_time();
    after_event();
}

void Step::terminate(int64_t now_ms, int signum)
{
    state_.now_ms = now_ms;
    resize_.terminate(signum);
    after_event();
}

void Step::spawned(int64_t now_ms, const std::map<std::string, int> &hosts)
{
    state_.now_ms = now_ms;
    if (hosts == state_.spawned)
        return;
    state_.spawned = hosts;
    int total = 0;
    for (const auto &[name, processes] : hosts)
        total += processes;
    state_.journal.add(now_ms, "spawned",
                       {{"processes", total}, {"hosts", describe_spawned(state_)}});
}

/* Only the first one is an event, so that they do not fill the log. */
void Step::unauthenticated(int64_t now_ms, unsigned count)
{
    state_.now_ms = now_ms;
    if (state_.unauthenticated == 0 && count > 0)
        state_.journal.add(state_.now_ms, "stranger", Json::object());
    state_.unauthenticated = count;
}

void Step::host_lost(int64_t now_ms, const std::string &host)
{
    state_.now_ms = now_ms;
    state_.journal.add(state_.now_ms, "host_lost", {{"host", host}});
}

/* ---- ends ------------------------------------------------------------------------------------ */

void Step::on_exited(Process &process, uint32_t wait_status)
{
    if (process.ended) {
        state_.unexpected("second end of " + state_.describe(process));
        return;
    }
    state_.world.mark_ended(process);
    process_over(process, exited_by_itself(wait_status), describe_wait_status(wait_status));
}

void Step::process_over(Process &process, bool by_itself, const std::string &cause)
{
    state_.log("exited", {{"rank", process.world_rank},
                          {"uid", process.uid},
                          {"host", process.host},
                          {"cause", cause}});
    requests_.process_left(process, "the process that made the request has ended");
    state_.callers.erase(process.uid);
    psets_.has_begun(process.uid);
    tasks_.tasks_without(process.uid);
    pset_operations_.process_ended(process);
    psets_.process_ended(process.uid);
    if (state_.killed_groups.contains(process.group))
        return;
    std::string what = state_.describe(process) + " " + cause;
    if (state_.mode == InitMode::SETS)
        pset_changes_.process_over(process, by_itself, what);
    else
        resize_.process_over(process, by_itself, what);
}

void Step::job_over()
{
    if (state_.over)
        return;
    state_.over = true;
    psets_.log_skipped();
    state_.log("ended",
               {{"size", state_.world.size()}, {"adaptations", state_.statistics.committed()}});
    requests_.job_over(mode_.rigid_because());
}

/* ---- the step protocol: doc/developer/step-protocol.md --------------------------------------- */

void Step::client_line(int64_t now_ms, int client, std::string_view line)
{
    state_.now_ms = now_ms;
    pset_departures_.drop_ended();
    auto parsed = parse_request(line);
    std::string reply = std::holds_alternative<ProtocolError>(parsed)
                            ? write_error(std::get<ProtocolError>(parsed))
                            : answer(client, std::get<ClientRequest>(parsed));
    if (!reply.empty())
        state_.reply(client, reply);
    after_event();
}

void Step::client_disconnected(int client)
{
    state_.journal.stop(client);
    resizes_.client_disconnected(client);
    sampler_.client_disconnected(client);
}

/* Returns the line to send; empty: already sent. */
std::string Step::answer(int client, const ClientRequest &request)
{
    const Json &id = request.id;
    if (std::holds_alternative<HelloRequest>(request.what))
        return write_answer(id, {{"versions", {PROTOCOL_VERSION}},
                                 {"step", state_.step_id},
                                 {"program", state_.program},
                                 {"user", state_.user}});
    if (std::holds_alternative<StatusRequest>(request.what))
        return write_answer(id, describe_status(state_, requests_.rule(), requests_.describe(),
                                                tasks_.held()));
    if (const auto *resize = std::get_if<ResizeRequest>(&request.what))
        return resizes_.answer_resize(client, id, *resize);
    /* the reply precedes the events */
    if (const auto *events = std::get_if<EventsRequest>(&request.what)) {
        state_.reply(client, write_answer(id, {{"oldest", state_.journal.oldest()},
                                               {"next", state_.journal.next()}}));
        state_.journal.send(client, events->since, events->follow);
        return "";
    }
    if (const auto *performance = std::get_if<PerformanceRequest>(&request.what))
        return sampler_.answer_performance(client, id, *performance);
    if (const auto *refuse = std::get_if<RefuseRequest>(&request.what))
        return tasks_.refuse(*refuse) ? write_answer(id, {{REQUEST_NUMBER, refuse->request_number}})
                                     : requests_.answer_refuse(id, *refuse);
    if (const auto *grant = std::get_if<GrantRequest>(&request.what))
        return tasks_.answer_grant(id, *grant);
    if (const auto *slots = std::get_if<SlotsRequest>(&request.what))
        return tasks_.answer_slots(id, *slots);
    if (const auto *psets = std::get_if<PsetsRequest>(&request.what))
        return psets_.answer_psets(id, *psets);
    if (std::holds_alternative<TasksRequest>(request.what))
        return tasks_.answer_tasks(id);
    return resizes_.answer_cancel(id, std::get<CancelRequest>(request.what));
}

/* ---- common ---------------------------------------------------------------------------------- */

/* Called after every event: frees memory, makes due offers, sets the next wake-up. */
void Step::after_event()
{
    if (!state_.adaptation)     /* also if the next adaptation follows at once */
        state_.world.remove_empty_groups();
    requests_.consider();
    pset_operations_.consider();
    pset_changes_.consider_orphan();
    tasks_.consider_slots();
    requests_.consider_source();
    pset_changes_.post_offer();
    update_wake();
}

void Step::update_wake()
{
    int64_t wake = -1;
    auto consider = [&](int64_t time_ms) {
        if (time_ms >= 0 && (wake < 0 || time_ms < wake))
            wake = std::max(time_ms, state_.now_ms);
    };
    if (state_.adapts() && !state_.adaptation && !state_.ending)
        consider(requests_.source_due_ms().value_or(-1));
    consider(sampler_.until_ms().value_or(-1));
    if (auto when = requests_.void_ms())
        consider(*when);
    consider(pset_departures_.due_ms());
    consider(tasks_.next_ms());
    if (state_.adaptation) {
        consider(state_.adaptation->straggler_report_ms);
        consider(state_.adaptation->freeze_at_ms);
        consider(state_.adaptation->ending_query_ms);
        consider(state_.adaptation->ending_until_ms);
        if (state_.adaptation->deadline_unix_ms != 0 && before_agreement(state_.adaptation->state))
            consider(std::max<int64_t>(
                static_cast<int64_t>(state_.adaptation->deadline_unix_ms) - state_.unix_ms_at_zero,
                    0));
    }
    if (wake != wake_ms_)
        state_.effects.wake_at(state_.effects.context, wake);
    wake_ms_ = wake;
}

bool Step::owns_failure(int group) const
{
    return state_.is_apart(group) || (state_.adaptation && state_.adaptation->group == group &&
            (state_.mode == InitMode::SETS || before_agreement(state_.adaptation->state)));
}

int Step::world_rank(int group, int rank) const
{
    const Process *process = state_.world.find(group, rank);
    return process ? process->world_rank : -1;
}

}  // namespace elastic
