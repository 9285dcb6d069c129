/* See step.h: groups, proxies, processes and time. */

#include "stepmgr/step/step.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>

namespace elastic {

Result<std::unique_ptr<Step>> Step::create(const step_config &config, const step_effects &effects)
{
    auto source = SizeSource::create(config);
    if (!source)
        return Error{source.error()};
    return std::unique_ptr<Step>(new Step(config, effects, std::move(source.value())));
}

Step::Step(const step_config &config, const step_effects &effects, SizeSource source)
    : state_(config, effects), program_(config.program ? config.program : ""), user_(config.user ? config.user : ""),
      margin_(config.margin), prepare_ms_(config.prepare_ms),
      psets_(state_, {[this](const SetCaller &caller, const TaskCall &call) { tasks_.on_task_call(caller, call); },
                      [this](Process &process, const SetCaller &caller, const ChangeCall &call) {
                          on_change_call(process, caller, call);
                      }}),
      sets_(psets_.table()),
      requests_(state_, std::move(source), *this,
                {[this](int size) { return tasks_.why_no_capacity(size); },
                 [this] { return tasks_.held(); },
                 [this] { drop_ended(); },
                 [this] { return pset_request_.has_value(); },
                 [this](SizeRequestEnd end, const std::string &reason) { size_request_ended(end, reason); }}),
      resizes_(state_, requests_, *this), unreceived_(state_), state_output_(state_, config), sampler_(state_),
      stragglers_(state_, config.straggler_ms,
                  {[this] {
                       return PsetChangeWait{psets_.pending_invalidation(), state_.notified ? state_.notified->uid : 0};
                   },
                   [this](AdaptEvent event) { raise(event); }}),
      tasks_(state_, config,
             {[this](const std::vector<SetReply> &replies) { psets_.send_replies(replies); },
              [this] { psets_.track_ends(); }})
{
}

/* ---- events from mpiexec ------------------------------------------------------------------------ */

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
        joining_started(group, processes);
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
    launch_unreported_ = processes.size();
    std::vector<uint32_t> uids(processes.size());
    std::iota(uids.begin(), uids.end(), 0u);
    psets_.add_world(0, uids);
    state_.statistics.add_size(state_.world.size());
    requests_.launched();
    state_.log("started", {{"program", program_}, {"size", state_.world.size()}});
    psets_.log_changes();
}

void Step::joining_started(int group, std::span<const step_process> processes)
{
    if (processes.size() != static_cast<size_t>(state_.adaptation->change.joining)) {
        raise(AdaptEvent::JOINER_LOST, std::to_string(processes.size()) +
                                           " processes were started instead of " +
                                           std::to_string(state_.adaptation->change.joining));
        return;
    }
    state_.world.add_group(group, state_.adaptation->first_uid, processes);
    state_.adaptation->unready = state_.adaptation->change.joining;
    Json hosts = Json::array();
    for (const Process &process : state_.world.processes(group))
        hosts.push_back(process.host);
    state_.log("placed", {{"group", group}, {"hosts", hosts}});
    raise(AdaptEvent::PLACED);
}

