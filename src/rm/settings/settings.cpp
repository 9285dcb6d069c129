/* See settings.h. */

#include "settings/settings.h"

#include <limits.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "settings/setting.h"

#ifndef ELASTIC_LIBEXECDIR
#define ELASTIC_LIBEXECDIR "/usr/local/libexec/elastic-mpich"
#define ELASTIC_BINDIR "/usr/local/bin"
#endif

namespace elastic::rm {

namespace {

constexpr size_t FILE_BYTES_MAX = 1024 * 1024;

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

/* Several machines may share a home directory; they must not share the store. */
std::string default_state_dir()
{
    if (geteuid() == 0)
        return "/var/lib/elasticd";
    std::string base = environment("XDG_STATE_HOME");
    if (base.empty() || base[0] != '/')
        base = home_directory() + "/.local/state";
    return base + "/elastic-mpich/" + host_name();
}

/* ---- the file -------------------------------------------------------------------------------- */

const Setting<Settings> *find(std::string_view section, std::string_view name)
{
    for (const Setting<Settings> &setting : setting_table())
        if (section == setting.section && name == setting.name)
            return &setting;
    return nullptr;
}

bool is_section(std::string_view name)
{
    return std::any_of(setting_table().begin(), setting_table().end(),
                       [&](const Setting<Settings> &s) { return *s.section && name == s.section; });
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
        if (auto error = section.empty() ? take_list(name, node, file, settings) : std::nullopt) {
            if (!error->empty())
                return *error;
            continue;
        }
        const Setting<Settings> *setting = find(section, name);
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
        return "listen.tcp needs listen.tokens_file: over TCP a user is identified by a token";
    if (s.max_time_limit_ms > 0 && s.default_time_limit_ms > s.max_time_limit_ms)
        return "job.default_time_limit is above job.max_time_limit";
    if (s.backend == "slurm" && !s.partitions.empty())
        return "[[partitions]] cannot be used with backend.kind = \"slurm\": Slurm has its own, of "
               "which slurm.partition names one";
    if (s.backend == "slurm" && !s.reservations.empty())
        return "[[reservations]] cannot be used with backend.kind = \"slurm\": reserve nodes with "
               "'scontrol create reservation'";
    if (s.monitor_interval_ms > 0 && s.monitor_interval_ms < 1000)
        return "monitor.interval must be 0 or at least 1s";
    if (s.local_node_prefix.empty() || s.local_node_prefix.size() > 64 ||
        s.local_node_prefix.find_first_not_of(
            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") != std::string::npos)
        return "backend.node_prefix must be letters, digits and hyphens, at most 64";
    if (!s.mail_command.empty() && !s.mail_command[0].starts_with('/'))
        return "mail.command must begin with the absolute path of a program";
    for (const auto *program : {&s.prolog, &s.epilog}) {
        const char *name = program == &s.prolog ? "job.prolog" : "job.epilog";
        if (!program->empty() && !(*program)[0].starts_with('/'))
            return std::string(name) + " must begin with the absolute path of a program";
        if (!program->empty() && s.backend != "local" && s.backend != "hosts")
            return std::string(name) + " is for backend.kind \"local\" and \"hosts\": elsewhere "
                   "the nodes belong to Slurm, which has its own (Prolog, Epilog in slurm.conf)";
    }
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
    s.node_program_limit_ms = 60000;
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

std::string Settings::beside_stepd(const std::string &name) const
{
    return stepd.substr(0, stepd.rfind('/') + 1) + name;
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
    config.job_core_time_max_ms = core_time_per_job_max_ms;
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
        return Error{path + " is longer than 1 MiB: it is not a configuration of elasticd"};
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
    for (const Setting<Settings> &setting : setting_table()) {
        if (std::string_view(section) != setting.section)
            text += std::string("\n[") + (section = setting.section) + "]\n";
        text += std::string("\n# ") + setting.help + "\n" + setting.name + " = " +
                format_value(setting, settings) + "\n";
    }
    return text + format_lists(settings);
}

}  // namespace elastic::rm
