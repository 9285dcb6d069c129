/* See slot_requests.h. */

#include "core/policy/slot_requests.h"

#include "core/pending_changes.h"
#include "core/placement.h"
#include "core/policy/policy_easy.h"

namespace elastic::rm {

namespace {

constexpr size_t BLOCKS_MAX = 200;      /* in one grant: a line of the step protocol */

/* The first waiting job that may start now, if no grant for a request of this time may delay it;
 * else null. */
const Job *protected_job(const State &state, int64_t since_ms)
{
    for (const QueueKey &key : state.indices().runnable) {
        const Job &job = state.jobs.at(key.job);
        if (job.offer_after_ms > state.now_ms)
            continue;
        int64_t waits_since_ms = job.eligible_ms == NEVER ? job.submitted_ms : job.eligible_ms;
        return since_ms < waits_since_ms ? nullptr : &job;
    }
    return nullptr;
}

int start_size(const State &state, const JobSpec &spec)
{
    bool is_fixed =
        state.config.policy == PolicyKind::FCFS || state.config.policy == PolicyKind::EASY;
    return is_fixed ? fixed_size(state, spec) : size_at_least(spec, 1);
}

/* The latest start of the first job, with and without a slot; a slot is not released before the
 * end of its job. */
class Protected {
  public:
    Protected(const State &state, const Job &job, int64_t since_ms)
        : state_(state), job_(job), first_(protected_job(state, since_ms))
    {
    }
    bool allows(const Space &before, const Space &after)
    {
        if (!first_)
            return true;
        if (!time_ms_)
            time_ms_ = start_of_first(before);
        if (job_.limit_at_ms != NEVER && (*time_ms_ == NEVER || job_.limit_at_ms <= *time_ms_))
            return true;
        return *time_ms_ != NEVER && start_of_first(after) == *time_ms_;
    }

  private:
    int64_t start_of_first(const Space &space) const
    {
        return Reservation(state_, space, first_->spec, start_size(state_, first_->spec)).time_ms();
    }

    const State &state_;
    const Job &job_;
    const Job *first_;
    std::optional<int64_t> time_ms_;
};

/* Nodes that are closed to the request, because a slot must be alone there: nodes with such a
 * slot of the job, or, for an exclusive request, with any slot. */
std::vector<NodeName> closed_nodes(const Job &job, const SlotRequest &slot_request)
{
    if (!slot_request.exclusive)
        return exclusive_slots(job);
    std::vector<NodeName> nodes;
    for (const Block &block : slots_of(job))
        nodes.push_back(block.node);
    return nodes;
}

/* Allocates slots one by one, as long as another one is requested and allowed. */
class SlotsFor {
  public:
    SlotsFor(const State &state, const Job &job, const SlotRequest &slot_request, int count)
        : spec_(job.spec), slot_request_(slot_request), now_(state), open_(state),
          closed_(closed_nodes(job, slot_request)), first_(state, job, slot_request.since_ms),
          left_(count)
    {
        for (const NodeName &node : closed_)
            open_.close(node);
    }
    /* The allowed nodes. */
    const Space &open() const { return open_; }
    bool is_closed(const NodeName &node) const
    {
        return std::ranges::find(closed_, node) != closed_.end();
    }
    const Blocks &blocks() const { return blocks_; }
    /* Adds one that fits beside `own`.  False: no more. */
    bool add(const Blocks &own)
    {
        if (left_ == 0 || blocks_.size() >= BLOCKS_MAX)
            return false;
        Space left_open = open_;
        Blocks allocate = left_open.allocate(spec_, 1, own);
        Space after = closed_.empty() ? left_open : now_;
        if (!closed_.empty())
            after.take(open_.more_than(left_open));
        if (!first_.allows(now_, after)) {
            left_ = 0;
            return false;
        }
        left_--;
        append(blocks_, allocate[0]);
        now_ = after;
        open_ = left_open;
        if (slot_request_.exclusive) {
            closed_.push_back(allocate[0].node);
            open_.close(allocate[0].node);
        }
        return true;
    }

