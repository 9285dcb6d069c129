/* See configured_nodes.h. */

#include "daemon/configured_nodes.h"

#include "backend/node_list.h"

namespace elastic::rm {

Result<NodeSet> parse_configured_nodes(const std::string &text, const std::string &whose)
{
    if (text == "all")
        return NodeSet();
    auto listed = parse_slurm_nodes(text, "");
    if (!listed || listed.value().empty())
        return Error{"the nodes of " + whose +
                     " are neither \"all\" nor a list such as \"n[1-4],n7\": " +
                     (listed ? "it is empty" : listed.error())};
    std::vector<std::string> names;
    for (const ListedNode &each : listed.value())
        names.push_back(each.name);
    return NodeSet(names);
}

}  // namespace elastic::rm
