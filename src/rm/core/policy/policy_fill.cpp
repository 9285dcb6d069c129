/* See policy_fill.h. */

#include "core/policy/policy_fill.h"

#include "core/policy/fill_loans.h"
#include "core/policy/fill_recipients.h"
#include "core/policy/fill_starting.h"
#include "core/policy/requested_sizes.h"

namespace elastic::rm {

namespace {

void leave_draining_nodes(FillPlan &plan, const Job &job)
{
    int away = 0;
    for (const Block &block : job.blocks)
        away += plan.state.node(block.node)->state() == NodeState::UP ? 0 : block.processes;
    if (away == 0)
        return;
    int staying = job.size() - away;
    std::vector<int> leave = choose_leaving(plan.state, job.blocks, away);
    Blocks own = append(without(job.blocks, leave), slots_of(job));
    for (const Departure &departure : job.departures)
        own = append(std::move(own), departure.blocks);
    int size =
        size_at_most(job.spec, std::min(job.size(), staying + plan.now.capacity(job.spec, own)));
    if (size == 0 || size < staying)
        return;
    Change change{job.id, size, std::move(leave), {}, "a node is drained"};
    int capacity = plan.now.capacity(job.spec, own);
    change.why = [size, staying, capacity](const State &, const Job &) -> Json {
        return {{"rule", "drain"}, {"size", size}, {"staying", staying}, {"room", capacity}};
    };
    if (size > staying)
        change.joining = plan.now.allocate(job.spec, size - staying, own);
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

/* "job 3", "jobs 3, 4": for people. */
std::string name_jobs(const std::vector<JobId> &jobs)
{
    std::string names;
    for (JobId id : jobs)
        names += (names.empty() ? "" : ", ") + std::to_string(id);
    return (jobs.size() == 1 ? "job " : "jobs ") + names;
}

/* With the jobs that need it: none in particular for nodes of others. */
std::function<Json(const State &, const Job &)> why_capacity(const SizeRules &rules, int size,
                                                        const std::vector<JobId> &whom)
{
    return [of_rules = rules.why_of(size, "make_room"), whom](const State &state, const Job &job) {
        Json why = of_rules(state, job);
        why["for"] = whom;
        return why;
    };
}

void decide_shrinks(FillPlan &plan)
{
    for (const auto &[id, size] : plan.shrinks) {
        const Job &job = plan.state.jobs.at(id);
        /* A job that would be reduced in any case, and has released no more, has a separate
         * reason. */
        if (plan.wished.contains(id) && size == size_wished(job)) {
            plan.decisions.changes.push_back(
                {id,
                 size,
                 choose_leaving(plan.state, job.blocks, job.size() - size),
                 {},
                 size_request_reason(job),
                 size_request_numbers(size)});
            continue;
        }
        if (plan.balanced.contains(id)) {
            plan.decisions.changes.push_back(plan.to_balance(
                job, size, choose_leaving(plan.state, job.blocks, job.size() - size), {}));
            continue;
        }
        bool own = plan.reduced.contains(id) && size == plan.rules.reduced(plan.state, job);
        const std::vector<JobId> &whom = plan.frees_cores_for[id];
        std::string reason = own                          ? plan.rules.words(plan.state, job, size)
                             : plan.give_way.contains(id) ? "nodes for " + plan.state.wanted_by
                                                          : "cores for " + name_jobs(whom);
        plan.decisions.changes.push_back(
            {id,
             size,
             choose_leaving(plan.state, job.blocks, job.size() - size),
             {},
             reason,
             own ? plan.rules.why_of(size, "reduce") : why_capacity(plan.rules, size, whom),
             0,
             own ? std::vector<JobId>() : whom});
    }
}

void record_dependence(FillPlan &plan)
{
    const State &state = plan.state;
    /* The remaining time of jobs that might be balanced decreases. */
    if (state.indices().nodes.of(NodeState::DRAINING) > 0 || plan.balance)
        return plan.decisions.depends_on.reset();
    Dependence &on = *plan.decisions.depends_on;
    QueueKey queue_until =
        plan.fair_shares.depend_on_jobs() ? QUEUE_END : plan.examined_until;
    on = {queue_until, NEVER, true, waiting_sharers(state), NEVER, plan.exchange};
    if (!plan.reservation)
        return;
    on.limits_until_ms = plan.reservation->limits_until_ms();
    if (plan.reservation->time_ms() != NEVER && worth_growing(plan))
        on.until_ms = plan.reservation->time_ms() - 2 * state.config.offer_pause_ms;
    if (plan.expected && (on.until_ms == NEVER || plan.expected->until_ms < on.until_ms))
        on.until_ms = plan.expected->until_ms;
}

/* Jobs whose programs request fewer processes. */
void reduce_as_wished(FillPlan &plan)
{
    const State &state = plan.state;
    for (JobId id : state.indices().wishers) {
        const Job &job = state.jobs.at(id);
        if (size_wished(job) >= job.size() || plan.moved.contains(id))
            continue;
        if (job.offer_after_ms > state.now_ms) {
            plan.decisions.recheck_at(job.offer_after_ms);
            continue;
        }
        plan.give_up(job, size_wished(job));
        plan.wished.insert(id);
    }
}

/* Jobs that use their processes inefficiently. */
void reduce(FillPlan &plan)
{
    const State &state = plan.state;
    plan.any_loan = !state.indices().borrowers.empty();
    if (plan.rules.allows_all())
        return;
    for (JobId id : state.indices().elastic) {
        const Job &job = state.jobs.at(id);
        plan.any_loan = plan.any_loan || plan.own_size(job) < job.size();
        int size = plan.rules.reduced(state, job);
        if (size == 0 || size >= job.size())    /* the usual case, decided at once */
            continue;
        /* such a size does not change */
        bool wished = job.wished_size > 0 || size_wished(job) > 0;
        if (wished || plan.moved.contains(id))
            continue;
        if (job.offer_after_ms > state.now_ms) {
            plan.decisions.recheck_at(job.offer_after_ms);
            continue;
        }
        plan.give_up(job, size);
        plan.reduced.insert(id);
    }
}

/* Between running jobs; released cores idle, and go to the job with the highest gain. */
void exchange(FillPlan &plan)
{
    const State &state = plan.state;
    bool at_rest = plan.decisions.starts.empty() && plan.decisions.changes.empty() &&
        !plan.others_wait && state.indices().queue.empty() && state.indices().freeing.empty();
    if (plan.rules.allows_all() || !at_rest)
        return;
    plan.exchange = plan.rules.exchange(state);
    if (plan.exchange->again_ms != NEVER)
        plan.decisions.recheck_at(plan.exchange->again_ms);
    if (plan.exchange->change)
        plan.decisions.changes.push_back(std::move(*plan.exchange->change));
}

Decisions decide_all(const State &state, const Gain &gain, const SizeRules &rules)
{
    FillPlan plan(state, gain, rules);
    leave_draining_nodes(plan);
    plan.expect_freed();
    reduce_as_wished(plan);
    reduce(plan);
    Starting starting(plan);
    starting.examine_others();
    starting.examine_waiting();
    CoreLoans(plan).call_in();
    decide_shrinks(plan);
    Recipients(plan).spread();
    exchange(plan);
    record_dependence(plan);
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
    bool can_reduce = (!rules_.allows_all() && indices.spare_cores > 0) || !indices.wishers.empty();
    if (can_start || can_grow || can_fill || can_move || can_give || can_reduce)
        return decide_all(state, gain_, rules_);
    Decisions nothing;
    bool anybody_could_start = indices.free_cores > 0 || indices.spare_cores > 0;
    nothing.depends_on =
        Dependence{anybody_could_start ? QUEUE_END : QUEUE_BEGIN, NEVER, true, -1, NEVER, {}};
    return nothing;
}

Sight Fill::sight(const State &state, const Job &job) const
{
    if (rules_.allows_all() || !state.indices().elastic.contains(job.id))
        return {};
    return {job.performance && has_data(*job.performance), rules_.most(state, job)};
}

namespace {

/* For a job whose size could otherwise change. */
bool is_held(const Job &job)
{
    return job.state == JobState::RUNNING && job.spec.elasticity == Elasticity::MALLEABLE &&
           is_in_rigid_phase(job);
}

/* Whether its next size fits now; `spec`: for the joining processes. */
bool could_grow(const State &state, const Job &job, const JobSpec &spec)
{
    int more = size_at_least(job.spec, job.size() + 1) - job.size();
    return more > 0 && Space(state).fits(spec, more, present(job));
}

}  // namespace

/* Within the requests of its user or its program. */
std::optional<SizeBounds> Fill::bounds(const State &state, const Job &job) const
{
    if (is_held(job) && !rules_.allows_all())
        return SizeBounds{job.size(), job.size(), 0};
    if (!state.indices().elastic.contains(job.id))
        return std::nullopt;
    auto bounds = rules_.bounds(state, job);
    if (bounds)
        bounds->high = std::max(bounds->low, std::min(bounds->high, largest_wanted(job)));
    return bounds;
}

std::optional<HeldBecause> Fill::held_because(const State &state, const Job &job) const
{
    if (is_held(job))
        return HeldBecause::RIGID_PHASE;
    if (!state.indices().elastic.contains(job.id))
        return std::nullopt;
    if (size_at_least(job.spec, job.size() + 1) == 0 || job.size() >= largest_wanted(job))
        return HeldBecause::AT_MAXIMUM;
    if (auto held = rules_.held_because(state, job))
        return held;
    if (state.growth_from_ms(job) > state.now_ms)
        return HeldBecause::PAUSE;
    bool others_wait = !state.indices().queue.empty() || state.wanted_nodes > 0;
    bool is_wanted = others_wait || !could_grow(state, job, JoiningSpec(job.spec));
    return is_wanted ? std::optional(HeldBecause::CORES_WANTED) : std::nullopt;
}

std::string Fill::explain(const State &state, const Job &job) const
{
    std::string why = rules_.explain(state, job);
    if (!needs_gpus(job.spec) || held_because(state, job) != HeldBecause::CORES_WANTED)
        return why;
    JobSpec without_gpus = JoiningSpec(job.spec);
    without_gpus.gpus_per_process = 0;
    if (could_grow(state, job, JoiningSpec(job.spec)) || !could_grow(state, job, without_gpus))
        return why;
    return (why.empty() ? std::to_string(job.size()) + " processes" : why) +
           "; not growing: no GPU idles";
}

/* Other jobs have not changed, and had no change to make.  So it matters only whether this job
 * can grow further than before, must be reduced, becomes a candidate for an exchange, or has
 * another position among the donors for a waiting job. */
bool Fill::heeds_sample(const State &state, const Job &job, const Sight &before,
                        const Dependence &on) const
{
    const State::Indices &indices = state.indices();
    if (rules_.allows_all() || !indices.elastic.contains(job.id))
        return false;
    bool others_want = !indices.queue.empty() || state.wanted_nodes > 0;
    if (others_want && (indices.spare_cores > 0 || rules_.balances()))
        return true;
    Sight now = sight(state, job);
    if (now.most > before.most || (now.has_data && !before.has_data))
        return true;
    int size = rules_.reduced(state, job);
    bool is_reduced = size > 0 && size < job.size() && job.wished_size == 0 &&
        size_wished(job) == 0;
    return is_reduced || (on.exchange && rules_.may_change(*on.exchange, state, job));
}

}  // namespace elastic::rm
