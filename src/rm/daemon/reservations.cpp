/* See reservations.h. */

#include "daemon/reservations.h"

#include <ctime>

#include "daemon/configured_nodes.h"

namespace elastic::rm {

std::optional<int64_t> parse_local_time(const std::string &text)
{
    for (const char *format : {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M"}) {
        tm parts = {};
        const char *end = strptime(text.c_str(), format, &parts);
        if (!end || *end)
            continue;
        parts.tm_isdst = -1;
        tm given = parts;
        time_t seconds = mktime(&parts);
        if (seconds >= 0 && parts.tm_mday == given.tm_mday)     /* else the day does not exist */
            return int64_t{seconds} * 1000;
    }
    return std::nullopt;
}

Result<Reservations> Reservations::read(const std::vector<ReservationSettings> &settings,
                                        const std::vector<NodeReservation> &made)
{
    Reservations reservations;
    std::vector<NodeReservation> all = made;
    for (const ReservationSettings &each : settings) {
        auto nodes = parse_configured_nodes(each.nodes, "reservation " + each.name);
        if (!nodes)
            return Error{nodes.error()};
        auto from_ms = parse_local_time(each.from), until_ms = parse_local_time(each.until);
        if (!from_ms || !until_ms)
            return Error{"reservation " + each.name + " needs times from and until, such as "
                         "\"2026-12-24T08:00\""};
        reservations.configured_.push_back({each.name, nodes.value(), *from_ms, *until_ms,
                                            each.allow_users, each.allow_groups});
    }
    all.insert(all.end(), reservations.configured_.begin(), reservations.configured_.end());
    if (std::string wrong = check(reservations.configured_); !wrong.empty())
        return Error{wrong};
    if (std::string wrong = check(all); !wrong.empty())
        return Error{wrong + ", one of the configuration and one of a command: change the "
                             "configuration, or start elasticd without the first and delete the "
                             "other ('elastic reservation delete')"};
    for (const NodeReservation &each : all)
        reservations.allow(each.name,
                           AllowedUsers(each.users, each.groups, reservations.unknown_groups_));
    return reservations;
}

bool Reservations::may_use(const std::string &reservation, const std::string &name,
                           const User *user) const
{
    auto found = allowed_.find(reservation);
    return found != allowed_.end() && found->second.has(name, user);
}

}  // namespace elastic::rm
