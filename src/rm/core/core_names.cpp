/* See core_impl.h: names under which processes of running jobs are found (clause DN1 of the
 * specification of dynamic processes). Each user has separate names: no user sees, takes or
 * blocks those of others. A lookup reads the state (State::owner_of_name). */

#include "core/core_impl.h"
#include "core/record.h"

namespace elastic::rm {

void Core::Impl::on(const PublishName &event)
{
    Job *job = job_of_request(event.request, event.job);
    if (!job)
        return;
    const PublishedName entry = {event.name, event.port, event.holder};
    if (std::string wrong = check(entry); !wrong.empty())
        return refuse(event.request, AnswerCode::FIELD, wrong);
    std::string id = "job " + std::to_string(job->id);
    if (!is_allocated(job->state) || job->state == JobState::COMPLETING)
        return refuse(event.request, AnswerCode::STATE,
                      id + " is " + to_string(job->state) + ": none of its processes can be found");
    const Job *owner = state.owner_of_name(job->spec.uid, event.name);
    if (owner && owner != job)
        return refuse(event.request, AnswerCode::STATE,
                      "job " + std::to_string(owner->id) + " has this name");
    auto known = std::ranges::find(job->names, event.name, &PublishedName::name);
    if (known == job->names.end() && job->names.size() >= JOB_NAMES_MAX)
        return refuse(event.request, AnswerCode::LIMIT,
                      id + " has " + std::to_string(JOB_NAMES_MAX) +
                          " names already; withdraw one of them");
    answer(event.request, job->id);
    if (known != job->names.end() && known->port == event.port && known->holder == event.holder)
        return;
    update(*job, [&] {
        if (known != job->names.end())
            *known = entry;
        else
            job->names.push_back(entry);
    });
    record(record::NAME_PUBLISHED, *job, {{"step", job->step}, {"name", event.name}});
}

void Core::Impl::on(const WithdrawName &event)
{
    Job *job = job_of_request(event.request, event.job);
    if (!job)
        return;
    auto known = std::ranges::find(job->names, event.name, &PublishedName::name);
    bool is_there = known != job->names.end() &&
        (event.holder.empty() || event.holder == known->holder);
    if (!is_there)
        return refuse(event.request, AnswerCode::UNKNOWN,
                      "job " + std::to_string(job->id) + " has no such name");
    answer(event.request, job->id);
    update(*job, [&] { job->names.erase(known); });
    record(record::NAME_WITHDRAWN, *job, {{"step", job->step}, {"name", event.name}});
}

/* Its processes have ended. */
void Core::Impl::remove_names(Job &job)
{
    for (const PublishedName &each : job.names)
        record(record::NAME_WITHDRAWN, job, {{"step", job.step}, {"name", each.name}});
    if (!job.names.empty())
        update(job, [&] { job.names.clear(); });
}

}  // namespace elastic::rm
