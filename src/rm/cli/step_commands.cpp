/* See step_commands.h. */

#include "cli/step_commands.h"

#include <unistd.h>

#include <algorithm>

#include "base/change.h"
#include "cli/other_machine.h"
#include "cli/step_connection.h"

namespace elastic {
namespace {

/* The step, or an exit code after a message. */
std::optional<FoundStep> open_step(const std::string &id, int &code)
{
    FindError kind = FindError::NONE;
    std::string error;
    auto step = find_step(id, kind, error);
    if (!step)
        code = complain(kind == FindError::NOT_FOUND ? NOT_FOUND : UNREACHABLE, error);
    return step;
}

int complain_refused(const std::string &step, const Json &answer)
{
    Json error = answer.value("error", Json::object());
    return complain(REFUSED, "step " + step + " refuses: " + text_of(error, "message"));
}

/* ---- ps -------------------------------------------------------------------------------------- */

Table ps_table()
{
    return Table({{"STEP"},
                  {"PROGRAM"},
                  {"SIZE", Table::RIGHT},
                  {"STATE"},
                  {"EPOCH", Table::RIGHT},
                  {"ADAPTATIONS", Table::RIGHT},
                  {"SIZES"}});
}

std::vector<std::string> ps_row(const Json &step)
{
    std::string state = text_of(step, "state");
    if (text_of(step, "mode") == "rigid" && state == "running")
        state = "rigid";
    return {text_of(step, "step"), text_of(step, "program"), text_of(step, "size"), state,
            text_of(step, "epoch"), text_of(step, "adaptations"), string_or(step, "sizes", "any")};
}

}  // namespace

int step_ps(bool json, const ListOptions &list)
{
    auto sockets = list_step_sockets();
    if (!sockets)
        return complain(UNREACHABLE, sockets.error());
    Table table = ps_table();
    int code = DONE;
    for (const StepSocket &socket : sockets.value()) {
        auto connection = StepConnection::connect(socket.path);
        auto status = connection ? connection.value().query({{"op", "status"}})
                                 : Result<Json>(Error{connection.error()});
        if (!status && access(socket.path.c_str(), F_OK) != 0)
            continue;           /* it ended meanwhile */
        if (!status) {
            code = complain(UNREACHABLE,
                            "step " + socket.id + ": " + status.error());
            continue;
        }
        Json step = status.value();
        step.erase("id");
        step.erase("ok");
        if (json)
            print_json(step);
        else
            table.add(ps_row(step));
    }
    if (!json)
        list.print(table);
    return code;
}

/* ---- resize ---------------------------------------------------------------------------------- */

Result<Json> resize_request(const ResizeOptions &options)
{
    Json request = {{"op", "resize"}, {"size", options.size}, {"wait", options.wait}};
    if (!options.leave.empty()) {
        auto ranks = parse_ranks(plain_list(options.leave, ','), ',');
        if (!ranks)
            return Error{"--leave: " + ranks.error()};
        request["leave"] = ranks.value();
    }
    if (!options.hosts.empty()) {
        auto hosts = parse_hosts(plain_list(options.hosts, ','), ',');
        if (!hosts)
            return Error{"--hosts: " + hosts.error()};
        request["hosts"] = hosts.value();
    }
    if (options.program)
        request["program"] = *options.program;
    if (!options.reason.empty())
        request["reason"] = options.reason;
    return request;
}

namespace {

int wait_for_end(const std::string &step, StepConnection &connection, bool json)
{
    Json answer;
    while (true) {
        switch (connection.read(answer, std::nullopt)) {
            case ReadStatus::CLOSED:
                return complain(NOT_FOUND, "step " + step + " ended before the adaptation");
            case ReadStatus::TIMEOUT:
            case ReadStatus::BROKEN:
                return complain(UNREACHABLE, "the answer of step " + step +
                                                 " is not understood");
            case ReadStatus::LINE:
                break;
        }
        if (answer.contains("end"))
            break;
    }
    const Json &end = answer.at("end");
    bool committed = text_of(end, "result") == "committed";
    if (json)
        print_json(end);
    else if (committed)
        print_line("committed as epoch " + text_of(end, "epoch") + " after " +
                   text_of(end, "duration_ms") + " ms: " + text_of(end, "size") + " processes");
    if (!committed && !json)
        complain(REFUSED, text_of(end, "result") + ": " + text_of(end, "reason"));
    return committed ? DONE : REFUSED;
}

}  // namespace

int step_resize(const std::string &step, const Json &request, bool json)
{
    bool wait = request["wait"];
    int code = DONE;
    auto found = open_step(step, code);
    if (!found)
        return code;
    auto answer = found->connection.query(request);
    if (!answer)
        return complain(NOT_FOUND, "step " + step + ": " + answer.error());
    const Json &accepted = answer.value();
    if (!accepted.value("ok", false))
        return complain_refused(step, accepted);
    if (json && !wait)
        print_json(accepted);
    else if (!json)
        print_line("step " + step + " accepts request " + text_of(accepted, "request") +
                   ": " + text_of(accepted, "old_size") + " -> " + text_of(accepted, "size") +
                   " processes, " + text_of(accepted, "joining") + " join, " +
                   std::to_string(accepted.value("leaving", Json::array()).size()) + " leave");
    return wait ? wait_for_end(step, found->connection, json) : DONE;
}

/* ---- cancel ---------------------------------------------------------------------------------- */

int step_cancel(const std::string &step, bool json)
{
    int code = DONE;
    auto found = open_step(step, code);
    if (!found)
        return code;
    auto answer = found->connection.query({{"op", "cancel"}});
    if (!answer)
        return complain(NOT_FOUND, "step " + step + ": " + answer.error());
    if (!answer.value().value("ok", false))
        return complain_refused(step, answer.value());
    print_line(json ? json_line(answer.value())
                    : "step " + step + " withdraws request " +
                                  text_of(answer.value(), "request"));
    return DONE;
}

/* ---- loops ----------------------------------------------------------------------------------- */

int step_loops(const std::string &step, const Printed &printed)
{
    int code = DONE;
    auto found = open_step(step, code);
    if (!found)
        return code;
    auto answer = found->connection.query({{"op", "performance"}});
    if (!answer)
        return complain(NOT_FOUND, "step " + step + ": " + answer.error());
    if (!answer.value().value("ok", false))
        return complain_refused(step, answer.value());
    print_performance("step " + step, answer.value(), printed);
    return DONE;
}

/* ---- psets ----------------------------------------------------------------------------------- */

namespace {

/* Columns of fixed width: the list comes in parts. */
void print_pset(const Printed &printed, const std::vector<std::string> &cells)
{
    if (printed.is_parsable()) {
        printed.list.print_row(cells);
        return;
    }
    char row[1024];
    snprintf(row, sizeof row, "%-32s %6s %-8s %s", cells[0].c_str(), cells[1].c_str(),
             cells[2].c_str(), cells[3].c_str());
    print_line(row);
}

int list_psets(const std::string &step, StepConnection &connection, const Printed &printed)
{
    if (!printed.json && !printed.list.no_header)
        print_pset(printed, {"SET", "SIZE", "STATE", "PROCESSES"});
    uint64_t after = 0;
    for (bool more = true; more;) {
        auto answer = connection.query({{"op", "psets"}, {"after", after}});
        if (!answer)
            return complain(NOT_FOUND, "step " + step + ": " + answer.error());
        if (!answer.value().value("ok", false))
            return complain_refused(step, answer.value());
        uint64_t before = after;
        for (const Json &set : list_of(answer.value(), "psets")) {
            if (printed.json)
                print_json(set);
            else
                print_pset(printed, {text_of(set, "name"), text_of(set, "size"),
                                     text_of(set, "state"), text_of(set, "uids")});
            after = set.value("serial", after);
        }
        more = answer.value().value("more", false) && after > before;
    }
    return DONE;
}

}  // namespace

int step_psets(const std::string &step, const Printed &printed)
{
    int code = DONE;
    auto found = open_step(step, code);
    return found ? list_psets(step, found->connection, printed) : code;
}

int job_psets(Elasticd &elasticd, const std::string &job, const Printed &printed)
{
    Json answer;
    if (int code = elasticd.get("/v1/jobs/" + job, answer))
        return code;
    std::string socket = string_or(object_of(answer, "job"), "step_socket", "");
    if (socket.empty())
        return complain(NOT_FOUND, "job " + job + " runs no step now");
    auto connection = StepConnection::connect(socket);
    if (!connection) {
        std::string where = other_machine(elasticd);
        return complain(UNREACHABLE, "the step of job " + job + ": " + connection.error() +
                                         (where.empty() ? "" : ": " + where));
    }
    return list_psets("of job " + job, connection.value(), printed);
}

/* ---- events ---------------------------------------------------------------------------------- */

namespace {

void print_event(const Json &event, const Printed &printed)
{
    if (printed.json) {
        print_json(event);
        return;
    }
    std::string detail;
    for (const auto &[name, value] : event.items()) {
        bool shown = name == "event" || name == "seq" || name == "time_ms" || name == "wall" ||
                     name == "step";
        if (!shown)
            detail += (detail.empty() ? "" : " ") + name + "=" + text_of(event, name.c_str());
    }
    char text[128];
    double time_ms = number_or(event, "time_ms", 0);
    if (printed.is_parsable()) {
        snprintf(text, sizeof text, "%.3f", time_ms);
        printed.list.print_row({text_of(event, "seq"), text, text_of(event, "event"), detail});
        return;
    }
    snprintf(text, sizeof text, "%14.3f ms  %-15s", time_ms, text_of(event, "event").c_str());
    print_line(text + (detail.empty() ? "" : " " + detail));
}

}  // namespace

int step_events(const std::string &step, uint64_t since, bool follow, const Printed &printed)
{
    int code = DONE;
    auto found = open_step(step, code);
    if (!found)
        return code;
    auto answer = found->connection.query(
        {{"op", "events"}, {"since", since}, {"follow", follow}});
    if (!answer)
        return complain(NOT_FOUND, "step " + step + ": " + answer.error());
    if (!answer.value().value("ok", false))
        return complain_refused(step, answer.value());
    if (printed.is_parsable())
        printed.list.print_titles({"NUMBER", "TIME_MS", "EVENT", "DETAIL"});
    uint64_t first = std::max(answer.value().value("oldest", uint64_t{0}), since);
    uint64_t next = answer.value().value("next", uint64_t{0});
    Json event;
    while (follow || first < next) {
        auto timeout = follow ? std::optional<std::chrono::milliseconds>()
                                      : StepConnection::ANSWER_TIMEOUT;
        ReadStatus status = found->connection.read(event, timeout);
        if (status == ReadStatus::CLOSED && follow)
            return DONE;        /* the step has ended */
        if (status != ReadStatus::LINE)
            return complain(UNREACHABLE, "step " + step + " ended its events unexpectedly");
        print_event(event, printed);
        first = event.value("seq", first) + 1;
    }
    return DONE;
}

}  // namespace elastic