void Step::report(int64_t now_ms, const Agent &agent, step_report report, uint32_t epoch,
                  Bytes payload)
{
    state_.now_ms = now_ms;
    auto process_of = [&](uint32_t rank) -> Process * {
        Process *process = rank > INT32_MAX ? nullptr
                                            : state_.world.find(agent.group, static_cast<int>(rank));
        return process && process->proxy == agent.proxy ? process : nullptr;
    };
    bool understood = false;
    switch (report) {
        case REPORT_INIT:
            if (auto init = parse_init(payload); init && process_of(init->rank))
                understood = true, on_init(*process_of(init->rank), *init);
            break;
        case REPORT_READY:
            if (auto ready = parse_ready(payload); ready && process_of(ready->rank))
                understood = true, on_ready(*process_of(ready->rank), epoch, *ready);
            break;
        case REPORT_UNABLE:
            if (auto unable = parse_unable(payload); unable && process_of(unable->rank))
                understood = true, on_unable(*process_of(unable->rank), epoch, unable->why);
            break;
        case REPORT_PREPARED:
            if (payload.empty() && state_.world.known(agent))
                understood = true, on_prepared(agent, epoch);
            break;
        case REPORT_GREETED:
            if (payload.empty() && state_.world.known(agent))
                understood = true, on_greeted(agent, epoch);
            break;
        case REPORT_FROZEN:
            if (auto ceiling = parse_frozen(payload); ceiling && state_.world.known(agent))
                understood = true, on_frozen(agent, epoch, *ceiling);
            break;
        case REPORT_COMMITTED:
            if (payload.empty() && state_.world.known(agent))
                understood = true, on_committed(agent, epoch);
            break;
        case REPORT_COUNTS:
            if (auto counts = parse_counts(payload); counts && state_.world.known(agent))
                understood = true, stragglers_.on_counts(agent, epoch, *counts);
            break;
        case REPORT_PERFORMANCE:
            if (auto performance = parse_performance(payload); performance && state_.world.known(agent))
                understood = true, sampler_.on_performance(agent, epoch, *performance);
            break;
        case REPORT_LOOPS:
            if (auto loops = parse_loops(payload); loops && state_.world.known(agent))
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
        case REPORT_WISH:
            if (auto size_request = parse_size_request(payload); size_request && process_of(size_request->rank))
                understood = true, requests_.on_size_request(*process_of(size_request->rank), *size_request);
            break;
        case REPORT_WISH_WITHDRAWN:
            if (auto withdrawal = parse_size_request_withdrawal(payload); withdrawal && process_of(withdrawal->rank))
                understood = true, requests_.on_withdrawn(*process_of(withdrawal->rank), withdrawal->number);
            break;
        case REPORT_SET_CALL:
            if (auto call = parse_set_report(payload); call && process_of(call->rank))
                understood = true, psets_.on_call(*process_of(call->rank), *call);
            break;
        case REPORT_BCAST:
            if (auto count = parse_bcast(payload))
                understood = true, psets_.on_bcast(agent, *count);
            break;
        case REPORT_FORGOTTEN:
            if (auto number = parse_invalidated(payload); number && state_.world.known(agent))
                understood = true, psets_.on_invalidated(agent, *number);
            break;
        case REPORT_SYNCED:
            if (auto number = parse_invalidated(payload); number && state_.world.known(agent))
                understood = true, psets_.on_synced(agent, *number);
            break;
        case REPORT_STARTED:
            if (auto started = parse_started(payload); started && state_.world.known(agent))
                understood = psets_.on_started(agent, *started);
            break;
        case REPORT_SET_SHARED:
            if (auto shared = parse_shared(payload); shared && state_.world.known(agent))
                understood = psets_.on_shared(agent, *shared);
            break;
        case REPORT_COMES:
            if (auto comes = parse_comes(payload); comes && state_.world.known(agent))
                understood = psets_.on_comes(agent, *comes);
            break;
        case REPORT_TASK:
            if (auto task = parse_task_report(payload))
                understood = tasks_.on_task(agent, *task);
            break;
        case REPORT_BROKE:
            if (auto rank = parse_broke(payload); rank && process_of(*rank))
                understood = true, on_broke(*process_of(*rank));
            break;
        case REPORT_UNRECEIVED:
            if (auto unreceived = parse_unreceived(payload);
                unreceived && process_of(unreceived->rank))
                understood = true, unreceived_.on_report(*process_of(unreceived->rank), epoch, *unreceived);
            break;
    }
    if (!understood && !state_.is_apart(agent.group))
        state_.unexpected("report " + std::to_string(static_cast<int>(report)) + " of " +
                   std::to_string(payload.size()) + " bytes from daemon " +
                   std::to_string(agent.proxy) + " of group " + std::to_string(agent.group));
    after_event();
}

