/*
 * elasticd: the elastic resource manager (daemon.h; doc/admin/elasticd.md).  Stays in the
 * foreground; systemd or a shell's & does the rest.  Exit codes: 0 stopped by a signal, or
 * checked; 1 cannot start (the message has the reason); 2 wrong usage.
 */

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "api/api.h"
#include "backend/gpu_counts.h"
#include "backend/nested/nested.h"
#include "base/change.h"
#include "base/crash_note.h"
#include "base/log.h"
#include "daemon/daemon.h"
#include "daemon/group_limits.h"
#include "daemon/partitions.h"
#include "daemon/recovery.h"
#include "daemon/reservations.h"
#include "store/replay.h"

namespace elastic::rm {
namespace {

struct Options {
    std::string config, state_dir, socket, policy, mpiexec, stepd, start_socket, nested_file;
    std::string idle_exit;
    int64_t nodes = 0, cores = 0;
    bool check = false, print = false, replay = false, nested = false, end_unknown = false;
    uint64_t quarantine = 0;
};

int complain(const std::string &message)
{
    std::cerr << "elasticd: " << printable(message) << "\n";
    return 1;
}

/* Beside elasticd itself, in any folder, unless the configuration names another path. */
void find_programs(Settings &settings)
{
    const Settings defaults = default_settings();
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    std::string folder(path, length > 0 ? static_cast<size_t>(length) : 0);
    folder = folder.substr(0, folder.rfind('/') == std::string::npos ? 0 : folder.rfind('/'));
    auto find = [&](std::string &setting, const std::string &preset,
                    const std::vector<std::string> &candidates) {
        if (setting != preset || access(preset.c_str(), X_OK) == 0)
            return;
        for (const std::string &candidate : candidates)
            if (access(candidate.c_str(), X_OK) == 0) {
                setting = candidate;
                return;
            }
    };
    find(settings.mpiexec, defaults.mpiexec, {folder + "/mpiexec"});
    find(settings.stepd, defaults.stepd,
         {folder + "/../libexec/elastic-mpich/elastic-stepd", folder + "/elastic-stepd"});
}

Result<Settings> nest(Settings settings, const Options &options)
{
    auto nodes = nested_nodes(options.nested_file);
    if (!nodes)
        return Error{nodes.error()};
    set_nested(settings, nodes.value());
    if (!options.state_dir.empty())
        settings.state_dir = options.state_dir;
    if (!options.socket.empty())
        settings.socket = options.socket;
    return settings;
}

/* The folders of a nested elasticd: of this user alone, made before the log and the store go
 * there. */
std::string make_nested_folders(const Settings &settings)
{
    if (settings.nested_folder.empty())
        return "";
    for (const std::string &folder : {runtime_directory(), settings.nested_folder}) {
        struct stat status = {};
        if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
            return "cannot make " + folder + ": " + strerror(errno);
        if (lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) ||
            status.st_uid != geteuid() || (status.st_mode & 077) != 0)
            return folder +
                " is not a directory of yours with mode 0700, so that other users could change it: "
                "remove it, or set XDG_RUNTIME_DIR to a directory of yours";
    }
    return "";
}

Result<Settings> gather(const Options &options)
{
    std::string path = options.config.empty() ? default_settings_path() : options.config;
    auto settings = path.empty() ? Result<Settings>(default_settings()) : read_settings(path);
    if (!settings)
        return settings;
    Settings &s = settings.value();
    for (auto [given, setting] : {std::pair(&options.state_dir, &s.state_dir),
                                  {&options.socket, &s.socket},
                                  {&options.policy, &s.policy},
                                  {&options.mpiexec, &s.mpiexec},
                                  {&options.stepd, &s.stepd},
                                  {&options.start_socket, &s.start_socket}})
        if (!given->empty())
            *setting = *given;
    if (!options.idle_exit.empty()) {
        auto idle = parse_settings("idle_exit = \"" + options.idle_exit + "\"", "--idle-exit");
        if (!idle)
            return Error{idle.error()};
        s.idle_exit_ms = idle.value().idle_exit_ms;
    }
    if (options.nodes)
        s.local_nodes = options.nodes;
    if (options.cores)
        s.local_cores_per_node = options.cores;
    /* Values of the command line obey the same rules. */
    auto checked = parse_settings(print_settings(s), "command line");
    if (checked)
        find_programs(checked.value());
    if (checked && options.nested)
        return nest(checked.value(), options);
    return checked;
}

/* As many as the hard limit permits, for connections of users and steps.  Jobs get the former
 * limit. */
int64_t raise_descriptor_limit()
{
    rlimit limit = {};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 0;
    auto before = static_cast<int64_t>(limit.rlim_cur);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    return before;
}

int check_config(const Settings &settings)
{
    auto tokens = Access::read_tokens(settings.tokens_file);
    if (!tokens)
        return complain(tokens.error());
    if (auto gpus = GpuCounts::parse(settings.gpus); !gpus)
        return complain(gpus.error());
    if (auto partitions = Partitions::read(settings.partitions); !partitions)
        return complain(partitions.error());
    if (auto groups = GroupLimits::read(settings.groups); !groups)
        return complain(groups.error());
    if (auto reservations = Reservations::read(settings.reservations); !reservations)
        return complain(reservations.error());
    for (const std::string &program : {settings.mpiexec, settings.stepd})
        if (::access(program.c_str(), X_OK) != 0)
            return complain(program +
                            " cannot be run: is Elastic MPICH installed?  See job.mpiexec and "
                            "job.stepd in the configuration");
    std::cout << "the configuration is good\n";
    return 0;
}

int run_replay(const Settings &settings)
{
    auto store = Store::open(settings.state_dir);
    if (!store)
        return complain(store.error());
    auto result = replay(store.value());
    if (!result)
        return complain(result.error());
    if (!result.value().difference.empty())
        return complain(result.value().difference);
    std::cout << result.value().events << " events give the same " << result.value().records
              << " records\n";
    return 0;
}

/* In a child, since the event may be one that ends whoever handles it. */
bool is_event_to_blame(Store &store, uint64_t seq)
{
    pid_t child = fork();
    if (child == 0)
        _exit(is_to_blame(store, seq) ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return !WIFEXITED(status) || WEXITSTATUS(status) == 0;
}

int run_quarantine(const Settings &settings, uint64_t seq)
{
    auto store = Store::open(settings.state_dir);
    if (store && !is_event_to_blame(store.value(), seq))
        return complain("event " + std::to_string(seq) +
                        " does not prevent elasticd from starting: nothing was changed");
    std::string error = store ? store.value().quarantine(seq) : store.error();
    if (!error.empty())
        return complain(error);
    std::cout << "event " << seq
              << " is removed from the log; its content is in the table quarantined\n";
    return 0;
}

int run(int argc, char **argv)
{
    Options options;
    CLI::App app("The elastic resource manager: queue, allocations, elastic decisions.",
                 "elasticd");
    app.set_version_flag("--version", "elasticd " ELASTIC_VERSION);
    app.option_defaults()->take_last();        /* whoever appends an option means that one */
    app.add_option("--config,-c", options.config,
                   "configuration (TOML); default: /etc/elasticd/elasticd.toml for root, "
                   "~/.config/elastic-mpich/elasticd.toml, or none");
    app.add_flag("--check-config", options.check, "check the configuration, and end");
    app.add_flag("--print-config", options.print,
                 "print all settings with their documentation and the values in force, and end");
    app.add_flag("--replay", options.replay,
                 "run the stored events through the core again, compare, and end");
    app.add_option("--quarantine-event", options.quarantine,
                   "remove the stored event of this number from the log, if elasticd fails at it, "
                   "and end")
        ->check(CLI::PositiveNumber);
    app.add_flag("--end-unknown-steps", options.end_unknown,
                 "end running steps that are newer than the store (after an older store was "
                 "restored)");
    auto *nested = app.add_option("--nested", options.nested_file,
                                  "manage only the nodes of the allocation of Slurm, PBS or LSF "
                                  "around it, or those in a file (--nested=FILE: NAME or "
                                  "NAME:CORES in each line)")
                       ->expected(0, 1)
                       ->type_name("[FILE]");
    app.add_option("--idle-exit", options.idle_exit, "instead of idle_exit: a time such as 5m");
    app.add_option("--state-dir", options.state_dir, "instead of state_dir");
    app.add_option("--socket", options.socket, "instead of listen.socket");
    app.add_option("--policy", options.policy, "instead of scheduling.policy");
    app.add_option("--nodes", options.nodes, "instead of backend.nodes")
        ->check(CLI::PositiveNumber);
    app.add_option("--cores", options.cores, "instead of backend.cores_per_node")
        ->check(CLI::PositiveNumber);
    app.add_option("--mpiexec", options.mpiexec, "instead of job.mpiexec");
    app.add_option("--stepd", options.stepd, "instead of job.stepd");
    app.add_option("--start-socket", options.start_socket, "instead of job.start_socket");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    options.nested = nested->count() > 0;
    auto settings = gather(options);
    if (!settings)
        return complain(settings.error());
    if (options.print) {
        std::cout << print_settings(settings.value());
        return 0;
    }
    if (options.check)
        return check_config(settings.value());
    if (options.replay)
        return run_replay(settings.value());
    if (options.quarantine)
        return run_quarantine(settings.value(), options.quarantine);
    settings.value().end_unknown_steps = options.end_unknown;
    settings.value().files_soft = raise_descriptor_limit();
    watch_crashes();
    set_log_level(parse_log_level(settings.value().log_level).value_or(LogLevel::INFO));
    std::string error = make_nested_folders(settings.value());
    if (!error.empty())
        return complain(error);
    auto daemon = Daemon::start(settings.value(),
                                [](Daemon &parts) { return std::make_unique<Api>(parts); });
    if (!daemon)
        return complain(daemon.error());
    daemon.value()->run();
    return 0;
}

}  // namespace
}  // namespace elastic::rm

int main(int argc, char **argv)
{
    try {
        return elastic::rm::run(argc, argv);
    } catch (const std::exception &exception) {
        std::cerr << "elasticd: " << exception.what() << "\n";
        return 1;
    }
}
