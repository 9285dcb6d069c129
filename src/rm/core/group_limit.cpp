/* See group_limit.h. */

#include "core/group_limit.h"

#include <set>

namespace elastic::rm {

const GroupLimit *find_group(const std::vector<GroupLimit> &groups, const std::string &name)
{
    auto found = std::ranges::find(groups, name, &GroupLimit::name);
    return found == groups.end() ? nullptr : &*found;
}

std::string check(const std::vector<GroupLimit> &groups)
{
    constexpr int64_t MOST = int64_t{1} << 52;
    if (groups.size() > GROUPS_MAX)
        return "there are more than " + std::to_string(GROUPS_MAX) + " groups";
    std::set<std::string> names;
    for (const GroupLimit &each : groups) {
        if (each.name.empty() || each.name.size() > GROUP_NAME_BYTES_MAX)
            return "the name of a group has 1 to " + std::to_string(GROUP_NAME_BYTES_MAX) +
                   " bytes";
        if (!names.insert(each.name).second)
            return "there are two sections [[groups]] of group " + each.name;
        for (int64_t limit : {each.running_max, each.cores_max, each.jobs_max,
                              each.core_time_max_ms, each.budget_ms, each.period_ms}) {
            if (limit < 0 || limit > MOST)
                return "group " + each.name + " has a limit that is out of bounds";
        }
        if ((each.budget_ms > 0) != (each.period_ms > 0))
            return "group " + each.name + " has a budget without a period, or the reverse";
    }
    return "";
}

}  // namespace elastic::rm
