/* See local_backend.h. */

#include "daemon/local_backend.h"

namespace elastic::rm {

LocalBackend::LocalBackend(const Settings &settings)
{
    for (int64_t i = 0; i < settings.local_nodes; i++)
        nodes_[settings.local_node_prefix + std::to_string(i)] = static_cast<int>(settings.local_cores_per_node);
}

std::string LocalBackend::start(const State &known, Tell tell)
{
    tell_ = std::move(tell);
    for (const auto &[name, cores] : nodes_) {
        const Node *node = known.node(name);
        if (!node || !node->up || node->removed || node->cores != cores)
            tell_(NodeUp{name, cores});
    }
    for (const auto &[name, node] : known.nodes)
        if (!nodes_.contains(name) && !node.removed)
            tell_(NodeRemoved{name});
    return "";
}

void LocalBackend::look_at(const std::string &node)
{
    auto found = nodes_.find(node);
    if (found != nodes_.end())
        tell_(NodeUp{found->first, found->second});
}

}  // namespace elastic::rm
