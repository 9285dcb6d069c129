/* See node_names.h. */

#include "cli/node_names.h"

#include <unordered_set>

#include "backend/node_list.h"

namespace elastic {

Result<std::vector<std::string>> node_names(const std::string &what,
                                            const std::vector<std::string> &lists)
{
    std::vector<std::string> names;
    std::unordered_set<std::string> known;
    for (const std::string &list : lists) {
        auto nodes = rm::parse_slurm_nodes(list, "");
        if (!nodes)
            return Error{what + ": '" + list + "' is not a list of nodes such as n[1-3],n7: " +
                         nodes.error()};
        for (const rm::ListedNode &node : nodes.value()) {
            if (known.insert(node.name).second)
                names.push_back(node.name);
        }
    }
    return names;
}

}  // namespace elastic
