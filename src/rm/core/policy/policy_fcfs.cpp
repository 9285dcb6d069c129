/* See policy_fcfs.h. */

#include "core/policy/policy_fcfs.h"

#include "core/policy/policy_easy.h"
#include "core/policy/requested_sizes.h"

namespace elastic::rm {

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

}  // namespace

Decisions Fcfs::decide(const State &state) const
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
        examined_until = QUEUE_END;         /* a job of another partition may start */
    grant_size_requests(state, decisions);
    return decisions;
}

}  // namespace elastic::rm
