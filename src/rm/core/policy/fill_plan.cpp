/* See fill_plan.h. */

#include "core/policy/fill_plan.h"

namespace elastic::rm {

namespace {

int fair_share(const State &state)
{
    const State::Indices &indices = state.indices();
    size_t sharers = indices.placed.size() + static_cast<size_t>(waiting_sharers(state));
    return static_cast<int>(indices.up_cores / static_cast<int64_t>(std::max<size_t>(sharers, 1)));
}

}  // namespace

FillPlan::FillPlan(const State &all, const Gain &worth, const SizeRules &size_rules)
    : state(all), gain(worth), rules(size_rules), now(all), soon(now), fair_cores(fair_share(all))
{
}

Reservation &FillPlan::promise()
{
    if (!reservation)
        reservation.emplace(state, now, first->spec, lowest(first->spec), starting());
    return *reservation;
}

/* Those without a limit may run for ever. */
std::vector<Ending> FillPlan::starting() const
{
    std::vector<Ending> endings;
    for (const Growth &each : starts) {
        int64_t limit_ms = time_limit(state, each.job->spec);
        if (limit_ms > 0)
            endings.push_back(
                {state.now_ms + limit_ms, Booking(state.shares(each.job->spec, each.blocks))});
    }
    return endings;
}

int FillPlan::shrunk(const Job &job) const
{
    auto planned = shrinks.find(job.id);
    return planned == shrinks.end() ? job.size() : planned->second;
}

int FillPlan::cap(const Job &job) const
{
    const JobSpec &spec = job.spec;
    if (size_wished(job) > 0)
        /* by its own word: what is known of it may be of another phase */
        return largest_wanted(job);
    int most = spec.preferred > 0 && others_wait ? spec.preferred : spec.maximum;
    return std::min({most, largest_wanted(job), rules.most(state, job)});
}

}  // namespace elastic::rm
