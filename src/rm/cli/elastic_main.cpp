/*
 * The `elastic` command: looks at running steps and changes their size, over the step protocol.
 *
 * Exit codes: 0 done; 1 refused by the step, or (--wait) the adaptation was not committed; 2 wrong
 * usage; 3 no such step, or it ended meanwhile; 4 the step cannot be reached or understood.
 */

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <string>

#include "change.h"
#include "elastic_client.h"

#ifndef ELASTIC_VERSION
#define ELASTIC_VERSION "development"
#endif

namespace elastic {
namespace {

enum ExitCode { DONE = 0, REFUSED = 1, USAGE = 2, NO_STEP = 3, UNREACHABLE = 4 };

struct Options {
    std::string step, leave, hosts, reason;
    int size = 0;
    uint64_t since = 0;
    bool json = false, wait = false, follow = false;
};

int complain(ExitCode code, const std::string &message)
{
    std::cerr << "elastic: " << message << "\n";
    return code;
}

void print_line(const std::string &line)
{
    std::cout << line << std::endl;     /* flushed: somebody may read it through a pipe */
}

std::string text_of(const Json &object, const char *name)
{
    Json value = object.value(name, Json());
    return value.is_string() ? value.get<std::string>() : value.dump();
}

/* The step, or an exit code after a message. */
std::optional<FoundStep> open_step(const std::string &id, int &code)
{
    FindError kind = FindError::NONE;
    std::string error;
    auto step = find_step(id, kind, error);
    if (!step)
        code = complain(kind == FindError::NOT_FOUND ? NO_STEP : UNREACHABLE, error);
    return step;
}

int complain_refused(const std::string &step, const Json &answer)
{
    Json error = answer.value("error", Json::object());
    return complain(REFUSED, "step " + step + " refuses: " + text_of(error, "message"));
}

/* ---- ps -------------------------------------------------------------------------------------- */

void print_row(const std::string &id, const std::string &program, const std::string &size,
               const std::string &state, const std::string &epoch, const std::string &adaptations)
{
    char row[1024];
    snprintf(row, sizeof row, "%-10s %-24s %6s %-9s %6s %11s", id.c_str(), program.c_str(),
             size.c_str(), state.c_str(), epoch.c_str(), adaptations.c_str());
    print_line(row);
}

int run_ps(const Options &options)
{
    auto sockets = list_step_sockets();
    if (!sockets)
        return complain(UNREACHABLE, sockets.error());
    if (!options.json)
        print_row("STEP", "PROGRAM", "SIZE", "STATE", "EPOCH", "ADAPTATIONS");
    int code = DONE;
    for (const StepSocket &socket : sockets.value()) {
        auto connection = StepConnection::connect(socket.path);
        auto status = connection ? connection.value().ask({{"op", "status"}})
                                 : Result<Json>(Error{connection.error()});
        if (!status && access(socket.path.c_str(), F_OK) != 0)
            continue;           /* it ended while we looked */
        if (!status) {
            code = complain(UNREACHABLE,
                            "step of mpiexec " + std::to_string(socket.pid) + ": " + status.error());
            continue;
        }
        Json step = status.value();
        step.erase("id");
        step.erase("ok");
        std::string state = text_of(step, "state");
        if (text_of(step, "mode") == "rigid" && state == "running")
            state = "rigid";
        if (options.json)
            print_line(step.dump());
        else
            print_row(text_of(step, "step"), text_of(step, "program"), text_of(step, "size"), state,
                      text_of(step, "epoch"), text_of(step, "adaptations"));
    }
    return code;
}

/* ---- resize ---------------------------------------------------------------------------------- */

/* The request, or a message about the options. */
Result<Json> resize_request(const Options &options)
{
    Json request = {{"op", "resize"}, {"size", options.size}, {"wait", options.wait}};
    if (!options.leave.empty()) {
        auto ranks = parse_ranks(options.leave, ',');
        if (!ranks)
            return Error{"--leave: " + ranks.error()};
        request["leave"] = ranks.value();
    }
    if (!options.hosts.empty()) {
        auto hosts = parse_hosts(options.hosts, ',');
        if (!hosts)
            return Error{"--hosts: " + hosts.error()};
        request["hosts"] = hosts.value();
    }
    if (!options.reason.empty())
        request["reason"] = options.reason;
    return request;
}

int wait_for_end(const Options &options, StepConnection &connection)
{
    Json answer;
    while (true) {
        switch (connection.read(answer, std::nullopt)) {
            case ReadStatus::CLOSED:
                return complain(NO_STEP, "step " + options.step + " ended before the adaptation");
            case ReadStatus::TIMEOUT:
            case ReadStatus::BROKEN:
                return complain(UNREACHABLE, "the answer of step " + options.step +
                                                 " is not understood");
            case ReadStatus::LINE:
                break;
        }
        if (answer.contains("end"))
            break;
    }
    const Json &end = answer.at("end");
    bool committed = text_of(end, "result") == "committed";
    if (options.json)
        print_line(end.dump());
    else if (committed)
        print_line("committed as epoch " + text_of(end, "epoch") + " after " +
                   text_of(end, "duration_ms") + " ms: " + text_of(end, "size") + " processes");
    if (!committed && !options.json)
        complain(REFUSED, text_of(end, "result") + ": " + text_of(end, "reason"));
    return committed ? DONE : REFUSED;
}

int run_resize(const Options &options)
{
    auto request = resize_request(options);
    if (!request)
        return complain(USAGE, request.error());
    int code = DONE;
    auto step = open_step(options.step, code);
    if (!step)
        return code;
    auto answer = step->connection.ask(request.value());
    if (!answer)
        return complain(NO_STEP, "step " + options.step + ": " + answer.error());
    const Json &accepted = answer.value();
    if (!accepted.value("ok", false))
        return complain_refused(options.step, accepted);
    if (options.json && !options.wait)
        print_line(accepted.dump());
    else if (!options.json)
        print_line("step " + options.step + " accepts request " + text_of(accepted, "request") +
                   ": " + text_of(accepted, "old_size") + " -> " + text_of(accepted, "size") +
                   " processes, " + text_of(accepted, "joining") + " join, " +
                   std::to_string(accepted.value("leaving", Json::array()).size()) + " leave");
    return options.wait ? wait_for_end(options, step->connection) : DONE;
}

/* ---- cancel ---------------------------------------------------------------------------------- */

int run_cancel(const Options &options)
{
    int code = DONE;
    auto step = open_step(options.step, code);
    if (!step)
        return code;
    auto answer = step->connection.ask({{"op", "cancel"}});
    if (!answer)
        return complain(NO_STEP, "step " + options.step + ": " + answer.error());
    if (!answer.value().value("ok", false))
        return complain_refused(options.step, answer.value());
    print_line(options.json ? answer.value().dump()
                            : "step " + options.step + " withdraws request " +
                                  text_of(answer.value(), "request"));
    return DONE;
}

/* ---- events ---------------------------------------------------------------------------------- */

void print_event(const Options &options, const Json &event)
{
    if (options.json) {
        print_line(event.dump());
        return;
    }
    char head[128];
    snprintf(head, sizeof head, "%14.3f ms  %-15s", event.value("time_ms", 0.0),
             text_of(event, "event").c_str());
    std::string line = head;
    for (const auto &[name, value] : event.items()) {
        bool shown = name == "event" || name == "seq" || name == "time_ms" || name == "wall" ||
                     name == "step";
        if (!shown)
            line += " " + name + "=" + text_of(event, name.c_str());
    }
    print_line(line);
}

int run_events(const Options &options)
{
    int code = DONE;
    auto step = open_step(options.step, code);
    if (!step)
        return code;
    auto answer = step->connection.ask(
        {{"op", "events"}, {"since", options.since}, {"follow", options.follow}});
    if (!answer)
        return complain(NO_STEP, "step " + options.step + ": " + answer.error());
    if (!answer.value().value("ok", false))
        return complain_refused(options.step, answer.value());
    uint64_t first = std::max(answer.value().value("oldest", uint64_t{0}), options.since);
    uint64_t next = answer.value().value("next", uint64_t{0});
    Json event;
    while (options.follow || first < next) {
        auto timeout = options.follow ? std::optional<std::chrono::milliseconds>()
                                      : StepConnection::ANSWER_TIMEOUT;
        ReadStatus status = step->connection.read(event, timeout);
        if (status == ReadStatus::CLOSED && options.follow)
            return DONE;        /* the step has ended */
        if (status != ReadStatus::LINE)
            return complain(UNREACHABLE, "step " + options.step + " broke off its events");
        print_event(options, event);
        first = event.value("seq", first) + 1;
    }
    return DONE;
}

/* ---- command line ----------------------------------------------------------------------------- */

CLI::App *add_command(CLI::App &app, Options &options, const char *name, const char *what)
{
    CLI::App *command = app.add_subcommand(name, what);
    command->add_flag("--json", options.json, "print JSON, one object per line");
    return command;
}

void add_step(CLI::App *command, Options &options)
{
    command->add_option("STEP", options.step, "the step, as 'elastic ps' lists it")->required();
}

void add_commands(CLI::App &app, Options &options)
{
    add_command(app, options, "ps", "list your running steps on this machine");

    CLI::App *resize = add_command(app, options, "resize", "change the size of a step's world");
    add_step(resize, options);
    resize->add_option("SIZE", options.size, "number of processes wanted")
        ->required()
        ->check(CLI::Range(1, SIZE_MAX_PROCESSES));
    resize->add_option("--leave", options.leave,
                       "ranks that leave, such as 0,2 or 4-7 (default: the highest)");
    resize->add_option("--hosts", options.hosts, "hosts for the joining processes, such as a,b");
    resize->add_option("--reason", options.reason, "told to the application (at most 63 bytes)");
    resize->add_flag("--wait", options.wait, "wait until the adaptation has ended");

    CLI::App *events = add_command(app, options, "events", "show what happened in a step");
    add_step(events, options);
    events->add_flag("--follow,-f", options.follow, "go on until the step ends");
    events->add_option("--since", options.since, "from this event number on");

    add_step(add_command(app, options, "cancel",
                         "withdraw the adaptation under way, if it is not agreed on yet"),
             options);
}

int run(int argc, char **argv)
{
    Options options;
    CLI::App app("Looks at running MPI job steps and changes their size.", "elastic");
    app.set_version_flag("--version", "elastic " ELASTIC_VERSION ", step protocol 1");
    app.require_subcommand(1);
    app.footer("Exit codes: 0 done; 1 refused, or not committed (--wait); 2 wrong usage;\n"
               "3 no such step; 4 the step cannot be reached.");
    add_commands(app, options);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? DONE : USAGE;
    }
    if (app.got_subcommand("ps"))
        return run_ps(options);
    if (app.got_subcommand("resize"))
        return run_resize(options);
    if (app.got_subcommand("events"))
        return run_events(options);
    return run_cancel(options);
}

}  // namespace
}  // namespace elastic

int main(int argc, char **argv)
{
    try {
        return elastic::run(argc, argv);
    } catch (const std::exception &exception) {
        std::cerr << "elastic: " << exception.what() << "\n";
        return elastic::UNREACHABLE;
    }
}
