/* A partition in the configuration: [[partitions]] (core/partition.h).  Plain data. */

#ifndef ELASTIC_RM_SETTINGS_PARTITION_SETTINGS_H_INCLUDED
#define ELASTIC_RM_SETTINGS_PARTITION_SETTINGS_H_INCLUDED

#include <cstdint>
#include <string>
#include <vector>

namespace elastic::rm {

struct PartitionSettings {
    std::string name;
    std::string nodes = "all";  /* or a list such as "n[1-4],n7" */
    bool is_default = false;
    int64_t priority = 0;
    std::string state = "up";
    int64_t default_time_ms = 0, max_time_ms = 0, max_cores = 0;
    std::vector<std::string> allow_users, allow_groups;         /* both empty: all users */
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SETTINGS_PARTITION_SETTINGS_H_INCLUDED */
