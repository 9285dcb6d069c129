/*
 * The groups of the configuration that have limits: their data for the core, and the groups of a
 * user.  Groups are resolved once, at the construction, which may take long: not for the loop.
 */

#ifndef ELASTIC_RM_DAEMON_GROUP_LIMITS_H_INCLUDED
#define ELASTIC_RM_DAEMON_GROUP_LIMITS_H_INCLUDED

#include <map>

#include "base/user_directory.h"
#include "settings/settings.h"

namespace elastic::rm {

class GroupLimits {
  public:
    GroupLimits() = default;    /* no groups */
    /* An error names the group and the invalid value. */
    static Result<GroupLimits> read(const std::vector<GroupSettings> &settings);

    const std::vector<GroupLimit> &all() const { return all_; }
    /* Names of the user's groups; `user` may be nullptr: the user's groups are unknown. */
    std::vector<std::string> groups_of(const User *user) const;
    /* Groups of the configuration that do not exist. */
    const std::vector<std::string> &unknown_groups() const { return unknown_groups_; }

  private:
    std::vector<GroupLimit> all_;
    std::map<uint32_t, std::string> names_;
    std::vector<std::string> unknown_groups_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_DAEMON_GROUP_LIMITS_H_INCLUDED */
