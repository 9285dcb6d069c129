/* See policy.h. */

#include "core/policy/policy.h"

#include "core/placement.h"

namespace elastic::rm {

int fixed_size(const State &state, const JobSpec &spec)
{
    int size_request = size_at_most(spec, spec.preferred > 0 ? spec.preferred : spec.maximum);
    if (runnable(state, spec, size_request))
        return size_request;
    return size_at_most(spec, std::min(size_request, state.capacity_up(spec)));
}

bool runnable(const State &state, const JobSpec &spec, int size)
{
    if (int64_t{size} * spec.cores_per_process > state.indices().up_cores)
        return false;
    if (spec.cores_per_process == 1 && spec.processes_per_node == 0 && any_node_will_do(spec))
        return true;
    return state.capacity_up(spec) >= size;
}

int waiting_sharers(const State &state)
{
    return static_cast<int>(std::min(state.indices().queue.size(),
                                     static_cast<size_t>(state.config.backfill_depth) + 1));
}

}  // namespace elastic::rm
