/* See node_lists.h. */

#include "api/node_lists.h"

#include "backend/node_list.h"

namespace elastic::rm {

NodeSet read_node_set(BodyReader &body, const char *name, const State &state)
{
    constexpr size_t TEXT_MAX = 64 * 1024, SHOWN_MAX = 10;
    std::string text = body.text(name, TEXT_MAX);
    if (!body.has(name))
        return {};
    auto listed = parse_slurm_nodes(text, "", LISTED_MAX);
    if (!listed)
        body.fail(name, "is not a list of nodes such as n[1-3],n7: " + listed.error());
    std::vector<std::string> names;
    std::string unknown;
    size_t count = 0;
    for (const ListedNode &each : listed.value()) {
        names.push_back(each.name);
        const Node *node = state.node(each.name);
        if ((!node || node->removed) && ++count <= SHOWN_MAX)
            unknown += (unknown.empty() ? "" : ", ") + each.name;
    }
    if (count > SHOWN_MAX)
        unknown += " and " + std::to_string(count - SHOWN_MAX) + " more";
    if (count > 0)
        body.fail(name, "names " + std::string(count == 1 ? "a node" : "nodes") +
                            " that elasticd does not have: " + unknown +
                            " ('elastic nodes' lists those that it has)");
    return NodeSet(names);
}

int cores_of_largest_node(const State &state, const JobSpec &spec)
{
    const NodeSet &nodes = nodes_of_partition(spec);
    const auto &sizes = state.indices().known_nodes;
    int cores = sizes.empty() || !nodes.empty() ? 1 : std::max(1, sizes.rbegin()->first);
    for (const NodeName &name : nodes) {
        if (const Node *node = state.node(name); node && !node->removed)
            cores = std::max(cores, node->cores);
    }
    return cores;
}

}  // namespace elastic::rm
