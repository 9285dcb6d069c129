/* See policy.h: what the policies share, and first come first served. */

#include "core/policy/policy.h"

#include "core/placement.h"
#include "core/policy/policy_easy.h"
#include "core/policy/policy_efficient.h"
#include "core/policy/policy_fill.h"
#include "core/policy/policy_measured.h"
#include "core/policy/requested_sizes.h"

namespace elastic::rm {

int fixed_size(const State &state, const JobSpec &spec)
{
    int size_request = size_at_most(spec, spec.preferred > 0 ? spec.preferred : spec.maximum);
    if (runnable(state, spec, size_request))
        return size_request;
    return size_at_most(spec,
                        std::min(size_request, state.capacity_up(shape_of(spec))));
}

bool runnable(const State &state, const JobSpec &spec, int size)
{
    if (int64_t{size} * spec.cores_per_process > state.indices().up_cores)
        return false;
    if (spec.cores_per_process == 1 && spec.processes_per_node == 0 && any_node_will_do(spec))
        return true;
    return state.capacity_up(shape_of(spec)) >= size;
}

int waiting_sharers(const State &state)
{
    return static_cast<int>(std::min(state.indices().queue.size(),
                                     static_cast<size_t>(state.config.backfill_depth) + 1));
}

namespace {

/* The partitions in which a job waits, and those that share nodes with them. */
class BlockedPartitions {
  public:
    void add(const Partition &partition)
    {
        blocked_.push_back(&partition);
        known_.clear();
    }
    bool has(const JobSpec &spec)
    {
        if (blocked_.empty() || !spec.in)
            return !blocked_.empty();
        auto [known, is_new] = known_.try_emplace(spec.in.get(), false);
        if (is_new)
            known->second = std::ranges::any_of(blocked_, [&](const Partition *each) {
                return overlap(*each, *spec.in);
            });
        return known->second;
    }

  private:
    std::vector<const Partition *> blocked_;
    std::map<const Partition *, bool> known_;
};

class Fcfs : public Policy {
  public:
    Decisions decide(const State &state) const override
    {
        Decisions decisions;
        std::optional<Space> space;
        BlockedPartitions blocked;
        QueueKey &examined_until = decisions.depends_on->queue_until;
        for (const QueueKey &key : state.indices().runnable) {
            const Job &job = state.jobs.at(key.job);
            int size = fixed_size(state, job.spec);
            if (job.offer_after_ms > state.now_ms || blocked.has(job.spec))
                continue;
            examined_until = key;
            if (state.indices().free_cores == 0)
                break;
            if (!space)
                space.emplace(state);
            if (!space->fits(job.spec, size)) {
                if (!job.spec.in)
                    break;
                blocked.add(*job.spec.in);
                continue;
            }
            StartNumbers numbers = fixed_start(job.spec, size, space->capacity(job.spec));
            decisions.starts.push_back({job.id, space->allocate(job.spec, size), numbers});
            examined_until = QUEUE_END;
        }
        if (state.is_divided() && state.indices().free_cores > 0)
            examined_until = QUEUE_END;         /* one of another partition may start */
        grant_size_requests(state, decisions);
        return decisions;
    }
};

}  // namespace

const Policy &policy(PolicyKind kind)
{
    static const Fcfs fcfs;
    static const Easy easy;
    static const Fill fill;
    switch (kind) {
        case PolicyKind::FCFS: return fcfs;
        case PolicyKind::EASY: return easy;
        case PolicyKind::FILL: return fill;
        case PolicyKind::EFFICIENT: return efficient_policy();
        case PolicyKind::MEASURED: return measured_policy();
    }
    return fcfs;
}

}  // namespace elastic::rm
