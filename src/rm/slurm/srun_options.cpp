/* See srun_options.h. */

#include "slurm/srun_options.h"

#include <getopt.h>

#include <functional>

#include "backend/node_list.h"
#include "base/change.h"
#include "base/words.h"
#include "cli/units.h"

namespace elastic::rm {

namespace {

/* Empty, or what is wrong with the value. */
using Apply = std::function<std::string(SrunOptions &options, const std::string &value)>;

enum class Value { NONE, OPTIONAL, NEEDED };

struct Option {
    const char *name;           /* --NAME */
    char letter;                /* 0: none */
    Value value;
    Apply apply;                /* none: it has no effect */
    const char *why;            /* it has none; nullptr: it requests what holds anyway */
};

Apply number(int SrunOptions::*field, int least = 1)
{
    return [field, least](SrunOptions &options, const std::string &value) -> std::string {
        auto parsed = parse_number(value, least, SRUN_TASKS_MAX);
        if (!parsed)
            return "a number from " + std::to_string(least) + " to " +
                   std::to_string(SRUN_TASKS_MAX) + " is expected";
        options.*field = static_cast<int>(*parsed);
        return "";
    };
}

/* Without the option the step would be another one. */
Apply refuse(const char *why)
{
    return [why](SrunOptions &, const std::string &) { return why; };
}

Apply flag(bool SrunOptions::*field)
{
    return [field](SrunOptions &options, const std::string &) {
        options.*field = true;
        return "";
    };
}

Apply text(std::string SrunOptions::*field)
{
    return [field](SrunOptions &options, const std::string &value) {
        options.*field = value;
        return value.empty() ? "a value is expected" : "";
    };
}

Apply nodes(std::vector<std::string> SrunOptions::*field)
{
    return [field](SrunOptions &options, const std::string &value) -> std::string {
        auto listed = parse_slurm_nodes(value, "");
        if (!listed)
            return listed.error();
        for (const ListedNode &node : listed.value())
            (options.*field).push_back(node.name);
        return "";
    };
}

/* "2" or "2-4": the least number counts. */
std::string apply_nodes(SrunOptions &options, const std::string &value)
{
    return number(&SrunOptions::nodes)(options, value.substr(0, value.find('-')));
}

std::string apply_distribution(SrunOptions &options, const std::string &value)
{
    std::string across = value.substr(0, value.find_first_of(":,"));
    options.cyclic = across == "cyclic";
    bool known = options.cyclic || across == "block" || across == "*" || across == "pack" ||
                 across == "nopack";
    return known ? "" : "block and cyclic are possible";
}

/* The argument of mpiexec's -bind-to for it. */
std::string apply_binding(SrunOptions &options, const std::string &value)
{
    static const std::pair<const char *, const char *> KINDS[] = {
        {"none", "none"},     {"no", "none"},        {"cores", "core"}, {"threads", "hwthread"},
        {"sockets", "socket"}, {"ldoms", "numa"},    {"rank", "core"},  {"map_cpu", "user"},
    };
    for (const std::string &word : split_list(value.substr(0, value.find(':')), ','))
        for (const auto &[name, ours] : KINDS)
            if (word == name)
                options.binding = ours;
    size_t list = value.find("map_cpu:");
    if (list != std::string::npos)
        options.binding = "user:" + value.substr(list + 8);
    else if (options.binding.empty() && value.find("mask") != std::string::npos)
        options.warnings.push_back("--cpu-bind=" + value + " has no effect: mpiexec has no masks; "
                                   "map_cpu, cores, threads, sockets, ldoms and none are possible");
    return "";
}

std::string apply_time(SrunOptions &options, const std::string &value)
{
    auto seconds = parse_time_limit(value);
    if (seconds)
        options.time_limit_s = static_cast<int>(seconds.value());
    return seconds ? "" : seconds.error();
}

std::string apply_export(SrunOptions &options, const std::string &value)
{
    options.exported.reset();
    options.export_all = false;
    std::vector<std::string> names;
    for (const std::string &word : split_list(value, ',')) {
        if (word == "ALL")
            options.export_all = true;
        else if (word == "NONE" || word == "NIL" || word.empty())
            continue;
        else if (word.front() == '=')
            return "NAME, NAME=VALUE, ALL or NONE are expected";
        else
            names.push_back(word);
    }
    if (!options.export_all || !names.empty())
        options.exported = std::move(names);
    return "";
}

std::string apply_open_mode(SrunOptions &options, const std::string &value)
{
    options.append = value.starts_with("a");
    return value.starts_with("a") || value.starts_with("t") ? "" : "append or truncate is expected";
}

constexpr const char *OF_THE_JOB = "it is an option of the job ('elastic submit')";
constexpr const char *NO_STEP_MEMORY = "memory is that of the job";
constexpr const char *NO_STEP_DEVICES = "a step has all devices of its job";
constexpr const char *NO_STEP_SIGNAL = "steps get the signals of the job";
constexpr const char *NOT_COUNTED = "it is not counted here";
constexpr const char *NO_SETUP = "elasticd does not set up nodes";
constexpr const char *NO_COPIES = "the nodes find the program by its path";
constexpr const char *NO_TERMINAL = "the processes have the input and output of the script";

const std::vector<Option> &all_options()
{
    static const std::vector<Option> ALL = {
        {"ntasks", 'n', Value::NEEDED, number(&SrunOptions::tasks), nullptr},
        {"nodes", 'N', Value::NEEDED, apply_nodes, nullptr},
        {"ntasks-per-node", 0, Value::NEEDED, number(&SrunOptions::tasks_per_node), nullptr},
        {"tasks-per-node", 0, Value::NEEDED, number(&SrunOptions::tasks_per_node), nullptr},
        {"cpus-per-task", 'c', Value::NEEDED, number(&SrunOptions::cpus_per_task), nullptr},
        {"relative", 'r', Value::NEEDED, number(&SrunOptions::relative, 0), nullptr},
        {"distribution", 'm', Value::NEEDED, apply_distribution, nullptr},
        {"overcommit", 'O', Value::NONE, flag(&SrunOptions::overcommit), nullptr},
        {"overlap", 0, Value::NONE, flag(&SrunOptions::overlap), nullptr},
        {"oversubscribe", 's', Value::NONE, flag(&SrunOptions::overlap), nullptr},
        {"immediate", 'I', Value::OPTIONAL, flag(&SrunOptions::immediate), nullptr},
        {"label", 'l', Value::NONE, flag(&SrunOptions::label), nullptr},
        {"nodelist", 'w', Value::NEEDED, nodes(&SrunOptions::node_names), nullptr},
        {"exclude", 'x', Value::NEEDED, nodes(&SrunOptions::excluded), nullptr},
        {"chdir", 'D', Value::NEEDED, text(&SrunOptions::directory), nullptr},
        {"output", 'o', Value::NEEDED, text(&SrunOptions::output), nullptr},
        {"error", 'e', Value::NEEDED, text(&SrunOptions::error), nullptr},
        {"input", 'i', Value::NEEDED, text(&SrunOptions::input), nullptr},
        {"open-mode", 0, Value::NEEDED, apply_open_mode, nullptr},
        {"cpu-bind", 0, Value::NEEDED, apply_binding, nullptr},
        {"cpu_bind", 0, Value::NEEDED, apply_binding, nullptr},
        {"time", 't', Value::NEEDED, apply_time, nullptr},
        {"export", 0, Value::NEEDED, apply_export, nullptr},
        {"multi-prog", 0, Value::NONE, flag(&SrunOptions::multi_prog), nullptr},
        {"help", 'h', Value::NONE, flag(&SrunOptions::help), nullptr},
        {"usage", 0, Value::NONE, flag(&SrunOptions::help), nullptr},
        {"version", 'V', Value::NONE, flag(&SrunOptions::version), nullptr},
        /* These request what holds anyway. */
        {"exclusive", 0, Value::OPTIONAL, nullptr, nullptr},
        {"exact", 0, Value::NONE, nullptr, nullptr},
        {"mpi", 0, Value::NEEDED, nullptr, nullptr},
        {"kill-on-bad-exit", 'K', Value::OPTIONAL, nullptr, nullptr},
        {"unbuffered", 'u', Value::NONE, nullptr, nullptr},
        {"quiet", 'Q', Value::NONE, nullptr, nullptr},
        {"verbose", 'v', Value::NONE, nullptr, nullptr},
        {"job-name", 'J', Value::NEEDED, nullptr, nullptr},
        {"comment", 0, Value::NEEDED, nullptr, nullptr},
        {"wait", 'W', Value::NEEDED, nullptr, nullptr},
        {"threads", 'T', Value::NEEDED, nullptr, nullptr},
        {"jobid", 0, Value::NEEDED, nullptr, nullptr},
        {"hint", 0, Value::NEEDED, nullptr, nullptr},
        {"ntasks-per-core", 0, Value::NEEDED, nullptr, nullptr},
        {"ntasks-per-socket", 0, Value::NEEDED, nullptr, nullptr},
        {"threads-per-core", 0, Value::NEEDED, nullptr, nullptr},
        {"extra-node-info", 'B', Value::NEEDED, nullptr, nullptr},
        {"use-min-nodes", 0, Value::NONE, nullptr, nullptr},
        {"whole", 0, Value::NONE, nullptr, nullptr},
        {"disable-status", 'X', Value::NONE, nullptr, nullptr},
        {"quit-on-interrupt", 0, Value::NONE, nullptr, nullptr},
        {"msg-timeout", 0, Value::NEEDED, nullptr, nullptr},
        {"slurmd-debug", 0, Value::NEEDED, nullptr, nullptr},
        {"preserve-env", 'E', Value::NONE, nullptr, nullptr},
        {"resv-ports", 0, Value::OPTIONAL, nullptr, nullptr},
        {"sockets-per-node", 0, Value::NEEDED, nullptr, nullptr},
        {"cores-per-socket", 0, Value::NEEDED, nullptr, nullptr},
        {"mincpus", 0, Value::NEEDED, nullptr, nullptr},
        /* These have no effect. */
        {"mem", 0, Value::NEEDED, nullptr, NO_STEP_MEMORY},
        {"mem-per-cpu", 0, Value::NEEDED, nullptr, NO_STEP_MEMORY},
        {"mem-per-gpu", 0, Value::NEEDED, nullptr, NO_STEP_MEMORY},
        {"mem-bind", 0, Value::NEEDED, nullptr, "mpiexec binds processors alone"},
        {"gres", 0, Value::NEEDED, nullptr, NO_STEP_DEVICES},
        {"gres-flags", 0, Value::NEEDED, nullptr, NO_STEP_DEVICES},
        {"gpus", 'G', Value::NEEDED, nullptr, NO_STEP_DEVICES},
        {"gpus-per-node", 0, Value::NEEDED, nullptr, NO_STEP_DEVICES},
        {"gpus-per-task", 0, Value::NEEDED, nullptr, NO_STEP_DEVICES},
        {"gpus-per-socket", 0, Value::NEEDED, nullptr, NO_STEP_DEVICES},
        {"gpu-bind", 0, Value::NEEDED, nullptr, NO_STEP_DEVICES},
        {"gpu-freq", 0, Value::NEEDED, nullptr, NO_SETUP},
        {"accel-bind", 0, Value::NEEDED, nullptr, NO_STEP_DEVICES},
        {"ntasks-per-gpu", 0, Value::NEEDED, nullptr, NO_STEP_DEVICES},
        {"cpus-per-gpu", 0, Value::NEEDED, nullptr, NO_STEP_DEVICES},
        {"signal", 0, Value::NEEDED, nullptr, NO_STEP_SIGNAL},
        {"pty", 0, Value::OPTIONAL, nullptr, NO_TERMINAL},
        {"x11", 0, Value::OPTIONAL, nullptr, NO_TERMINAL},
        {"licenses", 'L', Value::NEEDED, nullptr, NOT_COUNTED},
        {"account", 'A', Value::NEEDED, nullptr, OF_THE_JOB},
        {"partition", 'p', Value::NEEDED, nullptr, OF_THE_JOB},
        {"qos", 'q', Value::NEEDED, nullptr, OF_THE_JOB},
        {"constraint", 'C', Value::NEEDED, nullptr, OF_THE_JOB},
        {"dependency", 'd', Value::NEEDED, nullptr, OF_THE_JOB},
        {"begin", 'b', Value::NEEDED, nullptr, OF_THE_JOB},
        {"reservation", 0, Value::NEEDED, nullptr, OF_THE_JOB},
        {"clusters", 'M', Value::NEEDED, nullptr, OF_THE_JOB},
        {"cluster-constraint", 0, Value::NEEDED, nullptr, OF_THE_JOB},
        {"prefer", 0, Value::NEEDED, nullptr, OF_THE_JOB},
        {"contiguous", 0, Value::NONE, nullptr, OF_THE_JOB},
        {"spread-job", 0, Value::NONE, nullptr, OF_THE_JOB},
        {"hold", 'H', Value::NONE, nullptr, OF_THE_JOB},
        {"priority", 0, Value::NEEDED, nullptr, OF_THE_JOB},
        {"nice", 0, Value::OPTIONAL, nullptr, OF_THE_JOB},
        {"deadline", 0, Value::NEEDED, nullptr, OF_THE_JOB},
        {"time-min", 0, Value::NEEDED, nullptr, OF_THE_JOB},
        {"mail-type", 0, Value::NEEDED, nullptr, OF_THE_JOB},
        {"mail-user", 0, Value::NEEDED, nullptr, OF_THE_JOB},
        {"uid", 0, Value::NEEDED, nullptr, OF_THE_JOB},
        {"gid", 0, Value::NEEDED, nullptr, OF_THE_JOB},
        {"wckey", 0, Value::NEEDED, nullptr, OF_THE_JOB},
        {"mcs-label", 0, Value::NEEDED, nullptr, OF_THE_JOB},
        {"test-only", 0, Value::NONE, refuse("'elastic submit --test-only' has it"), nullptr},
        {"no-allocate", 'Z', Value::NONE, refuse("a step runs on the cores of a job"), nullptr},
        {"het-group", 0, Value::NEEDED, refuse("a job has one group of nodes"), nullptr},
        {"nodefile", 'F', Value::NEEDED, refuse("--nodelist names nodes"), nullptr},
        {"prolog", 0, Value::NEEDED, nullptr, "the script can do that"},
        {"epilog", 0, Value::NEEDED, nullptr, "the script can do that"},
        {"task-prolog", 0, Value::NEEDED, nullptr, "the script can do that"},
        {"task-epilog", 0, Value::NEEDED, nullptr, "the script can do that"},
        {"bcast", 0, Value::OPTIONAL, nullptr, NO_COPIES},
        {"bcast-exclude", 0, Value::NEEDED, nullptr, NO_COPIES},
        {"send-libs", 0, Value::OPTIONAL, nullptr, NO_COPIES},
        {"compress", 0, Value::OPTIONAL, nullptr, NO_COPIES},
        {"container", 0, Value::NEEDED, refuse("elasticd starts no containers"), nullptr},
        {"profile", 0, Value::NEEDED, nullptr, "'elastic loops' shows what MPI takes"},
        {"acctg-freq", 0, Value::NEEDED, nullptr, "'elastic loops' shows what MPI takes"},
        {"cpu-freq", 0, Value::NEEDED, nullptr, NO_SETUP},
        {"power", 0, Value::NEEDED, nullptr, NO_SETUP},
        {"reboot", 0, Value::NONE, nullptr, NO_SETUP},
        {"delay-boot", 0, Value::NEEDED, nullptr, NO_SETUP},
        {"core-spec", 'S', Value::NEEDED, nullptr, NO_SETUP},
        {"thread-spec", 0, Value::NEEDED, nullptr, NO_SETUP},
        {"tmp", 0, Value::NEEDED, nullptr, NOT_COUNTED},
        {"bb", 0, Value::NEEDED, nullptr, NOT_COUNTED},
        {"bbf", 0, Value::NEEDED, nullptr, NOT_COUNTED},
        {"propagate", 0, Value::OPTIONAL, nullptr, "limits are those of the submission"},
        {"no-kill", 'k', Value::OPTIONAL, nullptr, "a step does not survive its node"},
        {"switches", 0, Value::NEEDED, nullptr, NOT_COUNTED},
        {"network", 0, Value::NEEDED, nullptr, NOT_COUNTED},
    };
    return ALL;
}

std::string name_of(const Option &option)
{
    return std::string("--") + option.name;
}

std::string apply(const Option &option, SrunOptions &options, const char *value)
{
    std::string given = value ? value : "";
    if (option.apply) {
        std::string wrong = option.apply(options, given);
        return wrong.empty() ? "" : name_of(option) + (value ? "=" + given : "") + ": " + wrong;
    }
    if (option.why)
        options.warnings.push_back(name_of(option) + (value ? "=" + given : "") +
                                   " has no effect: " + option.why);
    return "";
}

/* getopt_long returns these for options without a letter, from here on. */
constexpr int NAMED = 1000;

struct Table {
    /* The first word that is no option ends them; ':' is returned if a value is missing. */
    std::string letters = "+:";
    std::vector<option> names;

