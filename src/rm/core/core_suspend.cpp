/* See core_impl.h: jobs whose processes are stopped for a time (SuspendJob, ResumeJob).  A
 * suspended job keeps its nodes, because its processes keep their memory, and its size.  Its
 * time limit does not run. */

#include "core/core_impl.h"
#include "core/record.h"
#include "core/time_limit.h"

namespace elastic::rm {

void Core::Impl::on(const SuspendJob &event)
{
    const Job *one = event.tasks.empty() ? state.job(event.job) : nullptr;
    if (one && one->state == JobState::ADAPTING)
        return refuse(event.request, AnswerCode::BUSY,
                      "job " + std::to_string(one->id) +
                          " is changing its size; try again when that has ended");
    bool has_own_nodes = !state.config.asynchronous_nodes || state.config.own_nodes;
    auto may = [&](const Job &job) {
        return has_own_nodes &&
               (job.state == JobState::RUNNING || job.state == JobState::SUSPENDED);
    };
    const char *why = has_own_nodes
        ? "only a running job can be suspended"
        : "its nodes are Slurm's, whose time limit for them would not stop; cancel or requeue it";
    for (Job *job : jobs_of_request(event, may, why)) {
        if (job->state == JobState::SUSPENDED)
            continue;
        update(*job, [&] {
            move(*job, JobEvent::SUSPEND);
            job->suspended_at_ms = state.now_ms;
            job->reason = "suspended" + (event.by.empty() ? "" : " by " + event.by);
            job->limit_at_ms = limit_at_ms(*job);
        });
        state.changed();
        record(record::SUSPENDED, *job, {{"step", job->step}, {"by", event.by}});
        out_.push_back(suspend_step(*job));
    }
}

void Core::Impl::on(const ResumeJob &event)
{
    auto is_suspended = [](const Job &job) { return job.state == JobState::SUSPENDED; };
    const char *why = "it is not suspended; release one that is held";
    for (Job *job : jobs_of_request(event, is_suspended, why)) {
        int64_t lasted_ms = state.now_ms - job->suspended_at_ms;
        update(*job, [&] {
            move(*job, JobEvent::RESUME);
            end_suspension(*job);
            job->reason.clear();
            job->limit_at_ms = limit_at_ms(*job);
        });
        state.changed();
        record(record::RESUMED, *job,
               {{"step", job->step}, {"by", event.by}, {"suspended_ms", lasted_ms}});
        out_.push_back(suspend_step(*job));
    }
}

/* If it is suspended; within an update. */
void Core::Impl::end_suspension(Job &job)
{
    if (job.suspended_at_ms == NEVER)
        return;
    /* at least 1, which shows that it was suspended */
    int64_t lasted_ms = std::max<int64_t>(state.now_ms - job.suspended_at_ms, 1);
    job.suspended_ms += lasted_ms;
    job.suspended_at_ms = NEVER;
    job.process_ms -= job.size() * lasted_ms;
    if (job.performance)
        job.performance->interrupted = true;
}

/* For a step that has been started. */
int64_t Core::Impl::limit_at_ms(const Job &job) const
{
    int64_t limit_ms = time_limit(state, job.spec);
    return limit_ms > 0 && job.suspended_at_ms == NEVER
               ? job.started_ms + job.suspended_ms + limit_ms
               : NEVER;
}

SuspendStep Core::Impl::suspend_step(const Job &job)
{
    return {job.id, job.step, job.state == JobState::SUSPENDED};
}

}  // namespace elastic::rm
