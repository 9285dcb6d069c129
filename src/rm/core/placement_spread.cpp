/* See placement.h: the nodes of a new job with a number of nodes (JobSpec::nodes), which are whole
 * ones.
 *
 * Its processes are spread evenly if enough nodes hold as many as the fullest of them then has.
 * Otherwise it gets the largest nodes.  In both cases the processes are put on the nodes in turn,
 * in the order of the nodes' names, as long as a node has capacity. */

#include "core/placement.h"

#include <cassert>

namespace elastic::rm {

/* All nodes on which it may have processes, without the listed ones. */
std::vector<Space::Own> Space::open_nodes(const JobSpec &spec) const
{
    std::vector<Own> open;
    auto add = [&](uint32_t position) {
        const Node &node = cores_.node(position);
        int capacity = spec.nodelist.contains(node.name) ? 0 : capacity_here(spec, node, 0);
        if (capacity > 0)
            open.push_back({&node, 0, capacity});
    };
    if (needs_gpus(spec)) {
        std::ranges::for_each(cores_.gpu_nodes(), add);
        return open;
    }
    for (uint32_t group : cores_.idle_groups()) {
        const PositionSet &idle = cores_.groups()[group].nodes;
        for (uint32_t at = idle.next(0); at != PositionSet::NONE; at = idle.next(at + 1))
            add(at);
    }
    return open;
}

/* With the listed nodes, in the order of the names. */
std::vector<Space::Own> Space::nodes_of_number(const JobSpec &spec) const
{
    int share = even_share(spec);
    auto has_share = [&](const Own &each) { return each.capacity >= share; };
    std::vector<Own> chosen, open = open_nodes(spec);
    for (const NodeName &name : spec.nodelist) {
        const Node *node = state_->node(name);
        chosen.push_back({node, 0, capacity_here(spec, *node, 0)});
    }
    size_t more = static_cast<size_t>(spec.nodes) - chosen.size();
    bool is_even = std::ranges::all_of(chosen, has_share) &&
        static_cast<size_t>(std::ranges::count_if(open, has_share)) >= more;
    if (is_even)
        std::erase_if(open, [&](const Own &each) { return !has_share(each); });
    std::ranges::sort(open, {}, [&](const Own &each) {
        bool has_unused_gpus = !needs_gpus(spec) && each.node->gpus > 0;
        return std::tuple(is_even ? 0 : -each.capacity, has_unused_gpus, each.node->position);
    });
    assert(open.size() >= more);
    open.resize(more);
    chosen.insert(chosen.end(), open.begin(), open.end());
    std::ranges::sort(chosen, {}, [](const Own &each) { return each.node->position; });
    return chosen;
}

Blocks Space::allocate_spread(const JobSpec &spec)
{
    std::vector<Own> nodes = nodes_of_number(spec);
    int left = spec.minimum;
    while (left > 0) {
        int before = left;
        for (Own &each : nodes) {
            int here = left > 0 && each.processes < each.capacity ? 1 : 0;
            each.processes += here;
            left -= here;
        }
        assert(left < before);
    }
    Blocks blocks;
    for (const auto &[node, here, capacity] : nodes) {
        book({node, here, node->cores, gpus_on_node(spec, here)});
        blocks.push_back({node->name, here});
    }
    return blocks;
}

}  // namespace elastic::rm
