/* `elastic loops ID`: the use of time of a running step (operation `performance`,
 * doc/developer/step-protocol.md), or of a job of elasticd (GET /v1/jobs/ID/loops, which reports
 * the same of its step, and earlier samples). */

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/phase_text.h"
#include "cli/step_commands.h"
#include "cli/target.h"

namespace elastic {
namespace {

constexpr size_t HISTORY_SHOWN = 12;
/* older data of elasticd about a job is queried again */
constexpr int JOB_AGE_MS = 2000;

std::string number(double value, const char *form)
{
    char text[64];
    snprintf(text, sizeof text, form, value);
    return text;
}

std::string percent(double ratio)
{
    return number(100 * ratio, "%.1f %%");
}

std::string progress_line(const std::string &subject, const Json &answer)
{
    const Json &progress = object_of(answer, "progress");
    std::string line = subject + ": " + text_of(answer, "size") + " processes, " +
                       text_of(progress, "probes") + " probes in " +
                       number(number_or(progress, "ms", 0) / 1000, "%.1f s");
    if (double rate = number_or(progress, "per_second", -1); rate >= 0)
        line += ", " + number(rate, "%.3g a second");
    if (double recent = number_or(progress, "recent_per_second", -1); recent >= 0)
        line += " (recently " + number(recent, "%.3g") + ")";
    int64_t missing = integer_or(answer, "size", 0) - integer_or(answer, "processes", 0);
    return line + (missing > 0 ? "; " + std::to_string(missing) + " did not answer" : "");
}

std::string slowest_text(const Json &loop)
{
    std::string text;
    for (const Json &rank : list_of(loop, "slowest"))
        text += (text.empty() ? "" : ", ") + std::string("rank ") + text_of(rank, "rank") + " on " +
                string_or(rank, "host", "?") + " (" + percent(number_or(rank, "mpi_ratio", 0)) +
                ")";
    return text;
}

std::string items_text(const Json &loop)
{
    std::string text;
    for (const Json &item : list_of(loop, "items"))
        text += (text.empty() ? "" : ", ") + (item.is_string() ? item.get<std::string>() : "?");
    bool more =
        integer_or(loop, "items_total", 0) > static_cast<int64_t>(list_of(loop, "items").size());
    return text + (more ? ", ..." : "");
}

/* The name of the enclosing loop, in printed form. */
std::string position_text(const Json &answer, const Json &loop)
{
    std::string parent = string_or(loop, "parent", "");
    if (parent == "probe")
        return "in the loop that probes";
    for (const Json &other : list_of(answer, "loops")) {
        if (!parent.empty() && string_or(other, "key", "") == parent)
            return "in the loop at " + string_or(other, "name", "?");
    }
    return "in no other loop";
}

/* The only entry of a phase's loop. */
bool is_phase(const Json &loop)
{
    std::string items = items_text(loop);
    return items == "elastic_phase" || items == "rigid_phase";
}

void print_inner_loop(const Json &answer, const Json &loop)
{
    double loop_us = number_or(loop, "loop_us", 0), iterations = number_or(loop, "iterations", 0);
    std::string name = string_or(loop, "name", "?");
    std::string line = (is_phase(loop) ? "phase " + name
                                       : "loop at " + name + ", " + position_text(answer, loop)) +
                       ", ranks " + string_or(loop, "ranks", "?") + ": ";
    if (iterations > 0 && loop_us > 0)
        line += number(loop_us / iterations / 1000, "%.3g ms per iteration, ") +
                percent(number_or(loop, "mpi_us", 0) / loop_us) + " of it in MPI (from " +
                percent(number_or(loop, "ratio_min", 0)) + " to " +
                percent(number_or(loop, "ratio_max", 0)) + " by rank); ";
    else
        line += "no iteration measured; ";
    print_line(line + items_text(loop));
}

void print_loop(const Json &loop)
{
    double loop_us = number_or(loop, "loop_us", 0), iterations = number_or(loop, "iterations", 0);
    print_line("loop that probes, ranks " + string_or(loop, "ranks", "?") + ": " +
               number(iterations > 0 ? loop_us / iterations / 1000 : 0, "%.3g ms per iteration, ") +
               percent(loop_us > 0 ? number_or(loop, "mpi_us", 0) / loop_us : 0) +
               " of it in MPI (from " + percent(number_or(loop, "ratio_min", 0)) + " to " +
               percent(number_or(loop, "ratio_max", 0)) + " by rank; one iteration in " +
               text_of(loop, "measured_every") + " measured)");
    print_line("ranks with the least time in MPI, for which others wait: " + slowest_text(loop));
}

/* The recent samples of the job, the newest last. */
void print_history(const Json &answer)
{
    const Json &history = list_of(answer, "history");
    for (size_t i = history.size() - std::min(history.size(), HISTORY_SHOWN); i < history.size();
         i++) {
        const Json &interval = history[i];
        double rate = number_or(interval, "per_second", -1),
               share = number_or(interval, "mpi_share", -1);
        print_line("until " + format_time(integer_or(interval, "until_ms", 0)) + ": " +
                   text_of(interval, "size") + " processes, " +
                   (rate >= 0 ? number(rate, "%.3g probes a second") : "progress unknown") +
                   (share >= 0 ? ", " + percent(share) + " in MPI" : ""));
    }
}

/* A row for each loop; if there is none, one with the progress alone. */
void print_loop_rows(const ListOptions &list, const Json &answer)
{
    const Json &progress = object_of(answer, "progress");
    double rate = number_or(progress, "per_second", -1);
    const std::vector<std::string> head = {text_of(answer, "size"), text_of(progress, "probes"),
                                           rate >= 0 ? number(rate, "%.6g") : "-"};
    auto print = [&](std::vector<std::string> cells) {
        cells.insert(cells.begin(), head.begin(), head.end());
        list.print_row(cells);
    };
    for (const Json &loop : list_of(answer, "loops")) {
        double loop_us = number_or(loop, "loop_us", 0),
               iterations = number_or(loop, "iterations", 0);
        bool measured = loop_us > 0 && iterations > 0;
        auto share = [&](double ratio) { return measured ? number(100 * ratio, "%.1f") : "-"; };
        std::string calls = items_text(loop);
        print({string_or(loop, "key", "") == "probe" ? "probe" : string_or(loop, "name", "?"),
               string_or(loop, "ranks", "?"), text_of(loop, "iterations"),
               measured ? number(loop_us / iterations / 1000, "%.6g") : "-",
               share(number_or(loop, "mpi_us", 0) / loop_us),
               share(number_or(loop, "ratio_min", 0)), share(number_or(loop, "ratio_max", 0)),
               calls.empty() ? "-" : calls});
    }
    if (list_of(answer, "loops").empty())
        print(std::vector<std::string>(8, "-"));
}

int job_loops(Elasticd &elasticd, const std::string &job, const Printed &printed)
{
    Json answer;
    std::string path = "/v1/jobs/" + job + "/loops?max_age_ms=" + std::to_string(JOB_AGE_MS);
    if (int code = elasticd.get(path, answer))
        return code;
    print_performance("job " + job, answer, printed);
    if (!printed.json && !printed.is_parsable())
        print_history(answer);
    return DONE;
}

}  // namespace

void print_performance(const std::string &subject, const Json &answer, const Printed &printed)
{
    if (printed.json) {
        print_json(answer);
        return;
    }
    if (printed.is_parsable())
        printed.list.print_titles({"PROCESSES", "PROBES", "PER_SECOND", "LOOP", "RANKS",
                                   "ITERATIONS", "ITERATION_MS", "MPI_PERCENT", "MPI_PERCENT_MIN",
                                   "MPI_PERCENT_MAX", "CALLS"});
    if (!bool_or(answer, "available", false)) {
        std::string text =
            subject + ": no measurements: " + string_or(answer, "reason", "no reason given");
        printed.is_parsable() ? print_note(text) : print_line(text);
        return;
    }
    if (printed.is_parsable()) {
        print_loop_rows(printed.list, answer);
        return;
    }
    print_line(progress_line(subject, answer));
    if (std::string phase = phase_text(object_of(answer, "phase")); !phase.empty())
        print_line("phase " + phase);
    for (const Json &loop : list_of(answer, "loops")) {
        if (string_or(loop, "key", "") == "probe")
            print_loop(loop);
        else
            print_inner_loop(answer, loop);
    }
    if (list_of(answer, "loops").empty())
        print_line("no iteration of a loop with MPI_Probe_adapt has been measured yet");
}

void add_loops(CLI::App &app, int &code)
{
    add_step_command(app, "loops",
                     "show the progress of a job or step, and the share of MPI in its time",
                     step_loops, job_loops, code);
}

}  // namespace elastic
