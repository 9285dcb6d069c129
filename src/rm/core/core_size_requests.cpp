/* See core_impl.h: size requests of running programs (MPIX_Adapt_request). A possible request is
 * stored, and the policy serves it: it grows the job up to the size when cores are free, and
 * shrinks it at once. An impossible request is refused, and a request with waiting processes
 * (SizeRequest::waits) also if the policy has no cores for it now. The step itself reports the
 * end; a granted request limits the size until the program or the job's user requests another
 * one. */

#include "core/core_impl.h"
#include "core/record.h"

namespace elastic::rm {

namespace {

/* The nearest size to the requested one among those that the job can have, that the request
 * allows, and that are at most `most`: the requested size, else the next smaller, else the next
 * greater one; 0: none. */
int best_size(const JobSpec &spec, const SizeRequest &size_request, int most)
{
    int highest = std::min(size_request.maximum, most);
    int smaller = size_at_most(spec, std::min(size_request.size, highest));
    if (smaller >= size_request.minimum)
        return smaller;
    int greater = size_at_least(spec, size_request.size);
    return greater > 0 && greater <= highest ? greater : 0;
}

}  // namespace

/* A repeated request is no longer open, or is known; only the refusal by the core may be lost. */
void Core::Impl::on(const StepSizeRequest &event)
{
    Job *job = job_of_running(event);
    if (!job || !job->broken.empty())
        return;
    if (std::string why = check(event.size_request); !why.empty())
        return unexpected("step_wish: " + why, job->id);
    if (event.size_request.mpiexec == job->wishing &&
        event.size_request.number <= job->last_size_request) {
        if (event.size_request.number == job->last_size_request &&
            !job->size_request_refusal.empty())
            out_.push_back(RefuseSizeRequest{job->id, job->step, job->wishing,
                                             job->last_size_request, job->size_request_refusal});
        return;
    }
    if (job->size_request)
        end_size_request(*job, "withdrawn", "another request replaced it");
    update(*job, [&] {
        job->size_request = event.size_request;
        job->size_request->target = 0;
        job->size_request->since_ms = state.now_ms;
        job->wishing = event.size_request.mpiexec;
        job->last_size_request = event.size_request.number;
        job->size_request_refusal.clear();
        /* it is not an offer that was refused before */
        if (event.size_request.modify || event.size_request.waits)
            job->offer_after_ms = job->refusals = 0;
    });
    record(record::SIZE_REQUESTED, *job, {{"step", job->step},
                                  {"wish", event.size_request.number},
                                  {"kind", to_string(event.size_request.kind)},
                                  {"modify", event.size_request.modify},
                                  {"waits", event.size_request.waits},
                                  {"size", event.size_request.size},
                                  {"minimum", event.size_request.minimum},
                                  {"maximum", event.size_request.maximum},
                                  {"reason", event.size_request.reason}});
    check_size_request(*job);
}

/* The report of the step counts, whatever the state was here. */
void Core::Impl::on(const StepSizeRequestEnded &event)
{
    Job *job = job_of_running(event);
    bool is_older =
        job && event.mpiexec == job->wishing && event.size_request < job->last_size_request;
    if (!job || !job->broken.empty() || is_older)
        return;
    bool is_last = event.mpiexec == job->wishing && event.size_request == job->last_size_request;
    job->wishing = event.mpiexec;
    job->last_size_request = event.size_request;
    job->size_request_refusal.clear();
    if (!is_last && job->size_request)
        return end_size_request(*job, "withdrawn", "another request replaced it");
    if (job->size_request)
        end_size_request(*job, event.result, event.reason);
}

/* Checks it again when the sizes that the job can have have changed. */
void Core::Impl::check_size_request(Job &job)
{
    if (!job.size_request)
        return;
    std::string why;
    int target = size_for(job, why);
    if (target == 0)
        return refuse_size_request(job, why);
    if (target != job.size_request->target)
        update(job, [&] {
            job.size_request->target = target;
            job.wished_size = 0;        /* the latest request counts */
        });
}

/* 0: none, and why. */
int Core::Impl::size_for(const Job &job, std::string &why) const
{
    const JobSpec &spec = job.spec;
    const SizeRequest &size_request = *job.size_request;
    if (size_request.modify)
        return own_size_for(job, why);
    if (spec.elasticity != Elasticity::MALLEABLE) {
        why = "the job was not submitted as malleable: its size cannot change";
        return 0;
    }
    if (job.mode == StepMode::RIGID) {
        why = "not all processes of the job have called MPI_Init_adapt";
        return 0;
    }
    int capacity = state.config.check_capacity ? state.capacity_when_empty(spec, false)
                                           : spec.maximum;
    int size = best_size(spec, size_request, capacity);
    if (size == 0)
        why = best_size(spec, size_request, spec.maximum) == 0
                  ? "the job " + describe_sizes(spec)
                  : "all nodes together can hold " + std::to_string(capacity) + " such processes";
    return size;
}

std::string Core::Impl::why_not_now(const Job &job) const
{
    if (is_in_rigid_phase(job))
        return "its size does not change in its present phase";
    if (job.size_request->target <= job.size())
        return "its size cannot change now";
    if (job.offer_after_ms > state.now_ms)
        return "the last change failed";
    if (job.grow_after_ms > state.now_ms)
        return "its user has reached the limit of cores";
    if (!state.indices().queue.empty() || state.wanted_nodes > 0)
        return "other jobs wait for cores";
    return "no cores are free for more than " + std::to_string(job.size()) + " processes";
}

/* The policy decides nothing more.  While some job is releasing cores, they may be available
 * soon.  Returns whether a request was refused. */
bool Core::Impl::refuse_impatient()
{
    if (state.indices().impatient.empty() || !state.indices().freeing.empty())
        return false;
    for (JobId id : std::set<JobId>(state.indices().impatient)) {
        Job &job = state.jobs.change(id);
        refuse_size_request(job, why_not_now(job));
    }
    return true;
}

void Core::Impl::refuse_size_request(Job &job, const std::string &why)
{
    out_.push_back(RefuseSizeRequest{job.id, job.step, job.wishing, job.last_size_request, why});
    job.size_request_refusal = why;
    end_size_request(job, "refused", why);
}

/* A failed change changes nothing. */
void Core::Impl::end_size_request(Job &job, const std::string &result, const std::string &reason)
{
    record(record::REQUEST_ENDED, job, {{"step", job.step},
                                     {"wish", job.size_request->number},
                                     {"result", result},
                                     {"size", job.size()},
                                     {"reason", reason}});
    update(job, [&] {
        if (result == "granted")
            job.granted = job.size_request;
        job.size_request.reset();
    });
}

/* The step has ended, or its reports are no longer accepted. */
void Core::Impl::remove_size_request(Job &job, const std::string &reason)
{
    if (job.size_request)
        end_size_request(job, "withdrawn", reason);
    update(job, [&] {
        job.granted.reset();
        job.wishing.clear();
        job.last_size_request = 0;
        job.size_request_refusal.clear();
    });
}

}  // namespace elastic::rm
