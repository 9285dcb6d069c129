/* See fill_starting.h. */

#include "core/policy/fill_starting.h"

#include "core/policy/fill_balance.h"

namespace elastic::rm {

/* Like a rigid job that is ahead of all others, except that who starts it is not us.  If it cannot
 * have all that it wants, nobody gives way for it in vain, and what idles is left to it. */
void Starting::look_at_others()
{
    if (state_.wanted_nodes == 0)
        return;
    plan_.others_wait = true;
    JobSpec spec;
    spec.whole_nodes = true;
    spec.processes_per_node = 1;
    int want = state_.wanted_nodes;
    if (plan_.soon.room(spec) < want && state_.indices().spare_cores > 0)
        donors_.shrink_for(spec, want, Giving::TO_SHARE) ||
            donors_.shrink_for(spec, want, Giving::TO_LEAST);
    for (const auto &[id, size] : plan_.shrinks)
        plan_.give_way.insert(id);
    int here = std::min(want, plan_.now.room(spec));
    Blocks idle = plan_.now.place(spec, here);
    plan_.soon.take(state_.shares(spec, idle));
    claim(spec, std::min(want - here, plan_.soon.room(spec)));
}

void Starting::look_at_waiting()
{
    if (!help_in_order())
        return;
    Balancing(plan_).plan();
    const auto &queue = state_.indices().queue;
    plan_.looked_until = state_.queue_key(*plan_.first);
    int left = state_.config.backfill_depth;
    auto next = queue.upper_bound(plan_.looked_until);
    for (; next != queue.end(); ++next) {
        if (nothing_to_give())
            break;
        plan_.looked_until = *next;
        const Job &job = state_.jobs.at(next->job);
        if (job.offer_after_ms > state_.now_ms)
            continue;
        if (--left < 0)
            return;
        plan_.others_wait = true;
        if (!go_ahead(job))
            make_room_ahead(job);
    }
    if (next == queue.end())
        plan_.looked_until = QUEUE_END;
    else
        plan_.others_wait = true;
}

/* Those who start, or for whom enough is about to be freed; false: all could be helped. */
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
        plan_.looked_until = *left;
    }
    return false;
}

bool Starting::nothing_to_give() const
{
    return plan_.now.total() <= 0 && state_.indices().spare_cores == 0 &&
        state_.indices().settling.empty();
}

bool Starting::start(const Job &job)
{
    int least = lowest(job.spec), wish = plan_.rules.first_size(state_, job);
    int size = wish > least && plan_.now.fits(job.spec, wish) ? wish : least;
    if (!plan_.now.fits(job.spec, size))
        return false;
    StartNumbers numbers = numbers_of(job, size);
    add_start(job, plan_.now.place(job.spec, size), numbers);
    return true;
}

/* Before it is placed. */
StartNumbers Starting::numbers_of(const Job &job, int size) const
{
    StartNumbers numbers;
    numbers.least = lowest(job.spec);
    numbers.wanted = std::max(plan_.rules.first_size(state_, job), numbers.least);
    numbers.room = plan_.now.room(job.spec);
    numbers.cores_per_process = job.spec.cores_per_process;
    numbers.fits = numbers.most = size;
    return numbers;
}

void Starting::add_start(const Job &job, Blocks blocks, const StartNumbers &numbers)
{
    plan_.soon.take(state_.shares(job.spec, blocks));
    plan_.starts.push_back({&job, true, numbers.fits, 0, std::move(blocks), {}, 0, numbers});
}

/* Whether enough is about to be freed, or can be. */
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
    int share = size_at_most(job.spec, std::min(plan_.fair_size(job.spec), plan_.cap(job)));
    int want = std::max(least, share);
    if (donors_.shrink_for(job.spec, want, Giving::TO_SHARE, job.id)) {
        claim(job.spec, want);
        return true;
    }
    if (!donors_.shrink_for(job.spec, least, Giving::TO_LEAST, job.id))
        return false;
    claim(job.spec, least);
    return true;
}

void Starting::claim(const JobSpec &spec, int size)
{
    plan_.now.limit(plan_.soon, plan_.soon.place(spec, size));
}

/* If it starts now; NEVER: it may run for ever. */
int64_t Starting::end_of(const JobSpec &spec) const
{
    int64_t limit_ms = time_limit(state_, spec);
    return limit_ms > 0 ? state_.now_ms + limit_ms : NEVER;
}

/* Beside the first job's reservation. */
bool Starting::go_ahead(const Job &job)
{
    int least = lowest(job.spec), wish = plan_.rules.first_size(state_, job);
    auto allowed = [&](int size) {
        return plan_.now.fits(job.spec, size) &&
               plan_.promise().allows(plan_.now, job.spec, size);
    };
    int size = wish > least && allowed(wish) ? wish : least;
    if (!allowed(size))
        return false;
    int64_t end_ms = end_of(job.spec);
    int64_t cores = int64_t{size} * job.spec.cores_per_process;
    if (!plan_.leaves_expected(cores, end_ms))
        return false;
    StartNumbers numbers = numbers_of(job, size);
    numbers.ahead = plan_.promise().going_ahead(plan_.first->id, job.spec);
    if (plan_.expected)
        numbers.ahead->expected = {plan_.expected->time_ms, plan_.expected->left};
    plan_.take_beside_expected(cores, end_ms);
    add_start(job, plan_.promise().place(plan_.now, job.spec, size), numbers);
    return true;
}

/* For one that ends before the first job starts, malleable jobs give what that one is promised of
 * them, or what of its is lent to them: it comes back in time. */
void Starting::make_room_ahead(const Job &job)
{
    int least = lowest(job.spec);
    int64_t cores = int64_t{least} * job.spec.cores_per_process;
    bool gives = plan_.rules.gives_later() || !state_.indices().borrowers.empty();
    if (!gives || plan_.soon.total() + state_.indices().spare_cores < cores ||
        !plan_.promise().ends_before(job.spec) ||
        !plan_.leaves_expected(cores, end_of(job.spec)))
        return;
    if (!plan_.soon.fits(job.spec, least) &&
        !donors_.shrink_for(job.spec, least,
                            plan_.rules.gives_later() ? Giving::TO_LEAST : Giving::LENT, job.id))
        return;
    claim(job.spec, least);
    plan_.promise().changed();
    if (int64_t until_ms = plan_.promise().ends_before_until_ms(job.spec); until_ms != NEVER)
        plan_.decisions.look_again_at(until_ms + 1);    /* what is kept for it goes to others */
}

}  // namespace elastic::rm
