/* `elastic report`: the metrics of a run, alone or compared with another run, and a chart of the
 * jobs on the nodes. */

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "cli/commands.h"
#include "cli/elasticd_client.h"
#include "cli/html_report.h"
#include "cli/job_list.h"
#include "cli/list_options.h"
#include "cli/timeline_chart.h"
#include "cli/units.h"

namespace elastic {

namespace {

constexpr size_t SEGMENTS_MAX = 100000;         /* of the chart */

struct Report {
    bool json = false, no_chart = false;
    std::string ids, last, by, html, compare, title = "Jobs on nodes";
    ListOptions list;
    Elasticd elasticd;
};

/* ---- metrics --------------------------------------------------------------------------------- */

enum class Unit { COUNT, DURATION, PART, CORE_HOURS };

/* With the names in the report. */
struct Metric {
    std::string title;
    std::vector<std::string> path;
    Unit unit = Unit::COUNT;
};

std::vector<Metric> metrics_of(const Json &report)
{
    static const std::map<std::string, Unit> UNITS = {{"count", Unit::COUNT},
                                                      {"ms", Unit::DURATION},
                                                      {"part", Unit::PART},
                                                      {"core_ms", Unit::CORE_HOURS}};
    std::vector<Metric> metrics;
    for (const Json &one : list_of(report, "metrics")) {
        auto unit = UNITS.find(string_or(one, "unit", ""));
        Metric metric{printable(string_or(one, "title", "?")),
                      {},
                      unit == UNITS.end() ? Unit::COUNT : unit->second};
        for (const Json &name : list_of(one, "path"))
            if (name.is_string())
                metric.path.push_back(name.get<std::string>());
        if (!metric.path.empty())
            metrics.push_back(std::move(metric));
    }
    return metrics;
}

double value_of(const Json &report, const Metric &metric)
{
    const Json *object = &report;
    for (size_t i = 0; i + 1 < metric.path.size(); i++)
        object = &object_of(*object, metric.path[i].c_str());
    return number_or(*object, metric.path.back().c_str(), std::nan(""));
}

std::string shown(double value, Unit unit)
{
    if (std::isnan(value))
        return "-";
    char text[64];
    switch (unit) {
        case Unit::COUNT:
            snprintf(text, sizeof text, "%.0f", value);
            return text;
        case Unit::DURATION: {
            auto tenths = static_cast<int64_t>(std::llround(value / 100));
            return format_duration(tenths * 100) + "." + std::to_string(tenths % 10);
        }
        case Unit::PART:
            snprintf(text, sizeof text, "%.1f %%", value * 100);
            return text;
        case Unit::CORE_HOURS:
            snprintf(text, sizeof text, "%.3f", value / 3.6e6);
            return text;
    }
    return "-";
}

/* The difference of the first to the second. */
std::string difference(double ours, double theirs, Unit unit)
{
    char text[64];
    if (std::isnan(ours) || std::isnan(theirs))
        return "-";
    if (unit == Unit::PART)
        snprintf(text, sizeof text, "%+.1f points", (ours - theirs) * 100);
    else if (unit == Unit::COUNT)
        snprintf(text, sizeof text, "%+.0f", ours - theirs);
    else if (theirs == 0)
        return "-";
    else
        snprintf(text, sizeof text, "%+.1f %%", (ours / theirs - 1) * 100);
    return text;
}

void print_metrics(const Json &report, const Json *other, const ListOptions &list)
{
    bool for_programs = list.form() != Parsable::NO;
    std::vector<Table::Column> columns = {{for_programs ? "METRIC" : ""}, {"THIS", Table::RIGHT}};
    if (other)
        columns.insert(columns.end(), {{"OTHER", Table::RIGHT}, {"DIFFERENCE", Table::RIGHT}});
    Table table(columns);
    for (const Metric &metric : metrics_of(report)) {
        double ours = value_of(report, metric);
        std::vector<std::string> row = {metric.title, shown(ours, metric.unit)};
        if (other) {
            double theirs = value_of(*other, metric);
            row.insert(row.end(),
                       {shown(theirs, metric.unit), difference(ours, theirs, metric.unit)});
        }
        table.add(row);
    }
    table.print(!list.no_header && (other || for_programs), list.form());
}

void print_users(const Json &report, const ListOptions &list)
{
    Table table({{"USER"},
                 {"JOBS", Table::RIGHT},
                 {"DONE", Table::RIGHT},
                 {"FAILED", Table::RIGHT},
                 {"CANCELLED", Table::RIGHT},
                 {"CORE_HOURS", Table::RIGHT},
                 {"OF_ALL", Table::RIGHT},
                 {"WAIT", Table::RIGHT},
                 {"ADAPT", Table::RIGHT}});
    double all = number_or(report, "core_ms", 0);
    for (const Json &user : list_of(report, "users")) {
        auto number = [&](const Json &object, const char *name, Unit unit) {
            return shown(number_or(object, name, std::nan("")), unit);
        };
        double part = all > 0 ? number_or(user, "core_ms", 0) / all : std::nan("");
        table.add({string_or(user, "user", "?"), number(user, "jobs", Unit::COUNT),
                   number(user, "done", Unit::COUNT), number(user, "failed", Unit::COUNT),
                   number(user, "cancelled", Unit::COUNT),
                   number(user, "core_ms", Unit::CORE_HOURS), shown(part, Unit::PART),
                   number(object_of(user, "wait_ms"), "mean", Unit::DURATION),
                   number(object_of(user, "adaptations"), "committed", Unit::COUNT)});
    }
    list.print(table);
}

/* ---- the command ----------------------------------------------------------------------------- */

size_t terminal_columns()
{
    winsize size = {};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
        return size.ws_col;
    return 100;
}

/* From a file that `elastic report --json` has written. */
std::optional<Json> read_report(const std::string &path)
{
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    Json report = Json::parse(text.str(), nullptr, false);
    if (!file || !report.is_object() || !report.contains("makespan_ms"))
        return std::nullopt;
    return report;
}

/* DONE, and "?from_ms=..." for --last; else an exit code after a message. */
int period(const Report &options, std::string &query)
{
    int64_t from_ms = 0;
    if (!options.last.empty()) {
        auto seconds = parse_time_limit(options.last);
        if (!seconds || seconds.value() == 0)
            return complain(USAGE,
                            "--last: " + (seconds ? "give a time such as 7d" : seconds.error()));
        from_ms = (int64_t{time(nullptr)} - seconds.value()) * 1000;
    }
    query = "?from_ms=" + std::to_string(from_ms);
    return DONE;
}

int write_html(const Report &options, const std::string &text)
{
    std::ofstream file(options.html);
    file << text << std::flush;
    return file ? DONE
                : complain(UNREACHABLE, "cannot write " + options.html + ": " + strerror(errno));
}

/* Page by page, the newest first. */
int get_timeline(Report &options, const std::string &query, Json &timeline)
{
    if (int code = options.elasticd.get("/v1/timeline" + query, timeline))
        return code;
    std::vector<Json> pages = {list_of(timeline, "segments")};
    size_t segments = pages.back().size();
    Json next = timeline.value("next", Json()), more = timeline.value("more", Json());
    while (next.is_number_integer() && !pages.back().empty() && segments < SEGMENTS_MAX) {
        Json page;
        std::string before = (query.empty() ? "?" : query + "&") + "before=" + next.dump();
        if (int code = options.elasticd.get("/v1/timeline" + before, page))
            return code;
        next = page.value("next", Json());
        more = page.value("more", Json());
        pages.push_back(list_of(page, "segments"));
        segments += pages.back().size();
    }
    Json all = Json::array();
    for (auto page = pages.rbegin(); page != pages.rend(); ++page)
        for (Json &segment : *page)
            all.push_back(std::move(segment));
    timeline["segments"] = std::move(all);
    timeline["more"] = std::move(more);
    timeline.erase("next");
    return DONE;
}

/* The numbers of the jobs that are named, for the chart: tasks of arrays have their own. */
int read_ids(Report &options, std::set<int64_t> &ids)
{
    if (options.ids.empty())
        return DONE;
    JobFilter filter;
    filter.ids = options.ids;
    filter.all = true;
    std::vector<Json> jobs;
    int code = get_jobs(options.elasticd, filter, "id", jobs);
    for (const Json &job : jobs)
        ids.insert(integer_or(job, "id", 0));
    return code;
}

int run_report(Report &options)
{
    std::optional<Json> other;
    if (!options.compare.empty() && !(other = read_report(options.compare)))
        return complain(USAGE,
                        "--compare: " + options.compare +
                            " is not a file of 'elastic report --json'");
    std::string query;
    Json report, timeline_json;
    std::set<int64_t> ids;
    if (int code = read_ids(options, ids))
        return code;
    if (int code = period(options, query))
        return code;
    std::string rest = (options.ids.empty() ? "" : "&ids=" + Elasticd::escaped(options.ids)) +
                       (options.by.empty() ? "" : "&by=" + options.by);
    if (int code = options.elasticd.get("/v1/report" + query + rest, report))
        return code;
    if (!options.by.empty()) {
        if (options.json)
            for (const Json &user : list_of(report, "users"))
                print_json(user);
        else
            print_users(report, options.list);
        return DONE;
    }
    if (int code = get_timeline(options, query, timeline_json))
        return code;
    Timeline timeline = read_timeline(timeline_json, ids);
    if (!options.html.empty()) {
        if (int code = write_html(options, html_report(options.title, report, timeline_json, ids)))
            return code;
    }
    if (options.json) {
        report["timeline"] = timeline_json;
        print_json(report);
        return DONE;
    }
    print_metrics(report, other ? &*other : nullptr, options.list);
    if (options.no_chart || options.list.form() != Parsable::NO)
        return DONE;
    std::cout << "\n";
    for (const std::string &line : draw_text(timeline, terminal_columns()))
        std::cout << line << "\n";
    if (!timeline.is_complete)
        std::cout << "(the oldest parts are left out: --last shortens the period)\n";
    std::cout << std::flush;
    return DONE;
}

}  // namespace

void add_report(CLI::App &app, int &code)
{
    auto options = std::make_shared<Report>();
    CLI::App *command = add_command(
        app, "report", "print and plot the metrics of all jobs, or some", options->json);
    command->add_option("-j,--jobs", options->ids, "only these, such as 3,5,12_[1-5,9]")
        ->type_name("LIST");
    command->add_option("--last", options->last,
                     "only jobs that were submitted within this time, such as 2h")
        ->type_name("TIME");
    command->add_option("--by", options->by, "a line for each user: jobs, core hours, waits")
        ->type_name("user")
        ->check(CLI::IsMember({"user"}));
    command
        ->add_option("--compare", options->compare,
                     "beside the metrics in this file (of elastic report --json)")
        ->type_name("FILE");
    command->add_option("--html", options->html, "write metrics and chart for a browser, too")
        ->type_name("FILE");
    command->add_option("--title", options->title, "of that page")->type_name("TEXT");
    command->add_flag("--no-chart", options->no_chart, "no chart on the terminal");
    add_list_options(*command, options->list);
    command->callback([options, &code] { code = run_report(*options); });
}

}  // namespace elastic
