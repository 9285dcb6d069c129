/*
 * The partitions of the configuration: their data for the core, and their users.  Groups are
 * resolved once, at the construction, which may take long: not for the loop.
 */

#ifndef ELASTIC_RM_DAEMON_PARTITIONS_H_INCLUDED
#define ELASTIC_RM_DAEMON_PARTITIONS_H_INCLUDED

#include <map>

#include "daemon/allowed_users.h"
#include "settings/settings.h"

namespace elastic::rm {

class Partitions {
  public:
    Partitions() = default;     /* no partitions */
    /* An error names the partition, and the valid form. */
    static Result<Partitions> read(const std::vector<PartitionSettings> &settings);

    const std::vector<Partition> &all() const { return all_; }
    /* By its lists of users and groups; `user` may be nullptr: the user's groups are unknown. */
    bool may_use(const std::string &partition, const std::string &name, const User *user) const;
    /* Groups of the configuration that do not exist. */
    const std::vector<std::string> &unknown_groups() const { return unknown_groups_; }

  private:
    std::vector<Partition> all_;
    std::map<std::string, AllowedUsers> allowed_;
    std::vector<std::string> unknown_groups_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_DAEMON_PARTITIONS_H_INCLUDED */
