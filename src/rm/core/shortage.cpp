/* See shortage.h. */

#include "core/shortage.h"

#include "core/policy/policy.h"
#include "core/pending_changes.h"

namespace elastic::rm {

namespace {

/* Of a change of its size that is overdue. */
int64_t overdue_cores(const State &state, const Job &job)
{
    if (!is_overdue(job))
        return 0;
    int64_t cores = 0;
    Blocks leaving;
    without(job.blocks, job.adaptation->leave, &leaving);
    for (const Share &share : state.shares(job.spec, leaving))
        cores += share.cores;
    return cores;
}

}  // namespace

std::optional<Shortage> shortage(const State &state, const Job &job)
{
    PolicyKind kind = state.config.policy;
    bool fixed = kind == PolicyKind::FCFS || kind == PolicyKind::EASY;
    int size = fixed ? fixed_size(state, job.spec) : size_at_least(job.spec, 1);
    if (!is_queued(job) || size == 0 || !runnable(state, job.spec, size))
        return std::nullopt;
    Space space(state);
    Shortage missing{size, space.capacity(job.spec), {}, {}, {}};
    for (const NodeName &node : job.spec.nodelist) {
        if (space.capacity_within(job.spec, {{node, 0}}) == 0)
            missing.full.push_back(node);
    }
    for (JobId id : state.indices().freeing) {
        const Job &other = state.jobs.at(id);
        Booking pending(state.shares(other.spec, pending_blocks(other)));
        if (int64_t cores = state.booking(id).cores - pending.cores; cores > 0)
            missing.giving.push_back({id, cores});
    }
    for (JobId id : state.indices().allocated) {
        if (int64_t cores = overdue_cores(state, state.jobs.at(id)); cores > 0)
            missing.overdue.push_back({id, cores});
    }
    std::ranges::sort(missing.overdue, {}, &Giving::job);
    return missing;
}

std::vector<Helper> helpers_of(const State &state, JobId waiting)
{
    auto is_for_it = [&](const std::vector<JobId> &whom) {
        return std::find(whom.begin(), whom.end(), waiting) != whom.end();
    };
    std::vector<Helper> helpers;
    for (JobId id : state.indices().allocated) {
        const Job &job = state.jobs.at(id);
        if (job.adaptation && !is_overdue(job) && is_for_it(job.adaptation->whom))
            helpers.push_back({id, job.adaptation->old_size, job.adaptation->size, false});
        else if (job.last_change && is_for_it(job.last_change->whom))
            helpers.push_back({id, job.last_change->old_size, job.last_change->size, true});
    }
    std::sort(helpers.begin(), helpers.end(),
              [](const Helper &a, const Helper &b) { return a.job < b.job; });
    return helpers;
}

}  // namespace elastic::rm
