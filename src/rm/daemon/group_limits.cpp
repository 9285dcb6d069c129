/* See group_limits.h. */

#include "daemon/group_limits.h"

#include "daemon/allowed_users.h"

namespace elastic::rm {

Result<GroupLimits> GroupLimits::read(const std::vector<GroupSettings> &settings)
{
    GroupLimits limits;
    for (const GroupSettings &each : settings) {
        limits.all_.push_back({each.name, each.max_running, each.max_cores, each.max_jobs,
                               each.core_time_per_job_ms, each.core_time_ms,
                               each.core_time_ms > 0 ? each.core_time_period_ms : 0});
        if (auto gid = lookup_group_number(each.name))
            limits.names_[*gid] = each.name;
        else
            limits.unknown_groups_.push_back(each.name);
    }
    if (std::string wrong = check(limits.all_); !wrong.empty())
        return Error{wrong};
    return limits;
}

std::vector<std::string> GroupLimits::groups_of(const User *user) const
{
    std::vector<std::string> names;
    for (size_t i = 0; user && i < user->groups.size(); i++) {
        auto found = names_.find(user->groups[i]);
        if (found != names_.end() && std::ranges::find(names, found->second) == names.end())
            names.push_back(found->second);
    }
    return names;
}

}  // namespace elastic::rm
