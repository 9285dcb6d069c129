/* See api.h: reservations of nodes, which administrators make, change and delete. */

#include "api/administrator.h"
#include "api/api.h"
#include "api/api_json.h"
#include "base/log.h"
#include "base/words.h"
#include "daemon/configured_nodes.h"

namespace elastic::rm {

namespace {

constexpr int64_t TIME_MAX_MS = int64_t{1} << 44;       /* in some 500 years */
constexpr const char *CHANGES = "create, change and delete reservations";

std::string describe_unknown(const std::vector<std::string> &groups)
{
    return (groups.size() == 1 ? "there is no group " : "there are no groups ") +
           join_words(groups, ", ");
}

/* Jobs that may still run on its nodes when it begins. */
Json jobs_in_the_way(const State &state, const NodeReservation &reservation)
{
    Json jobs = Json::array();
    for (JobId id : state.indices().allocated) {
        const Job &job = state.jobs.at(id);
        bool ends = job.limit_at_ms != NEVER && job.limit_at_ms <= reservation.from_ms;
        bool is_there = std::ranges::any_of(present(job), [&](const Block &block) {
            return reservation.nodes.empty() || reservation.nodes.contains(block.node);
        });
        if (!ends && is_there && job.spec.reservation != reservation.name)
            jobs.push_back(id);
    }
    return jobs;
}

}  // namespace

Json Api::reservation_json(const Caller &caller, const NodeReservation &reservation) const
{
    const User *user = daemon_.users().known(caller.uid);
    bool may_use = caller.administrator ||
        daemon_.reservations().may_use(reservation.name, caller.name, user);
    int64_t now_ms = daemon_.now_ms();
    const char *state = now_ms < reservation.from_ms    ? "waits"
                        : now_ms < reservation.until_ms ? "active"
                                                        : "ended";
    return {{"name", reservation.name},
            {"state", state},
            {"from_ms", daemon_.shown_ms(reservation.from_ms)},
            {"until_ms", daemon_.shown_ms(reservation.until_ms)},
            {"nodes", reservation.nodes.empty() ? Json() : write(reservation.nodes)},
            {"users", reservation.users},
            {"groups", reservation.groups},
            {"configured", !reservation.made},
            {"may_use", may_use}};
}

void Api::get_reservations(Call &call)
{
    QueryReader(call.request.query).finish();
    Json all = Json::array();
    for (const NodeReservation &each : daemon_.state().config.reservations)
        all.push_back(reservation_json(call.caller, each));
    respond_json(call.responder, {{"reservations", std::move(all)}});
}

/* The fields that are present in the body. */
void Api::read_reservation_fields(BodyReader &body, NodeReservation &reservation) const
{
    constexpr size_t NODES_BYTES_MAX = 1 << 16;
    if (body.has("nodes")) {
        std::string whose = "reservation " + reservation.name;
        auto nodes = parse_configured_nodes(body.required_text("nodes", NODES_BYTES_MAX), whose);
        if (!nodes)
            body.fail("nodes", "is wrong: " + nodes.error());
        for (const NodeName &node : nodes.value())
            if (!daemon_.state().node(node))
                body.fail("nodes", "names " + node.str() +
                                       ", which is not a node ('elastic nodes' lists all)");
        reservation.nodes = nodes.value();
    }
    if (body.has("from_ms"))
        reservation.from_ms = daemon_.core_ms(body.number("from_ms", 1, TIME_MAX_MS, 0));
    if (body.has("until_ms"))
        reservation.until_ms = daemon_.core_ms(body.number("until_ms", 1, TIME_MAX_MS, 0));
    if (body.has("users"))
        reservation.users = body.texts("users", RESERVATION_USERS_MAX, USER_NAME_BYTES_MAX);
    if (body.has("groups"))
        reservation.groups = body.texts("groups", RESERVATION_USERS_MAX, USER_NAME_BYTES_MAX);
    body.finish();
}

void Api::create_reservation(Call &call)
{
    check_administrator(call.caller, CHANGES);
    BodyReader body(call.request.body);
    NodeReservation reservation;
    reservation.name = body.required_text("name", RESERVATION_NAME_BYTES_MAX);
    for (const char *name : {"nodes", "until_ms"})
        if (!body.has(name))
            body.fail(name, "is missing: a reservation has nodes (a list, or all) and an end");
    read_reservation_fields(body, reservation);
    set_reservation(call, reservation, true);
}

void Api::update_reservation(Call &call)
{
    check_administrator(call.caller, CHANGES);
    BodyReader body(call.request.body);
    NodeReservation reservation;
    reservation.name = call.argument;
    if (const NodeReservation *known = daemon_.state().reservation(call.argument))
        reservation = *known;   /* else the core refuses it */
    read_reservation_fields(body, reservation);
    set_reservation(call, reservation, false);
}

/* Groups are resolved on the reader's thread. */
void Api::set_reservation(Call &call, const NodeReservation &reservation, bool is_new)
{
    if (daemon_.settings().backend == "slurm")
        throw ApiError{409, "state",
                       "Slurm manages the nodes: reserve them with 'scontrol create reservation'"};
    using Resolved = std::pair<AllowedUsers, std::vector<std::string>>;
    auto resolve = [reservation](History &) -> Resolved {
        std::vector<std::string> unknown;
        AllowedUsers users(reservation.users, reservation.groups, unknown);
        return {users, unknown};
    };
    auto set = [this, reservation, is_new, caller = call.caller,
                responder = call.responder](const Resolved &resolved) {
        if (!resolved.second.empty())
            throw ApiError{400, "field", describe_unknown(resolved.second), "groups"};
        SetReservation event{daemon_.next_request_id(), is_new, caller.name, reservation};
        query_core(responder, event, [=, this](const Answer &) {
            const NodeReservation *now = daemon_.state().reservation(reservation.name);
            if (!now)
                throw ApiError{409, "state", "the reservation has been deleted meanwhile"};
            daemon_.reservations().allow(now->name, resolved.first);
            log_line(LogLevel::INFO, "reservation", {{"name", now->name}, {"by", caller.name}});
            respond_json(responder,
                         {{"reservation", reservation_json(caller, *now)},
                          {"jobs", jobs_in_the_way(daemon_.state(), *now)}},
                         is_new ? 201 : 200);
        });
    };
    read<Resolved>(call.caller, call.responder, resolve, set);
}

void Api::delete_reservation(Call &call)
{
    check_administrator(call.caller, CHANGES);
    BodyReader(call.request.body).finish();
    DeleteReservation event{daemon_.next_request_id(), call.argument, call.caller.name};
    query_core(call, event, [this, responder = call.responder, name = call.argument,
                             by = call.caller.name](const Answer &) {
        daemon_.reservations().allow(name, AllowedUsers());
        log_line(LogLevel::INFO, "reservation deleted", {{"name", name}, {"by", by}});
        respond_json(responder, {{"deleted", name}});
    });
}

}  // namespace elastic::rm
