/* See core_impl.h: another wish of a job that is there already. */

#include "core/core_impl.h"
#include "core/placement.h"
#include "core/policy/policy_easy.h"
#include "core/record.h"

namespace elastic::rm {

namespace {

/* What the asker has named, put into the wish. */
JobSpec updated(JobSpec wish, const Update &event)
{
    wish.name = event.name.value_or(wish.name);
    wish.time_limit_ms = event.time_limit_ms.value_or(wish.time_limit_ms);
    wish.priority = event.priority.value_or(wish.priority);
    wish.minimum = event.minimum.value_or(wish.minimum);
    wish.maximum = event.maximum.value_or(wish.maximum);
    wish.preferred = event.preferred.value_or(wish.preferred);
    set_program_sizes(wish, std::string(wish.program_sizes));
    return wish;
}

/* The fields that are others now, with their new values. */
Json difference(const JobSpec &before, const JobSpec &after)
{
    Json changes = Json::object(), old = write(before), fresh = write(after);
    for (const auto &[name, value] : fresh.items())
        if (old[name] != value)
            changes[name] = value;
    return changes;
}

}  // namespace

/* Empty, or why the job cannot have this wish. */
std::string Core::Impl::refusal(const Job &job, const JobSpec &wish, const Update &event,
                                AnswerCode &code) const
{
    std::string name = "job " + std::to_string(job.id);
    bool resized = wish.minimum != job.spec.minimum || wish.maximum != job.spec.maximum;
    code = AnswerCode::STATE;
    if (is_end(job.state) || job.state == JobState::COMPLETING)
        return name + " is " + to_string(job.state) +
            ": only a job that waits or runs can be changed";
    code = AnswerCode::FIELD;
    if (std::string wrong = check(wish); !wrong.empty())
        return wrong;
    if (!is_placed(job.state)) {
        code = AnswerCode::CAPACITY;
        return resized ? capacity_refusal(wish) : "";
    }
    code = AnswerCode::STATE;
    int64_t before_ms = time_limit(state, job.spec), after_ms = time_limit(state, wish);
    if (before_ms > 0 && (after_ms == 0 || after_ms > before_ms) && !event.may_extend)
        return name + " runs already: only administrators give it more time";
    if (!resized)
        return "";
    code = AnswerCode::BUSY;
    if (job.state != JobState::RUNNING || job.adaptation)
        return name + " is starting or changing its size; try again when that has ended";
    code = AnswerCode::RIGID;
    if (job.spec.elasticity != Elasticity::MALLEABLE)
        return name + " runs, and was not submitted as malleable: its range of sizes cannot change";
    code = AnswerCode::FIELD;
    if (job.size() < wish.minimum || job.size() > wish.maximum)
        return name + " has " + std::to_string(job.size()) +
               " processes, which the new range must allow: resize it first";
    if (int held = count_slots(job); job.size() + held > most_processes(wish))
        return name + " has " + std::to_string(job.size()) + " processes and " +
               std::to_string(held) + " places for those that its program starts, which the new "
               "maximum must allow";
    return "";
}

void Core::Impl::on(const Update &event)
{
    Job *job = job_of_request(event.request, event.job);
    if (!job)
        return;
    AnswerCode code;
    JobSpec wish = updated(job->spec, event);
    if (std::string why = refusal(*job, wish, event, code); !why.empty())
        return refuse(event.request, code, why);
    answer(event.request, job->id);
    Json changes = difference(job->spec, wish);
    if (changes.empty())
        return;
    update(*job, [&] {
        job->spec = wish;
        if (job->wished_size > 0 && size_at_most(wish, job->wished_size) != job->wished_size)
            job->wished_size = 0;
    });
    record(record::UPDATED, *job, std::move(changes));
    look_at_wish(*job);
    look_at_slots(*job);
    if (is_placed(job->state) && event.time_limit_ms)
        change_limit(*job);
}

/* Of a step that has been started: elasticd and the step's own watch count from its start. */
void Core::Impl::change_limit(Job &job)
{
    int64_t limit_ms = time_limit(state, job.spec);
    update(job, [&] {
        job.limit_changed = true;
        job.limit_at_ms = limit_ms > 0 ? job.started_ms + limit_ms : NEVER;
    });
    out_.push_back(LimitStep{job.id, job.step, limit_ms});
}

}  // namespace elastic::rm
