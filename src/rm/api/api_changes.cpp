/* See api.h: changes of jobs and nodes. */

#include "api/administrator.h"
#include "api/api.h"
#include "base/log.h"
#include "base/signal_names.h"

namespace elastic::rm {

namespace {

constexpr size_t TEXT_MAX = 255;        /* reasons of people */
constexpr size_t RESIZE_REASON_MAX = 63;

ApiError storage_error()
{
    return {503,
            "storage",
            "elasticd cannot write its store now (is the disk full?): nothing was accepted; try "
            "again in a "
            "moment",
            "",
            {{"Retry-After", "5"}}};
}

}  // namespace

void Api::query_core(Call &call, EventContent content, std::function<void(const Answer &)> done)
{
    if (!call.caller.administrator && !std::holds_alternative<Cancel>(content))
        check_bytes(call.caller.uid, 0);
    query_core(call.responder, std::move(content), std::move(done));
}

void Api::query_core(const Responder &responder, EventContent content,
                     std::function<void(const Answer &)> done)
{
    daemon_.request(std::move(content), std::nullopt,
                    [this, responder, done](const Answer *answer, bool) {
                        if (!answer)
                            respond_error(responder, storage_error());
                        else if (answer->code != AnswerCode::OK)
                            respond_error(responder, error_of(*answer));
                        else
                            answer_safely(responder, "", [&] { done(*answer); });
                    });
}

void Api::submitted(const Responder &responder, const Answer *answer, bool is_new,
                    const std::vector<std::string> &notes)
{
    const Job *job = answer ? daemon_.state().job(answer->job) : nullptr;
    if (!answer)
        respond_error(responder, storage_error());
    else if (answer->code != AnswerCode::OK || !job)
        respond_error(responder, error_of(*answer));
    else
        respond_json(responder, {{"job", job_json(*job)}, {"notes", notes}}, is_new ? 201 : 200);
}

void Api::change_job(Call &call, EventContent content, JobId id, bool is_array)
{
    /* The answer is known without the core, which would store the request. */
    const Job *known = daemon_.state().job(id);
    if (!is_array && (!known || is_end(known->state)))
        throw ApiError{409, "state", how_it_ended(known ? *known : job_of(call, true))};
    query_core(call, std::move(content), [this, responder = call.responder, id](const Answer &) {
        const Job *job = daemon_.state().job(id);
        respond_json(responder, {{"job", job ? job_json(*job) : Json()}});
    });
}

std::vector<const Job *> Api::jobs_of(const JobRequest &request) const
{
    const State &state = daemon_.state();
    std::vector<const Job *> jobs;
    const JobArray *array = request.tasks.empty() ? nullptr : state.array(request.job);
    bool all = !array || request.tasks == ALL_TASKS;
    auto chosen = all ? ArrayIndices() : parse_array(request.tasks);
    JobId end = request.job + static_cast<JobId>(array ? array->tasks : 1);
    for (JobId id = request.job; chosen && id < end; id++) {
        const Job *job = state.job(id);
        bool is_meant = job &&
                        (all || chosen.value().position(job->task->index).has_value());
        if (is_meant)
            jobs.push_back(job);
    }
    return jobs;
}

void Api::cancel(Call &call)
{
    BodyReader body(call.request.body);
    std::string reason = body.text("reason", TEXT_MAX);
    body.finish();
    JobRequest jobs = request_of_jobs(call);
    log_line(LogLevel::INFO, "cancel",
             {{"job", call.argument}, {"by", call.caller.name}, {"reason", reason}});
    change_job(call, Cancel{jobs, call.caller.name, reason}, jobs.job, !jobs.tasks.empty());
}

void Api::requeue(Call &call)
{
    BodyReader(call.request.body).finish();
    JobRequest jobs = request_of_jobs(call);
    change_job(call, Requeue{jobs, call.caller.name}, jobs.job, !jobs.tasks.empty());
}

void Api::suspend_job(Call &call)
{
    BodyReader(call.request.body).finish();
    check_administrator(call.caller, "suspend jobs");
    JobRequest jobs = request_of_jobs(call);
    for (const Job *job : jobs_of(jobs)) {
        if (job->state == JobState::RUNNING && !daemon_.steps().can_suspend(job->id, job->step))
            throw ApiError{409, "state",
                           "job " + std::to_string(job->id) +
                               " cannot be suspended: its elastic-stepd does not answer, or its "
                               "version cannot suspend"};
    }
    log_line(LogLevel::INFO, "suspend", {{"job", call.argument}, {"by", call.caller.name}});
    change_job(call, SuspendJob{jobs, call.caller.name}, jobs.job, !jobs.tasks.empty());
}

void Api::resume_job(Call &call)
{
    BodyReader(call.request.body).finish();
    check_administrator(call.caller, "resume jobs");
    JobRequest jobs = request_of_jobs(call);
    log_line(LogLevel::INFO, "resume", {{"job", call.argument}, {"by", call.caller.name}});
    change_job(call, ResumeJob{jobs, call.caller.name}, jobs.job, !jobs.tasks.empty());
}

void Api::hold(Call &call)
{
    BodyReader(call.request.body).finish();
    JobRequest jobs = request_of_jobs(call);
    change_job(call, Hold{jobs, call.caller.administrator}, jobs.job, !jobs.tasks.empty());
}

void Api::release(Call &call)
{
    BodyReader(call.request.body).finish();
    JobRequest jobs = request_of_jobs(call);
    change_job(call, Release{jobs, call.caller.administrator}, jobs.job, !jobs.tasks.empty());
}

void Api::resize(Call &call)
{
    BodyReader body(call.request.body);
    if (!body.has("size"))
        body.fail("size", "is missing: give the requested number of processes");
    int size = static_cast<int>(body.number("size", 1, 1048576, 0));
    std::string reason = body.text("reason", RESIZE_REASON_MAX);
    body.finish();
    JobId id = job_of(call, true).id;
    Resize event{daemon_.next_request_id(), id, size, call.caller.name, reason};
    change_job(call, std::move(event), id);
}

void Api::update(Call &call)
{
    BodyReader body(call.request.body);
    Job job = job_of(call, true);
    Update event;
    event.request = daemon_.next_request_id();
    event.job = job.id;
    JobSpec spec = job.spec;
    if (body.has("partition")) {
        spec.partition = body.required_text("partition", PARTITION_NAMES_BYTES_MAX);
        enter_partition(body, call.caller, spec);
        event.partition = spec.partition;
    }
    const Partition *of_job = spec.in.get();
    if (body.has("name"))
        event.name = body.required_text("name", JOB_NAME_BYTES_MAX);
    if (body.has("time_limit_ms"))
        event.time_limit_ms =
            read_time_limit(body, 0, false, call.caller.administrator ? nullptr : of_job);
    if (body.has("priority"))
        event.priority = read_priority(body, call.caller);
    if (body.has("min"))
        event.minimum = static_cast<int>(body.number("min", 1, PROCESSES_MAX, 0));
    if (body.has("max"))
        event.maximum = static_cast<int>(body.number("max", 1, PROCESSES_MAX, 0));
    if (body.has("preferred"))
        event.preferred = static_cast<int>(body.number("preferred", 0, PROCESSES_MAX, 0));
    body.finish();
    event.may_extend = call.caller.administrator;
    change_job(call, event, job.id);
}

void Api::signal(Call &call)
{
    BodyReader body(call.request.body);
    int number = signal_number(body.required_text("signal", 16));
    if (!number)
        body.fail("signal", "must be one of " + known_signals());
    body.finish();
    JobRequest jobs = request_of_jobs(call);
    Job job = job_of(call.caller, jobs.job, call.argument, true);
    bool runs = false;
    for (const Job *each : jobs_of(jobs))
        runs |= is_allocated(each->state) && each->step > 0 &&
                daemon_.steps().signal(each->id, each->step, number);
    if (!runs)
        throw ApiError{409, "state",
                       "job " + std::to_string(job.id) + " is " + to_string(job.state) +
                           ": it has no running process that could receive a signal"};
    respond_json(call.responder, {{"job", job_json(job)}});
}

void Api::drain(Call &call)
{
    BodyReader body(call.request.body);
    std::string reason = body.required_text("reason", TEXT_MAX);
    body.finish();
    check_administrator(call.caller, "drain nodes");
    query_core(call, Drain{daemon_.next_request_id(), call.argument, reason},
               [this, responder = call.responder, caller = call.caller,
                name = call.argument](const Answer &) {
                   respond_node(responder, caller, name);
               });
}

void Api::resume(Call &call)
{
    BodyReader(call.request.body).finish();
    check_administrator(call.caller, "resume nodes");
    const Node *known = daemon_.state().node(call.argument);
    if (known && !known->up)
        daemon_.backend().check_node(call.argument);
    query_core(call, Resume{daemon_.next_request_id(), call.argument},
               [this, responder = call.responder, caller = call.caller,
                name = call.argument](const Answer &) {
                   respond_node(responder, caller, name);
               });
}

}  // namespace elastic::rm
