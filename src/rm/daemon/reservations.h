/*
 * The reservations of the configuration: what the core gets of them, and who may use them.  Groups
 * are resolved once, at the construction, which may take long: not for the loop.
 */

#ifndef ELASTIC_RM_DAEMON_RESERVATIONS_H_INCLUDED
#define ELASTIC_RM_DAEMON_RESERVATIONS_H_INCLUDED

#include <map>

#include "daemon/allowed_users.h"
#include "settings/settings.h"

namespace elastic::rm {

/* Unix time of "2026-12-24T08:00", local time, in ms; nullopt: it is none. */
std::optional<int64_t> parse_local_time(const std::string &text);

class Reservations {
  public:
    Reservations() = default;   /* none */
    /* An error names the reservation, and the valid form. */
    static Result<Reservations> read(const std::vector<ReservationSettings> &settings);

    /* Their times are Unix time. */
    const std::vector<NodeReservation> &all() const { return all_; }
    /* By its lists of users and groups; `user` may be nullptr: nothing is known of his groups. */
    bool may_use(const std::string &reservation, const std::string &name, const User *user) const;
    /* Groups of the configuration that do not exist. */
    const std::vector<std::string> &unknown_groups() const { return unknown_groups_; }

  private:
    std::vector<NodeReservation> all_;
    std::map<std::string, AllowedUsers> allowed_;
    std::vector<std::string> unknown_groups_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_DAEMON_RESERVATIONS_H_INCLUDED */
