/* See core_impl.h: changes of the specification of a known job. */

#include "core/core_impl.h"
#include "core/placement.h"
#include "core/record.h"
#include "core/time_limit.h"

namespace elastic::rm {

namespace {

/* The members of the request, applied to the specification. */
JobSpec updated(const State &state, const Job &job, const Update &event)
{
    JobSpec size_request = job.spec;
    size_request.name = event.name.value_or(size_request.name);
    size_request.time_limit_ms = event.time_limit_ms.value_or(size_request.time_limit_ms);
    size_request.priority = event.priority.value_or(size_request.priority);
    size_request.minimum = event.minimum.value_or(size_request.minimum);
    size_request.maximum = event.maximum.value_or(size_request.maximum);
    size_request.preferred = event.preferred.value_or(size_request.preferred);
    bool runs = is_allocated(job.state);
    set_program_sizes(size_request, runs ? std::string(size_request.program_sizes) : "");
    size_request.partition = event.partition.value_or(size_request.partition);
    if (event.partition)
        state.enter(size_request);
    return size_request;
}

/* The changed fields, with their new values. */
Json difference(const JobSpec &before, const JobSpec &after)
{
    Json changes = Json::object(), old = write(before), fresh = write(after);
    for (const auto &[name, value] : fresh.items())
        if (old[name] != value)
            changes[name] = value;
    return changes;
}

}  // namespace

/* Empty, or why the job cannot have this specification. */
std::string Core::Impl::refusal(const Job &job, const JobSpec &size_request, const Update &event,
                                AnswerCode &code) const
{
    std::string name = "job " + std::to_string(job.id);
    bool resized =
        size_request.minimum != job.spec.minimum || size_request.maximum != job.spec.maximum;
    code = AnswerCode::STATE;
    if (is_end(job.state) || job.state == JobState::COMPLETING)
        return name + " is " + to_string(job.state) +
            ": only a job that waits or runs can be changed";
    code = AnswerCode::FIELD;
    if (std::string wrong = check(size_request); !wrong.empty())
        return wrong;
    bool is_moved = event.partition && *event.partition != job.spec.partition;
    if (std::string wrong = is_moved ? partition_refusal(size_request) : ""; !wrong.empty())
        return wrong;
    bool is_limited = !event.may_extend && (resized || event.time_limit_ms);
    std::string wrong = is_limited ? partition_limit_refusal(size_request) : "";
    if (wrong.empty() && is_limited)
        wrong = core_time_refusal(size_request);
    if (!wrong.empty())
        return wrong;
    if (!is_allocated(job.state)) {
        code = AnswerCode::CAPACITY;
        return resized || is_moved ? capacity_refusal(size_request) : "";
    }
    code = AnswerCode::STATE;
    if (is_moved)
        return name + " runs already: it stays in its partition";
    int64_t before_ms = time_limit(state, job.spec), after_ms = time_limit(state, size_request);
    if (before_ms > 0 && (after_ms == 0 || after_ms > before_ms) && !event.may_extend)
        return name + " runs already: only administrators give it more time";
    if (!resized)
        return "";
    code = AnswerCode::BUSY;
    bool has_a_size = job.state == JobState::RUNNING || job.state == JobState::SUSPENDED;
    if (!has_a_size)
        return name + " is starting or changing its size; try again when that has ended";
    code = AnswerCode::RIGID;
    if (job.spec.elasticity != Elasticity::MALLEABLE)
        return name + " runs, and was not submitted as malleable: its range of sizes cannot change";
    code = AnswerCode::FIELD;
    if (job.size() < size_request.minimum || job.size() > size_request.maximum)
        return name + " has " + std::to_string(job.size()) +
               " processes, which the new range must allow: resize it first";
    if (int held = count_slots(job); job.size() + held > most_processes(size_request))
        return name + " has " + std::to_string(job.size()) + " processes and " +
               std::to_string(held) + " slots for those that its program starts, which the new "
               "maximum must allow";
    return "";
}

void Core::Impl::on(const Update &event)
{
    Job *job = job_of_request(event.request, event.job);
    if (!job)
        return;
    AnswerCode code;
    JobSpec size_request = updated(state, *job, event);
    if (std::string why = refusal(*job, size_request, event, code); !why.empty())
        return refuse(event.request, code, why);
    answer(event.request, job->id);
    JobSpec before = job->spec;
    if (!is_allocated(job->state))
        set_program_sizes(before, "");
    Json changes = difference(before, size_request);
    if (changes.empty())
        return;
    update(*job, [&] {
        job->spec = size_request;
        if (job->wished_size > 0 &&
            size_at_most(size_request, job->wished_size) != job->wished_size)
            job->wished_size = 0;
    });
    drop_refusals(*job);
    record(record::UPDATED, *job, std::move(changes));
    check_size_request(*job);
    check_slots(*job);
    if (is_allocated(job->state) && event.time_limit_ms)
        change_limit(*job);
    if (event.time_limit_ms || event.partition)
        update(*job, [&] { state.enter(*job, state.now_ms); });
}

/* For a step that has been started: elasticd and the step's own supervisor count from its start. */
void Core::Impl::change_limit(Job &job)
{
    update(job, [&] {
        job.limit_changed = true;
        job.limit_at_ms = limit_at_ms(job);
    });
    out_.push_back(LimitStep{job.id, job.step, time_limit(state, job.spec)});
}

}  // namespace elastic::rm
