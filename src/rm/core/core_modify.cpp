/* See core_impl.h: programs that give themselves another size, and whose processes all wait for it
 * (MPIX_Comm_modify; SPEC DM5, DM6).
 *
 * Nobody else changes such a job meanwhile, and no policy is asked: the whole of the growth is
 * given when there is room for it, as places are (policy/slots.h), and what the program gives back
 * is taken at once.  A job can have the sizes of its range, and beyond as many processes as it may
 * have places.  Of what came to nothing the step tells that the wish has ended, too. */

#include "core/core_impl.h"
#include "core/policy/slots.h"
#include "core/policy/wishes.h"

namespace elastic::rm {

namespace {

/* What its program has just given back of places is still on its way. */
constexpr int64_t PLACES_GO_MS = 3000;

Change change_to(const Job &job, int size)
{
    Change change{job.id, size, {}, {}, wish_words(job), wish_why(size)};
    change.by_program = true;
    return change;
}

}  // namespace

/* The size that it waits for; 0: it can never have it, and why. */
int Core::Impl::own_size_for(const Job &job, std::string &why) const
{
    const JobSpec &spec = job.spec;
    int size = job.wish->size;
    if (!is_own_size(spec, size)) {
        why = "the job " + describe_sizes(spec) + ", and may have " + std::to_string(spec.places) +
              " places beyond";
        return 0;
    }
    int room = state.config.check_capacity ? state.room_when_empty(shape_of(spec), false) : size;
    if (size > room) {
        why = "all nodes together can hold " + std::to_string(room) + " such processes";
        return 0;
    }
    int64_t most = state.config.user_cores_max;
    if (most > 0 && int64_t{size} * spec.cores_per_process > most) {
        why = "a user may have " + std::to_string(most) + " cores";
        return 0;
    }
    return size;
}

/* When to look again, whatever happens until then; or NEVER. */
int64_t Core::Impl::grant_modifies()
{
    int64_t again_ms = NEVER;
    for (JobId id : std::set<JobId>(state.indices().modified)) {
        Job &job = state.jobs.change(id);
        int64_t places_gone_ms = job.wish->since_ms + PLACES_GO_MS;
        bool fits = job.wish->size + count_slots(job) <= most_processes(job.spec);
        if (job.offer_after_ms > state.now_ms)
            again_ms = earlier(again_ms, job.offer_after_ms);
        else if (fits || job.wish->size < job.size())
            grant_modify(job);
        else if (places_gone_ms > state.now_ms)
            again_ms = earlier(again_ms, places_gone_ms);
        else
            refuse_wish(job, "the job holds " + std::to_string(count_slots(job)) +
                                 " places for processes that its program starts: with them it has "
                                 "at most " + std::to_string(most_processes(job.spec)));
    }
    return again_ms;
}

/* If there is room now. */
void Core::Impl::grant_modify(Job &job)
{
    int size = job.wish->size;
    Change change = change_to(job, size);
    for (int rank = size; rank < job.size(); rank++)
        change.leave.push_back(rank);
    if (size > job.size())
        change.joining =
            created_for(state, job, cores_left(job.spec.uid) / job.spec.cores_per_process);
    if (!change.leave.empty() || !change.joining.empty())
        adapt(job, change, false);
}

}  // namespace elastic::rm
