/* See node_reservation.h. */

#include "core/node_reservation.h"

#include <set>

#include "core/partition.h"

namespace elastic::rm {

namespace {

bool share_nodes(const NodeReservation &one, const NodeReservation &other)
{
    Partition left, right;
    left.nodes = one.nodes;
    right.nodes = other.nodes;
    return overlap(left, right);
}

}  // namespace

std::string check(const std::vector<NodeReservation> &reservations)
{
    if (reservations.size() > RESERVATIONS_MAX)
        return "there are more than " + std::to_string(RESERVATIONS_MAX) + " reservations";
    std::set<std::string> names;
    for (const NodeReservation &each : reservations) {
        if (!is_partition_name(each.name))
            return "'" + each.name.substr(0, 80) + "' is not a name of a reservation: 1 to " +
                   std::to_string(RESERVATION_NAME_BYTES_MAX) +
                   " letters, digits, '_', '.' and '-', which is not the first";
        if (!names.insert(each.name).second)
            return "there are two reservations " + each.name;
        for (const auto *list : {&each.users, &each.groups}) {
            bool is_bounded = list->size() <= RESERVATION_USERS_MAX &&
                std::ranges::all_of(*list, [](const std::string &user) {
                    return !user.empty() && user.size() <= USER_NAME_BYTES_MAX;
                });
            if (!is_bounded)
                return "reservation " + each.name + " names " +
                       std::to_string(RESERVATION_USERS_MAX) + " users and groups at most, of " +
                       "1 to " + std::to_string(USER_NAME_BYTES_MAX) + " bytes each";
        }
        if (each.until_ms <= each.from_ms)
            return "reservation " + each.name + " ends before it begins";
        for (const NodeReservation &other : reservations) {
            bool at_once = other.from_ms < each.until_ms && each.from_ms < other.until_ms;
            if (&other != &each && at_once && share_nodes(each, other))
                return "reservations " + each.name + " and " + other.name +
                       " have the same nodes at the same time";
        }
    }
    return "";
}

}  // namespace elastic::rm
