/* See partition.h. */

#include "core/partition.h"

#include <set>

namespace elastic::rm {

namespace {

constexpr int64_t TIME_MAX_MS = int64_t{366} * 86400 * 1000, CORES_MAX = int64_t{1} << 40;

std::string check(const Partition &partition)
{
    auto outside = [](int64_t value, int64_t low, int64_t high) {
        return value < low || value > high;
    };
    if (!is_partition_name(partition.name))
        return "'" + partition.name.substr(0, 80) + "' is not a name of a partition: 1 to " +
               std::to_string(PARTITION_NAME_BYTES_MAX) +
               " letters, digits, '_', '.' and '-', which is not the first";
    std::string name = "partition " + partition.name + " ";
    if (partition.state > PartitionState::DRAIN)
        return name + "has a state that the configuration cannot give it";
    if (outside(partition.priority, -PRIORITY_MAX, PRIORITY_MAX))
        return name + "has a priority that is not from " + std::to_string(-PRIORITY_MAX) + " to " +
               std::to_string(PRIORITY_MAX);
    if (outside(partition.default_time_ms, 0, TIME_MAX_MS) ||
        outside(partition.max_time_ms, 0, TIME_MAX_MS) ||
        outside(partition.max_cores, 0, CORES_MAX))
        return name + "has a time or a number of cores that is out of bounds";
    if (partition.max_time_ms > 0 && partition.default_time_ms > partition.max_time_ms)
        return name + "has a default_time above its max_time";
    return "";
}

}  // namespace

bool is_partition_name(const std::string &text)
{
    auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '-' || c == '_' || c == '.';
    };
    return !text.empty() && text.size() <= PARTITION_NAME_BYTES_MAX && text[0] != '-' &&
           std::ranges::all_of(text, fits);
}

bool overlap(const Partition &one, const Partition &other)
{
    return one.nodes.empty() || other.nodes.empty() ||
           std::ranges::any_of(one.nodes, [&](const NodeName &node) {
               return other.nodes.contains(node);
           });
}

std::string check(const std::vector<Partition> &partitions)
{
    if (partitions.size() > PARTITIONS_MAX)
        return "there are more than " + std::to_string(PARTITIONS_MAX) + " partitions";
    std::set<std::string> names;
    std::string first_default;
    for (const Partition &each : partitions) {
        if (std::string wrong = check(each); !wrong.empty())
            return wrong;
        if (!names.insert(each.name).second)
            return "there are two partitions " + each.name;
        if (each.is_default && !first_default.empty())
            return "partitions " + first_default + " and " + each.name +
                   " are both the default: there is one at most";
        if (each.is_default)
            first_default = each.name;
    }
    return "";
}

}  // namespace elastic::rm
