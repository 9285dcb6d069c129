/* See shortage.h. */

#include "core/shortage.h"

#include "core/policy/policy.h"
#include "core/pending_changes.h"

namespace elastic::rm {

namespace {

/* Cores of an overdue change of its size. */
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

constexpr size_t EXAMINED_MAX = 20;        /* number of jobs, each checked on all nodes */

/* The minimum size for its start. */
int least_size(const State &state, const JobSpec &spec)
{
    PolicyKind kind = state.config.policy;
    bool fixed = kind == PolicyKind::FCFS || kind == PolicyKind::EASY;
    return fixed ? fixed_size(state, spec) : size_at_least(spec, 1);
}

std::vector<JobId> suspended_jobs(const State &state)
{
    std::vector<JobId> found;
    std::ranges::copy_if(state.indices().allocated, std::back_inserter(found), [&](JobId id) {
        return state.jobs.at(id).state == JobState::SUSPENDED;
    });
    return found;
}

/* Including the cores of these jobs. */
Space space_with(const State &state, const std::vector<JobId> &suspended)
{
    Space space(state);
    for (JobId id : suspended)
        space.give(state.booked(id));
    return space;
}

/* Suspended jobs whose cores, in addition to those of the other suspended ones, would allow more
 * processes; only the first ones of many. */
std::vector<Giving> keepers(const State &state, const JobSpec &spec)
{
    std::vector<JobId> suspended = suspended_jobs(state);
    Space all = space_with(state, suspended);
    int capacity = all.capacity(spec);
    suspended.resize(std::min(suspended.size(), EXAMINED_MAX));
    std::vector<Giving> found;
    for (JobId id : suspended) {
        const Booking &booking = state.booking(id);
        all.take(booking.shares);
        if (all.capacity(spec) < capacity)
            found.push_back({id, booking.cores});
        all.give(booking.shares);
    }
    return found;
}

}  // namespace

std::optional<Shortage> shortage(const State &state, const Job &job)
{
    int size = least_size(state, job.spec);
    /* its reason states why */
    bool pauses = job.offer_after_ms > state.now_ms || state.starts_pause();
    if (!is_queued(job) || pauses || size == 0 || !runnable(state, job.spec, size))
        return std::nullopt;
    Space space(state);
    Shortage missing{size, space.capacity(job.spec), job.spec.nodes, 0, {}, {}, {}, {}};
    if (job.spec.nodes > 0)
        missing.open_nodes = space.nodes_for(job.spec);
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
    if (missing.capacity < size)
        missing.suspended = keepers(state, job.spec);
    return missing;
}

std::vector<JobId> kept_waiting(const State &state, const Job &suspended)
{
    Space now(state), all = space_with(state, suspended_jobs(state)), others = all;
    others.take(state.booked(suspended.id));
    std::vector<JobId> waiting;
    size_t left = EXAMINED_MAX;
    const auto &queue = state.indices().queue;
    for (auto next = queue.begin(); left > 0 && next != queue.end(); ++next, left--) {
        const JobSpec &spec = state.jobs.at(next->job).spec;
        int size = least_size(state, spec);
        bool lacks = runnable(state, spec, size) && now.capacity(spec) < size;
        if (lacks && others.capacity(spec) < all.capacity(spec))
            waiting.push_back(next->job);
    }
    return waiting;
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
