/* See gpu_counts.h. */

#include "backend/gpu_counts.h"

#include "backend/node_list.h"
#include "base/change.h"
#include "core/node.h"

namespace elastic::rm {

Result<GpuCounts> GpuCounts::parse(const std::vector<std::string> &entries)
{
    GpuCounts counts;
    for (const std::string &entry : entries) {
        size_t colon = entry.rfind(':');
        bool is_of_all = colon == std::string::npos;
        auto gpus = parse_number(is_of_all ? entry : std::string_view(entry).substr(colon + 1), 0,
                                 GPUS_MAX);
        if (!gpus)
            return Error{"backend.gpus: '" + entry + "' is neither a number from 0 to " +
                         std::to_string(GPUS_MAX) + " nor NODES:NUMBER such as n[1-4]:2"};
        if (is_of_all) {
            counts.all_ = static_cast<int>(*gpus);
            counts.by_node_.clear();
            continue;
        }
        auto nodes = parse_slurm_nodes(std::string_view(entry).substr(0, colon), "");
        if (!nodes)
            return Error{"backend.gpus: '" + entry + "': " + nodes.error()};
        for (const ListedNode &node : nodes.value())
            counts.by_node_[node.name] = static_cast<int>(*gpus);
    }
    return counts;
}

int GpuCounts::of(const std::string &node) const
{
    auto found = by_node_.find(node);
    return found == by_node_.end() ? all_ : found->second;
}

}  // namespace elastic::rm
