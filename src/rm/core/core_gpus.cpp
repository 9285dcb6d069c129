/* See core_impl.h: the GPUs of nodes, and their bookings by jobs. */

#include "core/core_impl.h"
#include "core/node_cores.h"
#include "core/record.h"

namespace elastic::rm {

bool can_have_gpus(const Node &node, int gpus)
{
    return (node.gpus_used & ~gpus_below(gpus)) == 0;
}

void Core::Impl::on(const NodeGpusSet &event)
{
    auto found = state.nodes.find(event.node);
    if (found == state.nodes.end() || event.gpus < 0 || event.gpus > GPUS_MAX)
        return unexpected("node " + event.node + " with " + std::to_string(event.gpus) +
                          " GPUs is not known, or cannot have so many");
    Node &node = found->second;
    if (node.gpus_next == event.gpus)
        return;
    if (!can_have_gpus(node, event.gpus))
        count_as_given(node);
    update(node, [&] { node.gpus_next = event.gpus; });
    change_gpus(node);
}

/* As far as the jobs of the node allow it. */
void Core::Impl::change_gpus(Node &node)
{
    if (node.gpus == node.gpus_next || !can_have_gpus(node, node.gpus_next))
        return;
    update(node, [&] { node.gpus = node.gpus_next; });
    record(record::NODE_GPUS, 0, node.name, {{"gpus", node.gpus}});
}

/* Called after ends of jobs. */
void Core::Impl::change_gpus()
{
    if (state.indices().nodes.changing_gpus == 0)
        return;
    for (auto &[name, node] : state.nodes)
        change_gpus(node);
}

/* The first free ones of each node, for jobs with GPUs for each node. */
std::vector<NodeGpus> Core::Impl::choose_gpus(const JobSpec &spec, const Blocks &blocks) const
{
    std::vector<NodeGpus> chosen;
    if (spec.gpus_per_node == 0)
        return chosen;
    for (const Share &share : state.shares(spec, blocks)) {
        GpuSet free = share.node->free_gpus();
        if (GpuSet own = take_gpus(free, share.gpus))
            chosen.push_back({share.node->name, own});
    }
    return chosen;
}

/* The first free ones of its node for each process. */
ProcessGpus Core::Impl::choose_process_gpus(const JobSpec &spec, const Blocks &blocks) const
{
    ProcessGpus chosen;
    if (spec.gpus_per_process == 0)
        return chosen;
    std::unordered_map<const Node *, GpuSet> free;
    for (const Block &block : blocks) {
        const Node *node = state.node(block.node);
        GpuSet &left = free.try_emplace(node, node ? node->free_gpus() : 0).first->second;
        for (int i = 0; i < block.processes; i++)
            chosen.push_back(take_gpus(left, spec.gpus_per_process));
    }
    return chosen;
}

}  // namespace elastic::rm
