/* See fill_plan.h. */

#include "core/policy/fill_plan.h"

#include "core/pending_changes.h"
#include "core/time_limit.h"

namespace elastic::rm {

namespace {

/* Both lists are of whole nodes, in the order of the nodes. */
bool holds(const Shares &shares, const Share &share)
{
    auto at = std::lower_bound(shares.begin(), shares.end(), share,
                               [](const Share &a, const Share &b) {
                                   return a.node->position < b.node->position;
                               });
    return at != shares.end() && at->node == share.node;
}

}  // namespace

FillPlan::FillPlan(const State &all, const Gain &worth, const SizeRules &size_rules)
    : state(all), gain(worth), rules(size_rules), now(all), soon(now), fair_shares(all)
{
}

Reservation &FillPlan::first_reservation()
{
    if (!reservation)
        reservation.emplace(state, now, first->spec, lowest(first->spec), outlook());
    return *reservation;
}

void FillPlan::expect_freed()
{
    if (!moved.empty())
        soon = now;
    for (JobId id : state.indices().freeing) {
        const Job &job = state.jobs.at(id);
        const State::Freed &change = state.freed_soon(job);
        soon.give(change.freed);
        soon.take(change.kept);
    }
}

/* Whether it is certain to release cores above its minimum: the statement of its user counts
 * until it is refuted. */
bool FillPlan::gives_on_request(const Job &job) const
{
    bool can_change = job.spec.elasticity == Elasticity::MALLEABLE &&
        job.mode != StepMode::RIGID && job.refusals == 0 && !is_in_rigid_phase(job) &&
        !is_overdue(job) &&
        !(job.spec.usable && job.spec.usable->empty());
    bool gives = rules.gives_later() ? rules.may_give(state, job)
                                     : loan_then(job) > 0 && !job.withheld_loan;
    bool stays = job.state == JobState::COMPLETING || job.state == JobState::SUSPENDED;
    return can_change && !stays && !moved.contains(job.id) && gives;
}

/* For world_to_come. */
int FillPlan::loan_then(const Job &job) const
{
    auto planned = shrinks.find(job.id);
    int given = planned == shrinks.end() ? 0 : job.size() - planned->second;
    return std::max(pending_loan(job) - given, 0);
}

/* The size that the job keeps of this world when it releases cores on request. */
int FillPlan::retained_size(const Job &job, const Blocks &world) const
{
    if (rules.gives_later())
        return lowest(job.spec);
    return size_without(job.spec, count_processes(world), loan_then(job));
}

int FillPlan::own_size(const Job &job) const
{
    return rules.own_size(state, job);
}

Blocks FillPlan::world_to_come(const Job &job) const
{
    auto planned = shrinks.find(job.id);
    if (planned == shrinks.end())
        return pending_world(job);
    return without(job.blocks, choose_leaving(state, job.blocks, job.size() - planned->second));
}

/* Removes the processes of this world above `least`, in the order of choose_leaving, and returns
 * them. */
Blocks FillPlan::take_spare(Blocks &world, int least) const
{
    Blocks spare;
    int processes = count_processes(world);
    if (processes <= least)
        return spare;
    if (state.indices().nodes.of(NodeState::UP) != static_cast<int>(state.nodes.size())) {
        world = without(world, choose_leaving(state, world, processes - least), &spare);
        return spare;
    }
    /* the usual case: the highest ranks */
    auto block = world.begin();
    for (; least >= block->processes; ++block)
        least -= block->processes;
    spare.assign(block, world.end());
    spare.front().processes -= least;
    world.erase(least > 0 ? block + 1 : block, world.end());
    if (least > 0)
        world.back().processes = least;
    return spare;
}

Outlook FillPlan::outlook() const
{
    Outlook all;
    all.starting = starting();
    all.at_once.emplace_back(soon.more_than(now));
    for (JobId id : state.indices().allocated) {
        const Job &job = state.jobs.at(id);
        bool gives = gives_on_request(job);
        bool changes = state.indices().freeing.contains(id) || shrinks.contains(id);
        if (job.state == JobState::COMPLETING || (!gives && !changes))
            continue;
        bool stays = !job.adaptation && !shrinks.contains(id);
        if (stays && !changes && job.size() <= lowest(job.spec))
            continue;
        Blocks least = stays ? Blocks(job.blocks) : world_to_come(job), given;
        if (gives)
            given = take_spare(least, retained_size(job, least));
        Shares retained = state.shares(job.spec, append(least, slots_of(job))),
               more = state.shares(job.spec, given);
        if (job.spec.whole_nodes)       /* it keeps all of a node that it leaves only in part */
            std::erase_if(more, [&](const Share &share) { return holds(retained, share); });
        if (!more.empty())
            all.at_once.emplace_back(std::move(more));
        all.at_end.emplace(id, Booking(std::move(retained), job.spec.whole_nodes));
    }
    return all;
}

/* Cores that starting jobs release by their limits: jobs without one may run for ever. */
std::vector<Ending> FillPlan::starting() const
{
    std::vector<Ending> endings;
    for (const Growth &each : starts) {
        int64_t limit_ms = time_limit(state, each.job->spec);
        if (limit_ms > 0)
            endings.push_back(
                {state.now_ms + limit_ms, Booking(state.shares(each.job->spec, each.blocks))});
    }
    endings.insert(endings.end(), grown.begin(), grown.end());
    return endings;
}

void FillPlan::give_up(const Job &job, int size)
{
    Blocks after = without(job.blocks, choose_leaving(state, job.blocks, job.size() - size));
    Blocks slots = slots_of(job);
    Shares freed = state.shares(job.spec, append(job.blocks, slots)),
           retained = state.shares(job.spec, append(after, slots));
    leave_differences(freed, retained);
    soon.give(freed);
    soon.take(retained);
    shrinks[job.id] = size;
}

Change FillPlan::to_balance(const Job &job, int size, std::vector<int> leave,
                            Blocks joining) const
{
    char text[160];
    snprintf(text, sizeof text,
             "to end with others in %lld s, so that job %llu starts sooner (unchanged: in %lld s)",
             static_cast<long long>(balance_end_ms / 1000),
             static_cast<unsigned long long>(balance->whom),
             static_cast<long long>(unchanged_end_ms(*balance) / 1000));
    auto why = [of_rules = rules.why_of(size, "balance"), all = *balance,
                end_ms = balance_end_ms](const State &then, const Job &changed) {
        Json json = of_rules(then, changed);
        json["for"] = {all.whom};
        json["balance"] = write(all);
        json["end_ms"] = end_ms;
        json["unchanged_end_ms"] = unchanged_end_ms(all);
        return json;
    };
    std::vector<JobId> whom = {balance->whom};
    return {job.id, size, std::move(leave), std::move(joining), text, std::move(why), 0, whom};
}

bool FillPlan::leaves_expected(int64_t cores, int64_t end_ms) const
{
    bool in_time = expected && end_ms != NEVER && end_ms <= expected->time_ms;
    return !expected || in_time || cores <= expected->left;
}

void FillPlan::take_beside_expected(int64_t cores, int64_t end_ms)
{
    if (expected && (end_ms == NEVER || end_ms > expected->time_ms))
        expected->left -= cores;
}

int FillPlan::shrunk(const Job &job) const
{
    auto planned = shrinks.find(job.id);
    return planned == shrinks.end() ? job.size() : planned->second;
}

int FillPlan::cap(const Job &job, const Blocks &blocks) const
{
    const JobSpec &spec = job.spec;
    if (size_wished(job) > 0)
        /* requested by the program: earlier measurements may concern another phase */
        return largest_wanted(job);
    int most = spec.preferred > 0 && others_wait ? spec.preferred : spec.maximum;
    int wanted = std::min(most, largest_wanted(job)), allowed = rules.most(state, job);
    if (allowed >= wanted || !spec.whole_nodes)
        return std::min(wanted, allowed);
    return size_in_units(spec, unit_of(state, spec, blocks), allowed);
}

}  // namespace elastic::rm
