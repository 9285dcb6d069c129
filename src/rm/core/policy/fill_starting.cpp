/* See fill_starting.h. */

#include "core/policy/fill_starting.h"

#include "core/policy/backfill_depth.h"
#include "core/policy/fill_balance.h"
#include "core/time_limit.h"
#include "core/user_limits.h"

namespace elastic::rm {

/* Jobs of others count like a rigid job before all own jobs.  If that job cannot have all its
 * nodes, no job releases any, and idle ones are left to it. */
void Starting::examine_others()
{
    if (state_.wanted_nodes == 0)
        return;
    plan_.others_wait = true;
    JobSpec spec;
    spec.whole_nodes = true;
    spec.processes_per_node = 1;
    int want = state_.wanted_nodes;
    if (plan_.soon.capacity(spec) < want && state_.indices().spare_cores > 0)
        donors_.shrink_for(spec, want, DonorLimit::FAIR_SHARE) ||
            donors_.shrink_for(spec, want, DonorLimit::MINIMUM);
    for (const auto &[id, size] : plan_.shrinks)
        plan_.give_way.insert(id);
    int here = std::min(want, plan_.now.capacity(spec));
    Blocks idle = plan_.now.allocate(spec, here);
    plan_.soon.take(state_.shares(spec, idle));
    claim(spec, std::min(want - here, plan_.soon.capacity(spec)));
}

void Starting::examine_waiting()
{
    if (!help_in_order())
        return;
    Balancing(plan_).plan();
    const auto &queue = state_.indices().queue;
    plan_.examined_until = state_.queue_key(*plan_.first);
    BackfillDepth depth(state_, plan_.first->spec);
    auto next = queue.upper_bound(plan_.examined_until);
    for (; next != queue.end(); ++next) {
        if (nothing_to_give())
            break;
        plan_.examined_until = *next;
        const Job &job = state_.jobs.at(next->job);
        if (job.offer_after_ms > state_.now_ms)
            continue;
        if (depth.is_reached()) {
            if (state_.is_divided())
                plan_.examined_until = QUEUE_END;       /* a job of another partition may start */
            return;
        }
        if (!depth.takes(job.spec))
            continue;
        plan_.others_wait = true;
        if (!start_backfill(job))
            free_cores_for_backfill(job);
    }
    if (next == queue.end())
        plan_.examined_until = QUEUE_END;
    else
        plan_.others_wait = true;
}

/* Starts jobs, or finds jobs for which enough cores will soon be free; false: no job is left
 * waiting. */
bool Starting::help_in_order()
{
    const State::Indices &indices = state_.indices();
    QueueKey last = QUEUE_BEGIN;
    for (const QueueKey &key : indices.runnable) {
        if (nothing_to_give())
            break;
        last = key;
        const Job &job = state_.jobs.at(key.job);
        if (job.offer_after_ms > state_.now_ms || start(job))
            continue;
        plan_.others_wait = true;
        if (!wait_for_cores(job)) {
            plan_.first = &job;
            return true;
        }
    }
    auto left = indices.queue.upper_bound(last);
    if (nothing_to_give() && left != indices.queue.end()) {
        plan_.others_wait = true;
        plan_.examined_until = *left;
    }
    return false;
}

bool Starting::nothing_to_give() const
{
    return plan_.now.total() <= 0 && state_.indices().spare_cores == 0 &&
        state_.indices().freeing.empty();
}

bool Starting::start(const Job &job)
{
    int least = lowest(job.spec), size_request = plan_.rules.first_size(state_, job);
    int size =
        size_request > least && plan_.now.fits(job.spec, size_request) ? size_request : least;
    if (!plan_.now.fits(job.spec, size))
        return false;
    StartNumbers numbers = numbers_of(job, size);
    add_start(job, plan_.now.allocate(job.spec, size), numbers);
    return true;
}

/* Computed before its allocation. */
StartNumbers Starting::numbers_of(const Job &job, int size) const
{
    StartNumbers numbers;
    numbers.least = lowest(job.spec);
    numbers.wanted = std::max(plan_.rules.first_size(state_, job), numbers.least);
    numbers.capacity = plan_.now.capacity(job.spec);
    numbers.cores_per_process = job.spec.cores_per_process;
    numbers.fits = numbers.most = size;
    return numbers;
}

void Starting::add_start(const Job &job, Blocks blocks, const StartNumbers &numbers)
{
    plan_.soon.take(state_.shares(job.spec, blocks));
    plan_.starts.push_back({&job, true, numbers.fits, 0, std::move(blocks), {}, 0, numbers});
}

/* Whether enough cores will soon be free, or can be released. */
bool Starting::wait_for_cores(const Job &job)
{
    int least = lowest(job.spec);
    if (plan_.soon.fits(job.spec, least)) {
        claim(job.spec, least);
        return true;
    }
    int64_t spare = state_.indices().spare_cores,
            cores = int64_t{least} * job.spec.cores_per_process;
    if (spare == 0 || plan_.soon.total() + spare < cores)
        return false;
    /* no more than it would get */
    int64_t allowed = UserLimits(state_).cores_left(job.spec) / job.spec.cores_per_process;
    int most = std::min(plan_.fair_shares.size(job.spec), plan_.cap(job));
    int share = size_at_most(job.spec, static_cast<int>(std::min<int64_t>(most, allowed)));
    int want = std::max(least, share);
    if (donors_.shrink_for(job.spec, want, DonorLimit::FAIR_SHARE, job.id)) {
        claim(job.spec, want);
        return true;
    }
    if (!donors_.shrink_for(job.spec, least, DonorLimit::MINIMUM, job.id))
        return false;
    claim(job.spec, least);
    return true;
}

void Starting::claim(const JobSpec &spec, int size)
{
    plan_.now.limit(plan_.soon, plan_.soon.allocate(spec, size));
}

/* If it starts now; NEVER: it has no limit. */
int64_t Starting::end_of(const JobSpec &spec) const
{
    int64_t limit_ms = time_limit(state_, spec);
    return limit_ms > 0 ? state_.now_ms + limit_ms : NEVER;
}

/* Beside the first job's reservation. */
bool Starting::start_backfill(const Job &job)
{
    int least = lowest(job.spec), size_request = plan_.rules.first_size(state_, job);
    auto allowed = [&](int size) {
        return plan_.now.fits(job.spec, size) &&
               plan_.first_reservation().allows(plan_.now, job.spec, size);
    };
    int size = size_request > least && allowed(size_request) ? size_request : least;
    if (!allowed(size))
        return false;
    int64_t end_ms = end_of(job.spec);
    int64_t cores = int64_t{size} * job.spec.cores_per_process;
    if (!plan_.leaves_expected(cores, end_ms))
        return false;
    StartNumbers numbers = numbers_of(job, size);
    numbers.backfill = plan_.first_reservation().backfill_numbers(plan_.first->id, job.spec);
    if (plan_.expected)
        numbers.backfill->expected = {plan_.expected->time_ms, plan_.expected->left};
    plan_.take_beside_expected(cores, end_ms);
    add_start(job, plan_.first_reservation().allocate(plan_.now, job.spec, size), numbers);
    return true;
}

/* For a job that ends before the first job starts, malleable jobs release cores of the
 * reservation, or return loans from it: the cores return in time. */
void Starting::free_cores_for_backfill(const Job &job)
{
    int least = lowest(job.spec);
    int64_t cores = int64_t{least} * job.spec.cores_per_process;
    bool gives = plan_.rules.gives_later() || !state_.indices().borrowers.empty();
    if (!gives || plan_.soon.total() + state_.indices().spare_cores < cores ||
        !plan_.first_reservation().ends_before(job.spec) ||
        !plan_.leaves_expected(cores, end_of(job.spec)))
        return;
    if (!plan_.soon.fits(job.spec, least) &&
        !donors_.shrink_for(job.spec, least,
                            plan_.rules.gives_later() ? DonorLimit::MINIMUM : DonorLimit::LOANS,
                            job.id))
        return;
    claim(job.spec, least);
    plan_.first_reservation().changed();
    if (int64_t until_ms = plan_.first_reservation().ends_before_until_ms(job.spec);
        until_ms != NEVER)
        plan_.decisions.recheck_at(until_ms + 1);    /* its reserved cores go to others */
}

}  // namespace elastic::rm
