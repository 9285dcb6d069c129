/* See job_order.h. */

#include "api/job_order.h"

#include <algorithm>

namespace elastic::rm {

namespace {

using Take = std::function<bool(const Job &)>;
using JobList = std::vector<const Job *>;

int64_t group_of(const Job &job)
{
    if (is_allocated(job.state))
        return 0;
    if (job.state != JobState::PENDING)
        return 3;
    return is_queued(job) ? 1 : 2;
}

bool comes_before(const State &state, JobOrder order, const Job &x, const Job &y)
{
    if (order != JobOrder::QUEUE)
        return order == JobOrder::ID ? x.id < y.id : x.id > y.id;
    int64_t group_x = group_of(x), group_y = group_of(y);
    if (group_x != group_y)
        return group_x < group_y;
    return group_x == 1 ? state.queue_key(x) < state.queue_key(y) : x.id < y.id;
}

JobList sorted(const State &state, JobOrder order, const std::vector<Job> &jobs)
{
    JobList list;
    for (const Job &job : jobs)
        list.push_back(&job);
    std::sort(list.begin(), list.end(),
              [&](const Job *x, const Job *y) { return comes_before(state, order, *x, *y); });
    return list;
}

/* The numbers of ended jobs lie between those of the others. */
template <class Iterator>
void merge(const State &state, JobOrder order, Iterator job, Iterator end, const JobList &ended,
           const Take &take)
{
    auto next = ended.begin();
    while (job != end || next != ended.end()) {
        if (job != end && is_end(job->second.state)) {
            ++job;
            continue;
        }
        bool is_ended = job == end ||
            (next != ended.end() && comes_before(state, order, **next, job->second));
        if (!take(is_ended ? **next : job->second))
            return;
        if (is_ended)
            ++next;
        else
            ++job;
    }
}

void each_in_queue(const State &state, const JobList &ended, const Take &take)
{
    const State::Indices &indices = state.indices();
    for (JobId id : indices.allocated)
        if (!take(state.jobs.at(id)))
            return;
    auto end = indices.queue.end();
    for (auto next = indices.queue.begin_of_all(); next != end; ++next)
        if (!take(state.jobs.at(next->job)))
            return;
    for (const auto &[id, job] : state.jobs)
        if (group_of(job) == 2 && !take(job))
            return;
    for (const Job *job : ended)
        if (!take(*job))
            return;
}

/* Only a few named jobs. */
void each_of(const State &state, JobOrder order, JobList jobs, const JobRange &range,
             const Take &take)
{
    for (JobId id : range.ids)
        if (const Job *job = state.job(id); job && !is_end(job->state))
            jobs.push_back(job);
    std::sort(jobs.begin(), jobs.end(), [&](const Job *x, const Job *y) {
        return comes_before(state, order, *x, *y);
    });
    jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
    for (const Job *job : jobs)
        if (!take(*job))
            return;
}

}  // namespace

std::optional<JobOrder> job_order(const std::string &name)
{
    if (name.empty() || name == "id")
        return JobOrder::ID;
    if (name == "-id")
        return JobOrder::NEWEST;
    return name == "queue" ? std::optional(JobOrder::QUEUE) : std::nullopt;
}

void each_job(const State &state, const std::vector<Job> &ended, JobOrder order,
              const JobRange &range, const std::function<bool(const Job &)> &take)
{
    JobList past = sorted(state, order, ended);
    if (!range.ids.empty())
        return each_of(state, order, std::move(past), range, take);
    if (order == JobOrder::QUEUE)
        return each_in_queue(state, past, take);
    auto begin = state.jobs.lower_bound(range.after + 1);
    auto end = range.before ? state.jobs.lower_bound(std::max(range.before, range.after + 1))
                            : state.jobs.end();
    if (order == JobOrder::ID)
        merge(state, order, begin, end, past, take);
    else
        merge(state, order, std::reverse_iterator(end), std::reverse_iterator(begin), past, take);
}

}  // namespace elastic::rm