    Table()
    {
        int index = 0;
        for (const Option &each : all_options()) {
            int kind = each.value == Value::NONE       ? no_argument
                       : each.value == Value::OPTIONAL ? optional_argument
                                                       : required_argument;
            names.push_back({each.name, kind, nullptr, NAMED + index++});
            if (each.letter != 0)
                letters += each.letter + std::string(static_cast<size_t>(kind), ':');
        }
        names.push_back({});
    }
};

const Option *find_option(int code)
{
    const std::vector<Option> &all = all_options();
    if (code >= NAMED)
        return &all[static_cast<size_t>(code - NAMED)];
    for (const Option &each : all)
        if (each.letter != 0 && each.letter == code)
            return &each;
    return nullptr;
}

}  // namespace

Result<SrunOptions> parse_srun(const std::vector<std::string> &words)
{
    static const Table table;
    std::vector<std::string> all = words;
    all.insert(all.begin(), "srun");
    std::vector<char *> arguments = pointers_to(all);
    int count = static_cast<int>(all.size());
    SrunOptions options;
    optind = 0;                 /* from the front again, and with "+" */
    opterr = 0;
    for (int code; (code = getopt_long(count, arguments.data(), table.letters.c_str(),
                                       table.names.data(), nullptr)) != -1;) {
        const Option *found = code == ':' || code == '?' ? nullptr : find_option(code);
        if (!found) {
            std::string word = all[static_cast<size_t>(std::min(optind, count) - 1)];
            return Error{code == ':' ? "the option '" + word + "' needs a value"
                                     : "there is no option '" + word + "' here (srun --help)"};
        }
        std::string wrong = apply(*found, options, found->value == Value::NONE ? nullptr : optarg);
        if (!wrong.empty())
            return Error{wrong};
    }
    options.command.assign(all.begin() + optind, all.end());
    if (options.command.empty() && !options.help && !options.version)
        return Error{"a program is expected: srun [OPTIONS] PROGRAM [ARGUMENTS]"};
    if (options.multi_prog && options.command.size() > 1)
        return Error{"--multi-prog takes one file: the arguments of programs are in it"};
    for (const std::string &word : options.command)
        if (word == ":")
            return Error{"several programs in one step need a file: srun --multi-prog FILE, or "
                         "'mpiexec -n 1 A : -n 3 B'"};
    return options;
}

}  // namespace elastic::rm
