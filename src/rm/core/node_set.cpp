/* See node_set.h. */

#include "core/node_set.h"

namespace elastic::rm {

NodeSet::NodeSet(const std::vector<std::string> &names)
{
    if (names.empty())
        return;
    auto content = std::make_shared<Content>();
    for (const std::string &name : names) {
        NodeName node(name);
        auto at = std::ranges::lower_bound(content->numbers, node.number());
        if (at != content->numbers.end() && *at == node.number())
            continue;
        content->numbers.insert(at, node.number());
        content->names.push_back(node);
    }
    content_ = std::move(content);
}

bool NodeSet::contains(const NodeName &node) const
{
    return content_ && std::ranges::binary_search(content_->numbers, node.number());
}

const std::vector<NodeName> &NodeSet::names() const
{
    static const std::vector<NodeName> none;
    return content_ ? content_->names : none;
}

std::strong_ordering NodeSet::operator<=>(const NodeSet &other) const
{
    static const std::vector<uint32_t> none;
    if (content_ == other.content_)
        return std::strong_ordering::equal;
    return (content_ ? content_->numbers : none) <=>
           (other.content_ ? other.content_->numbers : none);
}

Json write(const NodeSet &nodes)
{
    Json names = Json::array();
    for (const NodeName &node : nodes)
        names.push_back(node.str());
    return names;
}

void read(const Json &json, NodeSet &nodes, const std::string &where)
{
    std::vector<std::string> names;
    read(json, names, where);
    nodes = NodeSet(names);
}

}  // namespace elastic::rm
