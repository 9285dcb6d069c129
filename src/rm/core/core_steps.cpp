/* See core_impl.h: reports of steps. */

#include <algorithm>
#include <functional>

#include "core/core_impl.h"
#include "core/record.h"
#include "core/redundant.h"

namespace elastic::rm {

namespace {

constexpr int64_t CPU_MAX_MS = int64_t{1} << 50;        /* a step may report anything */

/* Rising, and not all ranks. */
bool are_some_ranks(const std::vector<int> &ranks, int size)
{
    bool rising = std::ranges::adjacent_find(ranks, std::greater_equal<>()) == ranks.end();
    return !ranks.empty() && rising && ranks.front() >= 0 && ranks.back() < size &&
        static_cast<int>(ranks.size()) < size;
}

}  // namespace

/* Late and repeated reports are normal: they concern an earlier step or are known, and change
 * nothing. */
Job *Core::Impl::find_step(const char *event, JobId id, uint32_t step)
{
    const Job *job = state.job(id);
    if (!job) {
        if (id == 0 || id > state.last_job)
            unexpected(std::string(event) + " of unknown job " + std::to_string(id));
        return nullptr;
    }
    if (step == 0 || step > job->step) {
        unexpected(std::string(event) + " of step " + std::to_string(step) +
                       ", which does not exist",
                   id);
        return nullptr;
    }
    return is_allocated(job->state) && step == job->step ? &state.jobs.change(id) : nullptr;
}

template <class StepEvent> Job *Core::Impl::job_of_adaptation(const StepEvent &event)
{
    Job *job = job_of_running(event);
    bool fits = job && job->broken.empty() && job->adaptation &&
        job->adaptation->request == event.request &&
        job->adaptation->phase != AdaptPhase::ACQUIRING;
    return fits ? job : nullptr;
}

void Core::Impl::on(const StepStarted &event)
{
    job_of_running(event);
}

void Core::Impl::on(const StepAdaptive &event)
{
    set_mode(job_of_running(event), StepMode::ADAPTIVE);
}

void Core::Impl::on(const StepRigid &event)
{
    set_mode(job_of_running(event), StepMode::RIGID);
}

void Core::Impl::on(const StepSizes &event)
{
    Job *job = job_of_running(event);
    if (!job || job->spec.program_sizes == event.rule)
        return;
    bool understood = false;
    update(*job, [&] { understood = set_program_sizes(job->spec, event.rule); });
    if (!understood)
        return unexpected("step_sizes without a rule for sizes", job->id);
    record(record::SIZES, *job, {{"step", job->step}, {"rule", event.rule}});
    check_size_request(*job);
}

void Core::Impl::set_mode(Job *job, StepMode mode)
{
    bool may_follow = job && (job->mode == StepMode::UNKNOWN ||
                              (job->mode == StepMode::RIGID && mode == StepMode::ADAPTIVE &&
                               job->broken.empty()));    /* through process sets */
    if (!may_follow)
        return;
    bool was_rigid = job->mode == StepMode::RIGID;
    update(*job, [&] { job->mode = mode; });
    /* reservations have counted on its donations, or have not */
    if (mode == StepMode::RIGID || was_rigid)
        state.sampled();
    record(record::MODE, *job, [&]() -> Json {
        return {{"step", job->step}, {"mode", to_string(mode)}};
    });
    check_size_request(*job);
}

void Core::Impl::on(const StepStartFailed &event)
{
    Job *job = job_of_step(event);
    if (!job || job->acquiring || job->releasing)
        return;
    if (job->state != JobState::STARTING && job->state != JobState::COMPLETING)
        return unexpected("step_start_failed of a step that runs", job->id);
    if (event.own_fault && job->state == JobState::STARTING)
        return pause_starts(*job, event.reason);
    /* Nodes of a back end that requests them elsewhere cannot be drained here. */
    bool is_ours = state.config.own_nodes || !state.config.asynchronous_nodes;
    bool is_fault_of_node = event.node_fault && is_ours &&
        job->state == JobState::STARTING && !job->blocks.empty();
    if (is_fault_of_node) {
        NodeName node = (*job->blocks.begin()).node;
        over(*job, JobState::PENDING,
             "the step could not be started on node " + node + ": " + event.reason);
        return note_start_fault(node, event.reason);
    }
    if (job->state == JobState::STARTING)
        job->start_failures++;
    bool again = job->start_failures < state.config.start_attempts_max;
    over(*job, again ? JobState::PENDING : JobState::FAILED,
         "the step could not be started: " + event.reason);
}

/* The job waits again.  Starts that failed at the same time count once. */
void Core::Impl::pause_starts(Job &job, const std::string &reason)
{
    constexpr int64_t PAUSE_MAX_MS = 60000;
    StartPause &pause = state.start_pause;
    if (!state.starts_pause()) {
        int64_t pause_ms = state.config.start_pause_ms
                           << std::min(pause.failures++, BACKOFF_DOUBLINGS_MAX);
        pause.until_ms = state.now_ms + std::min(pause_ms, PAUSE_MAX_MS);
        pause.reason = reason;
    }
    over(job, JobState::PENDING, reason);
}

void Core::Impl::on(const StepAccepted &event)
{
    Job *job = job_of_adaptation(event);
    if (!job || job->adaptation->phase != AdaptPhase::SENT)
        return;
    update(*job, [&] {
        job->adaptation->phase = AdaptPhase::ACCEPTED;
        job->adaptation->step_request = event.step_request;
        if (job->state == JobState::ADAPTING && !job->adaptation->withdrawing) {
            job->tries = 0;
            job->deadline_ms = job->adaptation->requested_ms + state.config.adapt_patience_ms;
        }
    });
}

void Core::Impl::on(const StepReady &event)
{
    Job *job = job_of_adaptation(event);
    if (job && job->adaptation->phase == AdaptPhase::ACCEPTED)
        job->adaptation->phase = AdaptPhase::READY;
}

void Core::Impl::on(const StepCommitted &event)
{
    Job *job = job_of_running(event);
    if (!job || !job->broken.empty() || event.epoch <= job->epoch)
        return;
    bool fits = job->adaptation && job->adaptation->request == event.request &&
                job->adaptation->phase != AdaptPhase::ACQUIRING && event.epoch == job->epoch + 1;
    if (!fits)
        return unexpected("step_committed of request " + std::to_string(event.request) +
                              ", epoch " + std::to_string(event.epoch) + ", after epoch " +
                              std::to_string(job->epoch),
                          job->id);
    commit(*job, event);
}

void Core::Impl::on(const StepRefused &event)
{
    if (Job *job = job_of_adaptation(event))
        come_to_nothing(*job, false, event.reason);
}

void Core::Impl::on(const StepWithdrawn &event)
{
    if (Job *job = job_of_adaptation(event))
        come_to_nothing(*job, false, event.reason);
}

void Core::Impl::on(const StepFailed &event)
{
    if (Job *job = job_of_adaptation(event))
        come_to_nothing(*job, true, event.reason);
}

void Core::Impl::on(const StepFreed &event)
{
    Job *job = job_of_running(event);
    if (!job || !job->broken.empty() || event.epoch == 0)
        return;
    auto departure = std::find_if(
        job->departures.begin(), job->departures.end(),
        [&](const Departure &each) { return each.epoch == event.epoch && !each.releasing; });
    if (departure == job->departures.end())
        return;
    if (!state.config.asynchronous_nodes)
        return freed(*job, departure->request);
    departure->releasing = true;
    out_.push_back(release(*job, *departure));
}

/* A requested change names ranks of the former world: the step refuses it. */
void Core::Impl::on(const StepLeft &event)
{
    Job *job = job_of_running(event);
    if (!job || !job->broken.empty() || event.epoch <= job->epoch)
        return;
    bool fits = event.epoch == job->epoch + 1 && are_some_ranks(event.leave, job->size());
    if (!fits)
        return unexpected("step_left with epoch " + std::to_string(event.epoch) + ", after epoch " +
                              std::to_string(job->epoch),
                          job->id);
    if (job->adaptation) {
        bool withheld = job->withheld_loan; /* it has not refused */
        come_to_nothing(*job, false, "processes have ended by themselves meanwhile");
        job->withheld_loan = withheld;
    }
    left(*job, event);
}

/* A reply may arrive after the end of its change: for a shrink, after the end of its processes. */
void Core::Impl::on(const StepSetChange &event)
{
    Job *job = job_of_running(event);
    if (!job || is_redundant(state, event))
        return;
    update(*job, [&] {
        if (!job->set_changes)
            job->set_changes.emplace();
        SetChanges &known = *job->set_changes;
        known.request = event.request;
        known.number = event.number;
        known.stage = event.stage;
        known.uid = event.uid;
        known.at_ms = state.now_ms;
        if (event.stage == SetStage::NOTIFIED)
            known.notified_ms = state.now_ms;
        (event.stage == SetStage::NOTIFIED           ? known.reported
             : event.stage == SetStage::ACCEPTED ? known.accepted
                                                 : known.declined)++;
    });
    const char *names[] = {record::NOTIFIED, record::ACCEPTED, record::DECLINED};
    record(names[static_cast<size_t>(event.stage)], *job,
           {{"step", job->step}, {"request", event.request}, {"uid", event.uid}});
}

void Core::Impl::on(const StepSampled &event)
{
    Job *job = job_of_step(event);
    if (!job || !can_take(*job, event.sample))
        return;
    if (!job->performance)
        invalidate_epoch(job->performance.emplace(), job->epoch);
    Sight before = rules().sight(state, *job);
    int window = std::min(state.config.monitor_window, MONITOR_WINDOW_MAX);
    bool was_rigid = is_in_rigid_phase(*job);
    take(*job->performance, event.sample, state.now_ms, static_cast<size_t>(window));
    job->worth.reset();
    if (is_in_rigid_phase(*job) != was_rigid)
        state.index(*job);
    if (last_dependence_ && rules().heeds_sample(state, *job, before, *last_dependence_))
        state.sampled();
}

void Core::Impl::on(const StepBroken &event)
{
    Job *job = job_of_running(event);
    if (job && job->broken.empty())
        stop_believing(*job, event.reason);
}

void Core::Impl::on(const StepEnded &event)
{
    Job *job = job_of_running(event);
    if (!job)
        return;
    job->exit_code = event.exit_code;
    if (event.cpu_ms != NEVER)
        job->cpu_ms = std::max<int64_t>(job->cpu_ms, 0) +
            std::clamp<int64_t>(event.cpu_ms, 0, CPU_MAX_MS);
    job->rss_bytes = std::max(job->rss_bytes, event.rss_bytes);
    /* It ended before it could be stopped (perhaps while elasticd did not run).  After a signal,
     * code 0 proves nothing: mpiexec may end with it. */
    if (job->state == JobState::COMPLETING && event.exit_code == 0 && !event.signalled &&
        job->verdict != JobState::CANCELLED) {
        job->verdict = JobState::DONE;
        job->reason.clear();
    }
    std::string reason = event.reason;
    if (reason.empty() && event.exit_code != 0)
        reason = "exit code " + std::to_string(event.exit_code);
    over(*job, event.exit_code == 0 ? JobState::DONE : JobState::FAILED, reason);
}

void Core::Impl::on(const StepLost &event)
{
    Job *job = job_of_step(event);
    if (job && !job->acquiring && !job->releasing)
        over(*job, job->spec.requeue ? JobState::PENDING : JobState::FAILED,
             "the step is lost: " + event.reason);
}

}  // namespace elastic::rm
