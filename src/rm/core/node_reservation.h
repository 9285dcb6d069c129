/*
 * Nodes that an administrator reserves for some users for a period.  Jobs that name the reservation
 * run on its nodes only in that period, and their time limits end before it ends.  Other jobs have
 * none of its nodes if they could still run when it begins.
 */

#ifndef ELASTIC_RM_CORE_NODE_RESERVATION_H_INCLUDED
#define ELASTIC_RM_CORE_NODE_RESERVATION_H_INCLUDED

#include "core/node_set.h"

namespace elastic::rm {

constexpr size_t RESERVATIONS_MAX = 64, RESERVATION_NAME_BYTES_MAX = 64;
constexpr size_t RESERVATION_USERS_MAX = 100, USER_NAME_BYTES_MAX = 64;

struct NodeReservation {
    std::string name;
    NodeSet nodes;              /* empty: all nodes */
    int64_t from_ms = 0, until_ms = 0;
    /* Users and groups that may use it, besides administrators. */
    std::vector<std::string> users = {}, groups = {};
    bool made = false;          /* by a command (SetReservation); else the configuration has it */

    bool operator==(const NodeReservation &) const = default;
    ELASTIC_FIELDS(name, nodes, from_ms, until_ms, users, groups, made)
};

/* Empty, or the error in the reservations.  No two of them have a node at the same time. */
std::string check(const std::vector<NodeReservation> &reservations);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_CORE_NODE_RESERVATION_H_INCLUDED */
