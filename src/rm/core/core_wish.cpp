/* See core_impl.h: what running programs wish for (MPIX_Adapt_request).
 *
 * A wish that the job could have is kept, and the policy sees to it: grows the job up to it when
 * cores are there, shrinks it to it at once.  One that it could never have is refused, and one that
 * processes wait for (ProgramWish::waits) also if the policy has nothing for it now.  The step
 * itself says when it has ended; a granted one goes on limiting the size, until the program or the
 * job's user wants something else. */

#include "core/core_impl.h"
#include "core/record.h"

namespace elastic::rm {

namespace {

/* Of the sizes that the job can have, the wish allows, and that are not beyond `most`: the wanted
 * one, else the next smaller, else the next greater one; 0: none. */
int best_size(const JobSpec &spec, const ProgramWish &wish, int most)
{
    int highest = std::min(wish.maximum, most);
    int smaller = size_at_most(spec, std::min(wish.size, highest));
    if (smaller >= wish.minimum)
        return smaller;
    int greater = size_at_least(spec, wish.size);
    return greater > 0 && greater <= highest ? greater : 0;
}

}  // namespace

/* One that is told again is open no more, or known; only our refusal may not have arrived. */
void Core::Impl::on(const StepWish &event)
{
    Job *job = job_of_running(event);
    if (!job || !job->broken.empty())
        return;
    if (std::string why = check(event.wish); !why.empty())
        return unexpected("step_wish: " + why, job->id);
    if (event.wish.mpiexec == job->wishing && event.wish.number <= job->last_wish) {
        if (event.wish.number == job->last_wish && !job->wish_refusal.empty())
            out_.push_back(
                RefuseWish{job->id, job->step, job->wishing, job->last_wish, job->wish_refusal});
        return;
    }
    if (job->wish)
        end_wish(*job, "withdrawn", "another wish took its place");
    update(*job, [&] {
        job->wish = event.wish;
        job->wish->target = 0;
        job->wish->since_ms = state.now_ms;
        job->wishing = event.wish.mpiexec;
        job->last_wish = event.wish.number;
        job->wish_refusal.clear();
        /* it is no offer that was refused before */
        if (event.wish.modify || event.wish.waits)
            job->offer_after_ms = job->refusals = 0;
    });
    record(record::WISHED, *job, {{"step", job->step},
                                  {"wish", event.wish.number},
                                  {"kind", to_string(event.wish.kind)},
                                  {"modify", event.wish.modify},
                                  {"waits", event.wish.waits},
                                  {"size", event.wish.size},
                                  {"minimum", event.wish.minimum},
                                  {"maximum", event.wish.maximum},
                                  {"reason", event.wish.reason}});
    look_at_wish(*job);
}

/* What the step says is so, whatever was thought here. */
void Core::Impl::on(const StepWishEnded &event)
{
    Job *job = job_of_running(event);
    bool is_older = job && event.mpiexec == job->wishing && event.wish < job->last_wish;
    if (!job || !job->broken.empty() || is_older)
        return;
    bool is_last = event.mpiexec == job->wishing && event.wish == job->last_wish;
    job->wishing = event.mpiexec;
    job->last_wish = event.wish;
    job->wish_refusal.clear();
    if (!is_last && job->wish)
        return end_wish(*job, "withdrawn", "another wish took its place");
    if (job->wish)
        end_wish(*job, event.result, event.reason);
}

/* Again when the sizes have changed that the job can have. */
void Core::Impl::look_at_wish(Job &job)
{
    if (!job.wish)
        return;
    std::string why;
    int target = size_for(job, why);
    if (target == 0)
        return refuse_wish(job, why);
    if (target != job.wish->target)
        update(job, [&] {
            job.wish->target = target;
            job.wished_size = 0;        /* who speaks last has the last word */
        });
}

/* 0: none, and why. */
int Core::Impl::size_for(const Job &job, std::string &why) const
{
    const JobSpec &spec = job.spec;
    const ProgramWish &wish = *job.wish;
    if (wish.modify)
        return own_size_for(job, why);
    if (spec.elasticity != Elasticity::MALLEABLE) {
        why = "the job was not submitted as malleable: its size cannot change";
        return 0;
    }
    if (job.mode == StepMode::RIGID) {
        why = "not all processes of the job have called MPI_Init_adapt";
        return 0;
    }
    int room = state.config.check_capacity ? state.room_when_empty(shape_of(spec), false)
                                           : spec.maximum;
    int size = best_size(spec, wish, room);
    if (size == 0)
        why = best_size(spec, wish, spec.maximum) == 0
                  ? "the job " + describe_sizes(spec)
                  : "all nodes together can hold " + std::to_string(room) + " such processes";
    return size;
}

std::string Core::Impl::why_not_now(const Job &job) const
{
    if (is_in_rigid_phase(job))
        return "its size does not change in its present phase";
    if (job.wish->target <= job.size())
        return "its size cannot change now";
    if (job.offer_after_ms > state.now_ms)
        return "the last change has come to nothing";
    if (job.grow_after_ms > state.now_ms)
        return "its user has as many cores as he may have";
    if (!state.indices().queue.empty() || state.wanted_nodes > 0)
        return "other jobs wait for cores";
    return "no cores are free for more than " + std::to_string(job.size()) + " processes";
}

/* The policy has nothing to add.  As long as somebody gives cores back they may be had soon.
 * Whether anybody was refused. */
bool Core::Impl::refuse_impatient()
{
    if (state.indices().impatient.empty() || !state.indices().settling.empty())
        return false;
    for (JobId id : std::set<JobId>(state.indices().impatient)) {
        Job &job = state.jobs.change(id);
        refuse_wish(job, why_not_now(job));
    }
    return true;
}

void Core::Impl::refuse_wish(Job &job, const std::string &why)
{
    out_.push_back(RefuseWish{job.id, job.step, job.wishing, job.last_wish, why});
    job.wish_refusal = why;
    end_wish(job, "refused", why);
}

/* What came to nothing changes nothing. */
void Core::Impl::end_wish(Job &job, const std::string &result, const std::string &reason)
{
    record(record::WISH_ENDED, job, {{"step", job.step},
                                     {"wish", job.wish->number},
                                     {"result", result},
                                     {"size", job.size()},
                                     {"reason", reason}});
    update(job, [&] {
        if (result == "granted")
            job.granted = job.wish;
        job.wish.reset();
    });
}

/* The step is over, or not believed any more. */
void Core::Impl::forget_wish(Job &job, const std::string &reason)
{
    if (job.wish)
        end_wish(job, "withdrawn", reason);
    update(job, [&] {
        job.granted.reset();
        job.wishing.clear();
        job.last_wish = 0;
        job.wish_refusal.clear();
    });
}

}  // namespace elastic::rm
