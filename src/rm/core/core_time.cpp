/*
 * See core_impl.h: overdue answers, and all orders that await one and may be sent again.
 *
 * Each job has one deadline, for the answer that it awaits at present.  An action without an answer
 * is repeated, at growing intervals: after answer_tries_max times a start is given up and a change
 * withdrawn; actions that end a step or release nodes are repeated for ever, because cores are free
 * only when the end is certain.
 */

#include "core/core_impl.h"
#include "core/placement.h"
#include "core/record.h"
#include "core/time_limit.h"

namespace elastic::rm {

void Core::Impl::due()
{
    const State::Indices &indices = state.indices();
    count_use();
    count_group_times();
    while (!indices.limits.empty() && indices.limits.begin()->first <= state.now_ms) {
        Job &job = state.jobs.change(indices.limits.begin()->second);
        if (job.state == JobState::STARTING)    /* the limit counts from the start of the step */
            update(job, [&] {
                job.limit_at_ms = state.now_ms + std::max<int64_t>(time_limit(state, job.spec), 1);
            });
        else
            stop(job, JobState::FAILED,
                 "the time limit of " + std::to_string(time_limit(state, job.spec) / 1000) +
                     " s is reached");
    }
    while (!indices.deadlines.empty() && indices.deadlines.begin()->first <= state.now_ms)
        overdue(state.jobs.change(indices.deadlines.begin()->second));
    if (state.next_poll_ms != NEVER && state.next_poll_ms <= state.now_ms)
        query_steps();
    if (state.reservations_at_ms == NEVER || state.reservations_at_ms > state.now_ms)
        return;
    state.reservations_at_ms = state.reservations_change_ms(state.now_ms);
    state.to_enter = 1;
    state.changed();
}

/* Waits for an answer again, longer each time.  Returns the number of waits. */
int Core::Impl::wait_longer(Job &job)
{
    update(job, [&] {
        job.tries++;
        job.deadline_ms = state.now_ms + (state.config.answer_timeout_ms
                                          << std::min(job.tries, BACKOFF_DOUBLINGS_MAX));
    });
    return job.tries;
}

void Core::Impl::overdue(Job &job)
{
    switch (job.state) {
        case JobState::STARTING: return overdue_start(job);
        case JobState::RUNNING:
        case JobState::SUSPENDED:
            wait_longer(job);
            return query_departures(job);
        case JobState::ADAPTING:
            overdue_adaptation(job);
            return query_departures(job);
        case JobState::COMPLETING: return overdue_end(job);
        default: return begin_if_due(job);      /* it waits, and its pause has ended */
    }
}

void Core::Impl::overdue_start(Job &job)
{
    int tries = wait_longer(job);
    if (job.acquiring)          /* its duration is not limited */
        out_.push_back(acquire(job));
    else if (tries < state.config.answer_tries_max)
        out_.push_back(start_step(job));
    else
        stop(job, job.spec.requeue ? JobState::PENDING : JobState::FAILED,
             "the step was not started in time: it sent no report");
}

void Core::Impl::overdue_adaptation(Job &job)
{
    int64_t patience_at_ms = job.adaptation->requested_ms + state.config.adapt_patience_ms;
    int tries = wait_longer(job);
    AdaptPhase phase = job.adaptation->phase;
    bool hopeless = phase == AdaptPhase::SENT && tries >= state.config.answer_tries_max;
    bool late = state.now_ms >= patience_at_ms;
    if (job.adaptation->withdrawing || hopeless || late) {
        if (job.adaptation->withdrawing && late && !is_overdue(job))
            count_on_it_no_more(job);
        withdraw(job);
        if (job.adaptation)
            out_.push_back(QueryStep{job.id, job.step});
    } else if (phase == AdaptPhase::ACQUIRING) {
        out_.push_back(acquire(job));
    } else if (phase == AdaptPhase::SENT) {
        out_.push_back(resize(job));
    }
}

/* The step does not withdraw it: it is agreed on, and is performed if the program reaches a
 * probe.  Until then its cores belong to the job, and no plan uses them. */
void Core::Impl::count_on_it_no_more(Job &job)
{
    update(job, [&] { job.adaptation->overdue = true; });
    state.sampled();    /* reservations have counted on its donation */
    record(record::OVERDUE, job, [&]() -> Json {
        const Adaptation &adaptation = *job.adaptation;
        int64_t waited_s = (state.now_ms - adaptation.requested_ms) / 1000;
        return {{"step", job.step},
                {"request", adaptation.request},
                {"old_size", adaptation.old_size},
                {"size", adaptation.size},
                {"reason", "its program has not reached a probe for " + std::to_string(waited_s) +
                               " s, and it is too late to withdraw the change"}};
    });
}

void Core::Impl::overdue_end(Job &job)
{
    wait_longer(job);
    if (job.releasing)
        out_.push_back(release_all(job));
    else
        out_.push_back(SignalStep{job.id, job.step, SIGNAL_KILL});
}

void Core::Impl::query_departures(const Job &job)
{
    bool running = false;
    for (const Departure &departure : job.departures) {
        running = running || !departure.releasing;
        if (departure.releasing)
            out_.push_back(release(job, departure));
    }
    if (running)
        out_.push_back(QueryStep{job.id, job.step});
}

/* Queries every step periodically, which compensates for missed reports; also repeats whether it
 * is suspended. */
void Core::Impl::query_steps()
{
    for (JobId id : state.indices().allocated) {
        const Job &job = state.jobs.at(id);
        if (job.state == JobState::RUNNING || job.state == JobState::ADAPTING)
            out_.push_back(QueryStep{job.id, job.step});
        if (was_suspended(job))
            out_.push_back(suspend_step(job));
    }
    state.next_poll_ms = NEVER;
}

/* A timer that is early is harmless: it is replaced only by an earlier one. */
void Core::Impl::update_timer()
{
    const State::Indices &indices = state.indices();
    if (indices.allocated.empty())
        state.next_poll_ms = NEVER;
    else if (state.next_poll_ms == NEVER)
        state.next_poll_ms = state.now_ms + state.config.poll_interval_ms;
    int64_t wake_ms = NEVER;
    auto consider = [&wake_ms](int64_t time_ms) { wake_ms = earlier(wake_ms, time_ms); };
    if (!indices.deadlines.empty())
        consider(indices.deadlines.begin()->first);
    if (!indices.limits.empty())
        consider(indices.limits.begin()->first);
    consider(state.next_poll_ms);
    if (!state.turns.empty() || state.to_enter > 0)
        consider(state.now_ms);
    consider(state.reservations_at_ms);
    if (state.uses_at_ms != NEVER && !indices.queue.empty())
        consider(state.uses_at_ms + use_interval_ms());
    consider(budgets_change_ms());
    consider(state.policy_at_ms);
    if (wake_ms == NEVER || (state.timer_ms != NEVER && state.timer_ms <= wake_ms))
        return;
    state.timer_ms = wake_ms;
    out_.push_back(SetTimer{wake_ms});
}

Actions Core::Impl::pending() const
{
    Actions actions;
    for (JobId id : state.indices().allocated) {
        const Job &job = state.jobs.at(id);
        if (job.acquiring)
            actions.push_back(acquire(job));
        else if (job.state == JobState::STARTING)
            actions.push_back(start_step(job));
        else if (job.releasing)
            actions.push_back(release_all(job));
        else
            pending_of_running(job, actions);
    }
    if (state.timer_ms != NEVER)
        actions.push_back(SetTimer{state.timer_ms});
    return actions;
}

void Core::Impl::pending_of_running(const Job &job, Actions &actions) const
{
    actions.push_back(QueryStep{job.id, job.step});
    if (job.limit_changed)
        actions.push_back(LimitStep{job.id, job.step, time_limit(state, job.spec)});
    if (job.state == JobState::COMPLETING)
        actions.push_back(
            SignalStep{job.id, job.step, job.tries > 0 ? SIGNAL_KILL : SIGNAL_TERMINATE});
    else if (job.adaptation && job.adaptation->phase == AdaptPhase::ACQUIRING)
        actions.push_back(acquire(job));
    else if (job.adaptation && job.adaptation->withdrawing)
        actions.push_back(CancelRequest{job.id, job.step, job.adaptation->request,
                                        job.adaptation->step_request});
    else if (job.adaptation && job.adaptation->phase == AdaptPhase::SENT)
        actions.push_back(resize(job));
    if (was_suspended(job))
        actions.push_back(suspend_step(job));
    for (const Departure &departure : job.departures) {
        if (departure.releasing)
            actions.push_back(release(job, departure));
    }
}

/* ---- actions that may be sent again ---------------------------------------------------------- */

StartStep Core::Impl::start_step(const Job &job)
{
    return {job.id, job.step, job.size(), job.blocks};
}

AcquireNodes Core::Impl::acquire(const Job &job)
{
    if (job.adaptation)
        return {job.id, job.step, job.adaptation->request, job.adaptation->joining};
    return {job.id, job.step, 0, job.blocks};
}

ResizeStep Core::Impl::resize(const Job &job)
{
    const Adaptation &adaptation = *job.adaptation;
    return {job.id,          job.step,         adaptation.request, job.epoch,
            adaptation.size, adaptation.leave, adaptation.joining, adaptation.reason,
            adaptation.gpus};
}

ReleaseNodes Core::Impl::release_all(const Job &job)
{
    Blocks all = job.blocks;
    for (const Departure &departure : job.departures)
        all = append(std::move(all), departure.blocks);
    return {job.id, job.step, 0, true, all};
}

ReleaseNodes Core::Impl::release(const Job &job, const Departure &departure)
{
    return {job.id, job.step, departure.request, false, departure.blocks};
}

}  // namespace elastic::rm
