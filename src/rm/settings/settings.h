/*
 * The configuration of elasticd: one optional TOML file, and a default for everything.
 *
 * The table of settings in setting_table.cpp is the only definition of names, bounds, defaults and
 * documentation, and section_lists.cpp is the only definition of lists: reading, checking,
 * `elasticd --print-config` and the list in doc/admin/elasticd.md are made from them.
 *
 * Settings are read once, at start.  No state; any thread.
 */

#ifndef ELASTIC_RM_DAEMON_CONFIG_H_INCLUDED
#define ELASTIC_RM_DAEMON_CONFIG_H_INCLUDED

#include <cstdint>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "core/config.h"
#include "settings/group_settings.h"
#include "settings/partition_settings.h"
#include "settings/reservation_settings.h"

namespace elastic::rm {

/* Ratio of two quantities, from 0 to 1; written as a decimal number such as 0.5. */
struct Ratio {
    int64_t ppm = 0;
};

struct Settings {
    std::string cluster;
    std::string state_dir;
    std::string control_groups;
    bool end_unknown_steps = false;     /* only on the command line */
    int64_t files_soft = 0; /* descriptors that jobs may open; 0: the limit of elasticd */
    std::string log_level;

    std::string socket;
    int64_t socket_mode = 0;
    std::string tcp;            /* empty: none */
    std::string tokens_file;

    std::vector<std::string> administrators;
    bool private_jobs = true;
    bool allow_web_changes = false;

    std::string policy, range;
    Ratio efficiency, efficiency_idle, mtct_upper, mtct_lower;
    int64_t ceiling_hold_ms = 0;
    bool reduce_when_idle = true;
    int64_t priority_weight_ms = 0, adapt_patience_ms = 0, offer_pause_ms = 0, refusal_pause_ms = 0;
    int64_t refusal_pause_max_ms = 0, backfill_depth = 0, start_attempts = 0, start_pause_ms = 0;

    int64_t default_time_limit_ms = 0, max_time_limit_ms = 0, kill_grace_ms = 0;
    int64_t answer_timeout_ms = 0, answer_tries = 0;
    int64_t monitor_interval_ms = 0, monitor_window = 0;
    std::string mpiexec, stepd, start_socket;
    std::vector<std::string> prolog, epilog;    /* empty: none */
    int64_t node_program_limit_ms = 0;

    std::string backend;
    int64_t local_nodes = 0, local_cores_per_node = 0;
    std::string local_node_prefix;
    std::vector<std::string> hosts;
    std::vector<std::string> gpus;      /* "n[1-4]:2" */
    std::string hosts_file, ssh, ssh_config;
    int64_t check_interval_ms = 0, check_timeout_ms = 0, check_failures = 0, checks_at_once = 0;

    std::string slurm_partition, slurm_account, slurm_qos, slurm_resize;
    std::vector<std::string> slurm_options;
    int64_t slurm_poll_ms = 0, slurm_wait_ms = 0;
    bool slurm_yield = true;
    int64_t slurm_yield_priority = 0, slurm_yield_patience_ms = 0;

    int64_t idle_exit_ms = 0;

    /* Only for --nested (nested.h), not in the configuration. */
    std::string nested_folder, nested_source, nested_launcher, nested_slurm_job;

    std::vector<std::string> mail_command;      /* empty: no mail is sent */
    int64_t mail_deadline_ms = 0;

    bool confine_cores = false;
    int64_t memory_per_core_mib = 0, counted_memory_per_core_mib = 0;
    int64_t request_time_ms = 0, answer_time_ms = 0;
    int64_t fair_share_ms = 0, fair_share_half_life_ms = 0, running_per_user_max = 0,
            cores_per_user_max = 0, core_time_per_job_max_ms = 0;
    bool spawn_beyond_slots = true;
    int64_t jobs_max = 0, jobs_per_user_max = 0, connections_max = 0, connections_per_user_max = 0;
    int64_t bytes_per_user_max = 0, history_bytes_max = 0, disk_reserve_bytes = 0;
    int64_t rate_per_s = 0;
    int64_t finished_in_memory = 0, history_keep_ms = 0, snapshot_events = 0;

    std::vector<PartitionSettings> partitions;
    std::vector<GroupSettings> groups;
    std::vector<ReservationSettings> reservations;

    /* Path of a program or folder that is installed in the folder of elastic-stepd. */
    std::string beside_stepd(const std::string &name) const;
    /* The part for the core, without these lists (daemon/partitions.h, group_limits.h,
     * reservations.h). */
    Config core() const;
};

/* The defaults on this machine for this user. */
Settings default_settings();
/* `name` is for messages.  An error names the line or setting, and the valid form. */
Result<Settings> parse_settings(std::string_view toml, const std::string &name);
Result<Settings> read_settings(const std::string &path);
/* The default path of the file; empty if there is none. */
std::string default_settings_path();
/* A complete file with comments. */
std::string print_settings(const Settings &settings);

/* The base folder of sockets of this user, as in doc/developer/step-protocol.md. */
std::string runtime_directory();

}  // namespace elastic::rm

#endif /* ELASTIC_RM_DAEMON_CONFIG_H_INCLUDED */