void Step::proxy_disconnected(int64_t now_ms, const Agent &agent)
{
    state_.now_ms = now_ms;
    bool unplaced = state_.adaptation && state_.adaptation->group == agent.group && !state_.world.known(agent);
    if (unplaced)
        raise(AdaptEvent::JOINER_LOST, "the node daemon for the joining processes has ended");
    else if (!state_.world.known(agent) && !state_.is_apart(agent.group))
        state_.unexpected("end of unknown daemon " + std::to_string(agent.proxy) + " of group " +
                   std::to_string(agent.group));
    freezes_unanswered_.erase(agent);
    ProcessSets::FreeCalls free_calls = psets_.proxy_disconnected(agent);
    for (Process *process : state_.world.mark_disconnected(agent)) {
        state_.world.mark_ended(*process);
        process_over(*process, false, "was lost with its node daemon");
    }
    psets_.continue_calls(agent, free_calls);
    tasks_.tasks_without(agent);
    stragglers_.proxy_disconnected(agent);
    sampler_.proxy_disconnected(agent);
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
        wake_ms_ = -1;          /* the caller's timer is used up */
    if (state_.adaptation && state_.adaptation->deadline_unix_ms != 0 &&
        before_agreement(state_.adaptation->state) && state_.unix_now_ms() >= state_.adaptation->deadline_unix_ms)
        raise(AdaptEvent::WITHDRAW, state_.adaptation->state == AdaptState::OFFERED
                                        ? "the deadline passed before a process asked for it"
                                        : "the deadline passed before the joining processes were ready");
    stragglers_.check_time();
    if (state_.adaptation && state_.adaptation->freeze_at_ms >= 0 && now_ms >= state_.adaptation->freeze_at_ms)
        send_freeze();
    if (state_.adaptation && state_.adaptation->state == AdaptState::ENDING)
        stragglers_.ending_time();
    sampler_.check_time();
    if (left_at_ms_ >= 0 && now_ms >= left_at_ms_)
        drop_ended();
    requests_.check_time();
    after_event();
}

void Step::terminate(int64_t now_ms, int signum)
{
    state_.now_ms = now_ms;
    const char *name = sigabbrev_np(signum);
    termination_ = "mpiexec was told to end (SIG" + std::string(name ? name : "?") + ")";
    state_.ending = state_.broken = true;
    if (state_.adaptation && before_agreement(state_.adaptation->state))
        raise(AdaptEvent::WITHDRAW, termination_);
    after_event();
}

/* The first one is an event; more of them shall not fill the log. */
void Step::unauthenticated(int64_t now_ms, unsigned count)
{
    state_.now_ms = now_ms;
    if (unauthenticated_ == 0 && count > 0)
        state_.journal.add(state_.now_ms, "stranger", Json::object());
    unauthenticated_ = count;
}

/* ---- what processes do --------------------------------------------------------------------------- */

void Step::on_init(Process &process, const InitReport &report)
{
    if (report.modifies)
        on_modifies(process, report);
    else if (process.init != InitMode::UNKNOWN)
        state_.unexpected("second initialisation of " + state_.describe(process));
    else
        on_first_init(process, report);
}

void Step::on_first_init(Process &process, const InitReport &report)
{
    process.init = report.adaptive ? InitMode::ADAPTIVE : InitMode::RIGID;
    psets_.has_begun(process.uid);
    process.takes_part = report.adaptive;
    process.bc = report.bc;
    process.pid_namespace = report.pid_namespace;
    if (process.group == 0) {
        launch_unreported_--;
        if (state_.mode == InitMode::SETS)
            refuse_windows(process);
        else if (!report.adaptive)
            become_rigid(process);
        else if (launch_unreported_ == 0 && state_.mode == InitMode::UNKNOWN)
            become_adaptive();
    } else if (state_.mode == InitMode::SETS) {
        refuse_windows(process);
    } else if (state_.is_joining(process) && !report.adaptive && before_agreement(state_.adaptation->state)) {
        raise(AdaptEvent::JOINER_LOST, state_.describe(process) + " called MPI_Init, not MPI_Init_adapt");
    }
}

