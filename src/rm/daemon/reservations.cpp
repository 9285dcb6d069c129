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
        if (seconds >= 0 && parts.tm_mday == given.tm_mday)     /* else there is no such day */
            return int64_t{seconds} * 1000;
    }
    return std::nullopt;
}

Result<Reservations> Reservations::read(const std::vector<ReservationSettings> &settings)
{
    Reservations reservations;
    for (const ReservationSettings &each : settings) {
        auto nodes = parse_configured_nodes(each.nodes, "reservation " + each.name);
        if (!nodes)
            return Error{nodes.error()};
        auto from_ms = parse_local_time(each.from), until_ms = parse_local_time(each.until);
        if (!from_ms || !until_ms)
            return Error{"reservation " + each.name + " needs times from and until, such as "
                         "\"2026-12-24T08:00\""};
        reservations.all_.push_back({each.name, nodes.value(), *from_ms, *until_ms});
        reservations.allowed_[each.name] =
            AllowedUsers(each.allow_users, each.allow_groups, reservations.unknown_groups_);
    }
    if (std::string wrong = check(reservations.all_); !wrong.empty())
        return Error{wrong};
    return reservations;
}

bool Reservations::may_use(const std::string &reservation, const std::string &name,
                           const User *user) const
{
    auto found = allowed_.find(reservation);
    return found != allowed_.end() && found->second.has(name, user);
}

}  // namespace elastic::rm
