/* `elastic reservations`: nodes that administrators have reserved for a time; `elastic reservation`
 * makes, changes, deletes and shows one. */

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/elasticd_client.h"
#include "cli/list_options.h"
#include "cli/units.h"

namespace elastic {

namespace {

struct ReservationsOptions {
    bool json = false;
    ListOptions list;
    Elasticd elasticd;
};

std::string nodes_of(const Json &reservation)
{
    if (!reservation.contains("nodes") || !reservation["nodes"].is_array())
        return "all";
    std::string names;
    for (const Json &name : list_of(reservation, "nodes"))
        names += (names.empty() ? "" : ",") + (name.is_string() ? name.get<std::string>() : "?");
    return names;
}

Table reservation_table()
{
    return Table({{"NAME"}, {"STATE"}, {"FROM"}, {"UNTIL"}, {"FOR_YOU"}, {"NODELIST"}});
}

std::vector<std::string> reservation_row(const Json &each)
{
    return {text_of(each, "name"), text_of(each, "state"),
            format_time(integer_or(each, "from_ms", 0)),
            format_time(integer_or(each, "until_ms", 0)),
            bool_or(each, "may_use", false) ? "yes" : "no", nodes_of(each)};
}

int run_reservations(ReservationsOptions &options)
{
    Json answer;
    if (int code = options.elasticd.get("/v1/reservations", answer))
        return code;
    Table table = reservation_table();
    for (const Json &each : list_of(answer, "reservations")) {
        if (options.json)
            print_json(each);
        table.add(reservation_row(each));
    }
    if (!options.json)
        options.list.print(table);
    return DONE;
}

/* ---- elastic reservation --------------------------------------------------------------------- */

struct ReservationOptions {
    bool json = false;
    ListOptions list;           /* of show */
    std::string name, nodes, from, until, duration, users, groups;
    Elasticd elasticd;
};

/* "ann,bob"; "none" is an empty list. */
Json names_in(const std::string &list)
{
    Json names = Json::array();
    size_t begin = 0;
    while (list != "none" && begin <= list.size()) {
        size_t end = std::min(list.find(',', begin), list.size());
        if (end > begin)
            names.push_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    return names;
}

/* `from` in seconds, for a reservation without a time in the options: now. */
std::optional<Error> add_times(const ReservationOptions &options, int64_t from, Json &request)
{
    int64_t now = time(nullptr);
    if (!options.from.empty()) {
        auto begin = parse_begin(options.from, now);
        if (!begin)
            return Error{"--from: " + begin.error()};
        request["from_ms"] = begin.value() * 1000;
        from = begin.value();
    }
    if (!options.until.empty()) {
        auto end = parse_begin(options.until, now);
        if (!end)
            return Error{"--until: " + end.error()};
        request["until_ms"] = end.value() * 1000;
    } else if (!options.duration.empty()) {
        auto seconds = parse_time_limit(options.duration);
        if (!seconds || seconds.value() == 0)
            return Error{"--duration: " + (seconds ? "it must end" : seconds.error())};
        request["until_ms"] = (from + seconds.value()) * 1000;
    }
    return std::nullopt;
}

Json fields_of(const ReservationOptions &options)
{
    Json request = Json::object();
    if (!options.nodes.empty())
        request["nodes"] = options.nodes;
    if (!options.users.empty())
        request["users"] = names_in(options.users);
    if (!options.groups.empty())
        request["groups"] = names_in(options.groups);
    return request;
}

/* Prints it; jobs that may still run at its begin continue. */
int post_reservation(ReservationOptions &options, const std::string &path, const Json &request,
                     const std::string &done)
{
    Json answer;
    if (int code = options.elasticd.post(path, request, answer))
        return code;
    if (options.json) {
        print_json(object_of(answer, "reservation"));
        return DONE;
    }
    print_line("reservation " + options.name + " is " + done);
    std::string jobs;
    for (const Json &job : list_of(answer, "jobs"))
        jobs += (jobs.empty() ? "" : ",") + job.dump();
    if (!jobs.empty())
        print_line("jobs that may still run on its nodes when it begins, and continue then: " +
                   jobs);
    return DONE;
}

int create_reservation(ReservationOptions &options)
{
    Json request = fields_of(options);
    request["name"] = options.name;
    if (options.until.empty() && options.duration.empty())
        return complain(USAGE, "a reservation has an end: give --until or --duration");
    if (auto error = add_times(options, time(nullptr), request))
        return complain(USAGE, error->message);
    return post_reservation(options, "/v1/reservations", request, "made");
}

/* Nullopt: there is none; the exit code is in `code`. */
std::optional<Json> find_reservation(ReservationOptions &options, int &code)
{
    Json answer;
    code = options.elasticd.get("/v1/reservations", answer);
    if (code != DONE)
        return std::nullopt;
    for (const Json &each : list_of(answer, "reservations"))
        if (string_or(each, "name", "") == options.name)
            return each;
    code = complain(NOT_FOUND, "there is no reservation " + options.name +
                                   ": 'elastic reservations' lists all");
    return std::nullopt;
}

int update_reservation(ReservationOptions &options)
{
    int code = DONE;
    auto known = find_reservation(options, code);
    if (!known)
        return code;
    Json request = fields_of(options);
    if (auto error = add_times(options, integer_or(*known, "from_ms", 0) / 1000, request))
        return complain(USAGE, error->message);
    if (request.empty())
        return complain(USAGE, "give an option for the change: elastic reservation update " +
                                   options.name + " --until 18:00");
    return post_reservation(options,
                            "/v1/reservations/" + Elasticd::escaped(options.name) + "/update",
                            request, "changed");
}

int delete_reservation(ReservationOptions &options)
{
    Json answer;
    std::string path = "/v1/reservations/" + Elasticd::escaped(options.name) + "/delete";
    if (int code = options.elasticd.post(path, Json::object(), answer))
        return code;
    print_line(options.json ? json_line(answer) : "reservation " + options.name + " is deleted");
    return DONE;
}

std::string names_text(const Json &reservation, const char *list)
{
    std::string names;
    for (const Json &name : list_of(reservation, list))
        names += (names.empty() ? "" : ",") + (name.is_string() ? name.get<std::string>() : "?");
    return names.empty() ? "-" : names;
}

int show_reservation(ReservationOptions &options)
{
    int code = DONE;
    auto known = find_reservation(options, code);
    if (!known)
        return code;
    if (options.json) {
        print_json(*known);
        return DONE;
    }
    if (options.list.is_parsable()) {
        Table table = reservation_table();
        table.add(reservation_row(*known));
        options.list.print(table);
        return DONE;
    }
    print_line("ReservationName=" + text_of(*known, "name") + " State=" + text_of(*known, "state"));
    print_line("   StartTime=" + format_time(integer_or(*known, "from_ms", 0)) +
               " EndTime=" + format_time(integer_or(*known, "until_ms", 0)));
    print_line("   Nodes=" + nodes_of(*known));
    print_line("   Users=" + names_text(*known, "users") + " Groups=" +
               names_text(*known, "groups") + " MadeBy=" +
               (bool_or(*known, "configured", true) ? "configuration" : "command"));
    return DONE;
}

using ReservationTask = int (*)(ReservationOptions &);

/* With the options that set its data. */
CLI::App *add_task(CLI::App &reservation, const char *name, const char *what, int &code,
                   ReservationTask task, bool sets)
{
    auto options = std::make_shared<ReservationOptions>();
    CLI::App *command = add_command(reservation, name, what, options->json);
    command->add_option("NAME", options->name, "letters, digits, '_', '.', '-'")->required();
    command->callback([options, &code, task] { code = task(*options); });
    if (task == show_reservation)
        add_list_options(*command, options->list);
    if (!sets)
        return command;
    command->add_option("-w,--nodes,--nodelist", options->nodes, "all, or a list as n[1-4],n7");
    command->add_option("--from", options->from,
                        "when it begins: now, now+TIME, HH:MM, YYYY-MM-DDTHH:MM");
    CLI::Option *until = command->add_option("--until", options->until, "when it ends");
    command->add_option("--duration", options->duration, "how long it lasts, as a time limit")
        ->excludes(until);
    command->add_option("-u,--users", options->users,
                        "users who may use it, beside administrators; none: no others");
    command->add_option("-g,--groups", options->groups, "and members of these Unix groups");
    return command;
}

void add_reservation(CLI::App &app, int &code)
{
    CLI::App *command = app.add_subcommand(
        "reservation", "create, update, delete or show a reservation of nodes");
    command->require_subcommand(1);
    CLI::App *create = add_task(*command, "create", "reserve nodes for a period", code,
                                create_reservation, true);
    create->get_option("--nodes")->required();
    add_task(*command, "update", "change the properties that the options name", code,
             update_reservation, true);
    add_task(*command, "delete", "delete it", code, delete_reservation, false);
    add_task(*command, "show", "print one", code, show_reservation, false);
}

}  // namespace

void add_reservations(CLI::App &app, int &code)
{
    auto options = std::make_shared<ReservationsOptions>();
    CLI::App *command = add_command(
        app, "reservations", "list nodes that are reserved for a time", options->json);
    add_list_options(*command, options->list);
    command->callback([options, &code] { code = run_reservations(*options); });
    add_reservation(app, code);
}

}  // namespace elastic
