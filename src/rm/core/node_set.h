/*
 * A set of nodes that a job names: nodes that it requires, or excludes.  Copies share their
 * content, which does not change.  Its JSON is a list of names, in the order in which they were
 * given.
 */

#ifndef ELASTIC_RM_CORE_NODE_SET_H_INCLUDED
#define ELASTIC_RM_CORE_NODE_SET_H_INCLUDED

#include <compare>
#include <memory>

#include "core/node_name.h"

namespace elastic::rm {

class NodeSet {
  public:
    NodeSet() = default;        /* empty */
    /* Of repeated names the first one counts. */
    NodeSet(const std::vector<std::string> &names);

    bool empty() const { return !content_; }
    size_t size() const { return names().size(); }
    bool contains(const NodeName &node) const;
    const std::vector<NodeName> &names() const;
    auto begin() const { return names().begin(); }
    auto end() const { return names().end(); }

    bool operator==(const NodeSet &other) const { return (*this <=> other) == 0; }
    /* An order for tables: it depends on the numbers of the names, and nothing else depends on
     * it. */
    std::strong_ordering operator<=>(const NodeSet &other) const;

  private:
    struct Content {
        std::vector<NodeName> names;
        std::vector<uint32_t> numbers;  /* rising */
    };
    std::shared_ptr<const Content> content_;
};

Json write(const NodeSet &nodes);
void read(const Json &json, NodeSet &nodes, const std::string &where);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_NODE_SET_H_INCLUDED */
