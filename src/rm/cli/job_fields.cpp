/* See job_fields.h. */

#include "cli/job_fields.h"

#include <algorithm>
#include <sstream>

#include "cli/array_tasks.h"
#include "cli/job_view.h"

namespace elastic {

namespace {

FieldValue text_field(const Json &job, const char *name)
{
    if (!job.is_object() || !job.contains(name) || job[name].is_null())
        return {"-"};
    std::string text = text_of(job, name);
    return {text.empty() ? "-" : text};
}

FieldValue number_field(const Json &object, const char *name)
{
    constexpr int64_t UNKNOWN = INT64_MIN;
    int64_t number = integer_or(object, name, UNKNOWN);
    return number == UNKNOWN ? FieldValue{"-", -1} : FieldValue{std::to_string(number), number};
}

FieldValue time_field(const Json &job, const char *name)
{
    int64_t time_ms = integer_or(job, name, 0);
    return {format_time(time_ms), time_ms};
}

FieldValue duration_field(int64_t ms)
{
    return {format_duration(ms), ms};
}

FieldValue limit_field(const Json &job)
{
    int64_t limit_ms = integer_or(job, "time_limit_ms", -1);
    return limit_ms > 0 ? duration_field(limit_ms) : FieldValue{"UNLIMITED", INT64_MAX};
}

FieldValue left_field(const Json &job, int64_t now_ms)
{
    int64_t limit_ms = integer_or(job, "time_limit_ms", -1);
    if (limit_ms <= 0)
        return {"UNLIMITED", INT64_MAX};
    return duration_field(std::max<int64_t>(limit_ms - std::max<int64_t>(
                                                           run_time_ms(job, now_ms), 0), 0));
}

FieldValue waited_field(const Json &job, int64_t now_ms)
{
    int64_t until_ms = integer_or(job, "start_ms", integer_or(job, "end_ms", now_ms));
    return duration_field(std::max<int64_t>(until_ms - integer_or(job, "submit_ms", until_ms), 0));
}

/* For a job that does not run, its minimum. */
int64_t processes_of(const Json &job)
{
    int64_t size = integer_or(job, "size", 0);
    return size > 0 ? size : integer_or(job, "min", 0);
}

FieldValue cores_field(const Json &job)
{
    int64_t cores = processes_of(job) * integer_or(job, "cores_per_process", 1);
    return {std::to_string(cores), cores};
}

/* For a job that waits, the requested number. */
FieldValue node_count_field(const Json &job)
{
    auto count = static_cast<int64_t>(list_of(job, "nodes").size());
    if (count == 0 && !has_ended(job))
        count = integer_or(job, "nodes_requested", 0);
    return {std::to_string(count), count};
}

FieldValue nodes_field(const Json &job)
{
    std::string text;
    for (const Json &node : list_of(job, "nodes"))
        text += (text.empty() ? "" : ",") + text_of(node, "name");
    return {text.empty() ? "-" : text};
}

FieldValue nodes_or_reason_field(const Json &job)
{
    FieldValue nodes = nodes_field(job), reason = text_field(job, "reason");
    bool is_starting = string_or(job, "state", "") == "STARTING";      /* it has no nodes yet */
    bool shows_reason =
        reason.text != "-" && (nodes.text == "-" || is_starting || has_ended(job));
    return shows_reason ? FieldValue{"(" + reason.text + ")"} : nodes;
}

FieldValue first_node_field(const Json &job)
{
    const Json &nodes = list_of(job, "nodes");
    return nodes.empty() ? FieldValue{"-"} : text_field(nodes[0], "name");
}

FieldValue dependencies_field(const Json &job)
{
    std::string text;
    for (const Json &each : list_of(job, "waits_for"))
        text += (text.empty() ? "" : ",") + text_of(each, "kind") + ":" + text_of(each, "job");
    return {text.empty() ? "-" : text};
}

FieldValue command_field(const Json &job)
{
    std::string line;
    for (const Json &word : list_of(job, "command"))
        line += (line.empty() ? "" : " ") + (word.is_string() ? word.get<std::string>() : "?");
    return {line.empty() ? "-" : line};
}

FieldValue used_field(const Json &job, const char *name)
{
    int64_t ms = integer_or(object_of(job, "accounting"), name, -1);
    return duration_field(ms);
}

/* "1048576K", as in sacct. */
FieldValue memory_field(const Json &job)
{
    int64_t bytes = integer_or(object_of(job, "accounting"), "max_rss_bytes", -1);
    return bytes < 0 ? FieldValue{"-", -1} : FieldValue{std::to_string(bytes / 1024) + "K", bytes};
}

/* "2:30,8:160": core seconds for each number of processes. */
FieldValue by_size_field(const Json &job)
{
    std::string text;
    for (const Json &each : list_of(object_of(job, "accounting"), "core_ms_by_size")) {
        int64_t size = integer_or(each, "size", 0);
        text += (text.empty() ? "" : ",") + (size > 0 ? std::to_string(size) : "other") + ":" +
                std::to_string(integer_or(each, "core_ms", 0) / 1000);
    }
    return {text.empty() ? "-" : text};
}

using At = int64_t;
constexpr Field FIELDS[] = {
    {"jobid,jobarrayid,id", 'i', "JOBID", Table::RIGHT,
     [](const Json &job, At) { return FieldValue{job_name(job), integer_or(job, "id", 0)}; }},
    {"jobidraw", 'A', "JOBID", Table::RIGHT,
     [](const Json &job, At) { return number_field(job, "id"); }},
    {"name,jobname", 'j', "NAME", Table::LEFT,
     [](const Json &job, At) { return text_field(job, "name"); }},
    {"username,user", 'u', "USER", Table::LEFT,
     [](const Json &job, At) { return text_field(job, "user"); }},
    {"partition", 'P', "PARTITION", Table::LEFT,
     [](const Json &job, At) { return text_field(job, "partition"); }},
    {"userid,uid", 'U', "UID", Table::RIGHT,
     [](const Json &job, At) { return number_field(job, "uid"); }},
    {"statecompact,st", 't', "ST", Table::LEFT,
     [](const Json &job, At) { return text_field(job, "code"); }},
    {"state", 'T', "STATE", Table::LEFT,
     [](const Json &job, At) { return text_field(job, "state"); }},
    {"timeused,elapsed", 'M', "TIME", Table::RIGHT,
     [](const Json &job, At now) {
         return duration_field(std::max<int64_t>(run_time_ms(job, now), 0));
     }},
    {"suspended", 0, "SUSPENDED", Table::RIGHT,
     [](const Json &job, At) { return duration_field(integer_or(job, "suspended_ms", 0)); }},
    {"timelimit", 'l', "TIME_LIMIT", Table::RIGHT,
     [](const Json &job, At) { return limit_field(job); }},
    {"timeleft", 'L', "TIME_LEFT", Table::RIGHT,
     [](const Json &job, At now) { return left_field(job, now); }},
    {"numnodes,nnodes,allocnodes", 'D', "NODES", Table::RIGHT,
     [](const Json &job, At) { return node_count_field(job); }},
    {"numcpus,ncpus,alloccpus", 'C', "CPUS", Table::RIGHT,
     [](const Json &job, At) { return cores_field(job); }},
    {"numtasks,ntasks", 0, "TASKS", Table::RIGHT,
     [](const Json &job, At) {
         return FieldValue{std::to_string(processes_of(job)), processes_of(job)};
     }},
    {"cpus-per-task", 0, "CPUS_PER_TASK", Table::RIGHT,
     [](const Json &job, At) { return number_field(job, "cores_per_process"); }},
    {"nodelist", 'N', "NODELIST", Table::LEFT,
     [](const Json &job, At) { return nodes_field(job); }},
    {"reasonlist", 'R', "NODELIST(REASON)", Table::LEFT,
     [](const Json &job, At) { return nodes_or_reason_field(job); }},
    {"reason", 'r', "REASON", Table::LEFT,
     [](const Json &job, At) { return text_field(job, "reason"); }},
    {"batchhost", 'B', "EXEC_HOST", Table::LEFT,
     [](const Json &job, At) { return first_node_field(job); }},
    {"prioritylong,priority", 'Q', "PRIORITY", Table::RIGHT,
     [](const Json &job, At) { return number_field(job, "priority"); }},
    {"dependency", 'E', "DEPENDENCY", Table::LEFT,
     [](const Json &job, At) { return dependencies_field(job); }},
    {"submittime,submit", 'V', "SUBMIT_TIME", Table::LEFT,
     [](const Json &job, At) { return time_field(job, "submit_ms"); }},
    {"starttime,start", 'S', "START_TIME", Table::LEFT,
     [](const Json &job, At) { return time_field(job, "start_ms"); }},
    {"endtime,end", 'e', "END_TIME", Table::LEFT,
     [](const Json &job, At) { return time_field(job, "end_ms"); }},
    {"eligibletime,begin", 0, "BEGIN_TIME", Table::LEFT,
     [](const Json &job, At) { return time_field(job, "begin_ms"); }},
    {"planned,reserved,waited", 0, "WAITED", Table::RIGHT,
     [](const Json &job, At now) { return waited_field(job, now); }},
    {"workdir", 'Z', "WORK_DIR", Table::LEFT,
     [](const Json &job, At) { return text_field(job, "directory"); }},
    {"command,submitline", 'o', "COMMAND", Table::LEFT,
     [](const Json &job, At) { return command_field(job); }},
    {"stdout", 0, "STDOUT", Table::LEFT,
     [](const Json &job, At) { return text_field(job, "output"); }},
    {"stderr", 0, "STDERR", Table::LEFT,
     [](const Json &job, At) { return text_field(job, "error"); }},
    {"exitcode,exit_code", 0, "EXIT", Table::RIGHT,
     [](const Json &job, At) { return number_field(job, "exit_code"); }},
    {"cputime", 0, "CPU_TIME", Table::RIGHT,
     [](const Json &job, At) { return used_field(job, "core_ms"); }},
    {"totalcpu", 0, "TOTAL_CPU", Table::RIGHT,
     [](const Json &job, At) { return used_field(job, "cpu_ms"); }},
    {"maxrss", 0, "MAX_RSS", Table::RIGHT, [](const Json &job, At) { return memory_field(job); }},
    {"coresecondsbysize", 0, "CORE_SECONDS_BY_SIZE", Table::LEFT,
     [](const Json &job, At) { return by_size_field(job); }},
    {"size", 0, "SIZE", Table::RIGHT,
     [](const Json &job, At) { return number_field(job, "size"); }},
    {"range", 0, "RANGE", Table::RIGHT,
     [](const Json &job, At) { return FieldValue{size_range(job)}; }},
    {"kind", 0, "KIND", Table::LEFT,
     [](const Json &job, At) { return text_field(job, "kind"); }},
    {"adaptations,adapt", 0, "ADAPT", Table::RIGHT,
     [](const Json &job, At) { return number_field(object_of(job, "counts"), "committed"); }},
    {"standstill", 0, "STANDSTILL_MS", Table::RIGHT,
     [](const Json &job, At) { return number_field(job, "standstill_ms"); }},
};

}  // namespace

const FieldTable JOB_FIELDS{FIELDS};

}  // namespace elastic
