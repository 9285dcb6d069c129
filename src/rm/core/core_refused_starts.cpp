/*
 * See core_impl.h: starts that the back end refuses.
 *
 * They are repeated, with pauses that double for the same reason.  A change of the job or of the
 * configuration ends the pause; so does the end of another job of its user, which may have used up
 * a limit.
 */

#include "core/core_impl.h"

namespace elastic::rm {

namespace {

/* The size that fills at most this number of the refused nodes; 0: it has no smaller size. */
int smaller_start(const Job &job, int nodes_max)
{
    int processes = 0, nodes = 0;
    for (const Block &block : job.blocks)
        processes += nodes++ < nodes_max ? block.processes : 0;
    int size = std::max(size_at_most(job.spec, processes), size_at_least(job.spec, 1));
    return size < job.size() ? size : 0;
}

}  // namespace

void Core::Impl::start_refused(Job &job, const NodesRefused &event)
{
    bool may_be_smaller = event.nodes_max > 0 && !event.never;
    int smaller = may_be_smaller ? smaller_start(job, event.nodes_max) : 0;
    update(job, [&] {
        bool is_same = event.reason == job.start_refused;
        job.start_refused = event.reason;
        job.start_refusals = is_same && !event.busy ? job.start_refusals : 0;
        job.starts_smaller = smaller > 0;
        if (smaller > 0) {
            job.start_at_most = smaller;
            job.grow_at_most = event.per_job ? smaller : 0;
        } else {
            job.start_refusals++;
            job.start_at_most = event.busy ? job.start_at_most : job.grow_at_most;
        }
    });
    over(job, event.never ? JobState::FAILED : JobState::PENDING, event.reason);
}

int64_t Core::Impl::start_pause_ms(const Job &job) const
{
    if (job.starts_smaller)
        return 0;
    int64_t pause_ms = state.config.start_pause_ms;
    int doublings = std::clamp(job.start_refusals - 1, 0, BACKOFF_DOUBLINGS_MAX);
    int64_t refused_ms = std::min(pause_ms << doublings, std::max(pause_ms, START_PAUSE_MAX_MS));
    return std::max(pause_ms * job.start_failures, refused_ms);
}

/* It may start at once, and with any size. */
void Core::Impl::drop_refusals(Job &job)
{
    bool waits = job.state == JobState::PENDING;
    if (job.start_refusals == 0 && job.start_at_most == 0 && job.grow_at_most == 0)
        return;
    update(job, [&] {
        if (waits && job.start_refusals > 0) {
            job.offer_after_ms = std::min(job.offer_after_ms, state.now_ms);
            job.deadline_ms = job.offer_after_ms;
        }
        job.start_refusals = job.grow_at_most = 0;
        job.start_refused.clear();
        if (waits)
            bound_start(job, 0);
    });
}

void Core::Impl::drop_all_refusals()
{
    std::vector<JobId> jobs;
    for (const auto &[id, job] : state.jobs)
        if (job.start_refusals > 0 || job.start_at_most > 0 || job.grow_at_most > 0)
            jobs.push_back(id);
    for (JobId id : jobs)
        drop_refusals(state.jobs.change(id));
}

/* Jobs near the front of the queue. */
void Core::Impl::retry_refused(uint32_t uid)
{
    constexpr int EXAMINED_MAX = 100;
    int64_t from_ms = state.now_ms + state.config.start_pause_ms;
    std::vector<JobId> jobs;
    int left = EXAMINED_MAX;
    const auto &queue = state.indices().queue;
    for (auto next = queue.begin(); left > 0 && next != queue.end(); ++next, left--) {
        const Job &job = state.jobs.at(next->job);
        if (job.start_refusals > 0 && job.spec.uid == uid && job.offer_after_ms > from_ms)
            jobs.push_back(job.id);
    }
    for (JobId id : jobs) {
        Job &job = state.jobs.change(id);
        update(job, [&] { job.offer_after_ms = job.deadline_ms = from_ms; });
    }
}

}  // namespace elastic::rm
