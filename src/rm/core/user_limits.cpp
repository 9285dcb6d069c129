/* See user_limits.h. */

#include "core/user_limits.h"

namespace elastic::rm {

void UserLimits::count(const JobSpec &spec, int64_t cores, int sign)
{
    auto add = [&](Use &use) {
        use.running += sign;
        use.cores += sign * cores;
    };
    add(users_[spec.uid]);
    for (const std::string &name : spec.groups)
        add(groups_[name]);
}

UserLimits::Use UserLimits::of_user(uint32_t uid) const
{
    auto known = state_.of_user(uid);
    auto changed = users_.find(uid);
    Use more = changed == users_.end() ? Use() : changed->second;
    return {known.running + more.running, known.cores + more.cores};
}

UserLimits::Use UserLimits::of_group(const std::string &name) const
{
    GroupUse known = state_.of_group(name);
    auto changed = groups_.find(name);
    Use more = changed == groups_.end() ? Use() : changed->second;
    return {known.running + more.running, known.cores + more.cores};
}

/* In the period of that time. */
bool UserLimits::is_spent(const GroupLimit &limit) const
{
    return state_.is_spent(limit) && now_ms_ < period_end_ms(limit, state_.now_ms);
}

int64_t UserLimits::budgets_change_ms() const
{
    int64_t next_ms = NEVER;
    for (const GroupLimit &limit : state_.config.groups) {
        if (is_spent(limit))
            next_ms = earlier(next_ms, period_end_ms(limit, state_.now_ms));
    }
    return next_ms;
}

int64_t UserLimits::cores_left_of_user(uint32_t uid) const
{
    int64_t most = state_.config.user_cores_max;
    return most > 0 ? std::max<int64_t>(most - of_user(uid).cores, 0) : INT64_MAX;
}

int64_t UserLimits::cores_left_of_group(const std::string &name) const
{
    const GroupLimit *group = find_group(state_.config.groups, name);
    if (group && is_spent(*group))
        return 0;
    if (!group || group->cores_max == 0)
        return INT64_MAX;
    return std::max<int64_t>(group->cores_max - of_group(name).cores, 0);
}

int64_t UserLimits::cores_left(const JobSpec &spec) const
{
    int64_t left = cores_left_of_user(spec.uid);
    for (const std::string &name : spec.groups)
        left = std::min(left, cores_left_of_group(name));
    return left;
}

bool UserLimits::allow_a_job_of(uint32_t uid) const
{
    int most = state_.config.user_running_max;
    return most == 0 || of_user(uid).running < most;
}

bool UserLimits::allow_in_group(const std::string &name, int64_t cores) const
{
    const GroupLimit *group = find_group(state_.config.groups, name);
    bool runs_all =
        group && group->running_max > 0 && of_group(name).running >= group->running_max;
    return !runs_all && cores <= cores_left_of_group(name);
}

bool UserLimits::allow(const JobSpec &spec, int64_t cores) const
{
    return allow_a_job_of(spec.uid) && cores <= cores_left_of_user(spec.uid) &&
           std::ranges::all_of(spec.groups, [&](const std::string &name) {
               return allow_in_group(name, cores);
           });
}

}  // namespace elastic::rm
