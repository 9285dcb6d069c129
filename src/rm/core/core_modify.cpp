/* See core_impl.h: programs that change their own size, while all their processes wait for it
 * (MPIX_Comm_modify; clauses DM5, DM6 of the specification of dynamic processes).
 *
 * No other change of such a job happens meanwhile, and no policy is called: the whole growth is
 * granted when it fits, like slots (slot_requests.h), and released cores are accepted at once.
 *
 * A job can have the sizes of its range, and beyond it as many processes as it may have slots.
 *
 * The step reports the end of the request also after a failed change. */

#include "core/core_impl.h"
#include "core/placement.h"
#include "core/policy/requested_sizes.h"
#include "core/policy/slot_requests.h"

namespace elastic::rm {

namespace {

/* Slots that its program has just released are not reported yet. */
constexpr int64_t SLOTS_RELEASE_MS = 3000;

Change change_to(const Job &job, int size)
{
    Change change{job.id, size, {}, {}, size_request_reason(job), size_request_numbers(size)};
    change.by_program = true;
    return change;
}

}  // namespace

/* The size for which it waits; 0: it can never have it, and why. */
int Core::Impl::own_size_for(const Job &job, std::string &why) const
{
    const JobSpec &spec = job.spec;
    int size = job.size_request->size;
    if (!is_own_size(spec, size)) {
        why = "the job " + describe_sizes(spec) + ", and may have " +
              std::to_string(spec.extra_slots) + " more slots";
        return 0;
    }
    int capacity = size;
    if (state.config.check_capacity)
        capacity = state.capacity_when_empty(JoiningSpec(state.unreserved(spec)), false);
    if (size > capacity) {
        why = "all nodes together can hold " + std::to_string(capacity) + " such processes";
        return 0;
    }
    std::string whose;
    int64_t most = cores_max(spec, whose);
    if (int64_t{size} * spec.cores_per_process > most) {
        why = whose + " may have " + std::to_string(most) + " cores";
        return 0;
    }
    return size;
}

/* Returns the time of the next check in any case; or NEVER. */
int64_t Core::Impl::grant_modifies()
{
    int64_t again_ms = NEVER;
    for (JobId id : std::set<JobId>(state.indices().modified)) {
        Job &job = state.jobs.change(id);
        int64_t slots_released_ms = job.size_request->since_ms + SLOTS_RELEASE_MS;
        bool fits = job.size_request->size + count_slots(job) <= most_processes(job.spec);
        if (job.offer_after_ms > state.now_ms)
            again_ms = earlier(again_ms, job.offer_after_ms);
        else if (fits || job.size_request->size < job.size())
            grant_modify(job);
        else if (slots_released_ms > state.now_ms)
            again_ms = earlier(again_ms, slots_released_ms);
        else
            refuse_size_request(job, "the job holds " + std::to_string(count_slots(job)) +
                                 " slots for processes that its program starts: with them it has "
                                 "at most " + std::to_string(most_processes(job.spec)));
    }
    return again_ms;
}

/* Grants it if it fits now. */
void Core::Impl::grant_modify(Job &job)
{
    int size = job.size_request->size;
    Change change = change_to(job, size);
    for (int rank = size; rank < job.size(); rank++)
        change.leave.push_back(rank);
    if (size > job.size())
        change.joining =
            created_for(state, job, cores_left(job.spec) / job.spec.cores_per_process);
    if (!change.leave.empty() || !change.joining.empty())
        adapt(job, change, false);
}

}  // namespace elastic::rm
