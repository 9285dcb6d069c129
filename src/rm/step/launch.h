/*
 * The program to run, as submitted and stored; and its conversion to a step.  The core does not
 * use it.  Pure.
 */

#ifndef ELASTIC_RM_LAUNCH_H_INCLUDED
#define ELASTIC_RM_LAUNCH_H_INCLUDED

#include <optional>
#include <string>
#include <vector>

#include "core/action.h"
#include "step/gpu_numbers.h"
#include "step/step_spec.h"

namespace elastic::rm {

/* Events of --mail-type.  ARRAY_TASKS: for each task of an array, not for the array. */
enum class MailEvent { BEGIN, END, FAIL, REQUEUE, ARRAY_TASKS };
template <> struct NamesOf<MailEvent> {
    static constexpr const char *names[] = {"begin", "end", "fail", "requeue", "array_tasks"};
};

struct Launch {
    std::vector<std::string> command;
    std::vector<std::string> environment;       /* NAME=VALUE */
    std::vector<std::string> mpiexec;           /* more options */
    std::string directory;
    /* as given: patterns, possibly relative; empty: the default */
    std::string output, error, input;
    bool is_script = false;
    bool slurm_environment = false;     /* it gets the variables that Slurm defines for scripts */
    int warn_signal = 0;        /* time of the signal before the time limit; 0: none */
    int64_t warn_before_ms = 0;
    int umask = 022;
    std::vector<ProcessLimit> limits;
    std::vector<MailEvent> mail_events;         /* empty: none */
    std::string mail_to;                /* daemon/mail_message.h: a checked address */
    ELASTIC_FIELDS(command, environment, mpiexec, directory, output, error, input, is_script,
                   slurm_environment, warn_signal, warn_before_ms, umask, limits, mail_events,
                   mail_to)
};

/* Values of the patterns in file names. */
struct PathNames {
    JobId job = 0;              /* %j; %5j: with at least five digits */
    std::string name, user;     /* %x, %u */
    std::optional<ArrayTask> task = std::nullopt;       /* %A (else as %j), %a */
    std::string host = "";      /* %N: its first node; empty: it has not started */
};
PathNames names_of_paths(const Job &job, const std::string &name);
/* Absolute, with these patterns and %% replaced. */
std::string expand_path(const std::string &pattern, const std::string &directory,
                        const PathNames &names);

struct LaunchPaths {
    std::string output, error, input;           /* error empty: as output */
};
LaunchPaths paths_of(const Launch &launch, const PathNames &names);

/* "n0:4,n1:2" */
std::string format_hosts(const Blocks &blocks);
/* The same, one block per line: for STEP_HOSTS_FILE. */
std::string format_host_lines(const Blocks &blocks);

/* In the folder of elastic-stepd. */
constexpr const char *SLURM_COMMANDS_FOLDER = "slurm-commands";

/* Data of elasticd about the environment of the launch. */
struct LaunchSetup {
    std::string mpiexec;                        /* program */
    std::vector<std::string> launcher_options;  /* of the back end */
    /* NAME=VALUE, for each mpiexec of the job */
    std::vector<std::string> launcher_environment;
    std::string folder;                         /* of the step */
    std::string daemon_socket;
    int64_t kill_grace_ms = 0;
    std::string slurm_commands = "";    /* folder of srun and scontrol for scripts */
    FirstGpu first_gpu = {};
    /* Scripts run on a machine that contains all nodes: a script has the GPUs of its first node. */
    bool scripts_have_gpus = false;
    bool spawn_beyond_slots = true;     /* MPI_Comm_spawn may start any number of processes */
};

StepSpec make_step(const Launch &launch, const Job &job, const StartStep &start,
                   const LaunchSetup &setup);

}  // namespace elastic::rm

#endif /* ELASTIC_RM_LAUNCH_H_INCLUDED */
