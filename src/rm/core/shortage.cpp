/* See shortage.h. */

#include "core/shortage.h"

#include "core/policy/policy.h"
#include "core/settling.h"

namespace elastic::rm {

std::optional<Shortage> shortage(const State &state, const Job &job)
{
    PolicyKind kind = state.config.policy;
    bool fixed = kind == PolicyKind::FCFS || kind == PolicyKind::EASY;
    int size = fixed ? fixed_size(state, job.spec) : size_at_least(job.spec, 1);
    if (!is_queued(job) || size == 0 || !runnable(state, job.spec, size))
        return std::nullopt;
    Shortage missing{size, Space(state).room(job.spec), {}};
    for (JobId id : state.indices().settling) {
        const Job &other = state.jobs.at(id);
        Booking kept(state.shares(other.spec, settled_world(other)));
        if (int64_t cores = state.booking(id).cores - kept.cores; cores > 0)
            missing.giving.push_back({id, cores});
    }
    return missing;
}

}  // namespace elastic::rm
