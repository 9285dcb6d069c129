/* See node_name.h. */

#include "core/node_name.h"

#include <deque>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace elastic::rm {

struct NodeName::Table {
    std::mutex mutex;
    std::deque<Entry> entries;  /* which do not move */
    std::unordered_map<std::string_view, const Entry *> by_name;
};

const NodeName::Entry *NodeName::find(const std::string &name)
{
    static Table &table = *new Table;   /* outlives whoever holds a name */
    std::lock_guard lock(table.mutex);
    if (auto known = table.by_name.find(name); known != table.by_name.end())
        return known->second;
    const Entry &entry =
        table.entries.emplace_back(Entry{name, static_cast<uint32_t>(table.entries.size())});
    table.by_name.emplace(entry.name, &entry);
    return &entry;
}

}  // namespace elastic::rm
