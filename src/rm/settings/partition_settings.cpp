/* See setting.h: the partitions of the configuration. */

#include "settings/partition_settings.h"

#include "settings/setting.h"

namespace elastic::rm {

namespace {

const std::vector<Setting<PartitionSettings>> &partition_table()
{
    static const std::vector<Setting<PartitionSettings>> settings = {
        {"partitions", "name", &PartitionSettings::name, "As in --partition."},
        {"partitions", "nodes", &PartitionSettings::nodes,
         "\"all\", or a list such as \"n[1-4],n7\".  Partitions may share nodes."},
        {"partitions", "default", &PartitionSettings::is_default,
         "It has the jobs that name no partition.  One at most."},
        {"partitions", "priority", &PartitionSettings::priority,
         "Added to the priority of each of its jobs.", -PRIORITY_MAX, PRIORITY_MAX},
        {"partitions",
         "state",
         &PartitionSettings::state,
         "up; down: its jobs wait; drain: those that are there start, and it takes no others.",
         0,
         0,
         false,
         "up, down, drain"},
        {"partitions", "default_time", &PartitionSettings::default_time_ms,
         "The time limit of jobs that name none; 0: job.default_time_limit.", 0, YEAR_MS, true},
        {"partitions", "max_time", &PartitionSettings::max_time_ms,
         "The longest time limit that may be requested; 0: job.max_time_limit.", 0, YEAR_MS, true},
        {"partitions", "max_cores", &PartitionSettings::max_cores,
         "Cores that a job may have, at its largest size; 0: any number.", 0, 1000000000},
        {"partitions", "allow_users", &PartitionSettings::allow_users,
         "Who may use it, beside administrators.  Both lists empty: everybody."},
        {"partitions", "allow_groups", &PartitionSettings::allow_groups,
         "And members of these groups, as they are when elasticd starts."},
    };
    return settings;
}

std::string take_partition(const toml::node &node, const std::string &file,
                           PartitionSettings &partition)
{
    const toml::table *values = node.as_table();
    if (!values)
        return location(file, node.source()) + "a partition is a section: write [[partitions]]";
    for (const auto &[key, value] : *values) {
        auto setting =
            std::ranges::find(partition_table(), key.str(), &Setting<PartitionSettings>::name);
        std::string name = "partitions." + std::string(key.str());
        if (setting == partition_table().end())
            return location(file, value.source()) + "there is no setting " + name +
                   ": doc/admin/partitions.md lists all";
        if (std::string error = take(*setting, value, partition); !error.empty())
            return location(file, value.source()) + name + " " + error;
    }
    return partition.name.empty() ? location(file, node.source()) + "a partition needs a name" : "";
}

}  // namespace

std::string take_partitions(const toml::node &node, const std::string &file, Settings &settings)
{
    const toml::array *list = node.as_array();
    if (!list)
        return location(file, node.source()) +
               "partitions is a list of sections: write [[partitions]]";
    for (const toml::node &each : *list) {
        std::string error =
            take_partition(each, file, settings.partitions.emplace_back());
        if (!error.empty())
            return error;
    }
    return "";
}

/* Without any, a comment shows how one is written. */
std::string format_partitions(const std::vector<PartitionSettings> &partitions)
{
    std::string text;
    for (const PartitionSettings &each : partitions) {
        text += "\n[[partitions]]\n";
        for (const Setting<PartitionSettings> &setting : partition_table())
            text += std::string(setting.name) + " = " + format_value(setting, each) + "\n";
    }
    if (!partitions.empty())
        return text;
    text = "\n# Partitions: nodes, limits and priority of groups of jobs.  There are none.\n"
           "# [[partitions]]\n";
    PartitionSettings example;
    example.name = "batch";
    for (const Setting<PartitionSettings> &setting : partition_table())
        text += std::string("# ") + setting.name + " = " + format_value(setting, example) +
                "         # " + setting.help + "\n";
    return text;
}

}  // namespace elastic::rm
