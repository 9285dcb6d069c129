/* See core_impl.h: the states of a job and their changes (job_table.h). */

#include <cassert>

#include "core/core_impl.h"
#include "core/pending_changes.h"
#include "core/placement.h"
#include "core/record.h"

namespace elastic::rm {

namespace {

/* a step may report any value */
constexpr int64_t STANDSTILL_MAX_MS = int64_t{366} * 86400 * 1000;
/* weight of the newest value in an exponential mean: 1 / MEAN_PART */
constexpr int64_t MEAN_PART = 4;

void add_to_mean(int64_t &mean_ms, int64_t value_ms)
{
    mean_ms = mean_ms == NEVER ? value_ms : mean_ms + (value_ms - mean_ms) / MEAN_PART;
}

}  // namespace

void Core::Impl::move(Job &job, JobEvent event)
{
    const JobTransition *row = find_transition(job.state, event);
    assert(row);
    job.state = row->next;
}

/* ---- from the queue to the end ------------------------------------------------------------ */

namespace {

/* Evaluating the rule with these numbers gives it again: the rest of the record is not needed
 * (SPEC-performance X1). */
Json why_started(const StartNumbers &numbers)
{
    Json why = write(numbers);
    why["rule"] = numbers.backfill ? to_string(StartRule::BACKFILL) : to_string(StartRule::START);
    return why;
}

}  // namespace

void Core::Impl::start(Job &job, const Start &decided)
{
    rebook(job, [&] {
        move(job, JobEvent::PLACE);
        job.step++;
        job.started_name = job.spec.name;
        job.started_host = decided.blocks.empty() ? "" : decided.blocks.front().node.str();
        job.limit_changed = false;
        job.blocks = decided.blocks;
        job.gpus = choose_gpus(job.spec, decided.blocks);
        job.process_gpus = choose_process_gpus(job.spec, decided.blocks);
        job.reason.clear();
        job.exit_code.reset();
        job.acquiring = state.config.asynchronous_nodes;
        job.started_ms = state.now_ms;
        job.suspended_ms = 0;
        job.tries = 0;
        job.deadline_ms = state.now_ms + state.config.answer_timeout_ms;
        job.limit_at_ms = limit_at_ms(job);
    });
    auto data = [&]() -> Json {
        return {{"step", job.step},
                {"size", job.size()},
                {"waited_ms", state.now_ms - job.submitted_ms},
                {"why", why_started(decided.numbers)}};
    };
    record(record::ALLOCATED, job, data, "blocks", decided.blocks);
    if (job.acquiring)
        out_.push_back(acquire(job));
    else
        out_.push_back(start_step(job));
}

void Core::Impl::started(Job &job)
{
    update(job, [&] {
        move(job, JobEvent::START);
        job.started_ms = state.now_ms;
        job.first_size = job.size();
        job.process_ms = 0;
        job.sized_ms = state.now_ms;
        job.deadline_ms = NEVER;
        recall(state.learned, job);
        job.start_failures = 0;
        job.limit_at_ms = limit_at_ms(job);
    });
    if (!state.starts_pause())
        state.start_pause = {};
    record(record::STARTED, job, [&]() -> Json {
        return {{"step", job.step}, {"size", job.size()}};
    });
    state.turns.push_back({job.id, job.state});
    count_start(job);
}

/* Ends the step; the verdict is the next state of the job (PENDING: it waits again). */
void Core::Impl::stop(Job &job, JobState verdict, const std::string &reason)
{
    if (job.acquiring)
        return over(job, verdict, reason);
    bool was_starting = job.state == JobState::STARTING;
    bool is_suspended = job.state == JobState::SUSPENDED;
    update(job, [&] {
        move(job, JobEvent::STOP);
        end_suspension(job);
        job.verdict = verdict;
        job.reason = reason;
        job.limit_at_ms = NEVER;
        job.tries = 0;
        job.deadline_ms = state.now_ms + state.config.kill_grace_ms;
    });
    record(record::COMPLETING, job, [&]() -> Json {
        return {{"step", job.step}, {"verdict", to_string(verdict)}, {"reason", reason}};
    });
    if (was_starting)           /* no request waits for its start any more */
        state.turns.push_back({job.id, job.state});
    out_.push_back(SignalStep{job.id, job.step, SIGNAL_TERMINATE});
    if (is_suspended)           /* its processes receive the signal when they continue */
        out_.push_back(suspend_step(job));
}

/* Nothing of the step runs any more.  If its end was decided before (stop), that decision is
 * kept. */
void Core::Impl::over(Job &job, JobState verdict, const std::string &reason)
{
    if (job.adaptation) {
        keep_joining(job);
        bool withheld = job.withheld_loan;
        adaptation_over(job, record::WITHDRAWN, "the job ended");
        job.withheld_loan = withheld;
    }
    remove_size_request(job, "the job ended");
    remove_slots(job, "the job ended");
    remove_names(job);
    learn(state.learned, job, state.now_ms);
    bool was_stopped = job.state == JobState::COMPLETING,
         was_starting = job.state == JobState::STARTING;
    update(job, [&] {
        move(job, JobEvent::OVER);
        end_suspension(job);
        if (job.sized_ms != NEVER && job.sized_ms >= job.started_ms)    /* it has run */
            add_time_at_size(job.times, job.size(), state.now_ms - job.sized_ms);
        job.verdict = was_stopped ? job.verdict : verdict;
        job.reason = was_stopped ? job.reason : reason;
        job.limit_at_ms = NEVER;
        job.acquiring = false;
        job.releasing = state.config.asynchronous_nodes;
        job.tries = 0;
        job.deadline_ms = job.releasing ? state.now_ms + state.config.answer_timeout_ms : NEVER;
    });
    if (job.releasing && was_starting)
        state.turns.push_back({job.id, job.state});
    if (job.releasing)
        out_.push_back(release_all(job));
    else
        finish(job);
}

/* All its resources are released. */
void Core::Impl::finish(Job &job)
{
    add_use(job);
    switch (job.verdict) {
        case JobState::PENDING: return wait_again(job);
        case JobState::DONE: return end(job, JobEvent::END_DONE);
        case JobState::CANCELLED: return end(job, JobEvent::END_CANCELLED);
        default: return end(job, JobEvent::END_FAILED);
    }
}

void Core::Impl::wait_again(Job &job)
{
    rebook(job, [&] {
        move(job, JobEvent::REQUEUE);
        job.departures.clear();
        job.releasing = false;
        job.verdict = JobState::DONE;
        job.mode = StepMode::UNKNOWN;
        job.broken.clear();
        bound_start(job, job.start_at_most > 0 ? job.start_at_most : job.grow_at_most);
        job.epoch = 0;
        job.performance.reset();
        job.blocks = Blocks();
        job.gpus.clear();
        job.process_gpus.clear();
        job.refusals = 0;
        job.loaned = 0;
        job.last_change.reset();
        job.set_changes.reset();
        job.wished_size = 0;
        job.offer_after_ms = state.now_ms + start_pause_ms(job);
        job.starts_smaller = false;
        job.deadline_ms = job.offer_after_ms;
    });
    record(record::REQUEUED, job, {{"step", job.step}, {"reason", job.reason}});
}

void Core::Impl::end(Job &job, JobEvent event)
{
    rebook(job, [&] {
        move(job, event);
        job.departures.clear();
        job.gpus.clear();
        job.process_gpus.clear();
        job.releasing = false;
        job.ended_ms = state.now_ms;
        job.deadline_ms = NEVER;
        job.waits_for.clear();
        job.deferred = false;
    });
    state.turns.push_back({job.id, job.state});
    count_end(job);
    record(record::ENDED, job, [&]() -> Json {
        return {{"state", to_string(job.state)},
                {"reason", job.reason},
                {"exit_code", write(job.exit_code)},
                {"step", job.step}};
    });
    state.finished.push_back(job.id);
}

/* Called before an event, so that the records of jobs that ended with the last event still find
 * them, in any number. */
void Core::Impl::remove_finished()
{
    while (state.finished.size() > static_cast<size_t>(state.config.finished_max)) {
        JobId oldest = state.finished.front();
        state.finished.pop_front();
        const Job &discarded = state.jobs.at(oldest);
        state.requests.erase(discarded.request);
        state.unindex(discarded);
        count_discarded(discarded);
        state.jobs.discard(oldest);
        out_.push_back(RemoveJob{oldest});
    }
}

/* ---- changes of size ------------------------------------------------------------ */

void Core::Impl::adapt(Job &job, const Change &change, bool by_user)
{
    bool must_acquire = state.config.asynchronous_nodes && !change.joining.empty();
    /* before the change */
    Json why = keeps_history && change.why ? change.why(state, job) : Json();
    rebook(job, [&] {
        move(job, JobEvent::ADAPT);
        Adaptation &adaptation = job.adaptation.emplace();
        adaptation.request = ++job.requests;
        adaptation.phase = must_acquire ? AdaptPhase::ACQUIRING : AdaptPhase::SENT;
        adaptation.by_user = by_user;
        adaptation.by_program = change.by_program;
        adaptation.reason = change.reason;
        adaptation.old_size = job.size();
        adaptation.size = change.size;
        adaptation.leave = change.leave;
        adaptation.joining = gathered(change.joining);
        adaptation.gpus = choose_process_gpus(job.spec, adaptation.joining);
        adaptation.loaned = change.loaned;
        adaptation.whom = change.whom;
        adaptation.requested_ms = state.now_ms;
        job.tries = 0;
        job.deadline_ms = state.now_ms + state.config.answer_timeout_ms;
    });
    auto data = [&]() -> Json {
        return {{"step", job.step},
                {"request", job.requests},
                {"by_user", by_user},
                {"by", change.by},
                {"old_size", job.size()},
                {"size", change.size},
                {"leave", change.leave},
                {"reason", change.reason},
                {"why", why}};
    };
    record(record::REQUESTED, job, data, "joining", job.adaptation->joining);
    if (must_acquire)
        out_.push_back(acquire(job));
    else
        out_.push_back(resize(job));
}

void Core::Impl::commit(Job &job, const StepCommitted &event)
{
    unsend_resize(job);
    const Adaptation adaptation = std::move(*job.adaptation);
    Departure departure{adaptation.request, event.epoch, {}};
    auto change = [&] {
        move(job, JobEvent::ADAPT_END);
        int loaned = coming_loan(job, adaptation);
        job.blocks =
            append(without(job.blocks, adaptation.leave, &departure.blocks), adaptation.joining);
        job.process_gpus = without(job.process_gpus, adaptation.leave, &departure.gpus);
        job.process_gpus.insert(job.process_gpus.end(), adaptation.gpus.begin(),
                                adaptation.gpus.end());
        job.loaned = loaned;
        job.epoch = event.epoch;
        if (job.performance)
            invalidate_epoch(*job.performance, job.epoch);
        job.adaptation.reset();
        if (!departure.blocks.empty())
            job.departures.push_back(departure);
        job.committed++;
        int64_t standstill_ms = std::clamp<int64_t>(event.standstill_ms, 0, STANDSTILL_MAX_MS);
        if (adaptation.overdue)         /* the program has computed since the agreement */
            standstill_ms = 0;
        job.standstill_ms += standstill_ms;
        if (!adaptation.overdue)
            add_to_mean(job.mean_standstill_ms, standstill_ms);
        add_to_mean(job.mean_duration_ms, state.now_ms - adaptation.requested_ms);
        job.process_ms += adaptation.old_size * (state.now_ms - job.sized_ms);
        add_time_at_size(job.times, adaptation.old_size, state.now_ms - job.sized_ms);
        job.sized_ms = state.now_ms;
        job.refusals = 0;
        job.last_change = {adaptation.request, adaptation.old_size, job.size(),
                           state.now_ms,       standstill_ms,       adaptation.reason,
                           adaptation.whom};
        job.last_adapted_ms = state.now_ms;
        wait_for_departures(job);
    };
    /* Joined processes are booked already, and leaving ones still are; whole nodes in the same
     * order, too. */
    if (job.spec.whole_nodes)
        update(job, change);
    else
        rebook(job, change);
    state.changed();
    auto data = [&]() -> Json {
        return {{"step", job.step},
                {"request", adaptation.request},
                {"epoch", event.epoch},
                {"old_size", adaptation.old_size},
                {"size", job.size()},
                {"duration_ms", state.now_ms - adaptation.requested_ms},
                {"standstill_ms", event.standstill_ms}};
    };
    record(record::COMMITTED, job, data, "blocks", job.blocks);
    check_slots(job);
}

/* It is unknown whether a change in progress has happened: the job keeps all cores that it might
 * have until it ends. */
void Core::Impl::stop_believing(Job &job, const std::string &reason)
{
    std::string why = "step protocol broken: " + reason;
    if (job.adaptation && job.adaptation->phase == AdaptPhase::ACQUIRING)
        come_to_nothing(job, true, why);
    else if (job.adaptation) {
        rebook(job, [&] { joining_departs(job, false); });
        adaptation_over(job, record::FAILED, why);
    }
    remove_size_request(job, why);
    remove_slot_requests(job, why);
    update(job, [&] {
        job.broken = reason;
        job.mode = StepMode::RIGID;
    });
    record(record::STEP_BROKEN, job, {{"step", job.step}, {"reason", why}});
}

/* The world has not changed; joining processes have ended. */
void Core::Impl::come_to_nothing(Job &job, bool failed, const std::string &reason)
{
    bool must_release = keep_joining(job);
    adaptation_over(job, failed ? record::FAILED : record::WITHDRAWN, reason);
    if (must_release)
        out_.push_back(release(job, job.departures.back()));
}

/* Cancels a repetition that was due now. */
void Core::Impl::unsend_resize(const Job &job)
{
    std::erase_if(out_, [&](const Action &action) {
        const ResizeStep *resize = std::get_if<ResizeStep>(&action);
        return resize && resize->job == job.id;
    });
}

namespace {

bool was_to_give_back(const Job &job, const Adaptation &adaptation)
{
    return job.loaned > 0 && !adaptation.by_user && adaptation.size < adaptation.old_size;
}

}  // namespace

/* Its only end other than a commit. */
void Core::Impl::adaptation_over(Job &job, const char *outcome, const std::string &reason)
{
    unsend_resize(job);
    const Adaptation adaptation = *job.adaptation;
    bool failed = outcome == record::FAILED;
    rebook(job, [&] {
        move(job, JobEvent::ADAPT_END);
        job.adaptation.reset();
        (failed ? job.failed : job.withdrawn)++;
        job.refusals++;
        job.withheld_loan = job.withheld_loan || was_to_give_back(job, adaptation);
        int doublings = std::min(job.refusals - 1, BACKOFF_DOUBLINGS_MAX);
        job.offer_after_ms = state.now_ms + std::min(state.config.refusal_pause_ms << doublings,
                                                     state.config.refusal_pause_max_ms);
        wait_for_departures(job);
    });
    record(outcome, job, [&]() -> Json {
        return {{"step", job.step},
                {"request", adaptation.request},
                {"old_size", adaptation.old_size},
                {"size", adaptation.size},
                {"reason", reason}};
    });
}

/* Requests the step to withdraw the change; its answer is the end of the request. */
void Core::Impl::withdraw(Job &job)
{
    Adaptation &adaptation = *job.adaptation;
    if (adaptation.phase == AdaptPhase::ACQUIRING)
        return come_to_nothing(job, false, "the nodes were not allocated in time");
    adaptation.withdrawing = true;
    out_.push_back(
        CancelRequest{job.id, job.step, adaptation.request, adaptation.step_request});
}

}  // namespace elastic::rm
