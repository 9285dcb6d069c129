/* A reservation in the configuration: [[reservations]] (core/node_reservation.h).  Plain data. */

#ifndef ELASTIC_RM_SETTINGS_RESERVATION_SETTINGS_H_INCLUDED
#define ELASTIC_RM_SETTINGS_RESERVATION_SETTINGS_H_INCLUDED

#include <string>
#include <vector>

namespace elastic::rm {

struct ReservationSettings {
    std::string name;
    std::string nodes = "all";  /* or a list such as "n[1-4],n7" */
    std::string from, until;    /* YYYY-MM-DDTHH:MM[:SS], local time */
    std::vector<std::string> allow_users, allow_groups;
};

}  // namespace elastic::rm

#endif /* ELASTIC_RM_SETTINGS_RESERVATION_SETTINGS_H_INCLUDED */