/* A member gives its address, or one that MPIX_Comm_modify creates has initialised. */
void Step::on_modifies(Process &process, const InitReport &report)
{
    if (process.takes_part)
        return state_.unexpected("second address of " + state_.describe(process));
    process.takes_part = true;
    process.bc = report.bc;
    process.pid_namespace = report.pid_namespace;
    if (process.init != InitMode::UNKNOWN)
        return;
    process.init = state_.mode == InitMode::ADAPTIVE ? InitMode::ADAPTIVE : InitMode::RIGID;
    if (process.group == 0) {
        launch_unreported_--;   /* that it is rigid was said before there was a core */
        become_rigid(process);
    }
}

/* SW1; MPI_Init alone changes nothing (SW3). */
void Step::refuse_windows(const Process &process)
{
    if (process.init != InitMode::ADAPTIVE)
        return;
    std::string what = state_.describe(process) + " called MPI_Init_adapt in a job that changes through process sets";
    if (state_.is_joining(process))
        raise(AdaptEvent::JOINER_LOST, what);
    else
        state_.effects.notify_user(state_.effects.context, (what + ": it will be offered no adaptation").c_str());
}

void Step::become_rigid(const Process &process)
{
    if (state_.mode == InitMode::RIGID)
        return;
    state_.mode = InitMode::RIGID;
    state_.log("rigid", {{"rank", process.world_rank}});
    std::string why = "rank " + std::to_string(process.world_rank) +
                      " called MPI_Init, not MPI_Init_adapt, so that the job is rigid";
    rigid_because_ = why;
    if (state_.adaptation)
        raise(AdaptEvent::WITHDRAW, why);
}

void Step::become_adaptive()
{
    state_.mode = InitMode::ADAPTIVE;
    state_.epoch_began_ms = state_.now_ms;
    state_.log("adaptive", {{"size", state_.world.size()}});
    requests_.adaptive();
    if (state_.adaptation && !state_.ending)
        begin();
}

void Step::on_ready(Process &process, uint32_t epoch, const ReadyReport &report)
{
    bool awaited = state_.is_joining(process) && state_.adaptation->state == AdaptState::JOINING &&
                   epoch == state_.adaptation->epoch && process.takes_part && !process.ready;
    if (!awaited) {
        if (!state_.killed_groups.contains(process.group))
            state_.unexpected("readiness of " + state_.describe(process));
        return;
    }
    process.ready = true;
    process.segment = report.segment;
    state_.log("ready", {{"rank", process.rank}, {"host", process.host}, {"uid", process.uid}});
    if (--state_.adaptation->unready > 0)
        return;
    if (std::string why = cannot_share_memory(state_.world.members(), state_.world.processes(process.group));
        !why.empty())
        raise(AdaptEvent::WITHDRAW, why);
    else
        raise(AdaptEvent::ALL_READY);
}

/* Too late in an adaptation that is agreed on: the process finds out in its window.  A member has a plan only when it
 * is to freeze: what comes before is of an adaptation that was withdrawn in this epoch. */
void Step::on_unable(const Process &process, uint32_t epoch, const std::string &why)
{
    state_.log("unable", {{"rank", process.world_rank}, {"uid", process.uid}, {"reason", why}});
    bool joins =
        state_.is_joining(process) && before_agreement(state_.adaptation->state) && epoch == state_.adaptation->epoch;
    if (joins || (is_freezing(epoch) && !state_.killed_groups.contains(process.group)))
        raise(AdaptEvent::WITHDRAW, state_.describe(process) + " cannot prepare for it: " + why);
}

bool Step::is_freezing(uint32_t epoch) const
{
    return state_.adaptation && state_.adaptation->state == AdaptState::FREEZING && epoch == state_.adaptation->epoch;
}

