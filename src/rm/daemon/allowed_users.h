/*
 * Lists of users and of Unix groups in the configuration, which state access rights.  Groups are
 * resolved once, at the construction, which may take long: not for the loop.
 */

#ifndef ELASTIC_RM_DAEMON_ALLOWED_USERS_H_INCLUDED
#define ELASTIC_RM_DAEMON_ALLOWED_USERS_H_INCLUDED

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/user_directory.h"

namespace elastic::rm {

/* Nullopt: there is no such group. */
std::optional<uint32_t> lookup_group_number(const std::string &name);

class AllowedUsers {
  public:
    AllowedUsers() = default;   /* no users or groups */
    /* Groups that do not exist are added to `unknown`. */
    AllowedUsers(const std::vector<std::string> &users, const std::vector<std::string> &groups,
                 std::vector<std::string> &unknown);

    /* Whether both lists are empty. */
    bool empty() const { return is_empty_; }
    /* `user` may be nullptr: the user's groups are unknown. */
    bool has(const std::string &name, const User *user) const;

  private:
    std::set<std::string> users_;
    std::set<uint32_t> groups_;
    bool is_empty_ = true;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_DAEMON_ALLOWED_USERS_H_INCLUDED */
