/* `elastic reservations`: nodes that administrators have reserved for a time. */

#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "cli/elasticd_client.h"
#include "cli/list_options.h"

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

int run_reservations(ReservationsOptions &options)
{
    Json answer;
    if (int code = options.elasticd.get("/v1/reservations", answer))
        return code;
    Table table({{"NAME"}, {"STATE"}, {"FROM"}, {"UNTIL"}, {"FOR_YOU"}, {"NODELIST"}});
    for (const Json &each : list_of(answer, "reservations")) {
        if (options.json)
            print_line(each.dump());
        table.add({text_of(each, "name"), text_of(each, "state"),
                   format_time(integer_or(each, "from_ms", 0)),
                   format_time(integer_or(each, "until_ms", 0)),
                   bool_or(each, "may_use", false) ? "yes" : "no", nodes_of(each)});
    }
    if (!options.json)
        options.list.print(table);
    return DONE;
}

}  // namespace

void add_reservations(CLI::App &app, int &code)
{
    auto options = std::make_shared<ReservationsOptions>();
    CLI::App *command = add_command(
        app, "reservations", "list nodes that are reserved for a time", options->json);
    add_list_options(*command, options->list);
    command->callback([options, &code] { code = run_reservations(*options); });
}

}  // namespace elastic
