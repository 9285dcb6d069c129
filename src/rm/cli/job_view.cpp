/* See job_view.h. */

#include "cli/job_view.h"

#include <map>

#include "cli/array_tasks.h"
#include "cli/job_fields.h"
#include "cli/job_text.h"
#include "cli/phase_text.h"
#include "core/job_states.h"

namespace elastic {

namespace {

std::string limit_of(const Json &job)
{
    int64_t limit = integer_or(job, "time_limit_ms", -1);
    return limit < 0 ? "UNLIMITED" : format_duration(limit);
}

std::string command_line(const Json &job)
{
    std::string line;
    for (const Json &word : list_of(job, "command"))
        line +=
            (line.empty() ? "" : " ") + (word.is_string() ? word.get<std::string>() : word.dump());
    return line.empty() ? "-" : line;
}

std::string sizes_text(const Json &job)
{
    const Json &sizes = object_of(job, "sizes");
    std::string rule = string_or(sizes, "rule", "any");
    if (sizes.contains("of"))
        rule += ":" + shown(sizes, "of");
    std::string program = string_or(sizes, "program", "");
    return program.empty() ? rule : rule + ", by the program " + program;
}

std::string time_text(const Json &job, const char *name)
{
    int64_t time_ms = integer_or(job, name, 0);
    return time_ms > 0 ? format_time(time_ms) : "-";
}

/* "task 7 of array 12 (1-100%10): 30 of 100 started, 20 ended, 1 failed" */
std::string array_text(const Json &job)
{
    const Json &array = object_of(job, "array");
    if (!array.contains("index"))
        return "-";
    std::string text = "task " + shown(array, "index") + " of array " + shown(array, "job") + " (" +
        shown(array, "indices") + ")";
    if (integer_or(array, "tasks", 0) == 0)
        return text;
    text += ": " + shown(array, "started") + " of " + shown(array, "tasks") + " started, " +
        shown(array, "ended") + " ended";
    for (const char *end : {"failed", "cancelled"})
        text += integer_or(array, end, 0) > 0 ? ", " + shown(array, end) + " " + end : "";
    return text;
}

/* "after_ok:3,after:5(unfulfilled)" */
std::string dependencies_text(const Json &job)
{
    std::string text;
    const Json &open = list_of(job, "waits_for");
    for (const Json &each : list_of(job, "dependencies")) {
        bool unfulfilled = std::find(open.begin(), open.end(), each) != open.end();
        text += (text.empty() ? "" : ",") + shown(each, "kind") + ":" + shown(each, "job") +
                (bool_or(each, "array", false) ? "(array)" : "") +
                (unfulfilled ? "(unfulfilled)" : "");
    }
    return text.empty() ? "-" : text;
}

/* The user's share of all recent use, and the resulting delay. */
std::string fair_share_text(const Json &job)
{
    const Json &share = object_of(job, "fair_share");
    if (!share.contains("use"))
        return "-";
    char percent[32];
    snprintf(percent, sizeof percent, "%.1f %%", number_or(share, "use", 0) * 100);
    return std::string(percent) + " of the recent use: delayed by " +
           format_duration(integer_or(share, "delay_ms", 0));
}

std::string limit_signal_text(const Json &job)
{
    const Json &limit_signal = object_of(job, "limit_signal");
    if (!limit_signal.contains("signal"))
        return "-";
    return shown(limit_signal, "signal") + "@" +
           format_duration(integer_or(limit_signal, "before_ms", 0));
}

/* "n0:0,1; n1:2": the GPUs of each node. */
std::string gpus_text(const Json &nodes)
{
    std::string text;
    for (const Json &node : nodes) {
        text += (text.empty() ? "" : "; ") + shown(node, "node");
        const char *separator = ":";
        for (const Json &gpu : list_of(node, "gpus")) {
            text += separator + gpu.dump();
            separator = ",";
        }
    }
    return text.empty() ? "-" : text;
}

/* "n0: sh 2; n1: sh 1, ./sweep 1": the programs in its slots, and their numbers. */
std::string tasks_text(const Json &job)
{
    std::map<std::string, std::map<std::string, int>> on;
    for (const Json &task : list_of(job, "tasks"))
        on[string_or(task, "host", "?")][string_or(task, "program", "?")]++;
    std::string text;
    for (const auto &[host, programs] : on) {
        text += (text.empty() ? "" : "; ") + host + ":";
        const char *before = " ";
        for (const auto &[program, count] : programs) {
            text += before + program + " " + std::to_string(count);
            before = ", ";
        }
    }
    return text.empty() ? "-" : text;
}

/* " (n0: 2, n1: 1 exclusive)": the number `count` of each node; empty: there are no nodes. */
std::string counts_on_nodes(const Json &nodes, const char *count)
{
    std::string on;
    for (const Json &node : nodes)
        on += (on.empty() ? "" : ", ") + string_or(node, "node", "?") + ": " + shown(node, count) +
              (bool_or(node, "exclusive", false) ? " exclusive" : "");
    return on.empty() ? "" : " (" + on + ")";
}

/* "3 (n0: 2, n1: 1), 2 more are requested" */
std::string slots_text(const Json &job)
{
    const Json &extra_slots = object_of(job, "places");
    if (!extra_slots.contains("held"))
        return "-";
    std::string text = shown(extra_slots, "held") +
        counts_on_nodes(list_of(extra_slots, "nodes"), "places");
    int64_t wanted = integer_or(extra_slots, "wanted", 0);
    return wanted > 0 ? text + ", " + std::to_string(wanted) + " more are requested" : text;
}

/* "5 (n0: 5), 4 without cores: ..."; for an ended job the maximum at one time. */
std::string spawned_text(const Json &job)
{
    const Json &spawned = object_of(job, "spawned");
    if (!spawned.contains("max"))
        return "-";
    std::string text = shown(spawned, "processes") +
        counts_on_nodes(list_of(spawned, "nodes"), "processes");
    if (integer_or(spawned, "max", 0) > integer_or(spawned, "processes", 0))
        text += ", " + shown(spawned, "max") + " at most";
    std::string advice = spawned_advice(job);
    return text + (advice.empty() ? "" : "; " + advice);
}

/* The size request of the program: "8 (4:8): fine grid, granted". */
std::string size_request_text(const Json &job)
{
    const Json &size_request = object_of(job, "wish");
    if (!size_request.contains("size"))
        return "-";
    std::string size = shown(size_request, "size"), minimum = shown(size_request, "min"),
                maximum = shown(size_request, "max");
    std::string range = minimum == size && maximum == size
        ? ""
        : " (" + minimum + ":" + maximum + ")";
    std::string target = shown(size_request, "target") == size
        ? ""
        : ", of which the job can have " + shown(size_request, "target");
    std::string reason = string_or(size_request, "reason", "");
    return size + range + (reason.empty() ? "" : ": " + reason) + target +
           (bool_or(size_request, "granted", false) ? ", granted" : ", open");
}

/* Position of a program with phases. */
std::string phase_or_none(const Json &job)
{
    std::string text = phase_text(object_of(job, "phase"));
    return text.empty() ? "-" : text;
}

/* Its rate at its present size. */
std::string progress_text(const Json &job)
{
    const Json &known = object_of(job, "performance");
    double rate = number_or(known, "per_second", -1),
           recent = number_or(known, "per_second_recent", -1);
    double round_us = number_or(known, "iteration_us", -1);
    if (rate < 0)
        return "-";
    return number_text(rate, "%.3g probes a second") +
           (recent >= 0 ? number_text(recent, " (recently %.3g)") : "") +
           (round_us >= 0 ? number_text(round_us / 1000, ", %.3g ms per iteration") : "");
}

/* The share of MPI in its time. */
std::string mpi_share_text(const Json &job)
{
    const Json &known = object_of(job, "performance");
    double share = number_or(known, "mpi_share", -1),
           recent = number_or(known, "mpi_share_recent", -1);
    double least = number_or(known, "ratio_min", -1), most = number_or(known, "ratio_max", -1);
    if (share < 0)
        return "-";
    std::string text = number_text(100 * share, "%.1f %%");
    if (recent >= 0)
        text += number_text(100 * recent, " (recently %.1f %%)");
    if (least >= 0 && most >= 0)
        text += number_text(100 * least, ", from %.1f %%") +
                number_text(100 * most, " to %.1f %% by rank");
    return text;
}

std::string adaptations_text(const Json &job)
{
    const Json &counts = object_of(job, "counts");
    return std::to_string(integer_or(counts, "committed", 0)) + " committed, " +
           std::to_string(integer_or(counts, "withdrawn", 0)) + " withdrawn, " +
           std::to_string(integer_or(counts, "failed", 0)) + " failed";
}

/* "5 sent, 4 accepted, 1 declined; the last (request 5) sent at 12:03 to process 0, which has
 * accepted it"; "-": it does not change through process sets. */
std::string set_changes_text(const Json &job)
{
    const Json &known = object_of(job, "set_changes"), &last = object_of(known, "last");
    if (!known.contains("told"))
        return "-";
    std::string stage = string_or(last, "stage", "told"), uid = shown(last, "uid");
    return shown(known, "told") + " sent, " + shown(known, "accepted") + " accepted, " +
           shown(known, "declined") + " declined; the last (request " + shown(last, "request") +
           ") sent at " + format_time(integer_or(last, "told_ms", 0)) + " to process " + uid +
           (stage == "told" ? ", which has not answered"
                            : ", which has " + stage + " it at " +
                                  format_time(integer_or(last, "at_ms", 0)));
}

}  // namespace

std::string state_code(const Json &job)
{
    return shown(job, "code");
}

bool has_ended(const Json &job)
{
    return rm::is_end(string_or(job, "state", ""));
}

int64_t run_time_ms(const Json &job, int64_t now_ms)
{
    int64_t start = integer_or(job, "start_ms", -1), end = integer_or(job, "end_ms", now_ms);
    return start < 0 ? -1
                     : std::max<int64_t>(0, end - start - integer_or(job, "suspended_ms", 0));
}

std::string node_list(const Json &nodes)
{
    std::string text;
    for (const Json &node : nodes) {
        const char *name = node.contains("node") ? "node" : "name";
        text += (text.empty() ? "" : ",") + shown(node, name) + ":" + shown(node, "processes");
    }
    return text.empty() ? "-" : text;
}

std::string size_range(const Json &job)
{
    std::string minimum = shown(job, "min"), maximum = shown(job, "max");
    return minimum == maximum ? minimum : minimum + ":" + maximum;
}

/* ---- tables ---------------------------------------------------------------------------------- */

namespace {

/* The column of the partition is the second one. */
Table table_of_jobs(std::vector<Table::Column> columns, bool with_partition)
{
    if (with_partition)
        columns.insert(columns.begin() + 1, {"PARTITION"});
    return Table(std::move(columns));
}

std::vector<std::string> row_of_job(std::vector<std::string> row, const Json &job,
                                    bool with_partition)
{
    if (with_partition)
        row.insert(row.begin() + 1, shown(job, "partition"));
    return row;
}

}  // namespace

bool has_partitions(const std::vector<Json> &jobs)
{
    return std::ranges::any_of(
        jobs, [](const Json &job) { return !string_or(job, "partition", "").empty(); });
}

Table queue_table(bool with_partition)
{
    return table_of_jobs({{"JOBID", Table::RIGHT}, {"NAME"}, {"USER"}, {"ST"},
                          {"TIME", Table::RIGHT}, {"TIME_LIMIT", Table::RIGHT},
                          {"SIZE", Table::RIGHT}, {"RANGE", Table::RIGHT}, {"ADAPT", Table::RIGHT},
                          {"NODELIST(REASON)"}},
                         with_partition);
}

std::vector<std::string> queue_row(const Json &job, int64_t now_ms, bool with_partition)
{
    int64_t run_time = run_time_ms(job, now_ms), size = integer_or(job, "size", 0);
    const Json &nodes = list_of(job, "nodes");
    std::string reason = shown(job, "reason");
    bool has_nodes = !nodes.empty() && string_or(job, "state", "") != "STARTING";
    bool shows_reason = reason != "-" && (!has_nodes || has_ended(job));
    std::string where = shows_reason ? "(" + reason + ")" : nodes.empty() ? "-" : node_list(nodes);
    const Json &adaptation = object_of(job, "adaptation");
    std::string size_text = size > 0 ? std::to_string(size) : "-";
    if (adaptation.contains("size"))
        size_text += ">" + shown(adaptation, "size");
    if (int64_t spawned = integer_or(object_of(job, "spawned"), "processes", 0); spawned > 0)
        size_text += "+" + std::to_string(spawned);
    std::vector<std::string> row = {job_name(job),
                                    shown(job, "name"),
                                    shown(job, "user"),
                                    state_code(job),
                                    format_duration(std::max<int64_t>(0, run_time)),
                                    limit_of(job),
                                    size_text,
                                    size_range(job),
                                    shown(object_of(job, "counts"), "committed"),
                                    where};
    return row_of_job(std::move(row), job, with_partition);
}

Table history_table(bool with_partition)
{
    return table_of_jobs({{"JOBID", Table::RIGHT}, {"NAME"}, {"USER"}, {"STATE"}, {"SUBMITTED"},
                          {"WAITED", Table::RIGHT}, {"ELAPSED", Table::RIGHT},
                          {"RANGE", Table::RIGHT}, {"ADAPT", Table::RIGHT}, {"EXIT", Table::RIGHT},
                          {"REASON"}},
                         with_partition);
}

std::vector<std::string> history_row(const Json &job, bool with_partition)
{
    int64_t submitted = integer_or(job, "submit_ms", 0), ended = integer_or(job, "end_ms", 0);
    int64_t waited = integer_or(job, "start_ms", ended) - submitted;
    std::vector<std::string> row = {job_name(job),
                                    shown(job, "name"),
                                    shown(job, "user"),
                                    shown(job, "state"),
                                    format_time(submitted),
                                    format_duration(waited),
                                    format_duration(run_time_ms(job, ended)),
                                    size_range(job),
                                    shown(object_of(job, "counts"), "committed"),
                                    shown(job, "exit_code"),
                                    shown(job, "reason")};
    return row_of_job(std::move(row), job, with_partition);
}

/* ---- one job --------------------------------------------------------------------------------- */

namespace {

std::string field(const Json &job, const char *name, int64_t now_ms)
{
    return JOB_FIELDS.find(std::string(name))->value(job, now_ms).text;
}

}  // namespace

std::vector<std::string> job_description(const Json &job, int64_t now_ms)
{
    const std::pair<const char *, std::string> fields[] = {
        {"JobId", shown(job, "id")},
        {"Array", array_text(job)},
        {"JobName", shown(job, "name")},
        {"UserId", shown(job, "user") + "(" + shown(job, "uid") + ")"},
        {"JobState", shown(job, "state")},
        {"Reason", shown(job, "reason")},
        {"Kind", shown(job, "kind")},
        {"Adaptive", shown(job, "adaptive")},
        {"Size", shown(job, "size")},
        {"Range", size_range(job)},
        {"Preferred", shown(job, "preferred")},
        {"Sizes", sizes_text(job)},
        {"CoresPerProcess", shown(job, "cores_per_process")},
        {"ProcessesPerNode", shown(job, "processes_per_node")},
        {"Exclusive", shown(job, "exclusive")},
        {"NumNodes", shown(job, "nodes_requested")},
        {"GpusPerProcess", shown(job, "gpus_per_process")},
        {"GpusPerNode", shown(job, "gpus_per_node")},
        {"Partition", shown(job, "partition")},
        {"Reservation", shown(job, "reservation")},
        {"ReqNodeList", names_text(list_of(job, "nodelist"))},
        {"ExcNodeList", names_text(list_of(job, "exclude"))},
        {"Requeue", shown(job, "requeue")},
        {"Nodes", node_list(list_of(job, "nodes"))},
        {"Gpus", gpus_text(list_of(job, "gpus"))},
        {"Priority", shown(job, "priority")},
        {"FairShare", fair_share_text(job)},
        {"Held", shown(job, "held")},
        {"Dependencies", dependencies_text(job)},
        {"BeginTime", time_text(job, "begin_ms")},
        {"ExpectedStart", expected_start_text(job)},
        {"SubmitTime", format_time(integer_or(job, "submit_ms", 0))},
        {"StartTime", format_time(integer_or(job, "start_ms", 0))},
        {"EndTime", format_time(integer_or(job, "end_ms", 0))},
        {"RunTime", format_duration(run_time_ms(job, now_ms))},
        {"SuspendedTime", field(job, "suspended", now_ms)},
        {"TimeLimit", limit_of(job)},
        {"LimitSignal", limit_signal_text(job)},
        {"ExitCode", shown(job, "exit_code")},
        {"Step", shown(job, "step")},
        {"Epoch", shown(job, "epoch")},
        {"Adaptations", adaptations_text(job)},
        {"SetChanges", set_changes_text(job)},
        {"StandstillMs", shown(job, "standstill_ms")},
        {"CoreTime", field(job, "cputime", now_ms)},
        {"CoreSecondsBySize", field(job, "coresecondsbysize", now_ms)},
        {"CpuTime", field(job, "totalcpu", now_ms)},
        {"MaxRss", field(job, "maxrss", now_ms)},
        {"Wish", size_request_text(job)},
        {"Places", slots_text(job)},
        {"Spawned", spawned_text(job)},
        {"Tasks", tasks_text(job)},
        {"Names", names_text(list_of(job, "names"))},
        {"Phase", phase_or_none(job)},
        {"Progress", progress_text(job)},
        {"MpiShare", mpi_share_text(job)},
        {"Why", why_text(job)},
        {"Command", command_line(job)},
        {"WorkDir", shown(job, "directory")},
        {"StdIn", shown(job, "input")},
        {"StdOut", shown(job, "output")},
        {"StdErr", shown(job, "error")},
        {"StepSocket", shown(job, "step_socket")},
    };
    std::vector<std::string> lines;
    for (const auto &[name, value] : fields)
        lines.push_back((lines.empty() ? "" : "   ") + std::string(name) + "=" + printable(value));
    return lines;
}

}  // namespace elastic
