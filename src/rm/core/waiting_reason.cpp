/* See state.h: why a job waits, for people. */

#include "core/state.h"

namespace elastic::rm {

std::string why_waiting(const State &state, const Job &job)
{
    if (job.held)
        return job.held_by_administrator ? "held by an administrator" : "held";
    if (!job.waits_for.empty()) {
        const Dependency &first = job.waits_for.front();
        constexpr const char *WHAT[] = {"starts", "ends", "ends without error", "fails"};
        static_assert(std::size(WHAT) == std::size(NamesOf<DependencyKind>::names));
        std::string what = WHAT[static_cast<size_t>(first.kind)];
        std::string who = first.array ? "each task of array " : "job ";
        size_t more = job.waits_for.size() - 1;
        return "waits until " + who + std::to_string(first.job) + " " + what +
               (more ? ", and for " + std::to_string(more) + " more" : "");
    }
    if (job.deferred)
        return "its time to begin has not come";
    if (job.task && job.task->waits)
        return "the limit of its array: " +
            std::to_string(state.arrays.at(job.task->array).limit) + " tasks run at once";
    if (state.full_users.contains(job.spec.uid)) {
        auto user = state.of_user(job.spec.uid);
        return "the limit of a user: " + std::to_string(user.running) + " jobs run, with " +
               std::to_string(user.cores) + " cores";
    }
    if (job.offer_after_ms > state.now_ms)
        return job.reason.empty() ? "pauses" : job.reason;
    int64_t cores = int64_t{size_at_least(job.spec, 1)} * job.spec.cores_per_process;
    if (cores > state.indices().up_cores)
        return "nodes are down or draining";
    const Job *first = first_in_queue(state);
    return !first || first->id == job.id ? "resources" : WAITS_BEHIND;
}

const Job *first_in_queue(const State &state)
{
    const auto &queue = state.indices().queue;
    return queue.empty() ? nullptr : &state.jobs.at(queue.begin()->job);
}

}  // namespace elastic::rm
