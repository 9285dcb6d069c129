/* See node_name.h. */

#include "core/node_name.h"

#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace elastic::rm {

/* Names are stored in parts of 1, 2, 4, ... names, which do not move: a name can be read by its
 * number without a lock. */
struct NodeName::Table {
    Table() { add(""); }
    const std::string &name(uint32_t number)
    {
        auto [part, at] = allocate(number);
        return parts[part].load(std::memory_order_acquire)[at];
    }
    uint32_t find(const std::string &name)
    {
        std::lock_guard lock(mutex);
        auto known = numbers.find(name);
        return known != numbers.end() ? known->second : add(name);
    }

  private:
    static std::pair<size_t, size_t> allocate(uint32_t number)
    {
        uint64_t from_one = uint64_t{number} + 1;
        auto part = static_cast<size_t>(std::bit_width(from_one) - 1);
        return {part, from_one - (uint64_t{1} << part)};
    }
    uint32_t add(const std::string &name)
    {
        auto number = static_cast<uint32_t>(numbers.size());
        auto [part, at] = allocate(number);
        if (at == 0)
            parts[part].store(new std::string[size_t{1} << part], std::memory_order_release);
        std::string &stored = parts[part].load(std::memory_order_relaxed)[at];
        stored = name;
        numbers.emplace(stored, number);
        return number;
    }

    std::mutex mutex;
    std::array<std::atomic<std::string *>, 33> parts = {};
    std::unordered_map<std::string_view, uint32_t> numbers;
};

NodeName::Table &NodeName::table()
{
    static Table &table = *new Table;   /* outlives all holders of a name */
    return table;
}

uint32_t NodeName::find(const std::string &name)
{
    return table().find(name);
}

const std::string &NodeName::str() const
{
    return table().name(number_);
}

}  // namespace elastic::rm
