/* Fuzzes the lists of nodes from files and from the variables of batch systems. */

#include <cstdint>
#include <cstdlib>
#include <unordered_set>

#include "backend/node_list.h"

namespace {

using namespace elastic::rm;

/* Accepted input has the properties of node_list.h. */
void check(const elastic::Result<ListedNodes> &nodes)
{
    if (!nodes) {
        if (nodes.error().empty())
            abort();
        return;
    }
    std::unordered_set<std::string> names;
    if (nodes.value().size() > LISTED_NODES_MAX)
        abort();
    for (const ListedNode &node : nodes.value())
        if (!check_host_name(node.name).empty() || node.cores < 0 ||
            node.cores > LISTED_CORES_MAX || !names.insert(node.name).second)
            abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    std::string text(reinterpret_cast<const char *>(data) + 1, size - 1);
    size_t bar = std::min(text.find('|'), text.size());
    switch (data[0] % 5) {
        case 0:
            check(parse_hosts({text.substr(0, bar), text.substr(std::min(bar + 1, text.size()))}));
            break;
        case 1: check(parse_hosts_file(text, "fuzz")); break;
        case 2:
            check(parse_slurm_nodes(
                text.substr(0, bar), text.substr(std::min(bar + 1, text.size()))));
            break;
        case 3: check(parse_lsf_mcpu_hosts(text)); break;
        default: check(parse_lsf_hosts(text)); break;
    }
    return 0;
}
