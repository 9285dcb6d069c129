/* See fill_recipients.h. */

#include "core/policy/fill_recipients.h"

#include "core/policy/fill_loans.h"
#include "core/policy/requested_sizes.h"

#include <limits>
#include <map>
#include <queue>

namespace elastic::rm {

/* The gain of a step to a size that a program requests: more than any other. */
constexpr double WISHED_GAIN = 1e20;

bool worth_growing(const FillPlan &plan)
{
    return !plan.reservation || plan.reservation->time_ms() == NEVER ||
           plan.reservation->time_ms() > plan.state.now_ms + 2 * plan.state.config.offer_pause_ms;
}

/* While others wait for nodes, their owner gives none to elasticd, and refusals would only make
 * its jobs pause. */
void Recipients::spread()
{
    bool idle = plan_.now.total() > 0;
    if (idle && plan_.first)
        plan_.first_reservation();
    add_starts();
    bool may_take = idle && state_.wanted_nodes == 0 && worth_growing(plan_);
    add_running(may_take ? growers() : roomy());
    fill_own_nodes();
    if (idle && plan_.gain.is_constant()) {
        grow_to_level();
        grow_by_steps();
    } else if (idle) {
        grow_by_gain();
    }
    decide();
}

/* A job that cannot be shrunk again must not grow into reserved cores. */
void Recipients::add_starts()
{
    for (Growth &each : plan_.starts) {
        bool gives_back =
            each.job->spec.elasticity == Elasticity::MALLEABLE && plan_.rules.gives_later();
        bool may_grow = gives_back || !plan_.first;
        int cap = plan_.cap(*each.job, each.blocks);
        each.cap = may_grow ? cap : each.size;
        int most = may_have_capacity_within(each) ? cap : each.cap;
        each.numbers.most = std::max(each.size, most);
        growing_.push_back(std::move(each));
    }
}

/* In the order of their numbers. */
void Recipients::add_running(const std::vector<JobId> &jobs)
{
    for (JobId id : jobs) {
        const Job &job = state_.jobs.at(id);
        if (!is_free(job))
            continue;
        int size = job.size(), cap = plan_.cap(job);
        if (size < cap)
            growing_.push_back({&job, false, size, cap, {}});
    }
}

/* No other change is planned for it. */
bool Recipients::is_free(const Job &job) const
{
    return !plan_.is_planned(job);
}

bool Recipients::may_grow(const Job &job) const
{
    return is_free(job) && job.size() < plan_.cap(job);
}

/* All jobs that may grow; jobs with idle cores in their own nodes. */
std::vector<JobId> Recipients::growers()
{
    const State::Indices &indices = state_.indices();
    const auto &all = plan_.others_wait ? indices.needy : indices.growers;
    auto later = all.upper_bound({state_.now_ms, std::numeric_limits<JobId>::max()});
    std::vector<JobId> ids;
    for (auto each = all.begin(); each != later; ++each)
        ids.push_back(each->second);
    std::sort(ids.begin(), ids.end());
    while (later != all.end() && !may_grow(state_.jobs.at(later->second)))
        ++later;
    if (later != all.end())
        plan_.decisions.recheck_at(later->first);
    return ids;
}

std::vector<JobId> Recipients::roomy()
{
    std::vector<JobId> ids;
    for (JobId id : state_.indices().roomy) {
        const Job &job = state_.jobs.at(id);
        int64_t from_ms = state_.growth_from_ms(job);
        if (from_ms <= state_.now_ms)
            ids.push_back(id);
        else if (may_grow(job))
            plan_.decisions.recheck_at(from_ms);
    }
    return ids;
}

namespace {

/* Loans are its last processes: all processes after them are loans, too. */
void note_size(Growth &growth, int size)
{
    if (growth.job->loaned + growth.loaned > 0)
        growth.loaned += size - growth.size;
    growth.size = size;
}

}  // namespace

bool Recipients::grow(Growth &growth, int size)
{
    int more = size - growth.size;
    if (more <= 0 || (fills_its_nodes(growth) && capacity_for(growth) < more) ||
        !nodes_of(growth).fits(plan_.now, more))
        return false;
    nodes_of(growth).allocate(plan_.now, more, growth.blocks);
    note_size(growth, size);
    return true;
}

/* Without other whole nodes, which it would keep. */
bool Recipients::grow_beside_reserved(Growth &growth, int size)
{
    Reservation &first_reservation = plan_.first_reservation();
    const Job &job = *growth.job;
    int more = size - growth.size;
    if (growth.starts || job.spec.whole_nodes ||
        !first_reservation.allows_more(plan_.now, job, more))
        return false;
    int64_t cores = int64_t{more} * job.spec.cores_per_process;
    int64_t end_ms = expected_end_ms(state_, job);
    if (!plan_.leaves_expected(cores, end_ms))
        return false;
    plan_.take_beside_expected(cores, end_ms);
    growth.blocks =
        append(std::move(growth.blocks), first_reservation.allocate_more(plan_.now, job, more));
    note_size(growth, size);
    return true;
}

/* On reserved cores. */
bool Recipients::grow_on_loan(Growth &growth, int size)
{
    const Job &job = *growth.job;
    int more = size - growth.size;
    if (!CoreLoans(plan_).allows(growth, more))
        return false;
    Blocks own = append(present(job), growth.blocks);
    if (!plan_.now.fits(job.spec, more, own))
        return false;
    growth.blocks = append(std::move(growth.blocks), plan_.now.allocate(job.spec, more, own));
    plan_.first_reservation().changed();
    growth.size = size;
    growth.loaned += more;
    return true;
}

/* Number of further processes that fit. */
int Recipients::capacity_for(Growth &growth) const
{
    return fills_its_nodes(growth) ? plan_.now.capacity(JoiningSpec(growth.job->spec))
                                   : nodes_of(growth).capacity(plan_.now);
}

/* It can only grow to other nodes, so that no comparison is needed: its own are whole, full, and
 * not searched yet. */
bool Recipients::fills_its_nodes(const Growth &growth) const
{
    return !growth.nodes && !growth.starts && growth.job->spec.whole_nodes &&
        !state_.indices().roomy.contains(growth.job->id);
}

GrowingJob &Recipients::nodes_of(Growth &growth) const
{
    if (fills_its_nodes(growth))
        growth.nodes.emplace(growth.job->spec);
    else if (!growth.nodes)
        growth.nodes.emplace(plan_.now, growth.job->spec,
                             growth.starts ? growth.blocks : present(*growth.job));
    return *growth.nodes;
}

/* A job's whole nodes cost nothing more, whoever else waits. */
void Recipients::fill_own_nodes()
{
    for (Growth &each : growing_) {
        if (!may_have_capacity_within(each))
            continue;
        int capacity = nodes_of(each).capacity_within(plan_.now);
        int cap = each.starts ? plan_.cap(*each.job, each.blocks) : each.cap;
        grow(each, size_at_most(each.job->spec, std::min(cap, each.size + capacity)));
    }
}

/* In its own whole nodes. */
bool Recipients::may_have_capacity_within(const Growth &growth) const
{
    const JobSpec &spec = growth.job->spec;
    return spec.whole_nodes && spec.elasticity != Elasticity::RIGID &&
           (growth.starts || state_.indices().roomy.contains(growth.job->id));
}

/* ---- equal gains ----------------------------------------------------------------------------- */

/* Its size when all are at this level. */
int Recipients::target(const Growth &growth, int level) const
{
    const JobSpec &spec = growth.job->spec;
    level = std::min(level, growth.level_max);
    int size = level < growth.cap ? size_in_units(spec, unit_of(growth), level)
                                  : size_at_most(spec, growth.cap);
    return std::max(growth.size, size);
}

/* The resources that these jobs then need, beyond their present ones. */
Space::Resources Recipients::more_at(const std::vector<const Growth *> &some, int level) const
{
    Space::Resources more;
    for (const Growth *each : some) {
        Unit unit = unit_of(*each);
        int size = target(*each, level);
        more.cores += (unit.count(size) - unit.count(each->size)) * unit.cores;
        more.gpus += int64_t{size - each->size} * each->job->spec.gpus_per_process;
    }
    return more;
}

/* The highest common level that these resources allow. */
int Recipients::level_of(const std::vector<const Growth *> &some,
                         const Space::Resources &free) const
{
    int low = 0, high = 0;
    for (const Growth *each : some)
        high = std::max(high, each->cap);
    while (low < high) {
        int middle = low + (high - low + 1) / 2;
        Space::Resources more = more_at(some, middle);
        if (more.cores <= free.cores && more.gpus <= free.gpus)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* For jobs that share nodes or GPUs which others cannot use: these may bind first. */
void Recipients::limit_levels()
{
    using Kind = std::tuple<const Partition *, bool, NodeSet>;
    std::map<Kind, std::vector<Growth *>> kinds;
    for (Growth &each : growing_) {
        const JobSpec &spec = each.job->spec;
        if (!any_node_will_do(JoiningSpec(spec)))
            kinds[{spec.in.get(), needs_gpus(spec), spec.exclude}].push_back(&each);
    }
    for (const auto &[kind, jobs] : kinds) {
        int level = level_of({jobs.begin(), jobs.end()},
                             plan_.now.resources(jobs.front()->job->spec));
        for (Growth *each : jobs)
            each->level_max = level;
    }
}

/* Raises all to the highest common level that the idle cores allow; jobs for which something else
 * is short, to their own. */
void Recipients::grow_to_level()
{
    limit_levels();
    std::vector<const Growth *> all;
    for (const Growth &each : growing_)
        all.push_back(&each);
    int level = level_of(all, {plan_.now.total(), std::numeric_limits<int64_t>::max()});
    for (Growth &each : growing_) {
        int size = target(each, level);
        if (size > each.size && !grow(each, size)) {
            int most = each.size + capacity_for(each);
            grow(each, size_at_most(each.job->spec, std::min(size, most)));
        }
    }
}

/* The remaining cores go to the smallest job that can use them. */
void Recipients::grow_by_steps()
{
    std::vector<Growth *> order;
    for (Growth &each : growing_)
        order.push_back(&each);
    std::stable_sort(order.begin(), order.end(),
                     [](const Growth *a, const Growth *b) { return a->size < b->size; });
    for (bool progress = true; progress && plan_.now.total() > 0;) {
        progress = false;
        for (Growth *each : order) {
            if (int size = next_size(*each))
                progress = grow_a_step(*each, size) || progress;
        }
    }
}

/* 0: it has its maximum.  Whole nodes are added one by one, each filled: a partly used node is
 * of no use to others. */
int Recipients::next_size(const Growth &growth) const
{
    const JobSpec &spec = growth.job->spec;
    int size = size_at_least(spec, growth.size + 1);
    if (size == 0 || size > growth.cap)
        return 0;
    Unit unit = unit_of(growth);
    int64_t filled = growth.size + unit.count(size - growth.size) * unit.processes;
    int most = static_cast<int>(std::min<int64_t>(growth.cap, filled));
    return std::max(size, size_at_most(spec, most));
}

Unit Recipients::unit_of(const Growth &growth) const
{
    const Job &job = *growth.job;
    const Blocks &present = job.blocks;
    return rm::unit_of(state_, job.spec, growth.starts ? growth.blocks : present);
}

/* Grows to `next`, or, if nodes are smaller than its own, as far as it fits. */
bool Recipients::grow_a_step(Growth &growth, int next)
{
    const JobSpec &spec = growth.job->spec;
    return grow(growth, next) ||
           (spec.whole_nodes &&
            grow(growth, size_at_most(spec, std::min(next, growth.size + capacity_for(growth)))));
}

/* ---- different gains ------------------------------------------------------------------------- */

/* Step by step, each time to the job with the highest gain.  A job that does not fit now does
 * not fit later. */
void Recipients::grow_by_gain()
{
    struct Step {
        double worth;
        int size, next;
        size_t number;
        bool operator<(const Step &other) const
        {
            return std::tuple(worth, -size, other.number) <
                std::tuple(other.worth, -other.size, number);
        }
    };
    std::priority_queue<Step> steps;
    /* only for jobs that received some: most receive none */
    std::unordered_map<size_t, std::function<double(int, int)>> worth;
    auto gain = [&](size_t number, int next) {
        const Growth &growth = growing_[number];
        if (growth.size == growth.job->size())
            return plan_.gain.gain(state_, *growth.job, growth.size, next);
        auto known = worth.find(number);
        if (known == worth.end())
            known = worth.emplace(number, plan_.gain.of(state_, *growth.job)).first;
        return known->second(growth.size, next);
    };
    auto offer = [&](size_t number) {
        const Growth &growth = growing_[number];
        int next = next_size(growth);
        if (next == 0)
            return;
        /* the first request, as far as possible */
        bool wished = size_wished(*growth.job) > 0;
        if (double value = wished ? WISHED_GAIN : gain(number, next); value > 0)
            steps.push({value, growth.size, next, number});
    };
    for (size_t i = 0; i < growing_.size(); i++)
        offer(i);
    while (!steps.empty() && plan_.now.total() > 0) {
        auto [worth_now, size, next, number] = steps.top();
        steps.pop();
        Growth &growth = growing_[number];
        bool grown = plan_.keeps_out_of_reserved()
                         ? grow_beside_reserved(growth, next) || grow_on_loan(growth, next)
                         : grow_a_step(growth, next);
        if (grown)
            offer(number);
    }
}

/* ---- decisions ----------------------------------------------------------------------------- */

void Recipients::decide()
{
    for (Growth &each : growing_) {
        if (each.starts)
            plan_.decisions.starts.push_back(
                {each.job->id, std::move(each.blocks), each.numbers});
        else if (!each.blocks.empty())
            plan_.decisions.changes.push_back(change_to(each));
    }
}

Change Recipients::change_to(Growth &growth) const
{
    const Job &job = *growth.job;
    if (growth.loaned > 0 && plan_.first)
        return to_loan(plan_, growth);
    bool wished = size_wished(job) > 0;
    return {job.id,
            growth.size,
            {},
            std::move(growth.blocks),
            wished ? size_request_reason(job) : plan_.rules.words(state_, job, growth.size),
            wished ? size_request_numbers(growth.size) : plan_.rules.why_of(growth.size, "expand"),
            growth.loaned};
}

}  // namespace elastic::rm
