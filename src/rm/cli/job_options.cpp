/* See job_options.h. */

#include "cli/job_options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <sstream>

#include "base/change.h"
#include "base/program_sizes.h"
#include "cli/units.h"
#include "core/partition.h"

namespace elastic {

namespace {

constexpr int CORES_PER_PROCESS_MAX = 4096;

/* Adds gpus, gpus_per_process, gpus_per_node. */
std::optional<Error> add_gpus(const JobOptions &options, Json &request)
{
    int per_node = options.gpus_per_node;
    if (!options.gres.empty()) {
        auto gpus = parse_gres(options.gres);
        if (!gpus)
            return Error{"--gres: " + gpus.error()};
        if (per_node > 0 && per_node != gpus.value())
            return Error{"--gres and --gpus-per-node have different numbers"};
        per_node = gpus.value();
    }
    const std::pair<const char *, int> fields[] = {{"gpus", options.gpus},
                                                   {"gpus_per_process", options.gpus_per_task},
                                                   {"gpus_per_node", per_node}};
    for (const auto &[field, number] : fields)
        if (number > 0)
            request[field] = number;
    return std::nullopt;
}

/* Adds min, max, preferred, kind, sizes, nodes, ...; returns a message on an error. */
std::optional<Error> add_sizes(const JobOptions &options, Json &request)
{
    if (!options.size.empty()) {
        auto range = parse_size_range(options.size);
        if (!range)
            return Error{"-n: " + range.error()};
        request["min"] = range.value().minimum;
        request["max"] = range.value().maximum;
    }
    if (!options.sizes.empty()) {
        auto rule = ProgramSizes::parse(options.sizes);
        if (!rule)
            return Error{"--sizes: " + rule.error()};
        request["sizes"] = {{"rule", rule.value().text()}};
    }
    if (options.preferred > 0)
        request["preferred"] = options.preferred;
    if (!options.kind.empty())
        request["kind"] = options.kind;
    if (!options.nodes.empty()) {
        auto range = parse_node_range(options.nodes);
        if (!range)
            return Error{"-N: " + range.error()};
        request["nodes"] = range.value().minimum;
        if (range.value().maximum > range.value().minimum)
            request["nodes_max"] = range.value().maximum;
    }
    if (options.extra_slots > 0)
        request["places"] = options.extra_slots;
    if (options.cores_per_process > 0)
        request["cores_per_process"] = options.cores_per_process;
    if (options.processes_per_node > 0)
        request["processes_per_node"] = options.processes_per_node;
    if (options.exclusive)
        request["exclusive"] = true;
    if (auto error = add_gpus(options, request))
        return error;
    for (const auto &[field, text] : std::initializer_list<std::pair<const char *, std::string>>{
             {"partition", options.partition},
             {"reservation", options.reservation},
             {"nodelist", options.nodelist},
             {"exclude", options.exclude}})
        if (!text.empty())
            request[field] = text;
    const std::tuple<const char *, const char *, const std::string &> memory[] = {
        {"memory_per_core_mib", "--mem-per-cpu", options.memory_per_core},
        {"memory_per_node_mib", "--mem", options.memory_per_node}};
    for (const auto &[field, option, text] : memory) {
        auto mib = text.empty() ? Result<int64_t>(0) : parse_memory(text);
        if (!mib)
            return Error{std::string(option) + ": " + mib.error()};
        if (mib.value() > 0)
            request[field] = mib.value();
        else if (!text.empty())         /* all cores of the nodes */
            request["exclusive"] = true;
    }
    return std::nullopt;
}

/* The speed-up as the user specifies it: "linear", or "amdahl:" and the part of the work that
 * only one process can do. */
Result<Json> speedup_hint(const std::string &text)
{
    Error wrong{"--speedup: '" + text +
                "' is neither linear nor amdahl:PART with a part from 0 to 1, such as amdahl:0.02"};
    if (text == "linear")
        return Json{{"law", "amdahl"}, {"serial", 0.0}};
    if (!text.starts_with("amdahl:") || text.size() > 30)
        return wrong;
    const std::string number = text.substr(7);
    if (number.empty() || number.find_first_not_of("0123456789.") != std::string::npos)
        return wrong;
    char *end = nullptr;
    double serial = strtod(number.c_str(), &end);
    if (*end != '\0' || !(serial >= 0 && serial <= 1))
        return wrong;
    return Json{{"law", "amdahl"}, {"serial", serial}};
}

/* Adds speedup, expect_ms. */
std::optional<Error> add_hints(const JobOptions &options, Json &request)
{
    if (!options.speedup.empty()) {
        auto hint = speedup_hint(options.speedup);
        if (!hint)
            return Error{hint.error()};
        request["speedup"] = hint.value();
    }
    if (!options.expect.empty()) {
        auto seconds = parse_time_limit(options.expect);
        if (!seconds || seconds.value() == 0)
            return Error{"--expect: " + (seconds ? "give a time such as 10m" : seconds.error())};
        request["expect_ms"] = seconds.value() * 1000;
    }
    return std::nullopt;
}

/* Adds after and similar options, singleton. */
std::optional<Error> add_dependencies(const JobOptions &options, Json &request)
{
    auto sbatch = options.dependency ? parse_dependencies(*options.dependency)
                                     : Result<Dependencies>(Dependencies());
    if (!sbatch)
        return Error{"--dependency: " + sbatch.error()};
    const Dependencies &more = sbatch.value();
    struct List {
        const char *field, *option;
        const std::string &text;
        const std::vector<std::string> &more;
    };
    const List lists[] = {
        {"after", "--after", options.after, more.after},
        {"after_any", "--after-any", options.after_any, more.after_any},
        {"after_ok", "--after-ok", options.after_ok, more.after_ok},
        {"after_not_ok", "--after-not-ok", options.after_not_ok, more.after_not_ok}};
    for (const List &each : lists) {
        auto jobs = each.text.empty() ? Result<std::vector<std::string>>(std::vector<std::string>())
                                      : parse_jobs(each.text);
        if (!jobs)
            return Error{std::string(each.option) + ": " + jobs.error()};
        for (const auto &names : {jobs.value(), each.more}) {
            for (const std::string &name : names) {
                auto number = parse_number(name, 1, INT64_MAX);
                request[each.field].push_back(number ? Json(*number) : Json(name));
            }
        }
    }
    if (options.singleton || more.singleton)
        request["singleton"] = true;
    return std::nullopt;
}

/* Adds begin_ms, after and similar options, limit_signal. */
std::optional<Error> add_times(const JobOptions &options, Json &request)
{
    if (!options.begin.empty()) {
        auto begin = parse_begin(options.begin, time(nullptr));
        if (!begin)
            return Error{"--begin: " + begin.error()};
        request["begin_ms"] = begin.value() * 1000;
    }
    if (auto error = add_dependencies(options, request))
        return error;
    if (!options.limit_signal.empty()) {
        auto limit_signal = parse_limit_signal(options.limit_signal);
        if (!limit_signal)
            return Error{"--signal: " + limit_signal.error()};
        request["limit_signal"] = {{"signal", limit_signal.value().name},
                                   {"before_ms", limit_signal.value().seconds * 1000}};
    }
    return std::nullopt;
}

/* Adds mail. */
std::optional<Error> add_mail(const JobOptions &options, Json &request)
{
    auto types = parse_mail_types(options.mail_type);
    if (!types)
        return Error{"--mail-type: " + types.error()};
    if (types.value().empty())
        return std::nullopt;
    request["mail"] = {{"events", types.value()}};
    if (!options.mail_user.empty())
        request["mail"]["to"] = options.mail_user;
    return std::nullopt;
}

/* The part of `all` for the job. */
Json chosen_environment(const std::string &choice, const Environment &all)
{
    Json chosen = Json::object();
    /* Without PATH no program is found, so that it is always included. */
    std::istringstream names("PATH," + choice);
    for (std::string name; std::getline(names, name, ',');) {
        if (name == "ALL")
            chosen.update(Json(all));
        if (name == "ALL" || name == "NONE" || name == "NIL")
            continue;
        size_t equals = name.find('=');
        auto found = all.find(name.substr(0, equals));
        if (equals != std::string::npos)
            chosen[name.substr(0, equals)] = name.substr(equals + 1);
        else if (found != all.end())
            chosen[name] = found->second;
    }
    return chosen;
}

/* Patterns that elasticd does not replace. */
bool has_unknown_pattern(const std::string &path)
{
    for (size_t at = path.find('%'); at != path.npos; at = path.find('%', at + 1)) {
        at++;
        if (at < path.size() && path[at] >= '1' && path[at] <= '9')
            at++;
        if (at >= path.size() || !strchr("jAaxuN%", path[at]))
            return true;
    }
    return false;
}

std::string absolute(const std::string &path, const std::string &working_directory)
{
    if (path.empty())
        return working_directory;
    return path.front() == '/' ? path : working_directory + "/" + path;
}

}  // namespace

void add_job_options(CLI::App &command, JobOptions &options)
{
    auto last = [](CLI::Option *option) { return option->take_last(); };
    last(command.add_option(
        "-n,--ntasks", options.size,
        "processes: 4 (rigid), or MIN:MAX such as 2:8 (changes while the job runs)"));
    last(command.add_option("-t,--time", options.time_limit,
                            "time limit: minutes, M:S, H:M:S, D-H:M:S, or 90s, 10m, 2h"));
    last(command.add_option("-a,--array", options.array,
                            "one job for each of these indices, such as 1-100, 0-6:2 or 1,3,5; "
                            "1-100%10: ten at a time"));
    last(command.add_option("-J,--job-name", options.name, "name (default: the program's)"));
    last(command.add_option("-N,--nodes", options.nodes, "whole nodes: 3, or 3-5"));
    last(command.add_option("--places", options.extra_slots,
                            "additional slots, for processes that the program starts one by one")
             ->check(CLI::Range(1, 4096)));
    last(command.add_option("-c,--cpus-per-task", options.cores_per_process, "cores of one process")
             ->check(CLI::Range(1, CORES_PER_PROCESS_MAX)));
    last(command
             .add_option("--ntasks-per-node", options.processes_per_node,
                         "processes of one node at most")
             ->check(CLI::Range(1, CORES_PER_PROCESS_MAX)));
    last(command.add_option("--mem-per-cpu", options.memory_per_core,
                            "memory for each core of -c, such as 4G; more takes more cores"));
    last(command.add_option("--mem", options.memory_per_node,
                            "memory on each node, such as 16G; 0: all that they have"));
    last(command.add_option(
        "--sizes", options.sizes,
        "sizes that the program can use: any, multiple:N, divisor:N, power_of_two, square, cube, "
        "N-M and others, as for MPIX_Adapt_sizes"));
    last(command
             .add_option("--preferred", options.preferred,
                         "preferred size (default: as large as possible)")
             ->check(CLI::Range(1, SIZE_MAX_PROCESSES)));
    last(command
             .add_option("--kind", options.kind,
                         "rigid, moldable (size chosen at the start) or malleable (default by -n)")
             ->check(CLI::IsMember({"rigid", "moldable", "malleable"})));
    last(command.add_option(
        "--speedup", options.speedup,
        "how it scales, until that is measured: linear, or amdahl:PART that only one process "
        "can do"));
    last(command.add_option(
        "--expect", options.expect,
        "how long it is expected to run at its first size (default: its time limit)"));
    command.add_flag("--exclusive", options.exclusive, "its nodes run no other jobs");
    last(command.add_option("--gres", options.gres, "GPUs of each node: gpu:2"));
    last(command.add_option("-G,--gpus", options.gpus,
                            "GPUs of the whole job, in equal parts for its processes or nodes")
             ->check(CLI::Range(0, 1 << 20)));
    last(command.add_option("--gpus-per-task", options.gpus_per_task, "GPUs of each process")
             ->check(CLI::Range(0, GPUS_OF_NODE_MAX)));
    last(command.add_option("--gpus-per-node", options.gpus_per_node, "the same as --gres gpu:N")
             ->check(CLI::Range(0, GPUS_OF_NODE_MAX)));
    last(command.add_option("-p,--partition", options.partition,
                            "in this partition ('elastic nodes --by-partition')"));
    last(command.add_option("--reservation", options.reservation,
                            "on its nodes while it lasts ('elastic reservations')"));
    last(command.add_option("-w,--nodelist", options.nodelist,
                            "on all of these nodes, such as n[1-3],n7, and on others if needed"));
    last(command.add_option("-x,--exclude", options.exclude, "on none of these nodes"));
    last(command
             .add_option("--priority", options.priority,
                         "a higher priority starts first; above 0 for administrators")
             ->check(CLI::Range(-rm::PRIORITY_MAX, rm::PRIORITY_MAX)));
    last(command.add_option("--begin", options.begin,
                            "not before: now+TIME, HH:MM, YYYY-MM-DD[THH:MM]"));
    last(command.add_option("--after", options.after,
                            "only when these jobs have started, such as 3,5"));
    last(command.add_option("--after-any", options.after_any, "only when these jobs have ended"));
    last(command.add_option("--after-ok", options.after_ok,
                            "only when these jobs have ended as DONE; cancelled if one does not"));
    last(command.add_option(
        "--after-not-ok", options.after_not_ok,
        "only when these jobs have ended, but not as DONE; cancelled if one is"));
    last(command.add_option("-d,--dependency", options.dependency,
                            "in the syntax of sbatch: afterok:3:4,after:5,afterany:12_[1-5],"
                            "singleton; all must be fulfilled"));
    last(command.add_option(
        "--signal", options.limit_signal,
        "SIGNAL[@TIME]: send this signal TIME before the time limit (default: 60 seconds)"));
    command.add_flag("--singleton", options.singleton,
                     "only when all your earlier jobs of the same name have ended");
    last(command.add_option("--mail-type", options.mail_type,
                            "send a mail: BEGIN, END, FAIL, REQUEUE, ALL or NONE, with commas; "
                            "ARRAY_TASKS: for each task of an array"));
    last(command.add_option("--mail-user", options.mail_user,
                            "to this address (default: the user)"));
    command.add_flag("-H,--hold", options.held, "wait for 'elastic release'");
    command.add_flag("--requeue", options.requeue,
                     "queue the job again, instead of failing, when a node or the step fails");
    last(command.add_option("-D,--chdir", options.directory,
                            "working directory (default: the present one)"));
    last(command.add_option(
        "-o,--output", options.output,
        "file for standard output: %j is the job's number, %A_%a its array and index, %x its name, "
        "%u its user, %N its first node"));
    last(command.add_option("-e,--error", options.error,
                            "file for standard error (default: as --output)"));
    last(command.add_option("-i,--input", options.input, "file for standard input"));
    last(command.add_option(
        "--export", options.environment,
        "environment of the job, with commas: ALL, NONE, names, NAME=VALUE"));
    command.add_flag("-l,--label", options.label, "write the rank before each line of output");
    command
        .add_option("--mpiexec", options.mpiexec, "a further option for mpiexec (may be repeated)")
        ->expected(1)
        ->take_all();
    command
        .add_option("--pset", options.psets,
                    "a process set of MPI Sessions, scheme://rest, of all processes of the launch "
                    "(may be repeated)")
        ->expected(1)
        ->take_all();
}

Result<Json> job_request(const JobOptions &options, const std::string &working_directory,
                         const Environment &environment)
{
    Json request = Json::object();
    if (auto error = add_sizes(options, request))
        return *error;
    if (!options.time_limit.empty()) {
        auto seconds = parse_time_limit(options.time_limit);
        if (!seconds)
            return Error{"-t: " + seconds.error()};
        request["time_limit_ms"] = seconds.value() * 1000;
    }
    if (auto error = add_times(options, request))
        return *error;
    if (auto error = add_hints(options, request))
        return *error;
    if (auto error = add_mail(options, request))
        return *error;
    if (options.priority)
        request["priority"] = *options.priority;
    if (options.held)
        request["held"] = true;
    if (options.requeue)
        request["requeue"] = true;
    const std::pair<const char *, const std::string &> texts[] = {{"name", options.name},
                                                                  {"array", options.array},
                                                                  {"output", options.output},
                                                                  {"error", options.error},
                                                                  {"input", options.input}};
    for (const auto &[name, value] : texts) {
        bool is_path = name != texts[0].first && name != texts[1].first;
        if (is_path && has_unknown_pattern(value))
            return Error{"--" + std::string(name) + ": '" + value + "': names of files may have " +
                         "%j (number of the job), %A and %a (of a task: its array and index), %5j "
                         "(with zeros before it), %x (name), %u (user), %N (its first node) and "
                         "%%"};
        if (!value.empty())
            request[name] = value;
    }
    if (working_directory.empty() && !options.directory.starts_with("/"))
        return Error{"the present directory does not exist any more, or cannot be read: give an "
                     "absolute one (-D)"};
    request["directory"] = absolute(options.directory, working_directory);
    request["environment"] = chosen_environment(options.environment, environment);
    std::vector<std::string> mpiexec = options.mpiexec;
    if (options.label)
        mpiexec.push_back("-l");
    for (const std::string &name : options.psets)
        mpiexec.insert(mpiexec.end(), {"--pset", name});
    if (!mpiexec.empty())
        request["mpiexec"] = mpiexec;
    return request;
}

Environment present_environment()
{
    Environment environment;
    for (char **entry = environ; *entry; entry++) {
        std::string text = *entry;
        size_t equals = text.find('=');
        if (equals != std::string::npos && equals > 0)
            environment[text.substr(0, equals)] = text.substr(equals + 1);
    }
    return environment;
}

}  // namespace elastic
