/* See node_users.h. */

#include "api/node_users.h"

namespace elastic::rm {

namespace {

constexpr size_t BLOCKS_AT_ONCE = 2000;         /* a fraction of a millisecond */

}  // namespace

NodeUsers::NodeUsers(const std::vector<NodeName> &nodes) : users_(nodes.size())
{
    for (size_t i = 0; i < nodes.size(); i++)
        numbers_.set(nodes[i], static_cast<uint32_t>(i));
}

bool NodeUsers::add_some(const State &state)
{
    const auto &allocated = state.indices().allocated;
    auto id = allocated.upper_bound(after_);
    for (size_t blocks = 0; id != allocated.end() && blocks < BLOCKS_AT_ONCE; ++id) {
        const Job &job = state.jobs.at(*id);
        add(state, job);
        blocks += job.blocks.size() + 1;
        after_ = *id;
    }
    return id != allocated.end();
}

/* Null: the node is not in the list. */
NodeUser *NodeUsers::user_on(const NodeName &node, const Job &job)
{
    uint32_t number = numbers_.of(node);
    if (number == NodeTable::NONE)
        return nullptr;
    auto &users = users_[number];
    if (users.empty() || users.back().job != job.id)
        users.push_back({job.id, job.spec.uid, job.spec.cores_per_process, 0, 0, 0});
    return &users.back();
}

void NodeUsers::add(const State &state, const Job &job)
{
    auto add_blocks = [&](const Blocks &blocks, int NodeUser::*count) {
        for (const Block &block : blocks) {
            if (NodeUser *user = user_on(block.node, job))
                user->*count += block.processes;
        }
    };
    add_blocks(job.blocks, &NodeUser::processes);
    for (const Departure &departure : job.departures)
        add_blocks(departure.blocks, &NodeUser::processes);
    add_blocks(slots_of(job), &NodeUser::extra_slots);
    for (size_t i = 0; job.slots && i < job.slots->spawned.size(); i++) {
        const NodeProcesses &each = job.slots->spawned[i];
        const Node *node = state.node(each.node);       /* the job may state any name */
        if (NodeUser *user = node ? user_on(node->name, job) : nullptr)
            user->spawned += each.processes;
    }
}

}  // namespace elastic::rm
