/* See partitions.h. */

#include "daemon/partitions.h"

#include <grp.h>

#include <algorithm>

#include "backend/node_list.h"

namespace elastic::rm {

namespace {

std::optional<uint32_t> lookup_group_number(const std::string &name)
{
    constexpr size_t BYTES_MAX = size_t{1} << 24;
    group entry = {}, *found = nullptr;
    for (std::vector<char> text(1024); text.size() <= BYTES_MAX; text.resize(text.size() * 2)) {
        if (getgrnam_r(name.c_str(), &entry, text.data(), text.size(), &found) != ERANGE)
            break;
    }
    return found ? std::optional<uint32_t>(found->gr_gid) : std::nullopt;
}

Result<Partition> core_partition(const PartitionSettings &settings)
{
    Partition partition;
    partition.name = settings.name;
    partition.is_default = settings.is_default;
    partition.priority = static_cast<int>(settings.priority);
    read(Json(settings.state), partition.state, "partitions.state");
    partition.default_time_ms = settings.default_time_ms;
    partition.max_time_ms = settings.max_time_ms;
    partition.max_cores = settings.max_cores;
    if (settings.nodes == "all")
        return partition;
    auto listed = parse_slurm_nodes(settings.nodes, "");
    if (!listed || listed.value().empty())
        return Error{"the nodes of partition " + settings.name +
                     " are neither \"all\" nor a list such as \"n[1-4],n7\": " +
                     (listed ? "it is empty" : listed.error())};
    std::vector<std::string> names;
    for (const ListedNode &each : listed.value())
        names.push_back(each.name);
    partition.nodes = NodeSet(names);
    return partition;
}

}  // namespace

Result<Partitions> Partitions::read(const std::vector<PartitionSettings> &settings)
{
    Partitions partitions;
    for (const PartitionSettings &each : settings) {
        auto partition = core_partition(each);
        if (!partition)
            return Error{partition.error()};
        partitions.all_.push_back(std::move(partition.value()));
        Access &access = partitions.access_[each.name];
        access.users = {each.allow_users.begin(), each.allow_users.end()};
        access.is_limited = !each.allow_users.empty() || !each.allow_groups.empty();
        for (const std::string &group : each.allow_groups) {
            if (auto gid = lookup_group_number(group))
                access.groups.insert(*gid);
            else
                partitions.unknown_groups_.push_back(group);
        }
    }
    if (std::string wrong = check(partitions.all_); !wrong.empty())
        return Error{wrong};
    return partitions;
}

bool Partitions::may_use(const std::string &partition, const std::string &name,
                         const User *user) const
{
    auto found = access_.find(partition);
    if (found == access_.end() || !found->second.is_limited || found->second.users.contains(name))
        return true;
    return user && std::ranges::any_of(user->groups, [&](uint32_t group) {
               return found->second.groups.contains(group);
           });
}

}  // namespace elastic::rm
