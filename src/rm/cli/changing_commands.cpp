/* Commands that change a job, a step or a node: resize, update, cancel, requeue, suspend, resume,
 * hold, release, drain. */

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/change.h"
#include "cli/array_tasks.h"
#include "cli/commands.h"
#include "cli/job_list.h"
#include "cli/job_view.h"
#include "cli/node_names.h"
#include "cli/step_commands.h"
#include "cli/target.h"
#include "cli/units.h"

namespace elastic {

namespace {

struct Changing {
    bool json = false;
    std::string id, reason, signal;
    std::vector<std::string> names;
    JobFilter filter;           /* of cancel */
    ResizeOptions resize;
    Elasticd elasticd;
};

/* One request about one job or node; prints the job or node, or `done`. */
int post(Changing &options, const std::string &path, const Json &body, const std::string &done)
{
    Json answer;
    if (int code = options.elasticd.post(path, body, answer))
        return code;
    if (options.json)
        print_json(object_of(answer, answer.contains("node") ? "node" : "job"));
    else
        print_line(done);
    return DONE;
}

/* Returns the first code that is not DONE; the others are still processed. */
template <class One> int for_each_name(const Changing &options, One one)
{
    int code = DONE;
    for (const std::string &name : options.names) {
        int result = one(name);
        code = code == DONE ? result : code;
    }
    return code;
}

/* ---- resize ---------------------------------------------------------------------------------- */

int print_resize_end(const Changing &options, const Json &record)
{
    bool committed = string_or(record, "event", "") == "committed";
    if (options.json)
        print_json(record);
    else if (committed)
        print_line(record_line(record));
    else
        complain(REFUSED, record_line(record));
    return committed ? DONE : REFUSED;
}

/* Follows the job's records until the request has its end. */
int wait_for_resize(Changing &options, const std::string &job, int64_t request, int64_t since)
{
    while (true) {
        Json answer;
        std::string path = "/v1/jobs/" + job + "/records?since=" + std::to_string(since) +
                           "&wait_ms=" + std::to_string(Elasticd::WAIT_MS);
        if (int code = options.elasticd.get(path, answer, Elasticd::WAIT_PATIENCE))
            return code;
        for (const Json &record : list_of(answer, "records")) {
            std::string event = string_or(record, "event", "");
            bool of_request = integer_or(object_of(record, "data"), "request", -1) == request;
            if (of_request && (event == "committed" || event == "withdrawn" || event == "failed"))
                return print_resize_end(options, record);
            if (event == "ended")
                return complain(NOT_FOUND, "job " + job + " ended before the adaptation");
        }
        since = integer_or(answer, "next", since);
    }
}

/* The number that the next record will have. */
int next_record(Changing &options, const std::string &job, int64_t &next)
{
    Json answer;
    int code = options.elasticd.get("/v1/jobs/" + job + "/records?since=-1", answer);
    next = integer_or(answer, "next", 1);
    return code;
}

int resize_job(Changing &options, const std::string &job)
{
    const ResizeOptions &wanted = options.resize;
    if (!wanted.leave.empty() || !wanted.hosts.empty())
        return complain(USAGE,
                        "--leave and --hosts are for steps without elasticd: it chooses ranks and "
                        "nodes itself");
    if (wanted.program)
        return complain(USAGE,
                        "--program is for steps without elasticd: joining processes of a job run "
                        "its first program");
    Json body = {{"size", wanted.size}}, answer;
    if (!wanted.reason.empty())
        body["reason"] = wanted.reason;
    int64_t since = 1;
    if (wanted.wait) {
        if (int code = next_record(options, job, since))
            return code;
    }
    if (int code = options.elasticd.post("/v1/jobs/" + job + "/resize", body, answer))
        return code;
    const Json &accepted = object_of(answer, "job");
    const Json &adaptation = object_of(accepted, "adaptation");
    if (options.json && !wanted.wait)
        print_json(accepted);
    else if (!options.json)
        print_line("job " + job + " accepts request " + text_of(adaptation, "request") + ": " +
                   text_of(accepted, "size") + " -> " + std::to_string(wanted.size) + " processes");
    return wanted.wait ? wait_for_resize(options, job, integer_or(adaptation, "request", -1), since)
                     : DONE;
}

int run_resize(Changing &options)
{
    auto request = resize_request(options.resize);
    if (!request)
        return complain(USAGE, request.error());
    int code = DONE;
    auto target = find_target(options.elasticd, options.id, code);
    if (!target)
        return code;
    return target->kind == Target::STEP ? step_resize(target->id, request.value(), options.json)
                                        : resize_job(options, target->id);
}

void add_resize(CLI::App &app, int &code)
{
    auto options = std::make_shared<Changing>();
    CLI::App *command =
        add_command(app, "resize", "change the size of a job or a step", options->json);
    command->add_option("ID", options->id, "a job ('elastic queue') or a step ('elastic ps')")
        ->required();
    command->add_option("SIZE", options->resize.size, "requested number of processes")
        ->required()
        ->check(CLI::Range(1, SIZE_MAX_PROCESSES));
    command->add_option("--leave", options->resize.leave,
                        "of a step: ranks that leave, such as 0,2 (or 0+2, or '[0,2]') or 4-7 "
                        "(default: the highest)");
    command->add_option("--hosts", options->resize.hosts,
                        "of a step: hosts for the joining processes, such as a,b (or a+b, or "
                        "'[a,b]')");
    command
        ->add_option("--program", options->resize.program,
                     "of a step of several programs (mpiexec a : b): which one the joining "
                     "processes run, from 0")
        ->check(CLI::Range(0, PROGRAMS_MAX - 1));
    command->add_option("--reason", options->resize.reason,
                        "a reason that is passed to the application (at most 63 bytes)");
    command->add_flag("--wait", options->resize.wait, "wait until the adaptation has ended");
    command->callback([options, &code] { code = run_resize(*options); });
}

/* ---- cancel ---------------------------------------------------------------------------------- */

/* The option in place of the field of the interface, which users do not know. */
int complain_about_cancel(const HttpAnswer &answer)
{
    constexpr std::string_view FIELD = "'signal'";
    std::string message = answer.complaint();
    return message.starts_with(FIELD) ? complain(USAGE, "-s" + message.substr(FIELD.size()))
                                      : complain_about(answer);
}

/* Cancels it, or sends it the signal; `listed`: that it has ended meanwhile is no error. */
int cancel_job(Changing &options, const std::string &id, bool listed)
{
    Json body = Json::object();
    if (!options.signal.empty())
        body["signal"] = options.signal;
    else if (!options.reason.empty())
        body["reason"] = options.reason;
    HttpAnswer answer = options.elasticd.request(
        "POST", "/v1/jobs/" + id + (options.signal.empty() ? "/cancel" : "/signal"), &body);
    if (listed && answer.error_code() == "state")
        return DONE;
    if (!answer.ok())
        return complain_about_cancel(answer);
    if (options.json)
        print_json(object_of(answer.body, "job"));
    else
        print_line("job " + id +
                   (options.signal.empty() ? " is cancelled" : " gets " + options.signal));
    return DONE;
}

int cancel_one(Changing &options, const std::string &text)
{
    int code = DONE;
    auto target = find_target(options.elasticd, text, code, Tasks::SOME);
    if (!target)
        return code;
    if (target->kind == Target::STEP && !options.signal.empty())
        return complain(USAGE,
                        "--signal is for jobs of elasticd: to signal a step, signal its mpiexec");
    return target->kind == Target::STEP ? step_cancel(target->id, options.json)
                                        : cancel_job(options, target->id, false);
}

/* All jobs that match the filters; root without -u: also those of other users. */
int cancel_all(Changing &options)
{
    JobFilter filter = options.filter;
    for (const std::string &name : options.names) {
        int wrong = DONE;
        auto id = job_number(name, wrong, Tasks::SOME);
        if (!id)
            return wrong;
        filter.ids += (filter.ids.empty() ? "" : ",") + *id;
    }
    if (names_an_end(filter.states))
        return complain(USAGE, "--states: '" + filter.states + "': jobs that have ended cannot be "
                                                               "cancelled");
    filter.mine = filter.mine || (filter.user.empty() && geteuid() != 0);
    filter.limit = 0;
    std::vector<Json> jobs;
    if (int code = get_jobs(options.elasticd, filter, "id", jobs))
        return code;
    int code = DONE;
    bool any = false;
    for (const Json &job : jobs) {
        if (has_ended(job))     /* named by its number */
            continue;
        any = true;
        int result = cancel_job(options, job_name(job), true);
        code = code == DONE ? result : code;
        if (result == USAGE)    /* the others would have the same answer */
            break;
    }
    if (!any && !options.json)
        print_line("no waiting or running job matches");
    return code;
}

int run_cancel(Changing &options)
{
    if (!options.filter.is_empty())
        return cancel_all(options);
    if (options.names.empty())
        return complain(USAGE,
                        "name jobs, or choose them with --me, -u, -n or -t: elastic cancel 3");
    return for_each_name(options,
                         [&](const std::string &name) { return cancel_one(options, name); });
}

void add_cancel(CLI::App &app, int &code)
{
    auto options = std::make_shared<Changing>();
    CLI::App *command = add_command(
        app, "cancel",
        "end jobs; of a step: withdraw the adaptation under way, if it is not agreed on yet",
        options->json);
    command->add_option("ID", options->names, "jobs ('elastic queue') or steps ('elastic ps')");
    add_common_filters(*command, options->filter);
    add_state_filter(*command, options->filter, "-t,--states,--state", "PD,R");
    command->add_option("--reason", options->reason, "a reason that is stored with the job");
    command->add_option("-s,--signal", options->signal,
                        "send this signal instead of ending the job, such as USR1");
    command->callback([options, &code] { code = run_cancel(*options); });
}

/* ---- update ---------------------------------------------------------------------------------- */

struct JobChanges {
    std::string size, time_limit, name, partition;
    std::optional<int> priority, preferred;
};

/* The changes, or an error in the options. */
Result<Json> update_request(const JobChanges &wanted)
{
    Json request = Json::object();
    if (!wanted.size.empty()) {
        auto range = parse_size_range(wanted.size);
        if (!range)
            return Error{"-n: " + range.error()};
        request["min"] = range.value().minimum;
        request["max"] = range.value().maximum;
    }
    if (!wanted.time_limit.empty()) {
        auto seconds = parse_time_limit(wanted.time_limit);
        if (!seconds || seconds.value() == 0)
            return Error{"-t: " + (seconds ? "give a time limit: it cannot be removed"
                                           : seconds.error())};
        request["time_limit_ms"] = seconds.value() * 1000;
    }
    if (!wanted.name.empty())
        request["name"] = wanted.name;
    if (!wanted.partition.empty())
        request["partition"] = wanted.partition;
    if (wanted.priority)
        request["priority"] = *wanted.priority;
    if (wanted.preferred)
        request["preferred"] = *wanted.preferred;
    if (request.empty())
        return Error{"give an option for the change: elastic update 3 --time 2h"};
    return request;
}

int run_update(Changing &options, const JobChanges &wanted)
{
    auto request = update_request(wanted);
    if (!request)
        return complain(USAGE, request.error());
    return for_each_name(options, [&](const std::string &name) {
        return for_each_job(options.elasticd, name, DONE, [&](const std::string &id) {
            return post(options, "/v1/jobs/" + id + "/update", request.value(),
                        "job " + id + " is updated");
        });
    });
}

void add_update(CLI::App &app, int &code)
{
    auto options = std::make_shared<Changing>();
    auto wanted = std::make_shared<JobChanges>();
    CLI::App *command = add_command(
        app, "update", "change the requests of waiting or running jobs", options->json);
    command->add_option("JOB", options->names, "jobs, as 'elastic queue' lists them")->required();
    command->add_option("-n,--ntasks", wanted->size,
                        "processes: N or MIN:MAX (of a running job: only if it is malleable, "
                        "around its present size)");
    command->add_option("-t,--time", wanted->time_limit,
                        "time limit (of a running job: longer for administrators only)");
    command->add_option("-J,--job-name", wanted->name, "name");
    command->add_option("-p,--partition", wanted->partition,
                        "the partition of a waiting job ('elastic nodes --by-partition')");
    command->add_option("--priority", wanted->priority,
                        "a higher priority starts first; above 0 for administrators");
    command->add_option("--preferred", wanted->preferred, "preferred size; 0: as large as possible")
        ->check(CLI::Range(0, SIZE_MAX_PROCESSES));
    command->callback([=, &code] { code = run_update(*options, *wanted); });
}

/* ---- requeue, suspend, hold, release, drain, resume ------------------------------------------ */

int change_job(Changing &options, const char *verb, const std::string &name, const char *done)
{
    int wrong = DONE;
    auto id = job_number(name, wrong, Tasks::SOME);
    return id ? post(options, "/v1/jobs/" + *id + "/" + verb, Json::object(),
                     "job " + *id + " " + done)
              : wrong;
}

void add_change_of_jobs(CLI::App &app, const char *verb, const char *what, const char *done,
                        int &code)
{
    auto options = std::make_shared<Changing>();
    CLI::App *command = add_command(app, verb, what, options->json);
    command->add_option("JOB", options->names, "jobs, as 'elastic queue' lists them")->required();
    command->callback([=, &code] {
        code = for_each_name(*options, [&](const std::string &name) {
            return change_job(*options, verb, name, done);
        });
    });
}

/* Like for_each_name, for each node of lists such as n[1-3],n7. */
template <class One> int for_each_node(Changing &options, One one)
{
    auto names = node_names("NODE", options.names);
    if (!names)
        return complain(USAGE, names.error());
    options.names = std::move(names.value());
    return for_each_name(options, one);
}

int change_node(Changing &options, const char *verb, const std::string &node, const Json &body,
                const char *done)
{
    return post(options, "/v1/nodes/" + Elasticd::escaped(node) + "/" + verb, body,
                "node " + node + " " + done);
}

void add_drain(CLI::App &app, int &code)
{
    auto options = std::make_shared<Changing>();
    CLI::App *command = add_command(
        app, "drain", "start nothing new on nodes; elastic jobs leave them, others end there",
        options->json);
    command->add_option("NODE", options->names, "nodes, such as n1 or n[1-3],n7")->required();
    command->add_option("--reason", options->reason, "the reason (stored with the node)")
        ->required();
    command->callback([options, &code] {
        code = for_each_node(*options, [&](const std::string &node) {
            return change_node(*options, "drain", node, {{"reason", options->reason}},
                               "is being drained");
        });
    });
}

/* A name that begins as that of a job, and is no node: an error is printed. */
bool is_neither(Changing &options, const std::string &name)
{
    bool like_a_job = !name.empty() && isdigit(static_cast<unsigned char>(name.front()));
    if (!like_a_job ||
        options.elasticd.request("GET", "/v1/nodes/" + Elasticd::escaped(name)).status != 404)
        return false;
    complain(USAGE, "'" + name + "' is neither a job nor a node: " + JOB_NAME_FORM +
                        ", nodes are listed by 'elastic nodes'");
    return true;
}

/* Names of jobs begin with a digit, those of nodes rarely: node:3 is a node. */
int run_resume(Changing &options)
{
    constexpr std::string_view NODE = "node:";
    std::vector<std::string> nodes;
    int code = DONE;
    for (const std::string &name : std::exchange(options.names, {})) {
        if (!is_job_name(name) && !name.starts_with("job:")) {
            if (is_neither(options, name)) {
                code = code == DONE ? USAGE : code;
                continue;
            }
            options.names.push_back(name.starts_with(NODE) ? name.substr(NODE.size()) : name);
            continue;
        }
        int result = change_job(options, "resume", name, "continues");
        code = code == DONE ? result : code;
    }
    if (options.names.empty())
        return code;
    int of_nodes = for_each_node(options, [&](const std::string &node) {
        return change_node(options, "resume", node, Json::object(), "is used again");
    });
    return code == DONE ? of_nodes : code;
}

void add_resume(CLI::App &app, int &code)
{
    auto options = std::make_shared<Changing>();
    CLI::App *command = add_command(
        app, "resume", "continue suspended jobs; use drained nodes again", options->json);
    command
        ->add_option("JOB|NODE", options->names,
                     "jobs, as 'elastic queue' lists them, and nodes, such as n1 or n[1-3],n7")
        ->required();
    command->callback([options, &code] { code = run_resume(*options); });
}

}  // namespace

void add_changing(CLI::App &app, int &code)
{
    add_resize(app, code);
    add_update(app, code);
    add_cancel(app, code);
    add_change_of_jobs(app, "requeue", "end running jobs, and queue them again",
                       "is requeued", code);
    add_change_of_jobs(app, "suspend",
                       "stop the processes of running jobs until 'elastic resume' (administrators)",
                       "is suspended", code);
    add_change_of_jobs(app, "hold", "prevent waiting jobs from starting", "is held", code);
    add_change_of_jobs(app, "release", "allow held jobs to start", "is released", code);
    add_drain(app, code);
    add_resume(app, code);
}

}  // namespace elastic
