/* See api.h: the jobs and tasks whose numbers a request contains. */

#include <ctime>

#include "api/api.h"
#include "base/change.h"

namespace elastic::rm {

Job Api::job_of(const Call &call, bool to_change)
{
    return job_of(call.caller, find_id(call.caller, call.argument), call.argument, to_change);
}

/* For "3", or "3_7": the task with the index 7 of array 3.  0: there is none. */
JobId Api::find_id(const Caller &caller, const std::string &name)
{
    auto [array, tasks] = parse_tasks(name);
    if (tasks.empty())
        return parse_id(name);
    auto index = parse_number(tasks, 0, ARRAY_INDEX_MAX);
    if (!array || !index)
        return 0;
    Job first = job_of(caller, array, name, false);
    auto indices = parse_array(first.spec.array);
    auto position =
        indices ? indices.value().position(static_cast<int>(*index)) : std::optional<size_t>();
    return position && first.task && first.task->array == array ? array + *position : 0;
}

/* For lists: all tasks of an array, if one of them is in memory. */
std::vector<JobId> Api::find_ids(const Caller &caller, const std::vector<std::string> &names)
{
    constexpr size_t IDS_MAX = 10000, TASKS_READ_MAX = 100;     /* the latter may need the store */
    std::vector<JobId> ids;
    size_t tasks_read = 0;
    for (const std::string &name : names) {
        tasks_read += name.find('_') != name.npos;
        bool is_range = name.find('[') != name.npos, too_many = tasks_read > TASKS_READ_MAX;
        auto [first, range] = is_range && !too_many ? tasks_of_name(name)
                                                    : std::pair(JobId{0}, ArrayIndices());
        if (first) {
            auto tasks = tasks_in(job_of(caller, first, name, false), range.indices, name);
            ids.insert(ids.end(), tasks.begin(), tasks.end());
            continue;
        }
        JobId id = is_range || too_many ? 0 : find_id(caller, name);
        if (id == 0)
            throw ApiError{400, "field",
                           "'ids' must be at most 10000 job numbers such as 3,5,8, or names of "
                           "tasks such as 3_7 or 3_[1-5,9], at most 100",
                           "ids"};
        const JobArray *array = daemon_.state().array(parse_id(name));
        for (int i = 0; i < (array ? array->tasks : 1) && ids.size() <= IDS_MAX; i++)
            ids.push_back(id + static_cast<JobId>(i));
    }
    if (ids.size() > IDS_MAX)
        throw ApiError{400, "field", "'ids' must be at most 10000 jobs", "ids"};
    return ids;
}

/* A change of one job, or of tasks of an array: "3" is the whole array 3, "3_[1-5]" are some
 * tasks. */
JobRequest Api::request_of_jobs(Call &call)
{
    auto [array, tasks] = parse_tasks(call.argument);
    bool is_range = tasks.starts_with("[") && tasks.ends_with("]");
    if (!is_range && !tasks.empty())
        return {daemon_.next_request_id(), job_of(call, true).id};
    Job first = job_of(call.caller, tasks.empty() ? parse_id(call.argument) : array, call.argument,
                       true);
    JobRequest request{daemon_.next_request_id(), first.id};
    bool is_array = first.task && first.task->array == first.id && daemon_.state().array(first.id);
    if (is_range && !is_array)
        throw ApiError{409, "state",
                       "job " + std::to_string(first.id) +
                           " is not an array with a waiting or running task"};
    if (is_array)
        request.tasks = is_range ? tasks.substr(1, tasks.size() - 2) : ALL_TASKS;
    if (is_range && request.tasks.empty())
        throw ApiError{400, "field", "give indices of tasks, such as 3_[1-5]"};
    return request;
}

Job Api::job_of(const Caller &caller, JobId id, const std::string &name, bool to_change)
{
    std::optional<Job> found;
    if (const Job *job = id ? daemon_.state().job(id) : nullptr)
        found = *job;
    else if (id) {
        std::optional<Json> row = stored(daemon_.ended(id));
        if (auto job = parse<Job>(row.value_or(Json())))
            found = job.value();
    }
    bool visible = found &&
        (to_change ? may_change(caller, found->spec.uid) : may_see(caller, found->spec.uid));
    if (!visible)
        throw ApiError{404, "not_found",
                       "there is no job " + name.substr(0, 40) +
                           " of yours: 'elastic queue' lists your jobs"};
    return *found;
}

/* "job 3 has ended: CANCELLED at 2026-11-28T14:03:07, cancelled" */
std::string Api::how_it_ended(const Job &job) const
{
    time_t seconds = daemon_.shown_ms(job.ended_ms) / 1000;
    std::tm local = {};
    char text[32] = "";
    if (job.ended_ms != NEVER && localtime_r(&seconds, &local))
        strftime(text, sizeof text, " at %Y-%m-%dT%H:%M:%S", &local);
    return "job " + std::to_string(job.id) + " has ended: " + to_string(job.state) + text +
        (job.reason.empty() ? "" : ", " + job.reason);
}

}  // namespace elastic::rm
