/* Limits of a Unix group in the configuration: [[groups]] (core/group_limit.h).  Plain data. */

#ifndef ELASTIC_RM_SETTINGS_GROUP_SETTINGS_H_INCLUDED
#define ELASTIC_RM_SETTINGS_GROUP_SETTINGS_H_INCLUDED

#include <cstdint>
#include <string>

namespace elastic::rm {

struct GroupSettings {
    std::string name;
    int64_t max_running = 0, max_cores = 0, max_jobs = 0, core_time_per_job_ms = 0;
    int64_t core_time_ms = 0, core_time_period_ms = int64_t{30} * 24 * 3600 * 1000;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SETTINGS_GROUP_SETTINGS_H_INCLUDED */
