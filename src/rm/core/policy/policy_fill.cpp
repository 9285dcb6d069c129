/* See policy_fill.h. */

#include "core/policy/policy_fill.h"

#include "core/policy/fill_recipients.h"
#include "core/policy/fill_starting.h"

namespace elastic::rm {

namespace {

/* What jobs give back without being asked for more. */
void expect_settling(FillPlan &plan)
{
    if (!plan.moved.empty())
        plan.soon = plan.now;
    for (JobId id : plan.state.indices().settling) {
        const Job &job = plan.state.jobs.at(id);
        plan.soon.give(plan.state.booked(id));
        if (job.state == JobState::COMPLETING)
            continue;
        Blocks after = job.blocks;
        if (job.adaptation)
            after = append(without(job.blocks, job.adaptation->leave), job.adaptation->joining);
        plan.soon.take(plan.state.shares(job.spec, after));
    }
}

void leave_draining_nodes(FillPlan &plan, const Job &job)
{
    int away = 0;
    for (const Block &block : job.blocks)
        away += plan.state.node(block.node)->state() == NodeState::UP ? 0 : block.processes;
    if (away == 0)
        return;
    int staying = job.size() - away;
    std::vector<int> leave = choose_leaving(plan.state, job.blocks, away);
    Blocks own = without(job.blocks, leave);
    int size = size_at_most(job.spec, std::min(job.size(), staying + plan.now.room(job.spec, own)));
    if (size == 0 || size < staying)
        return;
    Change change{job.id, size, std::move(leave), {}, "a node is drained"};
    if (size > staying)
        change.joining = plan.now.place(job.spec, size - staying, own);
    plan.decisions.changes.push_back(std::move(change));
    plan.moved.insert(job.id);
}

void leave_draining_nodes(FillPlan &plan)
{
    if (plan.state.indices().nodes.of(NodeState::DRAINING) == 0)
        return;
    for (JobId id : plan.state.indices().elastic) {
        const Job &job = plan.state.jobs.at(id);
        if (job.offer_after_ms <= plan.state.now_ms)
            leave_draining_nodes(plan, job);
    }
}

void decide_shrinks(FillPlan &plan)
{
    for (const auto &[id, size] : plan.shrinks) {
        const Job &job = plan.state.jobs.at(id);
        std::string reason = plan.give_way.contains(id) ? "nodes for " + plan.state.wanted_by
                                                        : "cores for a waiting job";
        plan.decisions.changes.push_back(
            {id, size, choose_leaving(plan.state, job.blocks, job.size() - size), {}, reason});
    }
}

void say_dependence(FillPlan &plan)
{
    const State &state = plan.state;
    if (state.indices().nodes.of(NodeState::DRAINING) > 0)
        return plan.decisions.depends_on.reset();
    Dependence &on = *plan.decisions.depends_on;
    on = {plan.looked_until, NEVER, true, waiting_sharers(state)};
    if (!plan.reservation)
        return;
    on.limits_until_ms = plan.reservation->limits_until_ms();
    if (plan.reservation->time_ms() != NEVER && worth_growing(plan))
        on.until_ms = plan.reservation->time_ms() - 2 * state.config.offer_pause_ms;
}

Decisions decide_all(const State &state, const Gain &gain)
{
    FillPlan plan(state, gain);
    leave_draining_nodes(plan);
    expect_settling(plan);
    Starting starting(plan);
    starting.look_at_others();
    starting.look_at_waiting();
    decide_shrinks(plan);
    Recipients(plan).spread();
    say_dependence(plan);
    return std::move(plan.decisions);
}

}  // namespace

Decisions Fill::decide(const State &state) const
{
    const State::Indices &indices = state.indices();
    bool can_start = !indices.queue.empty() && (indices.free_cores > 0 || indices.spare_cores > 0);
    bool can_grow = indices.free_cores > 0 && !indices.elastic.empty();
    bool can_fill = !indices.roomy.empty();
    bool can_move = indices.nodes.of(NodeState::DRAINING) > 0 && !indices.elastic.empty();
    bool can_give = state.wanted_nodes > 0 && indices.spare_cores > 0;
    if (can_start || can_grow || can_fill || can_move || can_give)
        return decide_all(state, gain_);
    Decisions nothing;
    bool anybody_could_start = indices.free_cores > 0 || indices.spare_cores > 0;
    nothing.depends_on =
        Dependence{anybody_could_start ? QUEUE_END : QUEUE_BEGIN, NEVER, true, -1};
    return nothing;
}

}  // namespace elastic::rm
