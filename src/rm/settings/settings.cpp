/* See settings.h. */

#include "settings/settings.h"

#include <cmath>
#include <limits.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>
#include <variant>

#include "core/job_performance.h"

#define TOML_EXCEPTIONS 0
/* Keys such as "[^" run into an assertion of the library, which has a good error message after
 * it. */
#define TOML_ASSERT(expression) static_assert(true)
#include <toml++/toml.h>

#ifndef ELASTIC_LIBEXECDIR
#define ELASTIC_LIBEXECDIR "/usr/local/libexec/elastic-mpich"
#define ELASTIC_BINDIR "/usr/local/bin"
#endif

namespace elastic::rm {

namespace {

constexpr int64_t HOUR_MS = 3600 * 1000, YEAR_MS = 366 * 24 * HOUR_MS;
constexpr size_t FILE_BYTES_MAX = 1024 * 1024;

using Texts = std::vector<std::string>;
using Member = std::variant<std::string Settings::*, int64_t Settings::*, bool Settings::*,
                            Texts Settings::*, Ratio Settings::*>;

/* One setting.  `unit` is the form of a number: "" plain, "ms" as a duration text such as "30s". */
struct Setting {
    const char *section, *name;
    Member member;
    const char *help;
    int64_t lowest = 0, highest = 0;
    bool duration = false;
    std::vector<const char *> choices = {};
    bool may_be_zero = false;   /* of a ratio */
};

const std::vector<Setting> &table()
{
    static const std::vector<Setting> settings = {
        {"", "cluster", &Settings::cluster,
         "The name of this system, for people. Default: the machine's name."},
        {"", "state_dir", &Settings::state_dir,
         "The store and the folders of running steps. On a local disk. One daemon at a time."},
        {"",
         "log_level",
         &Settings::log_level,
         "What is logged on standard error.",
         0,
         0,
         false,
         {"debug", "info", "warning", "error"}},
        {"", "idle_exit", &Settings::idle_exit_ms,
         "elasticd ends when it has had no job for so long; 0: never.", 0, YEAR_MS, true},
        {"listen", "socket", &Settings::socket,
         "The Unix socket. Its folder is made with mode 0700 (root: 0755)."},
        {"listen", "socket_mode", &Settings::socket_mode,
         "Who may connect: 0o600 this user alone, 0o666 everybody; the user of a client is "
         "known in any case.",
         0, 0777},
        {"listen", "tcp", &Settings::tcp,
         "Address and port such as \"127.0.0.1:6817\"; empty: no TCP. No TLS: see "
         "doc/admin/elasticd.md."},
        {"listen", "tokens_file", &Settings::tokens_file,
         "Which users may connect by TCP: lines `TOKEN USER [admin]`; mode 0600. Read again at "
         "SIGHUP."},
        {"access", "administrators", &Settings::administrators,
         "Users who may do everything, beside root and the user that elasticd runs as."},
        {"access", "private", &Settings::private_jobs,
         "A user sees only jobs of his own; false: everybody's (never scripts or environments)."},
        {"web", "allow_changes", &Settings::allow_web_changes,
         "The web page may cancel, hold and so on; false: it only shows."},
        {"scheduling",
         "policy",
         &Settings::policy,
         "fcfs: in order; easy: with EASY backfilling; fill: elastic jobs give way and grow; "
         "efficient: as fill, by "
         "the time that MPI takes; measured: as fill, by how much faster each job becomes.",
         0,
         0,
         false,
         {"fcfs", "easy", "fill", "efficient", "measured"}},
        {"scheduling", "efficiency", &Settings::efficiency,
         "measured: nobody gets cores that bring less than this part of a proportional gain in "
         "speed."},
        {"scheduling",
         "efficiency_idle",
         &Settings::efficiency_idle,
         "measured: the same of cores that nobody else can use: they are loaned, and taken back "
         "for whoever can. 0: to all that do not become slower. The same number as efficiency: "
         "they idle.",
         0,
         0,
         false,
         {},
         true},
        {"scheduling", "mtct_upper", &Settings::mtct_upper,
         "efficient: a job whose MPI time by computing time is above gives half of its processes."},
        {"scheduling", "mtct_lower", &Settings::mtct_lower,
         "efficient: one that is below may have twice as many."},
        {"scheduling", "ceiling_hold", &Settings::ceiling_hold_ms,
         "efficient: a size that was too large is not given again for so long.", 0, YEAR_MS, true},
        {"scheduling", "reduce_when_idle", &Settings::reduce_when_idle,
         "efficient: jobs give processes that they use badly also when nobody waits."},
        {"scheduling",
         "range",
         &Settings::range,
         "efficient: double: to half or twice the size at once; model: to the size at which MPI "
         "time is expected to lie between mtct_lower and mtct_upper.",
         0,
         0,
         false,
         {"double", "model"}},
        {"scheduling", "priority_weight", &Settings::priority_weight_ms,
         "One point of priority is worth this much waiting.", 0, YEAR_MS, true},
        {"scheduling", "fair_share", &Settings::fair_share_ms,
         "Who has used all of what the half-life remembers stands in the queue as if his jobs had "
         "come so much later, "
         "others by their part of it; 0: off.",
         0, YEAR_MS, true},
        {"scheduling", "fair_share_half_life", &Settings::fair_share_half_life_ms,
         "In this time half of a user's use expires.", 60000, YEAR_MS, true},
        {"scheduling", "backfill_depth", &Settings::backfill_depth,
         "Waiting jobs that are examined after the first.", 0, 100000},
        {"scheduling", "adapt_patience", &Settings::adapt_patience_ms,
         "A change of size on which the program has not agreed by then is withdrawn; one that it "
         "has agreed on and not made is counted on by nobody.", 1000,
         YEAR_MS, true},
        {"scheduling", "offer_pause", &Settings::offer_pause_ms,
         "Between two changes of one job for which nobody waits.", 0, YEAR_MS, true},
        {"scheduling", "refusal_pause", &Settings::refusal_pause_ms,
         "After a change that came to nothing; doubles each time, up to refusal_pause_max.", 0,
         YEAR_MS, true},
        {"scheduling", "refusal_pause_max", &Settings::refusal_pause_max_ms, "See refusal_pause.",
         0, YEAR_MS, true},
        {"scheduling", "start_attempts", &Settings::start_attempts,
         "A job that cannot be started so often has failed.", 1, 100},
        {"scheduling", "start_pause", &Settings::start_pause_ms,
         "After a start that failed, times the failures in a row.", 0, YEAR_MS, true},
        {"job", "default_time_limit", &Settings::default_time_limit_ms,
         "Of jobs that name none; 0: none.", 0, YEAR_MS, true},
        {"job", "max_time_limit", &Settings::max_time_limit_ms,
         "The longest that may be requested; 0: any.", 0, YEAR_MS, true},
        {"job", "kill_grace", &Settings::kill_grace_ms, "Between SIGTERM and SIGKILL.", 0,
         24 * HOUR_MS, true},
        {"job", "mpiexec", &Settings::mpiexec, "The mpiexec of Elastic MPICH."},
        {"job", "stepd", &Settings::stepd, "The program elastic-stepd."},
        {"job", "start_socket", &Settings::start_socket,
         "Socket of the service manager that starts elastic-stepd, so that each step is a service "
         "of its own; empty: elasticd starts it."},
        {"job", "control_groups", &Settings::control_groups,
         "Control groups (cgroup v2) of the jobs' steps on this machine: auto (where systemd "
         "delegates), off, or a "
         "folder."},
        {"job", "confine_cores", &Settings::confine_cores,
         "local: a job may use as many processors as it has cores (control groups with cpuset). "
         "The nodes must not "
         "have more cores than the machine has processors."},
        {"job", "memory_per_core", &Settings::memory_per_core_mib,
         "local: a job may use so many MiB of memory for each of its cores (control groups with "
         "memory); 0: any.",
         0, 1 << 30},
        {"job", "counted_memory_per_core", &Settings::counted_memory_per_core_mib,
         "Each core of a node stands for so many MiB of its memory: a job that asks for more "
         "memory gets more cores. 0: as memory_per_core; if that is 0, too, memory is not "
         "counted.",
         0, 1 << 30},
        {"step", "answer_timeout", &Settings::answer_timeout_ms,
         "A request to a step that nothing is heard of is sent again.", 1000, HOUR_MS, true},
        {"step", "answer_tries", &Settings::answer_tries, "So often.", 1, 1000},
        {"monitor", "interval", &Settings::monitor_interval_ms,
         "How often adaptive programs are queried how fast they proceed and how much of their time "
         "MPI takes; 0: they measure nothing.",
         0, HOUR_MS, true},
        {"monitor", "window", &Settings::monitor_window, "So many samples tell how much it is now.",
         1, MONITOR_WINDOW_MAX},
        {"backend",
         "kind",
         &Settings::backend,
         "Where jobs run. local: this machine, divided into several nodes; hosts: machines that "
         "ssh reaches; slurm: a Slurm of the site.",
         0,
         0,
         false,
         {"local", "hosts", "slurm"}},
        {"backend", "nodes", &Settings::local_nodes, "local: number of nodes.", 1, 100000},
        {"backend", "cores_per_node", &Settings::local_cores_per_node,
         "local: cores of each. Default: a share of this machine's processors, at least 2.", 1,
         65536},
        {"backend", "node_prefix", &Settings::local_node_prefix,
         "local: nodes are called PREFIX0, PREFIX1, ..."},
        {"backend", "hosts", &Settings::hosts,
         "hosts: names that ssh knows, \"NAME\" or \"NAME:CORES\"; without a number the host is "
         "asked."},
        {"backend", "hosts_file", &Settings::hosts_file,
         "hosts: a file with more of them, one in a line; # begins a comment."},
        {"backend", "gpus", &Settings::gpus,
         "local and hosts: GPUs of the nodes: \"4\" of each, \"n[1-4]:2\" of these; later entries "
         "count."},
        {"backend", "ssh", &Settings::ssh, "hosts: the program that reaches them."},
        {"backend", "ssh_config", &Settings::ssh_config,
         "hosts: a configuration for ssh (-F) instead of the users' own; all users must be able "
         "to read it."},
        {"backend", "check_interval", &Settings::check_interval_ms,
         "hosts: how often each is checked; sooner if something is wrong.", 100, HOUR_MS, true},
        {"backend", "check_timeout", &Settings::check_timeout_ms,
         "hosts: how long ssh tries to connect; the whole check may take twice as long.", 1000,
         HOUR_MS, true},
        {"backend", "check_failures", &Settings::check_failures,
         "hosts: after so many checks in a row without an answer it is down, and its jobs are "
         "ended.",
         1, 1000},
        {"backend", "checks_at_once", &Settings::checks_at_once,
         "hosts: so many are checked at the same time.", 1, 1000},
        {"slurm", "partition", &Settings::slurm_partition,
         "slurm: where nodes are requested. Default: Slurm's default partition."},
        {"slurm", "account", &Settings::slurm_account,
         "slurm: salloc --account; empty: the user's default."},
        {"slurm", "qos", &Settings::slurm_qos, "slurm: salloc --qos; empty: the default."},
        {"slurm", "options", &Settings::slurm_options,
         "slurm: more options of salloc, such as \"--mem=0\"."},
        {"slurm",
         "resize",
         &Settings::slurm_resize,
         "slurm: merge: a job is one Slurm job, which grows and shrinks; set: one Slurm job for "
         "each node; auto: merge "
         "where Slurm permits it.",
         0,
         0,
         false,
         {"auto", "merge", "set"}},
        {"slurm", "poll_interval", &Settings::slurm_poll_ms, "slurm: how often Slurm is polled.",
         200, HOUR_MS, true},
        {"slurm", "wait", &Settings::slurm_wait_ms,
         "slurm: how long nodes are waited for in Slurm's queue while others with more priority "
         "wait there too; 0: not "
         "at all.",
         0, HOUR_MS, true},
        {"slurm", "yield_to_waiting", &Settings::slurm_yield,
         "slurm: elastic jobs shrink for other people's Slurm jobs that wait for nodes."},
        {"slurm", "yield_priority", &Settings::slurm_yield_priority,
         "slurm: only for those with at least this priority in Slurm.", 0, INT64_MAX},
        {"slurm", "yield_patience", &Settings::slurm_yield_patience_ms,
         "slurm: one that waits for longer than this waits for something else, and is not heeded "
         "any more.",
         1000, YEAR_MS, true},
        {"mail", "command", &Settings::mail_command,
         "Sends one mail, which it gets on its standard input with its header, such as "
         "[\"/usr/sbin/sendmail\", \"-t\"]; it runs as elasticd's user. Empty: no mail is sent."},
        {"mail", "deadline", &Settings::mail_deadline_ms, "Then the command is ended.", 1000,
         HOUR_MS, true},
        {"limits", "jobs", &Settings::jobs_max, "Jobs that have not ended; more are refused.", 1,
         1000000},
        {"limits", "jobs_per_user", &Settings::jobs_per_user_max, "The same of one user.", 1,
         1000000},
        {"limits", "running_per_user", &Settings::running_per_user_max,
         "Jobs of one user on nodes at once; more wait. 0: any number.", 0, 1000000},
        {"limits", "cores_per_user", &Settings::cores_per_user_max,
         "Cores of one user's jobs at once; more wait, and elastic jobs are not grown beyond. 0: "
         "any number.",
         0, 1000000000},
        {"limits", "spawn_beyond_slots", &Settings::spawn_beyond_slots,
         "Whether MPI_Comm_spawn may start more processes than the job may have by its size and "
         "its places; else it returns MPI_ERR_SPAWN."},
        {"limits", "connections", &Settings::connections_max, "Open connections.", 8, 10000},
        {"limits", "connections_per_user", &Settings::connections_per_user_max,
         "The same of one user.", 1, 10000},
        {"limits", "request_time", &Settings::request_time_ms,
         "How long a client may take to send a request, or be silent; then it is disconnected.",
         1000, HOUR_MS, true},
        {"limits", "answer_time", &Settings::answer_time_ms,
         "How long a client may take to read an answer.", 1000, HOUR_MS, true},
        {"limits", "bytes_per_user", &Settings::bytes_per_user_max,
         "What is stored of one user's jobs (scripts, environments, commands, records), together, "
         "in bytes. From three quarters on the oldest ended jobs of the user are deleted.",
         65536, int64_t{1} << 40},
        {"limits", "rate_per_s", &Settings::rate_per_s,
         "Requests of one user in a second; twice as many in a burst.", 1, 1000000},
        {"history", "in_memory", &Settings::finished_in_memory,
         "Ended jobs that stay in memory; older ones are in the store alone.", 10, 100000},
        {"history", "keep", &Settings::history_keep_ms, "Ended jobs and records in the store.",
         HOUR_MS, 100 * YEAR_MS, true},
        {"history", "bytes", &Settings::history_bytes_max,
         "The size of the store, in bytes; beyond it the oldest history is forgotten.",
         int64_t{16} << 20, int64_t{1} << 50},
        {"history", "disk_reserve", &Settings::disk_reserve_bytes,
         "Bytes of the store's disk that are reserved for ends of jobs and decisions when it is "
         "full; no jobs are accepted then. 0: none.",
         0, int64_t{1} << 40},
        {"history", "snapshot_events", &Settings::snapshot_events,
         "So many events between two snapshots: fewer make a restart faster, and the daemon "
         "slower.",
         10, 1000000},
    };
    return settings;
}

std::string environment(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

std::string home_directory()
{
    std::string home = environment("HOME");
    if (!home.empty() && home[0] == '/')
        return home;
    const passwd *user = getpwuid(geteuid());
    return user ? user->pw_dir : "/";
}

std::string host_name()
{
    char name[HOST_NAME_MAX + 1] = "localhost";
    gethostname(name, sizeof name - 1);
    return name;
}

/* A home may be shared by several machines; the store must not be. */
std::string default_state_dir()
{
    if (geteuid() == 0)
        return "/var/lib/elasticd";
    std::string base = environment("XDG_STATE_HOME");
    if (base.empty() || base[0] != '/')
        base = home_directory() + "/.local/state";
    return base + "/elastic-mpich/" + host_name();
}

/* ---- values ---------------------------------------------------------------------------------- */

struct Unit {
    const char *name;
    int64_t ms;
};
constexpr Unit UNITS[] = {
    {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", HOUR_MS}, {"d", 24 * HOUR_MS}};

std::optional<int64_t> parse_duration(const std::string &text)
{
    size_t digits = text.find_first_not_of("0123456789");
    if (digits == 0 || digits > 12)
        return text == "0" ? std::optional<int64_t>(0) : std::nullopt;
    int64_t number = std::stoll(text.substr(0, digits));
    if (digits == std::string::npos)
        return number == 0 ? std::optional<int64_t>(0) : std::nullopt;
    for (const Unit &unit : UNITS)
        if (text.substr(digits) == unit.name)
            return number > INT64_MAX / unit.ms
                ? std::nullopt
                : std::optional<int64_t>(number * unit.ms);
    return std::nullopt;
}

std::string format_duration(int64_t ms)
{
    const Unit *best = &UNITS[0];
    for (const Unit &unit : UNITS)
        if (ms % unit.ms == 0)
            best = &unit;
    return ms == 0 ? "0" : std::to_string(ms / best->ms) + best->name;
}

std::string check_bounds(const Setting &setting, int64_t value)
{
    if (value >= setting.lowest && value <= setting.highest)
        return "";
    if (setting.duration)
        return "must be from " + format_duration(setting.lowest) + " to " +
            format_duration(setting.highest);
    return "must be from " + std::to_string(setting.lowest) + " to " +
        std::to_string(setting.highest);
}

std::string take_number(const Setting &setting, const toml::node &node, int64_t &value)
{
    if (setting.duration) {
        auto text = node.value_exact<std::string>();
        bool is_zero = node.value_exact<int64_t>() == 0;
        auto ms = text ? parse_duration(*text) : std::nullopt;
        if (!is_zero && !ms)
            return "must be a time such as \"500ms\", \"30s\", \"5m\", \"2h\" or \"7d\"";
        value = is_zero ? 0 : ms.value_or(0);
    } else {
        auto number = node.value_exact<int64_t>();
        if (!number)
            return "must be a whole number";
        value = *number;
    }
    return check_bounds(setting, value);
}

std::string take_text(const Setting &setting, const toml::node &node, std::string &value)
{
    auto text = node.value_exact<std::string>();
    if (!text)
        return "must be a text in quotes";
    bool known = setting.choices.empty();
    std::string choices;
    for (const char *choice : setting.choices) {
        known = known || *text == choice;
        choices += (choices.empty() ? "" : ", ") + std::string(choice);
    }
    if (!known)
        return "must be one of " + choices;
    value = *text;
    return "";
}

std::string take_texts(const toml::node &node, Texts &value)
{
    const toml::array *array = node.as_array();
    if (!array)
        return "must be a list of texts";
    value.clear();
    for (const toml::node &element : *array) {
        auto text = element.value_exact<std::string>();
        if (!text)
            return "must be a list of texts";
        value.push_back(*text);
    }
    return "";
}

std::string take_ratio(const Setting &setting, const toml::node &node, Ratio &value)
{
    auto number = node.value<double>();
    bool is_zero = setting.may_be_zero && number && *number == 0;
    if (!number || !((*number > 0 && *number < 1) || is_zero))
        return std::string("must be ") + (setting.may_be_zero ? "0 or " : "") +
               "a number between 0 and 1, such as 0.5";
    value.ppm = std::llround(*number * 1e6);
    return "";
}

/* Empty, or what is wrong. */
std::string take(const Setting &setting, const toml::node &node, Settings &settings)
{
    if (auto member = std::get_if<std::string Settings::*>(&setting.member))
        return take_text(setting, node, settings.**member);
    if (auto member = std::get_if<int64_t Settings::*>(&setting.member))
        return take_number(setting, node, settings.**member);
    if (auto member = std::get_if<Texts Settings::*>(&setting.member))
        return take_texts(node, settings.**member);
    if (auto member = std::get_if<Ratio Settings::*>(&setting.member))
        return take_ratio(setting, node, settings.**member);
    auto truth = node.value_exact<bool>();
    if (!truth)
        return "must be true or false";
    settings.*std::get<bool Settings::*>(setting.member) = *truth;
    return "";
}

std::string format_value(const Setting &setting, const Settings &settings)
{
    std::ostringstream out;
    if (auto member = std::get_if<std::string Settings::*>(&setting.member))
        out << toml::value<std::string>(settings.**member);
    else if (auto member = std::get_if<bool Settings::*>(&setting.member))
        out << (settings.**member ? "true" : "false");
    else if (auto member = std::get_if<Texts Settings::*>(&setting.member)) {
        toml::array array;
        for (const std::string &text : settings.**member)
            array.push_back(text);
        out << array;
    } else if (auto member = std::get_if<Ratio Settings::*>(&setting.member)) {
        out << static_cast<double>((settings.**member).ppm) / 1e6;
    } else {
        int64_t value = settings.*std::get<int64_t Settings::*>(setting.member);
        if (setting.duration)
            out << '"' << format_duration(value) << '"';
        else if (std::string_view(setting.name) == "socket_mode")
            out << "0o" << std::oct << value;
        else
            out << value;
    }
    return out.str();
}

/* ---- the file -------------------------------------------------------------------------------- */

std::string location(const std::string &name, const toml::source_region &source)
{
    return name + ":" + std::to_string(source.begin.line) + ": ";
}

const Setting *find(std::string_view section, std::string_view name)
{
    for (const Setting &setting : table())
        if (section == setting.section && name == setting.name)
            return &setting;
    return nullptr;
}

bool is_section(std::string_view name)
{
    return std::any_of(table().begin(), table().end(),
                       [&](const Setting &s) { return *s.section && name == s.section; });
}

std::string take_section(const std::string &section, const toml::table &values,
                         const std::string &file, Settings &settings)
{
    for (const auto &[key, node] : values) {
        std::string name(key.str());
        if (section.empty() && is_section(name)) {
            const toml::table *inner = node.as_table();
            if (!inner)
                return location(file, node.source()) + name + " is a section: write [" + name + "]";
            std::string error = take_section(name, *inner, file, settings);
            if (!error.empty())
                return error;
            continue;
        }
        const Setting *setting = find(section, name);
        std::string full = section.empty() ? name : section + "." + name;
        if (!setting)
            return location(file, node.source()) + "there is no setting " + full +
                ": 'elasticd --print-config' lists all";
        std::string error = take(*setting, node, settings);
        if (!error.empty())
            return location(file, node.source()) + full + " " + error;
    }
    return "";
}

/* Checks that concern several settings. */
std::string check_together(const Settings &s)
{
    if (s.state_dir.empty() || s.state_dir[0] != '/')
        return "state_dir must be an absolute path";
    if (s.socket.empty() || s.socket[0] != '/')
        return "listen.socket must be an absolute path";
    if (s.socket.size() > 107)
        return "listen.socket must have at most 107 bytes";
    if (!s.tcp.empty() && s.tcp.rfind(':') == std::string::npos)
        return "listen.tcp must be ADDRESS:PORT such as 127.0.0.1:6817";
    if (!s.tcp.empty() && s.tokens_file.empty())
        return "listen.tcp needs listen.tokens_file: over TCP nobody is known without a token";
    if (s.max_time_limit_ms > 0 && s.default_time_limit_ms > s.max_time_limit_ms)
        return "job.default_time_limit is above job.max_time_limit";
    if (s.monitor_interval_ms > 0 && s.monitor_interval_ms < 1000)
        return "monitor.interval must be 0 or at least 1s";
    if (s.local_node_prefix.empty() || s.local_node_prefix.size() > 64 ||
        s.local_node_prefix.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != std::string::npos)
        return "backend.node_prefix must be letters, digits and hyphens, at most 64";
    if (!s.mail_command.empty() && !s.mail_command[0].starts_with('/'))
        return "mail.command must begin with the absolute path of a program";
    if (!s.hosts_file.empty() && s.hosts_file[0] != '/')
        return "backend.hosts_file must be an absolute path";
    if (!s.ssh_config.empty() && s.ssh_config[0] != '/')
        return "backend.ssh_config must be an absolute path";
    if (s.ssh.empty() || (s.ssh + s.ssh_config).find_first_of(" \t\n") != std::string::npos)
        return "backend.ssh and backend.ssh_config must have no blanks: mpiexec gets them in one "
               "variable";
    return check(s.core());
}

}  // namespace

std::string runtime_directory()
{
    std::string base = environment("XDG_RUNTIME_DIR");
    if (base.empty() || base[0] != '/' || access(base.c_str(), W_OK | X_OK) != 0)
        base = "/tmp";
    return base + "/elastic-mpich-" + std::to_string(geteuid());
}

Settings default_settings()
{
    Settings s;
    const Config core;
    bool root = geteuid() == 0;
    s.cluster = host_name();
    s.state_dir = default_state_dir();
    s.log_level = "info";
    s.socket = root ? "/run/elasticd/elasticd.sock" : runtime_directory() + "/elasticd.sock";
    s.socket_mode = root ? 0666 : 0600;
    s.policy = to_string(core.policy);
    s.efficiency.ppm = core.efficiency_ppm;
    s.efficiency_idle.ppm = core.efficiency_idle_ppm;
    s.mtct_upper.ppm = core.mtct_upper_ppm;
    s.mtct_lower.ppm = core.mtct_lower_ppm;
    s.ceiling_hold_ms = core.ceiling_hold_ms;
    s.reduce_when_idle = core.reduce_when_idle;
    s.range = to_string(core.range);
    s.priority_weight_ms = core.priority_weight_ms;
    s.backfill_depth = core.backfill_depth;
    s.fair_share_ms = core.fair_share_ms;
    s.fair_share_half_life_ms = core.fair_share_half_life_ms;
    s.adapt_patience_ms = core.adapt_patience_ms;
    s.offer_pause_ms = core.offer_pause_ms;
    s.refusal_pause_ms = core.refusal_pause_ms;
    s.refusal_pause_max_ms = core.refusal_pause_max_ms;
    s.start_attempts = core.start_attempts_max;
    s.start_pause_ms = core.start_pause_ms;
    s.default_time_limit_ms = core.default_time_limit_ms;
    s.kill_grace_ms = core.kill_grace_ms;
    s.answer_timeout_ms = core.answer_timeout_ms;
    s.answer_tries = core.answer_tries_max;
    s.mpiexec = ELASTIC_BINDIR "/mpiexec";
    s.stepd = ELASTIC_LIBEXECDIR "/elastic-stepd";
    s.control_groups = "auto";
    s.monitor_interval_ms = 60000;
    s.monitor_window = core.monitor_window;
    s.backend = "local";
    s.local_nodes = 4;
    s.local_cores_per_node = std::max(2u, std::thread::hardware_concurrency() / 4);
    s.local_node_prefix = "n";
    s.ssh = "ssh";
    s.check_interval_ms = 30000;
    s.check_timeout_ms = 10000;
    s.check_failures = 3;
    s.checks_at_once = 32;
    s.slurm_resize = "auto";
    s.slurm_poll_ms = 2000;
    s.slurm_wait_ms = 10000;
    s.slurm_yield = true;
    s.slurm_yield_patience_ms = 600000;
    s.mail_deadline_ms = 30000;
    s.jobs_max = 20000;
    s.jobs_per_user_max = 10000;
    s.request_time_ms = 120000;
    s.answer_time_ms = 600000;
    s.connections_max = 512;
    s.connections_per_user_max = 64;
    s.bytes_per_user_max = int64_t{256} << 20;
    s.history_bytes_max = int64_t{8} << 30;
    s.disk_reserve_bytes = int64_t{64} << 20;
    s.rate_per_s = 1000;
    s.finished_in_memory = core.finished_max;
    s.history_keep_ms = 90 * 24 * HOUR_MS;
    s.snapshot_events = 5000;
    return s;
}

Config Settings::core() const
{
    Config config;
    read(Json(policy), config.policy, "scheduling.policy");
    config.efficiency_ppm = efficiency.ppm;
    config.efficiency_idle_ppm = efficiency_idle.ppm;
    config.mtct_upper_ppm = mtct_upper.ppm;
    config.mtct_lower_ppm = mtct_lower.ppm;
    config.ceiling_hold_ms = ceiling_hold_ms;
    config.reduce_when_idle = reduce_when_idle;
    read(Json(range), config.range, "scheduling.range");
    config.default_time_limit_ms = default_time_limit_ms;
    config.priority_weight_ms = priority_weight_ms;
    config.kill_grace_ms = kill_grace_ms;
    config.answer_timeout_ms = answer_timeout_ms;
    config.answer_tries_max = static_cast<int>(answer_tries);
    config.adapt_patience_ms = adapt_patience_ms;
    config.offer_pause_ms = offer_pause_ms;
    config.refusal_pause_ms = refusal_pause_ms;
    config.refusal_pause_max_ms = refusal_pause_max_ms;
    config.start_attempts_max = static_cast<int>(start_attempts);
    config.start_pause_ms = start_pause_ms;
    config.backfill_depth = static_cast<int>(backfill_depth);
    config.fair_share_ms = fair_share_ms;
    config.fair_share_half_life_ms = fair_share_half_life_ms;
    config.user_running_max = static_cast<int>(running_per_user_max);
    config.user_cores_max = cores_per_user_max;
    config.monitor_window = static_cast<int>(monitor_window);
    config.jobs_max = static_cast<int>(jobs_max);
    config.finished_max = static_cast<int>(finished_in_memory);
    return config;
}

Result<Settings> parse_settings(std::string_view text, const std::string &name)
{
    toml::parse_result parsed = toml::parse(text, name);
    if (!parsed)
        return Error{
            location(name, parsed.error().source()) + std::string(parsed.error().description())};
    Settings settings = default_settings();
    std::string error = take_section("", parsed.table(), name, settings);
    if (!error.empty())
        return Error{error};
    error = check_together(settings);
    if (!error.empty())
        return Error{name + ": " + error};
    return settings;
}

Result<Settings> read_settings(const std::string &path)
{
    std::ifstream file(path);
    std::string text(FILE_BYTES_MAX + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file.is_open() || file.bad() || (file.fail() && !file.eof()))
        return Error{"cannot read the configuration " + path + ": " + strerror(errno)};
    text.resize(static_cast<size_t>(file.gcount()));
    if (text.size() > FILE_BYTES_MAX)
        return Error{path + " is longer than 1 MiB: that is no configuration of elasticd"};
    return parse_settings(text, path);
}

std::string default_settings_path()
{
    std::string base = environment("XDG_CONFIG_HOME");
    if (base.empty() || base[0] != '/')
        base = home_directory() + "/.config";
    std::string path = geteuid() == 0
        ? "/etc/elasticd/elasticd.toml"
        : base + "/elastic-mpich/elasticd.toml";
    return access(path.c_str(), F_OK) == 0 ? path : "";
}

std::string print_settings(const Settings &settings)
{
    std::string text = "# The configuration of elasticd.  Everything is optional; these are the "
                       "values in force.\n";
    const char *section = "";
    for (const Setting &setting : table()) {
        if (std::string_view(section) != setting.section)
            text += std::string("\n[") + (section = setting.section) + "]\n";
        text += std::string("\n# ") + setting.help + "\n" + setting.name + " = " +
                format_value(setting, settings) + "\n";
    }
    return text;
}

}  // namespace elastic::rm