void Step::on_prepared(const Agent &agent, uint32_t epoch)
{
    bool freezing = is_freezing(epoch), joins = freezing && state_.adaptation->group == agent.group;
    if (joins && state_.adaptation->prepare_pending.erase(agent) > 0) {
        state_.log("prepared", {{"group", agent.group}, {"proxy", agent.proxy}});
        if (state_.adaptation->prepare_pending.empty())
            send_plan_to_world();
    } else if (freezing && !joins && state_.adaptation->prepare_hoped.contains(agent)) {
        prepared_further(agent);
    } else if (joins || !may_come_late(agent, epoch)) {
        state_.unexpected("preparation that is not awaited");
    }
}

/* Joining processes of one proxy have a connection to all who make one beforehand. */
void Step::on_greeted(const Agent &agent, uint32_t epoch)
{
    bool joins = is_freezing(epoch) && state_.adaptation->group == agent.group;
    if (joins && !state_.adaptation->prepare_pending.contains(agent) && state_.adaptation->greeted.insert(agent).second)
        prepared_further(agent);
    else if (joins || !may_come_late(agent, epoch))
        state_.unexpected("greeting that is not awaited");
}

void Step::prepared_further(const Agent &agent)
{
    state_.log("prepared", {{"group", agent.group}, {"proxy", agent.proxy}});
    if (state_.adaptation->prepare_hoped.erase(agent) > 0 && state_.adaptation->prepare_hoped.empty() &&
        state_.adaptation->freeze_at_ms >= 0)
        freeze_in(state_.adaptation->paced_ms - state_.now_ms);
}

/* After the freeze, or a withdrawal. */
bool Step::may_come_late(const Agent &agent, uint32_t epoch) const
{
    return (epoch > 0 && epoch == planned_epoch_) || state_.killed_groups.contains(agent.group);
}

void Step::on_frozen(const Agent &agent, uint32_t epoch, uint64_t ceiling)
{
    auto unanswered = freezes_unanswered_.find(agent);
    if (unanswered == freezes_unanswered_.end()) {
        state_.unexpected("ceiling that nobody asked for");
        return;
    }
    if (--unanswered->second > 0)
        return;                 /* the answer to a freeze that has been withdrawn meanwhile */
    freezes_unanswered_.erase(unanswered);
    /* the next one may have the same epoch, and not have been sent yet */
    bool awaited = state_.adaptation && state_.adaptation->freeze_sent &&
                   state_.adaptation->state == AdaptState::FREEZING && epoch == state_.adaptation->epoch &&
                   state_.adaptation->freeze_pending.erase(agent) > 0;
    if (!awaited)
        return;
    state_.adaptation->target = std::max(state_.adaptation->target, ceiling);
    state_.log("frozen", {{"group", agent.group}, {"proxy", agent.proxy}, {"ceiling", ceiling}});
    if (state_.adaptation->freeze_pending.empty())
        raise(AdaptEvent::ALL_FROZEN);
}

void Step::on_committed(const Agent &agent, uint32_t epoch)
{
    bool awaited = state_.adaptation && epoch == state_.adaptation->epoch &&
                   (state_.adaptation->state == AdaptState::AGREED ||
                    state_.adaptation->state == AdaptState::ENDING) &&
                   state_.adaptation->commit_pending.erase(agent) > 0;
    if (!awaited) {
        state_.unexpected("commit that is not awaited");
        return;
    }
    state_.log("agent_committed", {{"group", agent.group}, {"proxy", agent.proxy}});
    if (state_.adaptation->commit_pending.empty())
        raise(AdaptEvent::ALL_COMMITTED);
}

