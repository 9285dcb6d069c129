/* See slurm_plan.h. */

#include "backend/slurm/slurm_plan.h"

#include <algorithm>

namespace elastic::rm {

namespace {

void add_nodes(SlurmNodeSet &nodes, const Blocks &blocks)
{
    for (const Block &block : blocks)
        nodes.insert(block.node);
}

bool runs(const SlurmJob &job)
{
    return job.state == SlurmJobState::RUNNING;
}

/* The Slurm job into which others are merged: the oldest that is not an expansion itself. */
const SlurmJob *trunk(const std::vector<const SlurmJob *> &jobs)
{
    const SlurmJob *oldest = nullptr;
    for (const SlurmJob *job : jobs)
        if (runs(*job) && job->tag && !job->tag->expands && (!oldest || job->id < oldest->id))
            oldest = job;
    return oldest;
}

/* Unused Slurm jobs.  A pending one belongs to a command that no code waits for. */
void give_back(const SlurmNodeSet &wanted, const std::vector<const SlurmJob *> &jobs,
               std::vector<SlurmOrder> &orders)
{
    for (const SlurmJob *job : jobs) {
        NodeNames useful;
        for (const std::string &node : job->nodes)
            if (wanted.contains(node))
                useful.push_back(node);
        bool active = runs(*job) || job->state == SlurmJobState::PENDING;
        if (active && (useful.empty() || !runs(*job)))
            orders.push_back({SlurmAct::CANCEL, job->id, {}, 0, 0});
        else if (active && useful.size() < job->nodes.size())
            orders.push_back({SlurmAct::SHRINK, job->id, useful, 0, 0});
    }
}

void get(const SlurmTarget &target, const NodeNames &missing, const SlurmJob *into, bool merge,
         std::vector<SlurmOrder> &orders)
{
    if (merge) {
        orders.push_back({SlurmAct::ALLOCATE, 0, missing, into ? into->id : 0, target.request});
        return;
    }
    for (const std::string &node : missing)
        orders.push_back({SlurmAct::ALLOCATE, 0, {node}, 0, target.request});
}

}  // namespace

SlurmTarget target_of(const Job &job)
{
    SlurmTarget target;
    target.job = job.id;
    target.step = job.step;
    target.uid = job.spec.uid;
    if (!is_allocated(job.state) || job.releasing)
        return target;
    for (const Departure &departure : job.departures)
        if (!departure.releasing)
            add_nodes(target.keep, departure.blocks);
    add_nodes(target.keep, slots_of(job));        /* also nodes without processes of it now */
    if (job.acquiring) {
        target.acquires = true;
        add_nodes(target.acquire, job.blocks);
        return target;
    }
    add_nodes(target.keep, job.blocks);
    if (!job.adaptation)
        return target;
    target.acquires = job.adaptation->phase == AdaptPhase::ACQUIRING;
    target.request = job.adaptation->request;
    add_nodes(target.acquires ? target.acquire : target.keep, job.adaptation->joining);
    return target;
}

SlurmPlan plan_for(const SlurmTarget &target, const std::vector<const SlurmJob *> &jobs, bool merge,
                   const std::set<SlurmId> &no_merge)
{
    SlurmPlan plan;
    std::map<std::string, SlurmId> held = node_map(jobs);
    for (const std::string &node : target.keep)
        if (!held.contains(node))
            plan.taken.push_back(node);
    SlurmNodeSet wanted = target.keep;
    wanted.insert(target.acquire.begin(), target.acquire.end());
    give_back(wanted, jobs, plan.orders);
    if (!plan.orders.empty() || !plan.taken.empty() || !target.acquires)
        return plan;
    NodeNames missing;
    for (const std::string &node : target.acquire)
        if (!held.contains(node))
            missing.push_back(node);
    const SlurmJob *into = trunk(jobs);
    if (!missing.empty()) {
        get(target, missing, into, merge, plan.orders);
        return plan;
    }
    for (const SlurmJob *job : jobs)
        if (merge && into && runs(*job) && job->tag && job->tag->expands &&
            !no_merge.contains(job->id))
            plan.orders.push_back({SlurmAct::MERGE, job->id, {}, into->id, 0});
    plan.acquired = plan.orders.empty();
    return plan;
}

int64_t poll_pause_ms(int64_t interval_ms, int64_t age_ms)
{
    constexpr int64_t FIRST_MS = 1000;
    return std::min(interval_ms, std::max(age_ms, FIRST_MS));
}

std::map<std::string, SlurmId> node_map(const std::vector<const SlurmJob *> &jobs)
{
    std::map<std::string, SlurmId> map;
    for (const SlurmJob *job : jobs)
        for (const std::string &node : job->nodes)
            if (runs(*job))
                map[node] = job->id;
    return map;
}

}  // namespace elastic::rm
