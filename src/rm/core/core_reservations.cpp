/*
 * See core_impl.h: nodes that are reserved for a time.
 *
 * The nodes that a job may have follow from its partition, its time limit and the reservations
 * (State::enter).  When a reservation begins or ends, and when nodes are new, all jobs enter their
 * partitions again, a bounded number in one event.  As time passes, nodes of a later reservation
 * are closed to a waiting job, too: that is checked when a policy would start it.
 */

#include "core/core_impl.h"
#include "core/time_limit.h"

namespace elastic::rm {

void Core::Impl::enter_again()
{
    if (state.to_enter == 0)
        return;
    if (state.to_enter == 1)
        state.clear_reduced();
    auto next = state.jobs.lower_bound(state.to_enter);
    for (int left = ENTERED_MAX; left > 0 && next != state.jobs.end(); left--) {
        JobId id = next->first;
        ++next;
        if (is_end(state.jobs.at(id).state))
            continue;
        Job &job = state.jobs.change(id);
        update(job, [&] { state.enter(job, state.now_ms); });
    }
    state.to_enter = next == state.jobs.end() ? 0 : next->first;
    state.changed();
}

/* The decision to start it was made for nodes of which it may not have all any more. */
bool Core::Impl::has_other_nodes(Job &job)
{
    if (state.config.reservations.empty() && job.spec.reservation.empty())
        return false;
    bool has = false;
    update(job, [&] { has = state.enter(job, state.now_ms); });
    return has;
}

/* Empty, or why a new job cannot be in its reservation. */
std::string Core::Impl::reservation_refusal(const JobSpec &spec) const
{
    if (spec.reservation.empty())
        return "";
    const NodeReservation *own = state.reservation(spec.reservation);
    std::string name = "reservation " + spec.reservation;
    if (!own)
        return "there is no " + name + ": 'elastic reservations' lists all";
    if (own->until_ms <= state.now_ms)
        return name + " has ended";
    JobSpec alone = state.unreserved(spec);
    auto is_outside = [&](const NodeName &node) { return !has_node(*alone.in, node); };
    if (alone.in->state == PartitionState::RESERVED)
        return name + " has no node" +
               (spec.partition.empty() ? "" : " of partition " + spec.partition);
    auto outside = std::ranges::find_if(spec.nodelist, is_outside);
    if (outside != spec.nodelist.end())
        return "node " + outside->str() + " of its node list is not in " + name;
    int64_t from_ms = std::max({own->from_ms, state.now_ms, spec.begin_ms});
    int64_t limit_ms = time_limit(state, spec);
    int64_t most_ms = std::max<int64_t>(own->until_ms - from_ms, 0);
    if (limit_ms == 0 || limit_ms > most_ms)
        return "a job of " + name + " ends with it, which leaves " +
               std::to_string(most_ms / 1000) + " s: request a time limit of that at most";
    return "";
}

}  // namespace elastic::rm