/* ---- ends ----------------------------------------------------------------------------------------- */

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
    requests_.process_left(process, "the process that has made it has ended");
    state_.callers.erase(process.uid);
    psets_.has_begun(process.uid);
    tasks_.tasks_without(process.uid);
    pset_request_without(process);
    psets_.process_ended(process.uid);
    if (state_.killed_groups.contains(process.group))
        return;
    if (state_.mode == InitMode::SETS)
        set_process_over(process, by_itself, state_.describe(process) + " " + cause);
    else if (state_.is_joining(process))
        joining_process_over(process, by_itself, state_.describe(process) + " " + cause);
    else if (process.world_rank >= 0)
        member_over(process, by_itself, state_.describe(process) + " " + cause);
    else
        left_process_over(process);
}

void Step::joining_process_over(const Process &process, bool by_itself, const std::string &cause)
{
    bool has_committed = !before_agreement(state_.adaptation->state) &&
                         !state_.adaptation->commit_pending.contains(process.agent());
    if (has_committed && by_itself)
        state_.ending = true;   /* quick: the commit of others is still to be reported */
    else if (!before_agreement(state_.adaptation->state) && by_itself)
        raise(AdaptEvent::PARTICIPANT_ENDED, cause);
    else if (by_itself && process.init == InitMode::ADAPTIVE && !process.ready)
        raise(AdaptEvent::JOINER_LOST, cause + " without having called MPI_Comm_adapt_begin");
    else
        raise(AdaptEvent::JOINER_LOST, cause);
}

void Step::member_over(const Process &process, bool by_itself, const std::string &cause)
{
    bool leaving = state_.is_leaving(process);
    bool agreed = state_.adaptation && !before_agreement(state_.adaptation->state);
    bool has_committed = agreed && !state_.adaptation->commit_pending.contains(process.agent());
    state_.ending = state_.ending || !(leaving && has_committed);
    state_.broken = state_.broken || !by_itself;
    if (state_.adaptation && !agreed)
        raise(by_itself ? AdaptEvent::JOB_ENDED : AdaptEvent::MEMBER_LOST,
              by_itself ? "the job ended (" + cause + ")" : cause);
    else if (agreed && !by_itself)
        raise(AdaptEvent::MEMBER_LOST, cause);
    else if (agreed && !has_committed)
        raise(AdaptEvent::PARTICIPANT_ENDED, "the job ended (" + cause + ")");
    if (state_.world.living() == 0)
        job_over();
}

void Step::left_process_over(const Process &process)
{
    auto found = departures_.find(process.left_epoch);
    if (process.left_epoch == 0 || found == departures_.end())
        return;
    Departure &departure = found->second;
    if (--departure.remaining > 0)
        return;
    state_.journal.add(state_.now_ms, "freed", {{"request", departure.request},
                                    {"epoch", found->first},
                                    {"hosts", departure.hosts},
                                    {"uids", departure.uids}});
    departures_.erase(found);
}

void Step::job_over()
{
    if (state_.over)
        return;
    state_.over = true;
    psets_.log_skipped();
    state_.log("ended", {{"size", state_.world.size()}, {"adaptations", state_.statistics.committed()}});
    requests_.job_over(rigid_because_);
}

/* ---- common ---------------------------------------------------------------------------------------- */

/* After every event: memory that is free, offers that are due, the next time to be woken. */
void Step::after_event()
{
    if (!state_.adaptation)     /* also when the next one follows at once */
        state_.world.remove_empty_groups();
    requests_.consider();
    consider_pset_request();
    consider_orphan();
    tasks_.consider_slots();
    requests_.consider_source();
    post_offer();
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
    consider(left_at_ms_);
    consider(tasks_.next_ms());
    if (state_.adaptation) {
        consider(state_.adaptation->straggler_report_ms);
        consider(state_.adaptation->freeze_at_ms);
        consider(state_.adaptation->ending_query_ms);
        consider(state_.adaptation->ending_until_ms);
        if (state_.adaptation->deadline_unix_ms != 0 && before_agreement(state_.adaptation->state))
            consider(std::max<int64_t>(
                static_cast<int64_t>(state_.adaptation->deadline_unix_ms) - state_.unix_ms_at_zero, 0));
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
