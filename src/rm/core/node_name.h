/*
 * The name of a node as a small value: copied and compared as a number, and converted to text on
 * demand.  Jobs hold lists of hundreds of names, which each decision copies.
 *
 * All names are in one table of the process, which any thread may use.  No name is removed: the
 * table is as long as the number of nodes that have ever existed.  The numbers follow the order of
 * first use; nothing is sorted by them or depends on them.
 */

#ifndef ELASTIC_RM_CORE_NODE_NAME_H_INCLUDED
#define ELASTIC_RM_CORE_NODE_NAME_H_INCLUDED

#include "core/fields.h"

namespace elastic::rm {

class NodeName {
  public:
    NodeName() = default;       /* "" */
    NodeName(const std::string &name) : number_(find(name)) {}
    NodeName(const char *name) : NodeName(std::string(name)) {}

    const std::string &str() const;
    operator const std::string &() const { return str(); }
    /* 0, 1, 2, ...: an index for tables by node. */
    uint32_t number() const { return number_; }

    bool operator==(const NodeName &) const = default;
    friend bool operator==(const NodeName &name, const std::string &text)
    {
        return name.str() == text;
    }
    friend bool operator==(const NodeName &name, const char *text) { return name.str() == text; }
    friend std::string operator+(const std::string &text, const NodeName &name)
    {
        return text + name.str();
    }
    friend std::string operator+(const NodeName &name, const std::string &text)
    {
        return name.str() + text;
    }
    friend void to_json(Json &json, const NodeName &name) { json = name.str(); }

  private:
    struct Table;
    static Table &table();
    static uint32_t find(const std::string &name);

    uint32_t number_ = 0;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_NODE_NAME_H_INCLUDED */
