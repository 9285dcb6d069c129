/*
 * Reservations: the data for the core of those in the configuration; and the users of all
 * reservations, including those that commands have made.  Groups are resolved by read(), which may
 * take long: not for the loop.
 */

#ifndef ELASTIC_RM_DAEMON_RESERVATIONS_H_INCLUDED
#define ELASTIC_RM_DAEMON_RESERVATIONS_H_INCLUDED

#include <map>

#include "daemon/allowed_users.h"
#include "settings/settings.h"

namespace elastic::rm {

/* Unix time of "2026-12-24T08:00", local time, in ms; nullopt: not a valid time. */
std::optional<int64_t> parse_local_time(const std::string &text);

class Reservations {
  public:
    Reservations() = default;   /* no reservations */
    /* `made`: made by commands; all times are Unix time.  An error names the reservation, and
     * the valid form. */
    static Result<Reservations> read(const std::vector<ReservationSettings> &settings,
                                     const std::vector<NodeReservation> &made = {});

    const std::vector<NodeReservation> &configured() const { return configured_; }
    /* Sets the users of a reservation that a command has made. */
    void allow(const std::string &reservation, AllowedUsers users)
    {
        allowed_[reservation] = std::move(users);
    }
    /* By its lists of users and groups; `user` may be nullptr: the user's groups are unknown. */
    bool may_use(const std::string &reservation, const std::string &name, const User *user) const;
    /* Groups that do not exist. */
    const std::vector<std::string> &unknown_groups() const { return unknown_groups_; }

  private:
    std::vector<NodeReservation> configured_;
    std::map<std::string, AllowedUsers> allowed_;
    std::vector<std::string> unknown_groups_;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_DAEMON_RESERVATIONS_H_INCLUDED */
