/* Commands that query: ps, queue, show, history, events, version. */

#include <CLI/CLI.hpp>

#include <algorithm>
#include <ctime>
#include <iostream>
#include <optional>

#include "cli/array_tasks.h"
#include "cli/commands.h"
#include "cli/job_fields.h"
#include "cli/job_list.h"
#include "cli/job_view.h"
#include "cli/list_options.h"
#include "cli/step_commands.h"
#include "cli/step_connection.h"
#include "cli/target.h"
#include "cli/units.h"

#ifndef ELASTIC_VERSION
#define ELASTIC_VERSION "development"
#endif

namespace elastic {

namespace {

constexpr int LIST_MAX = 10000;         /* maximum of the interface for one page */
constexpr int HISTORY_LIMIT = 100;      /* of jobs, if neither a number nor a time is given */
constexpr const char *USED_FIELDS =
    "jobid,jobname,user,state,elapsed,cputime,totalcpu,maxrss,coresecondsbysize,exitcode";

struct Looking {
    bool json = false, follow = false, each_task = false, is_long = false;
    ListOptions list;
    std::string format, names_format, sort;
    std::optional<std::string> start_time, end_time;
    std::string id;
    std::vector<std::string> names;
    int64_t since = 0;
    JobFilter filter;
    Elasticd elasticd;
};

int64_t present_ms()
{
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

/* ---- lists of jobs --------------------------------------------------------------------------- */

/* The requested format and order; DONE, or an exit code after a message. */
int read_format(const Looking &options, std::optional<ListFormat> &format,
                std::vector<SortKey> &keys)
{
    if (!options.sort.empty()) {
        auto sort = parse_sort(JOB_FIELDS, options.sort);
        if (!sort)
            return complain(USAGE, "--sort: " + sort.error());
        keys = std::move(sort.value());
    }
    if (options.format.empty() && options.names_format.empty())
        return DONE;
    auto found = options.format.empty() ? ListFormat::of_names(JOB_FIELDS, options.names_format)
                                        : ListFormat::of(JOB_FIELDS, options.format);
    if (!found)
        return complain(USAGE, (options.format.empty() ? "--Format: " : "--format: ") +
                                   found.error());
    format = std::move(found.value());
    return DONE;
}

/* As JSON, in a format, or in columns with the lines of `row`. */
template <class Row>
void print_jobs(const Looking &options, const std::optional<ListFormat> &format,
                const std::vector<Json> &jobs, Table table, Row row)
{
    if (options.json) {
        for (const Json &job : jobs)
            print_json(job);
    } else if (format) {
        print_list(options.list, *format, jobs, present_ms());
    } else {
        for (const Json &job : jobs)
            table.add(row(job));
        options.list.print(table);
    }
}

void add_filters(CLI::App *command, Looking &options, const char *sort_names)
{
    add_common_filters(*command, options.filter);
    command->add_option("-j,--jobs", options.filter.ids,
                        "only these, such as 3,5,12_[1-5,9]");
    add_list_options(*command, options.list);
    command->add_option(sort_names, options.sort,
                        "by these fields, such as -Q,jobid: letters or names, '-' for falling");
}

void print_record(const Looking &options, const Json &record)
{
    if (options.json)
        print_json(record);
    else if (options.list.is_parsable())
        options.list.print_row(record_cells(record));
    else
        print_line(record_line(record));
}

void print_record_titles(const Looking &options)
{
    if (!options.json && options.list.is_parsable())
        options.list.print_titles(RECORD_TITLES);
}

/* ---- queue ----------------------------------------------------------------------------------- */

int run_queue(Looking &options)
{
    std::optional<ListFormat> format;
    std::vector<SortKey> keys;
    if (int code = read_format(options, format, keys))
        return code;
    std::vector<Json> jobs;
    bool has_ends = options.filter.all || names_an_end(options.filter.states);
    if (int code = get_jobs(options.elasticd, options.filter, has_ends ? "id" : "queue", jobs))
        return code;
    if (!options.json && !options.each_task)
        jobs = merge_waiting_tasks(jobs);
    sort_items(jobs, keys, present_ms());
    bool with = has_partitions(jobs);
    print_jobs(options, format, jobs, queue_table(with),
               [with, now_ms = present_ms()](const Json &job) {
                   return queue_row(job, now_ms, with);
               });
    return DONE;
}

void add_queue(CLI::App &app, int &code)
{
    auto options = std::make_shared<Looking>();
    CLI::App *command = add_command(app, "queue", "list jobs that run or wait", options->json);
    add_filters(command, *options, "-S,--sort");
    add_state_filter(*command, options->filter, "-t,--states,--state", "R,PD");
    command->add_flag("-a,--all", options->filter.all, "jobs that have ended, too");
    command->add_flag("-r,--array", options->each_task,
                      "each task of an array in a row of its own, also if it waits");
    auto letters = command->add_option("-o,--format", options->format,
                                       "fields as squeue's, such as '%.8i %j %T'");
    command
        ->add_option("-O,--Format", options->names_format,
                     "fields by name, such as jobid:8,name:20,state")
        ->excludes(letters);
    command->callback([options, &code] { code = run_queue(*options); });
}

/* ---- show ------------------------------------------------------------------------------------ */

/* The programs in its slots.  Only its step knows them, and reports them to its user, on its
 * host. */
Json tasks_of(const Json &job)
{
    std::string socket = string_or(job, "step_socket", "");
    if (socket.empty() || integer_or(object_of(job, "places"), "held", 0) == 0)
        return Json::array();
    auto connection = StepConnection::connect(socket);
    if (!connection)
        return Json::array();
    auto answer = connection.value().query({{"op", "tasks"}});
    return answer ? list_of(answer.value(), "tasks") : Json::array();
}

/* All fields of lists of jobs, for programs; those that repeat others are left out. */
ListFormat all_fields()
{
    std::string names;
    for (const std::string &name : split_names(JOB_FIELDS.names(), ", ")) {
        if (!name.empty() && name != "jobidraw" && name != "reasonlist")
            names += (names.empty() ? "" : ",") + name;
    }
    return ListFormat::of_names(JOB_FIELDS, names).value();
}

int show_job(Looking &options, const std::string &id)
{
    Json answer;
    if (int code = options.elasticd.get("/v1/jobs/" + id, answer))
        return code;
    Json job = object_of(answer, "job");
    if (!options.json && options.list.is_parsable()) {
        options.list.print_row(all_fields().row(job, present_ms()));
        return DONE;
    }
    job["tasks"] = tasks_of(job);
    if (options.json) {
        print_json(job);
        return DONE;
    }
    for (const std::string &line : job_description(job, present_ms()))
        print_line(line);
    return DONE;
}

int show_script(Looking &options, const std::string &id)
{
    HttpAnswer answer = options.elasticd.request("GET", "/v1/jobs/" + id + "/script");
    if (!answer.ok())
        return complain_about(answer);
    std::cout << answer.text << std::flush;
    return DONE;
}

void add_show(CLI::App &app, int &code)
{
    auto options = std::make_shared<Looking>();
    auto script = std::make_shared<bool>(false);
    CLI::App *command = add_command(app, "show", "show all properties of jobs", options->json);
    command->add_option("JOB", options->names, "jobs, as 'elastic queue' lists them")->required();
    command->add_flag("--script", *script, "print the submitted script instead");
    add_list_options(*command, options->list);
    command->callback([options, script, &code] {
        if (!options->json && !*script && options->list.is_parsable())
            options->list.print_titles(all_fields().titles());
        for (const std::string &name : options->names) {
            code = for_each_job(options->elasticd, name, code, [&](const std::string &id) {
                return *script ? show_script(*options, id) : show_job(*options, id);
            });
        }
    });
}

/* ---- history --------------------------------------------------------------------------------- */

/* The records of one job, one per line. */
int job_history(Looking &options, const std::string &id)
{
    int64_t since = 1;
    while (true) {
        Json answer;
        std::string path = "/v1/jobs/" + id + "/records?limit=" + std::to_string(LIST_MAX) +
                           "&since=" + std::to_string(since);
        if (int code = options.elasticd.get(path, answer))
            return code;
        for (const Json &record : list_of(answer, "records"))
            print_record(options, record);
        int64_t next = integer_or(answer, "next", since);
        if (list_of(answer, "records").empty() || next <= since)
            return DONE;
        since = next;
    }
}

/* The times of -S and -E, for the filter. */
int read_times(Looking &options)
{
    const std::tuple<const char *, const std::optional<std::string> &, std::optional<int64_t> &>
        times[] = {{"--starttime", options.start_time, options.filter.from_ms},
                   {"--endtime", options.end_time, options.filter.to_ms}};
    for (const auto &[option, text, found] : times) {
        if (!text)
            continue;
        auto seconds = parse_past(*text, time(nullptr));
        if (!seconds)
            return complain(USAGE, std::string(option) + ": " + seconds.error());
        found = seconds.value() * 1000;
    }
    auto [from, to] = std::pair(options.filter.from_ms, options.filter.to_ms);
    if (from && from > to.value_or(present_ms()))
        return complain(USAGE, to ? "--endtime: '" + *options.end_time + "' is before --starttime"
                                  : "--starttime: '" + *options.start_time + "' is in the future");
    return DONE;
}

int run_history(Looking &options)
{
    if (!options.id.empty() && (options.start_time || options.end_time))
        return complain(USAGE, "--starttime and --endtime are for lists: leave JOB out");
    if (!options.id.empty())
        print_record_titles(options);
    if (!options.id.empty())
        return for_each_job(options.elasticd, options.id, DONE, [&](const std::string &id) {
            return job_history(options, id);
        });
    if (int code = read_times(options))
        return code;
    if (options.filter.limit == 0 && !options.filter.from_ms && !options.filter.to_ms)
        options.filter.limit = HISTORY_LIMIT;
    if (options.is_long && options.format.empty())
        options.format = USED_FIELDS;
    std::optional<ListFormat> format;
    std::vector<SortKey> keys;
    if (int code = read_format(options, format, keys))
        return code;
    std::vector<Json> jobs;
    if (options.filter.states.empty())
        options.filter.states = "DONE,FAILED,CANCELLED";
    if (int code = get_jobs(options.elasticd, options.filter, "-id", jobs))
        return code;
    std::ranges::reverse(jobs);
    sort_items(jobs, keys, present_ms());
    bool with = has_partitions(jobs);
    print_jobs(options, format, jobs, history_table(with),
               [with](const Json &job) { return history_row(job, with); });
    return DONE;
}

void add_history(CLI::App &app, int &code)
{
    auto options = std::make_shared<Looking>();
    CLI::App *command = add_command(
        app, "history", "list jobs that have ended, or all events of one", options->json);
    command->add_option("JOB", options->id, "one job");
    add_filters(command, *options, "--sort");
    add_state_filter(*command, options->filter, "-t,-s,--states,--state", "F,CA");
    command->add_option("-S,--starttime", options->start_time,
                        "only those that waited or ran then or later: YYYY-MM-DD[THH:MM[:SS]], "
                        "HH:MM of today, now-2hours, now-7days, today, yesterday");
    command->add_option("-E,--endtime", options->end_time,
                        "only those that waited or ran then or earlier");
    command->add_option("-o,--format", options->format,
                        "fields as sacct's, such as JobID,JobName%20,Elapsed,MaxRSS");
    command->add_flag("-l,--long", options->is_long, "the resources that each has used");
    command
        ->add_option("--limit", options->filter.limit,
                     "only the last N (default 100, with -S or -E all)")
        ->check(CLI::Range(1, 10000000));
    command->callback([options, &code] { code = run_history(*options); });
}

/* ---- events ---------------------------------------------------------------------------------- */

/* `path` selects the records of all jobs or of one.  Follows until a job has ended. */
int print_records(Looking &options, const std::string &path, bool one_job)
{
    int64_t since = options.since > 0 ? options.since : 1;
    print_record_titles(options);
    while (true) {
        Json answer;
        std::string wait = options.follow ? std::to_string(Elasticd::WAIT_MS) : "";
        std::string whole = path + query({{"since", std::to_string(since)}, {"wait_ms", wait},
                                          {"limit", std::to_string(LIST_MAX)}});
        if (int code = options.elasticd.get(whole, answer, Elasticd::WAIT_PATIENCE))
            return code;
        bool ended = false;
        for (const Json &record : list_of(answer, "records")) {
            print_record(options, record);
            ended = ended || (one_job && string_or(record, "event", "") == "ended");
        }
        int64_t next = integer_or(answer, "next", since);
        bool all_seen = list_of(answer, "records").empty() || next <= since;
        if (ended || (all_seen && !options.follow))
            return DONE;
        since = next;
    }
}

int run_events(Looking &options)
{
    if (options.id.empty())
        return print_records(options, "/v1/records", false);
    int code = DONE;
    auto target = find_target(options.elasticd, options.id, code);
    if (!target)
        return code;
    if (target->kind == Target::STEP)
        return step_events(target->id, static_cast<uint64_t>(options.since), options.follow,
                           {options.json, options.list});
    return print_records(options, "/v1/jobs/" + target->id + "/records", true);
}

void add_events(CLI::App &app, int &code)
{
    auto options = std::make_shared<Looking>();
    CLI::App *command = add_command(
        app, "events", "show the events of elasticd, of a job or of a step", options->json);
    command->add_option("ID", options->id,
                        "a job ('elastic queue') or a step ('elastic ps'); default: everything");
    command->add_flag("--follow,-f", options->follow, "continue until the job or step ends");
    command->add_option("--since", options->since, "from this event number on")
        ->check(CLI::NonNegativeNumber);
    add_list_options(*command, options->list);
    command->callback([options, &code] { code = run_events(*options); });
}

/* ---- ps, psets, version ---------------------------------------------------------------------- */

void add_ps(CLI::App &app, int &code)
{
    auto options = std::make_shared<Looking>();
    CLI::App *command =
        add_command(app, "ps", "list your running steps on this machine", options->json);
    add_list_options(*command, options->list);
    command->callback([options, &code] { code = step_ps(options->json, options->list); });
}

void add_psets(CLI::App &app, int &code)
{
    add_step_command(app, "psets", "list the process sets of a job or a step", step_psets,
                     job_psets, code);
}

int run_version(Looking &options)
{
    HttpAnswer answer = options.elasticd.request("GET", "/v1/version");
    Json daemon = answer.ok() ? answer.body : Json();
    if (options.json) {
        print_json({{"elastic", ELASTIC_VERSION},
                    {"step_protocol", 1},
                    {"api", 1},
                    {"elasticd", daemon}});
        return DONE;
    }
    print_line("elastic " ELASTIC_VERSION ", step protocol 1, elasticd interface 1");
    if (answer.ok())
        print_line("elasticd " + text_of(daemon, "version") + ", interface " +
                   text_of(daemon, "api") + ", cluster " + text_of(daemon, "cluster") +
                   ", policy " + text_of(daemon, "policy") + ", back end " +
                   text_of(daemon, "backend"));
    else
        print_line("elasticd: " + answer.complaint());
    return DONE;
}

void add_version(CLI::App &app, int &code)
{
    auto options = std::make_shared<Looking>();
    CLI::App *command = add_command(
        app, "version", "print the versions of this command and of elasticd", options->json);
    command->callback([options, &code] { code = run_version(*options); });
}

}  // namespace

void add_looking(CLI::App &app, int &code)
{
    add_queue(app, code);
    add_show(app, code);
    add_history(app, code);
    add_nodes(app, code);
    add_reservations(app, code);
    add_ps(app, code);
    add_psets(app, code);
    add_events(app, code);
    add_version(app, code);
}

}  // namespace elastic
