/* See gpu_counts.h. */

#include "backend/gpu_counts.h"

#include <charconv>

#include "backend/node_list.h"
#include "core/node.h"

namespace elastic::rm {

namespace {

/* -1: it is no number of GPUs. */
int parse_gpus(std::string_view text)
{
    int gpus = -1;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gpus);
    bool is_whole = error == std::errc() && end == text.data() + text.size();
    return is_whole && gpus >= 0 && gpus <= GPUS_MAX ? gpus : -1;
}

}  // namespace

Result<GpuCounts> GpuCounts::parse(const std::vector<std::string> &entries)
{
    GpuCounts counts;
    for (const std::string &entry : entries) {
        size_t colon = entry.rfind(':');
        bool is_of_all = colon == std::string::npos;
        int gpus = parse_gpus(is_of_all ? entry : std::string_view(entry).substr(colon + 1));
        if (gpus < 0)
            return Error{"backend.gpus: '" + entry + "' is neither a number from 0 to " +
                         std::to_string(GPUS_MAX) + " nor NODES:NUMBER such as n[1-4]:2"};
        if (is_of_all) {
            counts.all_ = gpus;
            counts.by_node_.clear();
            continue;
        }
        auto nodes = parse_slurm_nodes(std::string_view(entry).substr(0, colon), "");
        if (!nodes)
            return Error{"backend.gpus: '" + entry + "': " + nodes.error()};
        for (const ListedNode &node : nodes.value())
            counts.by_node_[node.name] = gpus;
    }
    return counts;
}

int GpuCounts::of(const std::string &node) const
{
    auto found = by_node_.find(node);
    return found == by_node_.end() ? all_ : found->second;
}

}  // namespace elastic::rm
