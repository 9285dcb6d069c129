/* See partitions.h. */

#include "daemon/partitions.h"

#include "daemon/configured_nodes.h"

namespace elastic::rm {

namespace {

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
    auto nodes = parse_configured_nodes(settings.nodes, "partition " + settings.name);
    if (!nodes)
        return Error{nodes.error()};
    partition.nodes = nodes.value();
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
        partitions.allowed_[each.name] =
            AllowedUsers(each.allow_users, each.allow_groups, partitions.unknown_groups_);
    }
    if (std::string wrong = check(partitions.all_); !wrong.empty())
        return Error{wrong};
    return partitions;
}

bool Partitions::may_use(const std::string &partition, const std::string &name,
                         const User *user) const
{
    auto found = allowed_.find(partition);
    return found == allowed_.end() || found->second.empty() || found->second.has(name, user);
}

}  // namespace elastic::rm
