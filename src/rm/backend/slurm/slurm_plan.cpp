/* See slurm_plan.h. */

#include "backend/slurm/slurm_plan.h"

#include <algorithm>

namespace elastic::rm {

namespace {

void add_nodes(NodeSet &nodes, const Blocks &blocks)
{
    for (const Block &block : blocks)
        nodes.insert(block.node);
}

bool runs(const SlurmJob &job)
{
    return job.state == SlurmJobState::RUNNING;
}

/* The one that others are merged into: the oldest that is no expansion itself. */
const SlurmJob *trunk(const std::vector<const SlurmJob *> &jobs)
{
    const SlurmJob *oldest = nullptr;
    for (const SlurmJob *job : jobs)
        if (runs(*job) && job->tag && !job->tag->expands && (!oldest || job->id < oldest->id))
            oldest = job;
    return oldest;
}

/* What is of no use any more.  One that still waits belongs to a command that nobody waits for. */
void give_back(const NodeSet &wanted, const std::vector<const SlurmJob *> &jobs,
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

void get(const SlurmWish &wish, const NodeNames &missing, const SlurmJob *into, bool merge,
         std::vector<SlurmOrder> &orders)
{
    if (merge) {
        orders.push_back({SlurmAct::ALLOCATE, 0, missing, into ? into->id : 0, wish.request});
        return;
    }
    for (const std::string &node : missing)
        orders.push_back({SlurmAct::ALLOCATE, 0, {node}, 0, wish.request});
}

}  // namespace

SlurmWish wish_of(const Job &job)
{
    SlurmWish wish;
    wish.job = job.id;
    wish.step = job.step;
    wish.uid = job.spec.uid;
    if (!is_placed(job.state) || job.releasing)
        return wish;
    for (const Departure &departure : job.departures)
        if (!departure.releasing)
            add_nodes(wish.keep, departure.blocks);
    add_nodes(wish.keep, slots_of(job));        /* also where none of its processes is any more */
    if (job.acquiring) {
        wish.acquires = true;
        add_nodes(wish.acquire, job.blocks);
        return wish;
    }
    add_nodes(wish.keep, job.blocks);
    if (!job.adaptation)
        return wish;
    wish.acquires = job.adaptation->phase == AdaptPhase::ACQUIRING;
    wish.request = job.adaptation->request;
    add_nodes(wish.acquires ? wish.acquire : wish.keep, job.adaptation->joining);
    return wish;
}

SlurmPlan plan_for(const SlurmWish &wish, const std::vector<const SlurmJob *> &jobs, bool merge,
                   const std::set<SlurmId> &no_merge)
{
    SlurmPlan plan;
    std::map<std::string, SlurmId> held = node_map(jobs);
    for (const std::string &node : wish.keep)
        if (!held.contains(node))
            plan.lost.push_back(node);
    NodeSet wanted = wish.keep;
    wanted.insert(wish.acquire.begin(), wish.acquire.end());
    give_back(wanted, jobs, plan.orders);
    if (!plan.orders.empty() || !plan.lost.empty() || !wish.acquires)
        return plan;
    NodeNames missing;
    for (const std::string &node : wish.acquire)
        if (!held.contains(node))
            missing.push_back(node);
    const SlurmJob *into = trunk(jobs);
    if (!missing.empty()) {
        get(wish, missing, into, merge, plan.orders);
        return plan;
    }
    for (const SlurmJob *job : jobs)
        if (merge && into && runs(*job) && job->tag && job->tag->expands &&
            !no_merge.contains(job->id))
            plan.orders.push_back({SlurmAct::MERGE, job->id, {}, into->id, 0});
    plan.acquired = plan.orders.empty();
    return plan;
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
