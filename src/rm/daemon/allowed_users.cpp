/* See allowed_users.h. */

#include "daemon/allowed_users.h"

#include <grp.h>

#include <algorithm>

namespace elastic::rm {

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

AllowedUsers::AllowedUsers(const std::vector<std::string> &users,
                           const std::vector<std::string> &groups,
                           std::vector<std::string> &unknown)
    : users_(users.begin(), users.end()), is_empty_(users.empty() && groups.empty())
{
    for (const std::string &group : groups) {
        if (auto gid = lookup_group_number(group))
            groups_.insert(*gid);
        else
            unknown.push_back(group);
    }
}

bool AllowedUsers::has(const std::string &name, const User *user) const
{
    return users_.contains(name) ||
           (user && std::ranges::any_of(user->groups, [this](uint32_t group) {
                return groups_.contains(group);
            }));
}

}  // namespace elastic::rm
