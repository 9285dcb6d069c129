/* See gpus.h. */

#include "core/gpus.h"

#include <algorithm>
#include <unordered_map>

namespace elastic::rm {

GpuSet take_gpus(GpuSet &from, int count)
{
    GpuSet all = from;
    for (; count > 0; count--)
        from &= from - 1;
    return all & ~from;
}

ProcessGpus without(const ProcessGpus &gpus, const std::vector<int> &leave, ProcessGpus *left)
{
    ProcessGpus staying;
    auto next = leave.begin();
    for (size_t rank = 0; rank < gpus.size(); rank++) {
        bool leaves = next != leave.end() && static_cast<size_t>(*next) == rank;
        if (!leaves)
            staying.push_back(gpus[rank]);
        else if (left)
            left->push_back(gpus[rank]);
        next += leaves;
    }
    return staying;
}

std::vector<std::pair<NodeName, ProcessGpus>> gpus_by_node(const Blocks &blocks,
                                                           const ProcessGpus &gpus)
{
    std::vector<std::pair<NodeName, ProcessGpus>> nodes;
    std::unordered_map<size_t, size_t> known;
    auto next = gpus.begin();
    for (const Block &block : blocks) {
        auto [at, is_new] = known.try_emplace(block.node.number(), nodes.size());
        if (is_new)
            nodes.push_back({block.node, {}});
        auto end = next + std::min<std::ptrdiff_t>(block.processes, gpus.end() - next);
        ProcessGpus &here = nodes[at->second].second;
        here.insert(here.end(), next, end);
        next = end;
    }
    return nodes;
}

void collect_gpus(Job &job)
{
    std::vector<NodeGpus> all;
    std::unordered_map<size_t, size_t> known;
    auto add = [&](const Blocks &blocks, const ProcessGpus &gpus) {
        for (const auto &[node, here] : gpus_by_node(blocks, gpus)) {
            auto [at, is_new] = known.try_emplace(node.number(), all.size());
            if (is_new)
                all.push_back({node, 0});
            for (GpuSet of_process : here)
                all[at->second].gpus |= of_process;
        }
    };
    add(job.blocks, job.process_gpus);
    if (job.adaptation)
        add(job.adaptation->joining, job.adaptation->gpus);
    for (const Departure &departure : job.departures)
        add(departure.blocks, departure.gpus);
    std::erase_if(all, [](const NodeGpus &each) { return each.gpus == 0; });
    job.gpus = std::move(all);
}

void deal_gpus(Job &job)
{
    if (job.spec.gpus_per_process == 0 || !job.process_gpus.empty())
        return;
    std::vector<NodeGpus> left = job.gpus;
    for (const Block &block : left.empty() ? Blocks() : Blocks(job.blocks)) {
        auto own = std::ranges::find(left, block.node, &NodeGpus::node);
        GpuSet none = 0, &gpus = own == left.end() ? none : own->gpus;
        for (int i = 0; i < block.processes; i++)
            job.process_gpus.push_back(take_gpus(gpus, job.spec.gpus_per_process));
    }
}

}  // namespace elastic::rm
