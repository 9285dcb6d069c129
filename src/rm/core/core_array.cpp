/*
 * See core_impl.h: job arrays.  Their tasks are jobs; JobArray counts the tasks of an array.  The
 * limit of an array bounds the number of its tasks that are queued or on nodes: the others wait
 * (ArrayTask::waits), and are admitted in the order of their indices.
 */

#include "core/core_impl.h"
#include "core/record.h"

namespace elastic::rm {

/* The request belongs to the first task. */
void Core::Impl::add_tasks(const std::string &request, JobSpec spec,
                           const std::vector<Dependency> &open)
{
    ArrayIndices array = parse_array(spec.array).value();
    JobId first = state.last_job + 1;
    JobArray &counts = state.arrays[first];
    counts.job = first;
    counts.tasks = static_cast<int>(array.indices.size());
    counts.limit = spec.singleton ? 1 : array.limit;
    auto shared = std::make_shared<const JobSpec>(std::move(spec));
    for (int index : array.indices)
        add(index == array.indices.front() ? request : "", shared, open,
            ArrayTask{first, index, counts.limit > 0, false});
}

/* The jobs of a request to which it can be applied; the request is answered.  For a single job
 * to which it cannot: the reason. */
std::vector<Job *> Core::Impl::jobs_of_request(const JobRequest &event,
                                               const std::function<bool(const Job &)> &fits,
                                               const std::string &why_not)
{
    std::vector<Job *> jobs;
    const JobArray *array = event.tasks.empty() ? nullptr : state.array(event.job);
    if (event.tasks.empty()) {
        Job *job = job_of_request(event.request, event.job);
        if (job && !fits(*job))
            refuse(event.request, AnswerCode::STATE,
                   "job " + std::to_string(job->id) + " is " + to_string(job->state) + ": " +
                       why_not);
        else if (job)
            jobs.push_back(job);
    } else if (!array) {
        refuse(event.request, AnswerCode::UNKNOWN,
               "there is no array " + std::to_string(event.job));
    } else {
        auto chosen = event.tasks == ALL_TASKS ? ArrayIndices() : parse_array(event.tasks);
        JobId end = array->job + static_cast<JobId>(array->tasks);
        for (JobId id = array->job; chosen && id < end; id++) {
            const Job *task = state.job(id);
            bool is_meant = event.tasks == ALL_TASKS ||
                (task && chosen.value().position(task->task->index).has_value());
            if (task && is_meant && fits(*task))
                jobs.push_back(&state.jobs.change(id));
        }
        if (jobs.empty())
            refuse(event.request, chosen ? AnswerCode::STATE : AnswerCode::FIELD,
                   chosen ? "none of these tasks of array " + std::to_string(event.job) +
                           " can be changed so: " + why_not
                          : chosen.error());
    }
    if (!jobs.empty())
        answer(event.request, event.job);
    return jobs;
}

void Core::Impl::count_start(Job &job)
{
    if (!job.task || job.task->counted)
        return;
    JobArray &array = state.arrays.at(job.task->array);
    update(job, [&] { job.task->counted = true; });
    if (++array.started == array.tasks && array.ended < array.tasks)
        state.turns.push_back({array.job, state_of(array), true});
}

void Core::Impl::count_end(Job &job)
{
    if (!job.task)
        return;
    count_start(job);
    JobArray &array = state.arrays.at(job.task->array);
    array.failed += job.state == JobState::FAILED;
    array.cancelled += job.state == JobState::CANCELLED;
    if (++array.ended == array.tasks)
        state.turns.push_back({array.job, state_of(array), true});
}

void Core::Impl::count_discarded(const Job &job)
{
    if (!job.task)
        return;
    auto array = state.arrays.find(job.task->array);
    if (++array->second.discarded == array->second.tasks)
        state.arrays.erase(array);
}

void Core::Impl::admit_tasks()
{
    for (JobId id : state.take_changed_arrays()) {
        const JobArray *counts = state.array(id);
        if (!counts)
            continue;
        auto limit = static_cast<size_t>(counts->limit);
        auto tasks = [&]() -> const State::Indices::OfArray & {
            static const State::Indices::OfArray none;
            auto found = state.indices().arrays.find(id);
            return found == state.indices().arrays.end() ? none : found->second;
        };
        auto admitted = [&] {
            return tasks().queued.size() + static_cast<size_t>(tasks().allocated);
        };
        /* a task was released from its hold */
        while (admitted() > limit && !tasks().queued.empty()) {
            Job &job = state.jobs.change(*tasks().queued.rbegin());
            update(job, [&] { job.task->waits = true; });
        }
        while (admitted() < limit && !tasks().waiting.empty()) {
            Job &job = state.jobs.change(*tasks().waiting.begin());
            update(job, [&] {
                job.task->waits = false;
                if (job.submitted_ms < state.now_ms)
                    job.eligible_ms = state.now_ms;
            });
        }
        state.take_changed_arrays();
    }
}

}  // namespace elastic::rm
