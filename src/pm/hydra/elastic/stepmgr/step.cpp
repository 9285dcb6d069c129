/* See step.h: groups, daemons, processes and time. */

#include "stepmgr/step.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <numeric>

namespace elastic {

Result<std::unique_ptr<Step>> Step::create(const step_config &config, const step_effects &effects)
{
    auto offers = Offers::create(config);
    if (!offers)
        return Error{offers.error()};
    return std::unique_ptr<Step>(new Step(config, effects, std::move(offers.value())));
}

Step::Step(const step_config &config, const step_effects &effects, Offers offers)
    : step_id_(config.step_id ? config.step_id : ""),
      program_(config.program ? config.program : ""), user_(config.user ? config.user : ""),
      margin_(config.margin), prepare_ms_(config.prepare_ms),
      behind_ms_(config.behind_ms),
      unix_ms_at_zero_(config.unix_ms_at_zero), programs_(config.programs), managed_(config.managed),
      range_min_(config.range_min), range_max_(config.range_max),
      effects_(effects), offers_(std::move(offers)),
      journal_(step_id_, config, effects_)
{
    if (managed_) {
        places_.use_allocator([this] { return ++wishes_; });
        places_.set_most(PMI_TASKS_MAX);        /* until it says how many */
    }
    for (int i = 0; i < config.n_hosts; i++)
        launch_hosts_.push_back(config.hosts[i]);
    if (config.states && effects_.state_line)
        open_state_log(config);
}

/* ---- what the glue tells ------------------------------------------------------------------------ */

void Step::id(const std::string &step_id)
{
    step_id_ = step_id;
    journal_.id(step_id);
}

void Step::group(int64_t now_ms, int group, std::span<const step_process> processes)
{
    now_ms_ = now_ms;
    if (group == 0 && world_.size() == 0 && !over_)
        launch_placed(processes);
    else if (adaptation_ && adaptation_->group == group &&
             adaptation_->state == AdaptState::LAUNCHING)
        joiners_placed(group, processes);
    else if (task_worlds_.contains(group))
        task_world_placed(group, processes);
    else if (!is_apart(group))
        unexpected("placement of group " + std::to_string(group));
    settle();
}

void Step::launch_placed(std::span<const step_process> processes)
{
    world_.add_group(0, 0, processes);
    next_uid_ = static_cast<uint32_t>(processes.size());
    launch_unreported_ = processes.size();
    std::vector<uint32_t> uids(processes.size());
    std::iota(uids.begin(), uids.end(), 0u);
    add_world(0, uids);
    statistics_.sizes.push_back(world_.size());
    offers_.launched(now_ms_);
    log("started", {{"program", program_}, {"size", world_.size()}});
    log_sets();
}

void Step::joiners_placed(int group, std::span<const step_process> processes)
{
    if (processes.size() != static_cast<size_t>(adaptation_->change.joining)) {
        raise(AdaptEvent::JOINER_LOST, std::to_string(processes.size()) +
                                           " processes were started instead of " +
                                           std::to_string(adaptation_->change.joining));
        return;
    }
    world_.add_group(group, adaptation_->first_uid, processes);
    adaptation_->unready = adaptation_->change.joining;
    Json hosts = Json::array();
    for (const Process &process : world_.processes(group))
        hosts.push_back(process.host);
    log("placed", {{"group", group}, {"hosts", hosts}});
    raise(AdaptEvent::PLACED);
}

void Step::report(int64_t now_ms, const Agent &agent, step_report report, uint32_t epoch,
                  Bytes payload)
{
    now_ms_ = now_ms;
    auto process_of = [&](uint32_t rank) -> Process * {
        Process *process = rank > INT32_MAX ? nullptr
                                            : world_.find(agent.group, static_cast<int>(rank));
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
            if (payload.empty() && world_.known(agent))
                understood = true, on_prepared(agent, epoch);
            break;
        case REPORT_GREETED:
            if (payload.empty() && world_.known(agent))
                understood = true, on_greeted(agent, epoch);
            break;
        case REPORT_FROZEN:
            if (auto ceiling = parse_frozen(payload); ceiling && world_.known(agent))
                understood = true, on_frozen(agent, epoch, *ceiling);
            break;
        case REPORT_COMMITTED:
            if (payload.empty() && world_.known(agent))
                understood = true, on_committed(agent, epoch);
            break;
        case REPORT_COUNTS:
            if (auto counts = parse_counts(payload); counts && world_.known(agent))
                understood = true, on_counts(agent, epoch, *counts);
            break;
        case REPORT_PERFORMANCE:
            if (auto performance = parse_performance(payload); performance && world_.known(agent))
                understood = true, on_performance(agent, epoch, *performance);
            break;
        case REPORT_LOOPS:
            if (auto loops = parse_loops(payload); loops && world_.known(agent))
                understood = true, on_loops(epoch, *loops);
            break;
        case REPORT_EXITED:
            if (auto exited = parse_exited(payload); exited && process_of(exited->rank))
                understood = true, on_exited(*process_of(exited->rank), exited->wait_status);
            break;
        case REPORT_SIZES:
            if (auto sizes = parse_sizes(payload); sizes && process_of(sizes->rank))
                understood = true, on_sizes(*sizes);
            break;
        case REPORT_WISH:
            if (auto wish = parse_wish(payload); wish && process_of(wish->rank))
                understood = true, on_wish(*process_of(wish->rank), *wish);
            break;
        case REPORT_WISH_WITHDRAWN:
            if (auto withdrawal = parse_wish_withdrawal(payload); withdrawal && process_of(withdrawal->rank))
                understood = true, on_wish_withdrawn(*process_of(withdrawal->rank), withdrawal->number);
            break;
        case REPORT_SET_CALL:
            if (auto call = parse_set_report(payload); call && process_of(call->rank))
                understood = true, on_set_call(*process_of(call->rank), *call);
            break;
        case REPORT_BCAST:
            if (auto count = parse_bcast(payload))
                understood = true, on_bcast(agent, *count);
            break;
        case REPORT_FORGOTTEN:
            if (auto number = parse_forgotten(payload); number && world_.known(agent))
                understood = true, on_forgotten(agent, *number);
            break;
        case REPORT_SYNCED:
            if (auto number = parse_forgotten(payload); number && world_.known(agent))
                understood = true, on_synced(agent, *number);
            break;
        case REPORT_STARTED:
            if (auto started = parse_started(payload); started && world_.known(agent))
                understood = on_started(agent, *started);
            break;
        case REPORT_SET_SHARED:
            if (auto shared = parse_shared(payload); shared && world_.known(agent))
                understood = on_set_shared(agent, *shared);
            break;
        case REPORT_COMES:
            if (auto comes = parse_comes(payload); comes && world_.known(agent))
                understood = on_comes(agent, *comes);
            break;
        case REPORT_TASK:
            if (auto task = parse_task_report(payload))
                understood = on_task(agent, *task);
            break;
        case REPORT_BROKE:
            if (auto rank = parse_broke(payload); rank && process_of(*rank))
                understood = true, on_broke(*process_of(*rank));
            break;
        case REPORT_UNRECEIVED:
            if (auto unreceived = parse_unreceived(payload);
                unreceived && process_of(unreceived->rank))
                understood = true, on_unreceived(*process_of(unreceived->rank), epoch, *unreceived);
            break;
    }
    if (!understood && !is_apart(agent.group))
        unexpected("report " + std::to_string(static_cast<int>(report)) + " of " +
                   std::to_string(payload.size()) + " bytes from daemon " +
                   std::to_string(agent.proxy) + " of group " + std::to_string(agent.group));
    settle();
}

void Step::proxy_departed(int64_t now_ms, const Agent &agent)
{
    now_ms_ = now_ms;
    bool unplaced = adaptation_ && adaptation_->group == agent.group && !world_.known(agent);
    if (unplaced)
        raise(AdaptEvent::JOINER_LOST, "the node daemon for the joining processes has ended");
    else if (!world_.known(agent) && !is_apart(agent.group))
        unexpected("end of unknown daemon " + std::to_string(agent.proxy) + " of group " +
                   std::to_string(agent.group));
    freezes_unanswered_.erase(agent);
    set_forgets_.departed(agent);
    SetSync::Calls synced = set_sync_.departed(agent), started = set_starts_.departed(agent);
    for (Process *process : world_.mark_departed(agent)) {
        world_.mark_ended(*process);
        process_over(*process, false, "was lost with its node daemon");
    }
    send_set_answers();
    comes_without(agent);
    go_on(synced, &Step::answer_as_of_starts);
    go_on(started, &Step::carry_out_set_call);
    sync_sets();
    ask_for_starts();
    tasks_without(agent);
    if (adaptation_ && adaptation_->counts_owed.erase(agent) > 0 &&
        adaptation_->counts_owed.empty())
        counts_complete();
    if (sample_ && sample_->owed.erase(agent) > 0 && sample_->owed.empty())
        sample_complete();
    settle();
}

void Step::time(int64_t now_ms)
{
    now_ms_ = now_ms;
    if (wake_ms_ >= 0 && now_ms >= wake_ms_)
        wake_ms_ = -1;          /* the caller's timer is used up */
    if (adaptation_ && adaptation_->deadline_unix_ms != 0 &&
        before_agreement(adaptation_->state) && unix_now_ms() >= adaptation_->deadline_unix_ms)
        raise(AdaptEvent::WITHDRAW, adaptation_->state == AdaptState::OFFERED
                                        ? "the deadline passed before a process asked for it"
                                        : "the deadline passed before the joining processes were ready");
    if (adaptation_ && adaptation_->behind_at_ms >= 0 && now_ms >= adaptation_->behind_at_ms)
        behind();
    if (adaptation_ && adaptation_->freeze_at_ms >= 0 && now_ms >= adaptation_->freeze_at_ms)
        send_freeze();
    if (adaptation_ && adaptation_->state == AdaptState::ENDING)
        ending_time();
    if (sample_ && now_ms >= sample_->until_ms)
        sample_complete();
    if (left_at_ms_ >= 0 && now_ms >= left_at_ms_)
        drop_ended();
    wish_time();
    settle();
}

void Step::told_to_end(int64_t now_ms, int signum)
{
    now_ms_ = now_ms;
    const char *name = sigabbrev_np(signum);
    told_to_end_ = "mpiexec was told to end (SIG" + std::string(name ? name : "?") + ")";
    ending_ = broken_ = true;
    if (adaptation_ && before_agreement(adaptation_->state))
        raise(AdaptEvent::WITHDRAW, told_to_end_);
    settle();
}

/* The first one is an event; more of them shall not fill the log. */
void Step::strangers(int64_t now_ms, unsigned count)
{
    now_ms_ = now_ms;
    if (strangers_ == 0 && count > 0)
        journal_.add(now_ms_, "stranger", Json::object());
    strangers_ = count;
}

/* ---- what processes do --------------------------------------------------------------------------- */

void Step::on_init(Process &process, const InitReport &report)
{
    if (report.modifies)
        on_modifies(process, report);
    else if (process.init != InitMode::UNKNOWN)
        unexpected("second initialisation of " + describe(process));
    else
        on_first_init(process, report);
}

void Step::on_first_init(Process &process, const InitReport &report)
{
    process.init = report.adaptive ? InitMode::ADAPTIVE : InitMode::RIGID;
    has_begun(process.uid);
    process.takes_part = report.adaptive;
    process.card = report.card;
    process.pid_namespace = report.pid_namespace;
    if (process.group == 0) {
        launch_unreported_--;
        if (mode_ == InitMode::SETS)
            refuse_windows(process);
        else if (!report.adaptive)
            become_rigid(process);
        else if (launch_unreported_ == 0 && mode_ == InitMode::UNKNOWN)
            become_adaptive();
    } else if (mode_ == InitMode::SETS) {
        refuse_windows(process);
    } else if (is_joiner(process) && !report.adaptive && before_agreement(adaptation_->state)) {
        raise(AdaptEvent::JOINER_LOST, describe(process) + " called MPI_Init, not MPI_Init_adapt");
    }
}

/* SW1; MPI_Init alone changes nothing (SW3). */
void Step::refuse_windows(const Process &process)
{
    if (process.init != InitMode::ADAPTIVE)
        return;
    std::string what = describe(process) + " called MPI_Init_adapt in a job that changes through process sets";
    if (is_joiner(process))
        raise(AdaptEvent::JOINER_LOST, what);
    else
        effects_.tell_user(effects_.context, (what + ": it will be offered no adaptation").c_str());
}

void Step::become_rigid(const Process &process)
{
    if (mode_ == InitMode::RIGID)
        return;
    mode_ = InitMode::RIGID;
    log("rigid", {{"rank", process.world_rank}});
    std::string why = "rank " + std::to_string(process.world_rank) +
                      " called MPI_Init, not MPI_Init_adapt, so that the job is rigid";
    rigid_because_ = why;
    if (adaptation_)
        raise(AdaptEvent::WITHDRAW, why);
}

void Step::become_adaptive()
{
    mode_ = InitMode::ADAPTIVE;
    epoch_began_ms_ = now_ms_;
    log("adaptive", {{"size", world_.size()}});
    offers_.adaptive(now_ms_);
    if (adaptation_ && !ending_)
        begin();
}

void Step::on_ready(Process &process, uint32_t epoch, const ReadyReport &report)
{
    bool awaited = is_joiner(process) && adaptation_->state == AdaptState::JOINING &&
                   epoch == adaptation_->epoch && process.takes_part && !process.ready;
    if (!awaited) {
        if (!killed_groups_.contains(process.group))
            unexpected("readiness of " + describe(process));
        return;
    }
    process.ready = true;
    process.segment = report.segment;
    log("ready", {{"rank", process.rank}, {"host", process.host}, {"uid", process.uid}});
    if (--adaptation_->unready > 0)
        return;
    if (std::string why = cannot_share_memory(world_.members(), world_.processes(process.group)); !why.empty())
        raise(AdaptEvent::WITHDRAW, why);
    else
        raise(AdaptEvent::ALL_READY);
}

/* Too late in an adaptation that is agreed on: the process finds out in its window.  A member has a plan only when it
 * is to freeze: what comes before is of an adaptation that was withdrawn in this epoch. */
void Step::on_unable(const Process &process, uint32_t epoch, const std::string &why)
{
    log("unable", {{"rank", process.world_rank}, {"uid", process.uid}, {"reason", why}});
    bool joins = is_joiner(process) && before_agreement(adaptation_->state) && epoch == adaptation_->epoch;
    if (joins || (is_freezing(epoch) && !killed_groups_.contains(process.group)))
        raise(AdaptEvent::WITHDRAW, describe(process) + " cannot prepare for it: " + why);
}

bool Step::is_freezing(uint32_t epoch) const
{
    return adaptation_ && adaptation_->state == AdaptState::FREEZING && epoch == adaptation_->epoch;
}

void Step::on_prepared(const Agent &agent, uint32_t epoch)
{
    bool freezing = is_freezing(epoch), joins = freezing && adaptation_->group == agent.group;
    if (joins && adaptation_->prepare_owed.erase(agent) > 0) {
        log("prepared", {{"group", agent.group}, {"proxy", agent.proxy}});
        if (adaptation_->prepare_owed.empty())
            send_plan_to_world();
    } else if (freezing && !joins && adaptation_->prepare_hoped.contains(agent)) {
        prepared_further(agent);
    } else if (joins || !may_come_late(agent, epoch)) {
        unexpected("preparation that is not awaited");
    }
}

/* Joining processes of one daemon have a connection to all who make one beforehand. */
void Step::on_greeted(const Agent &agent, uint32_t epoch)
{
    bool joins = is_freezing(epoch) && adaptation_->group == agent.group;
    if (joins && !adaptation_->prepare_owed.contains(agent) && adaptation_->greeted.insert(agent).second)
        prepared_further(agent);
    else if (joins || !may_come_late(agent, epoch))
        unexpected("greeting that is not awaited");
}

void Step::prepared_further(const Agent &agent)
{
    log("prepared", {{"group", agent.group}, {"proxy", agent.proxy}});
    if (adaptation_->prepare_hoped.erase(agent) > 0 && adaptation_->prepare_hoped.empty() &&
        adaptation_->freeze_at_ms >= 0)
        freeze_in(adaptation_->paced_ms - now_ms_);
}

/* After the freeze, or a withdrawal. */
bool Step::may_come_late(const Agent &agent, uint32_t epoch) const
{
    return (epoch > 0 && epoch == planned_epoch_) || killed_groups_.contains(agent.group);
}

void Step::on_frozen(const Agent &agent, uint32_t epoch, uint64_t ceiling)
{
    auto unanswered = freezes_unanswered_.find(agent);
    if (unanswered == freezes_unanswered_.end()) {
        unexpected("ceiling that nobody asked for");
        return;
    }
    if (--unanswered->second > 0)
        return;                 /* the answer to a freeze that has been withdrawn meanwhile */
    freezes_unanswered_.erase(unanswered);
    /* the next one may have the same epoch, and not have been sent yet */
    bool awaited = adaptation_ && adaptation_->freeze_sent && adaptation_->state == AdaptState::FREEZING &&
                   epoch == adaptation_->epoch && adaptation_->freeze_owed.erase(agent) > 0;
    if (!awaited)
        return;
    adaptation_->target = std::max(adaptation_->target, ceiling);
    log("frozen", {{"group", agent.group}, {"proxy", agent.proxy}, {"ceiling", ceiling}});
    if (adaptation_->freeze_owed.empty())
        raise(AdaptEvent::ALL_FROZEN);
}

void Step::on_committed(const Agent &agent, uint32_t epoch)
{
    bool awaited = adaptation_ && epoch == adaptation_->epoch &&
                   (adaptation_->state == AdaptState::AGREED ||
                    adaptation_->state == AdaptState::ENDING) &&
                   adaptation_->commit_owed.erase(agent) > 0;
    if (!awaited) {
        unexpected("commit that is not awaited");
        return;
    }
    log("agent_committed", {{"group", agent.group}, {"proxy", agent.proxy}});
    if (adaptation_->commit_owed.empty())
        raise(AdaptEvent::ALL_COMMITTED);
}

/* ---- ends ----------------------------------------------------------------------------------------- */

void Step::on_exited(Process &process, uint32_t wait_status)
{
    if (process.ended) {
        unexpected("second end of " + describe(process));
        return;
    }
    world_.mark_ended(process);
    process_over(process, exited_by_itself(wait_status), describe_wait_status(wait_status));
}

void Step::process_over(Process &process, bool by_itself, const std::string &cause)
{
    log("exited", {{"rank", process.world_rank},
                   {"uid", process.uid},
                   {"host", process.host},
                   {"cause", cause}});
    wish_without(process, "the process that has made it has ended");
    sets_without(process);
    if (killed_groups_.contains(process.group))
        return;
    if (mode_ == InitMode::SETS)
        set_process_over(process, by_itself, describe(process) + " " + cause);
    else if (is_joiner(process))
        joiner_over(process, by_itself, describe(process) + " " + cause);
    else if (process.world_rank >= 0)
        member_over(process, by_itself, describe(process) + " " + cause);
    else
        leaver_over(process);
}

void Step::joiner_over(const Process &process, bool by_itself, const std::string &cause)
{
    bool has_committed = !before_agreement(adaptation_->state) &&
                         !adaptation_->commit_owed.contains(process.agent());
    if (has_committed && by_itself)
        ending_ = true;         /* quick: the commit of others is still to be reported */
    else if (!before_agreement(adaptation_->state) && by_itself)
        raise(AdaptEvent::PARTICIPANT_ENDED, cause);
    else if (by_itself && process.init == InitMode::ADAPTIVE && !process.ready)
        raise(AdaptEvent::JOINER_LOST, cause + " without having called MPI_Comm_adapt_begin");
    else
        raise(AdaptEvent::JOINER_LOST, cause);
}

void Step::member_over(const Process &process, bool by_itself, const std::string &cause)
{
    bool leaving = is_leaving(process);
    bool agreed = adaptation_ && !before_agreement(adaptation_->state);
    bool has_committed = agreed && !adaptation_->commit_owed.contains(process.agent());
    ending_ = ending_ || !(leaving && has_committed);
    broken_ = broken_ || !by_itself;
    if (adaptation_ && !agreed)
        raise(by_itself ? AdaptEvent::JOB_ENDED : AdaptEvent::MEMBER_LOST,
              by_itself ? "the job ended (" + cause + ")" : cause);
    else if (agreed && !by_itself)
        raise(AdaptEvent::MEMBER_LOST, cause);
    else if (agreed && !has_committed)
        raise(AdaptEvent::PARTICIPANT_ENDED, "the job ended (" + cause + ")");
    if (world_.living() == 0)
        job_over();
}

void Step::leaver_over(const Process &process)
{
    auto found = departures_.find(process.left_epoch);
    if (process.left_epoch == 0 || found == departures_.end())
        return;
    Departure &departure = found->second;
    if (--departure.remaining > 0)
        return;
    journal_.add(now_ms_, "freed", {{"request", departure.request},
                                    {"epoch", found->first},
                                    {"hosts", departure.hosts},
                                    {"uids", departure.uids}});
    departures_.erase(found);
}

void Step::job_over()
{
    if (over_)
        return;
    over_ = true;
    log_untold_sets();
    log("ended", {{"size", world_.size()}, {"adaptations", statistics_.committed}});
    if (mode_ == InitMode::UNKNOWN && offers_.any())
        effects_.tell_user(effects_.context,
                           "no adaptation was offered: the program ended without MPI_Init_adapt, and without having "
                           "looked for changes through process sets");
    else if (mode_ == InitMode::RIGID && offers_.any())
        effects_.tell_user(effects_.context,
                           ("the adaptation " + std::string(offers_.is_schedule() ? "schedule" : "policy") +
                            " was not used: " + rigid_because_).c_str());
    else if (adapts() && !broken_)
        tell_never_offered();
}

void Step::tell_never_offered()
{
    auto [first, last] = offers_.left();
    if (first > last)
        return;
    journal_.add(now_ms_, "never_offered", {{"first", first}, {"last", last}});
    effects_.tell_user(effects_.context,
                       ((first == last ? "entry " + std::to_string(first)
                                       : "entries " + std::to_string(first) + " to " + std::to_string(last)) +
                        " of the adaptation schedule " + (first == last ? "was" : "were") +
                        " never offered: the program ended before").c_str());
}

/* ---- common ---------------------------------------------------------------------------------------- */

/* After every event: memory that is free, offers that are due, the next time to be woken. */
void Step::settle()
{
    if (!adaptation_)           /* also when the next one follows at once */
        world_.forget_empty_groups();
    if (!wish_)
        take_next_wish();
    if (wish_)
        consider_wish();
    consider_set_request();
    consider_orphan();
    consider_places();
    while (adapts() && !adaptation_ && !ending_) {
        if (offers_.due() && *offers_.due() <= now_ms_)
            drop_ended();
        bool offering = offers_.any();
        auto due = offers_.take(now_ms_, world_.size(), sizes_ ? &*sizes_ : nullptr);
        if (offering && !offers_.any() && sizes_)
            tell_policy_stops();
        if (!due)
            break;
        offer(*due);
    }
    tell_offer();
    update_wake();
}

void Step::update_wake()
{
    int64_t wake = -1;
    auto consider = [&](int64_t time_ms) {
        if (time_ms >= 0 && (wake < 0 || time_ms < wake))
            wake = std::max(time_ms, now_ms_);
    };
    if (adapts() && !adaptation_ && !ending_ && offers_.due())
        consider(*offers_.due());
    if (sample_)
        consider(sample_->until_ms);
    if (auto when = wish_void_ms())
        consider(*when);
    consider(left_at_ms_);
    consider(places_.next_ms());
    consider(outposts_next_ms());
    if (adaptation_) {
        consider(adaptation_->behind_at_ms);
        consider(adaptation_->freeze_at_ms);
        consider(adaptation_->ending_ask_ms);
        consider(adaptation_->ending_until_ms);
        if (adaptation_->deadline_unix_ms != 0 && before_agreement(adaptation_->state))
            consider(std::max<int64_t>(
                static_cast<int64_t>(adaptation_->deadline_unix_ms) - unix_ms_at_zero_, 0));
    }
    if (wake != wake_ms_)
        effects_.wake_at(effects_.context, wake);
    wake_ms_ = wake;
}

void Step::unexpected(const std::string &what)
{
    statistics_.unexpected++;
    if (unexpected_rate_.allows(now_ms_))
        log("unexpected", {{"what", what}, {"count", statistics_.unexpected}});
}

bool Step::owns_failure(int group) const
{
    return is_apart(group) || (adaptation_ && adaptation_->group == group &&
                                              (mode_ == InitMode::SETS || before_agreement(adaptation_->state)));
}

int Step::world_rank(int group, int rank) const
{
    const Process *process = world_.find(group, rank);
    return process ? process->world_rank : -1;
}

bool Step::is_joiner(const Process &process) const
{
    return adaptation_ && adaptation_->group == process.group && process.world_rank < 0;
}

bool Step::is_leaving(const Process &process) const
{
    return adaptation_ && std::binary_search(adaptation_->change.leaving.begin(),
                                             adaptation_->change.leaving.end(),
                                             process.world_rank);
}

std::string Step::describe(const Process &process) const
{
    std::string where = " on node " + process.host;
    if (process.world_rank >= 0)
        return "rank " + std::to_string(process.world_rank) + where;
    if (is_joiner(process))
        return "joining rank " + std::to_string(process.rank) + where;
    return "process " + std::to_string(process.uid) + ", which has left the world," + where;
}

std::string Step::summary() const
{
    const Statistics &s = statistics_;
    if (s.committed + s.withdrawn + s.failed == 0)
        return "";
    std::string text = "adaptations: " + std::to_string(s.committed) + " committed, " +
                       std::to_string(s.withdrawn) + " withdrawn, " + std::to_string(s.failed) +
                       " failed; world size";
    for (size_t i = 0; i < s.sizes.size(); i++)
        text += (i == 0 ? " " : " -> ") + std::to_string(s.sizes[i]);
    if (s.committed + 1 > s.sizes.size())
        text += " -> ... -> " + std::to_string(world_.size());
    if (s.committed > 0) {
        auto mean = [&](int64_t sum) {
            return std::to_string(sum / static_cast<int64_t>(s.committed)) + " ms";
        };
        text += "; mean time to be ready " + mean(s.launch_ms) + ", to agree " + mean(s.agree_ms) +
                ", from agreement to commit " + mean(s.window_ms);
    }
    return text;
}

}  // namespace elastic