  private:
    const JoiningSpec spec_;
    const SlotRequest &slot_request_;
    /* free cores; and the same without nodes that are closed to the request */
    Space now_, open_;
    std::vector<NodeName> closed_;
    Protected first_;
    int left_;
    Blocks blocks_;
};

/* Its present and future processes, of any kind. */
Blocks all_of(const Job &job)
{
    return job.adaptation ? append(present(job), job.adaptation->joining) : present(job);
}

int processes_on(const Job &job, const NodeName &node)
{
    int count = 0;
    for (const Block &block : all_of(job))
        count += block.node == node ? block.processes : 0;
    return count;
}

/* The nodes of a back end that it continues to use: with staying processes, and with slots. */
Blocks staying(const Job &job)
{
    Blocks staying = job.adaptation ? without(job.blocks, job.adaptation->leave) : job.blocks;
    return append(std::move(staying), slots_of(job));
}

/* Its nodes, each once, that the request allows. */
std::vector<NodeName> own_nodes(const State &state, const Job &job, const SlotRequest &slot_request)
{
    std::vector<NodeName> nodes;
    for (const Block &block : state.config.asynchronous_nodes ? staying(job) : all_of(job)) {
        bool suits = slot_request.host.empty() || block.node == slot_request.host;
        if (suits && std::ranges::find(nodes, block.node) == nodes.end())
            nodes.push_back(block.node);
    }
    return nodes;
}

/* Including the node that it names. */
std::vector<NodeName> nodes_for(const State &state, const Job &job, const SlotRequest &slot_request)
{
    std::vector<NodeName> nodes = own_nodes(state, job, slot_request);
    bool may_be_another = !job.spec.whole_nodes && !state.config.asynchronous_nodes;
    if (!slot_request.host.empty() && nodes.empty() && state.node(slot_request.host) &&
        may_be_another)
        nodes.push_back(state.node(slot_request.host)->name);
    return nodes;
}

/* The present and the pending slots of the job. */
int capacity_of_job(const Job &job)
{
    if (needs_gpus(job.spec))
        return 0;
    int world = job.adaptation ? std::max(job.size(), job.adaptation->size) : job.size();
    return most_processes(job.spec) - world - count_slots(job);
}

}  // namespace

std::vector<SlotTurn> slot_turns(const State &state)
{
    std::vector<SlotTurn> turns;
    for (JobId id : state.indices().slot_wishers) {
        const Job &job = state.jobs.at(id);
        for (const SlotRequest &slot_request : job.slots->slot_requests) {
            if (open_slots(job, slot_request) > 0)
                turns.push_back({slot_request.since_ms, id, slot_request.number});
        }
    }
    std::ranges::sort(turns);
    return turns;
}

Blocks slots_for(const State &state, const Job &job, const SlotRequest &slot_request, int64_t most)
{
    int count = static_cast<int>(std::min<int64_t>(
        {open_slots(job, slot_request), capacity_of_job(job), most}));
    bool on_own_alone = state.config.asynchronous_nodes;
    if (count <= 0 || (state.wanted_nodes > 0 && !on_own_alone) ||
        (state.indices().free_cores == 0 && !job.spec.whole_nodes))
        return {};
    const JoiningSpec spec(job.spec);
    SlotsFor slots(state, job, slot_request, count);
    for (const NodeName &node : nodes_for(state, job, slot_request)) {
        Blocks own = {{node, processes_on(job, node)}};
        while (!slots.is_closed(node) && slots.open().capacity_within(spec, own) > 0 &&
               slots.add(own))
            own[0].processes++;
    }
    if (on_own_alone)
        return slots.blocks();
    auto is_closed = [&](const Block &block) { return slots.is_closed(block.node); };
    Blocks own = append(all_of(job), slots.blocks());
    std::erase_if(own, is_closed);
    while (slot_request.host.empty() && slots.open().fits(spec, 1, own) && slots.add(own)) {
        append(own, {slots.blocks().back().node, 1});
        if (slot_request.exclusive)
            std::erase_if(own, is_closed);
    }
    return slots.blocks();
}

Blocks slots_for_spawned(const State &state, const Job &job, int64_t most)
{
    const bool own_only = job.spec.whole_nodes || state.config.asynchronous_nodes;
    int64_t left = std::min<int64_t>(capacity_of_job(job), most);
    Blocks blocks;
    for (const NodeProcesses &each : job.slots->spawned) {
        const Node *node = state.node(each.node);
        int there = node ? processes_on(job, node->name) : 0;
        if (!node || (own_only && there == 0))
            continue;
        int64_t cores = job.spec.whole_nodes
                            ? node->cores - int64_t{there} * job.spec.cores_per_process
                            : node->cores - node->used;
        int64_t count =
            std::min({left, cores / job.spec.cores_per_process, int64_t{each.processes}});
        if (count <= 0)
            continue;
        append(blocks, {node->name, static_cast<int>(count)});
        left -= count;
    }
    return blocks;
}

int capacity_on_own_nodes(const State &state, const Job &job, const SlotRequest &slot_request)
{
    int capacity = 0;
    const JoiningSpec spec(job.spec);
    const Blocks world = pending_world(job);
    for (const NodeName &name : own_nodes(state, job, slot_request)) {
        const Node *node = state.node(name);
        int here = node ? capacity_on(spec, node->cores, node->cores, 0) : 0;
        for (const Block &block : world)
            here -= block.node == name ? block.processes : 0;
        capacity += std::max(slot_request.exclusive ? std::min(here, 1) : here, 0);
    }
    return capacity;
}

Blocks created_for(const State &state, const Job &job, int64_t most)
{
    int count = job.size_request->size - job.size();
    if (count > most || state.wanted_nodes > 0)
        return {};
    Space now(state);
    Blocks own = present(job);
    const JoiningSpec spec(job.spec);
    if (!now.fits(spec, count, own))
        return {};
    Space after = now;
    Blocks created = after.allocate(spec, count, own);
    return Protected(state, job, job.size_request->since_ms).allows(now, after) ? created
                                                                                : Blocks();
}

}  // namespace elastic::rm
