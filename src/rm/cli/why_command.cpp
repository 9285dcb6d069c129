/* `elastic why`: the reasons for the size or the wait of a job, and its speed at each size. */

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>

#include "cli/array_tasks.h"
#include "cli/commands.h"
#include "cli/job_view.h"
#include "cli/list_options.h"
#include "cli/target.h"

namespace elastic {

namespace {

struct Why {
    Printed printed;
    std::vector<std::string> names;
    Elasticd elasticd;
};

std::string headline(const Json &job)
{
    int64_t size = integer_or(job, "size", 0);
    std::string text = "job " + job_name(job) + ": " + string_or(job, "state", "?");
    bool runs = size > 0 && !has_ended(job);
    if (runs)
        text += ", " + std::to_string(size) + " processes of " + size_range(job);
    if (int64_t spawned = integer_or(object_of(job, "spawned"), "processes", 0); spawned > 0)
        text += " and " + std::to_string(spawned) + " of MPI_Comm_spawn";
    std::string reason = string_or(job, "reason", "");
    text += reason.empty() ? "" : ": " + reason;
    int64_t next_ms = integer_or(job, "next_start_ms", 0);
    return text + (next_ms > 0 ? "; next attempt at " + format_time(next_ms) : "");
}

void print_why(const Json &job)
{
    print_line(headline(job));
    if (std::string why = why_text(job); why != "-")
        print_line(why);
    if (std::string advice = spawned_advice(job); !advice.empty())
        print_line(advice);
    for (const std::string &line : speedup_lines(job))
        print_line(line);
}

/* The members of the job for the explanation. */
Json explanation(const Json &job)
{
    Json found = Json::object();
    for (const char *name : {"id", "state", "size", "min", "max", "reason", "why", "last_change",
                             "shortage", "helpers", "spawned", "expected_start_ms",
                             "expected_after", "next_start_ms", "scaling", "suspended_since_ms",
                             "keeps_waiting"})
        found[name] = job.contains(name) ? job[name] : Json();
    found["text"] = why_text(job);
    return found;
}

/* "2:1.95,4:3.85": the estimated speed-up at each size. */
std::string speedups_text(const Json &job)
{
    std::string text;
    char entry[64];
    for (const Json &each : list_of(object_of(job, "scaling"), "curve")) {
        snprintf(entry, sizeof entry, "%s%lld:%.2f", text.empty() ? "" : ",",
                 static_cast<long long>(integer_or(each, "size", 0)),
                 number_or(each, "speedup", 0));
        text += entry;
    }
    return text.empty() ? "-" : text;
}

std::string or_dash(const std::string &text)
{
    return text.empty() ? "-" : text;
}

void print_why_row(const ListOptions &list, const Json &job)
{
    int64_t after = integer_or(job, "expected_after", 0);
    list.print_row({job_name(job), string_or(job, "state", "?"), text_of(job, "size"),
                    size_range(job), or_dash(string_or(job, "reason", "")), why_text(job),
                    format_time(integer_or(job, "expected_start_ms", 0)),
                    after > 0 ? std::to_string(after) : "-", or_dash(spawned_advice(job)),
                    speedups_text(job)});
}

int explain(Why &options, const std::string &id)
{
    Json answer;
    if (int code = options.elasticd.get("/v1/jobs/" + id, answer))
        return code;
    const Json &job = object_of(answer, "job");
    if (options.printed.json)
        print_json(explanation(job));
    else if (options.printed.is_parsable())
        print_why_row(options.printed.list, job);
    else
        print_why(job);
    return DONE;
}

}  // namespace

std::vector<std::string> speedup_lines(const Json &job)
{
    constexpr int BAR_MAX = 40;
    const Json &scaling = object_of(job, "scaling"), &curve = list_of(scaling, "curve");
    if (curve.empty())
        return {};
    std::map<int64_t, const Json *> points;
    for (const Json &point : list_of(scaling, "points"))
        points[integer_or(point, "size", 0)] = &point;
    std::map<int64_t, double> speeds;
    double fastest = 0;
    for (const Json &each : curve) {
        double speedup = number_or(each, "speedup", 0);
        speeds[integer_or(each, "size", 0)] = speedup;
        fastest = std::max(fastest, speedup);
    }
    for (const auto &[size, point] : points)
        speeds.emplace(size, -1);
    char text[160];
    int64_t end = integer_or(scaling, "end", 0), present = integer_or(scaling, "size", 0);
    std::string head = "estimated speed-up over one process";
    head += bool_or(scaling, "hinted", false)
        ? ", by the user's hint"
        : ", measured at " + std::to_string(points.size()) +
              (points.size() == 1 ? " size" : " sizes");
    if (end > 0)
        head += "; more than " + std::to_string(end) + " processes give no gain";
    Table table({{"SIZE", Table::RIGHT}, {"SPEEDUP", Table::RIGHT}, {"MEASURED", Table::RIGHT},
                 {"INTERVALS", Table::RIGHT}, {""}});
    for (const auto &[size, speedup] : speeds) {
        std::string measured = "-", intervals = "-", estimated = "-";
        if (auto found = points.find(size); found != points.end()) {
            snprintf(text, sizeof text, "%.2f", number_or(*found->second, "speedup", 0));
            measured = text;
            intervals = std::to_string(integer_or(*found->second, "intervals", 0));
        }
        if (speedup >= 0) {
            snprintf(text, sizeof text, "%.2f", speedup);
            estimated = text;
        }
        auto bar = static_cast<int>(fastest > 0 ? speedup / fastest * BAR_MAX + 0.5 : 0);
        table.add({std::to_string(size), estimated, measured, intervals,
                   std::string(static_cast<size_t>(std::clamp(bar, 0, BAR_MAX)), '#') +
                       (size == present ? " (now)" : "")});
    }
    std::vector<std::string> lines = {head};
    for (std::string &line : table.lines())
        lines.push_back(std::move(line));
    return lines;
}

void add_why(CLI::App &app, int &code)
{
    auto options = std::make_shared<Why>();
    CLI::App *command = add_command(
        app, "why", "show why jobs have their sizes or wait, and how their speed follows the size",
        options->printed.json);
    command->add_option("JOB", options->names, "jobs, as 'elastic queue' lists them")->required();
    add_list_options(*command, options->printed.list);
    command->callback([options, &code] {
        if (options->printed.is_parsable())
            options->printed.list.print_titles({"JOBID", "STATE", "SIZE", "RANGE", "REASON", "WHY",
                                                "EXPECTED_START", "AFTER", "ADVICE", "SPEEDUPS"});
        for (const std::string &name : options->names) {
            code = for_each_job(options->elasticd, name, code,
                                [&](const std::string &id) { return explain(*options, id); });
        }
    });
}

}  // namespace elastic
