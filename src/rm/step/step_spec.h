/*
 * The interface of elasticd and elastic-stepd: files in the step's folder (STATE/steps/JOB.STEP),
 * and JSON lines on the socket there.
 *
 *   step.json    elasticd: the program to run; written before elastic-stepd is started
 *   stepd.json   elastic-stepd: its process and the step's; if the file exists, a start was tried
 *   exit.json    elastic-stepd: the end of the step; written when no process of it remains
 *   script       of a job that is a script
 *   hosts        the present allocation, one line `name:processes` per block, for each mpiexec in
 *                the script
 *   stepd.sock   elasticd makes and binds it, elastic-stepd inherits it listening: a successful
 *                connection shows that elastic-stepd runs
 *
 * Each file is written under another name and renamed, so that it is complete or absent.
 */

#ifndef ELASTIC_RM_STEP_SPEC_H_INCLUDED
#define ELASTIC_RM_STEP_SPEC_H_INCLUDED

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/job.h"
#include "core/process_limits.h"

namespace elastic::rm {

constexpr const char *STEP_SPEC_FILE = "step.json";
constexpr const char *STEP_STARTED_FILE = "stepd.json";
constexpr const char *STEP_EXIT_FILE = "exit.json";
constexpr const char *STEP_SCRIPT_FILE = "script";
constexpr const char *STEP_HOSTS_FILE = "hosts";
/* For a job whose GPUs change: the present ones, in the format of ELASTIC_STEP_GPUS. */
constexpr const char *STEP_GPUS_FILE = "gpus";
/* For a script: its locks show which slots its steps of srun use (slurm/slot_locks.h). */
constexpr const char *STEP_SLOTS_FILE = "slots";
constexpr const char *STEP_SOCKET_FILE = "stepd.sock";
constexpr int STEPD_LISTEN_FD = 3;

/* The address to which mpiexec sends the path of its step socket: the name, in hexadecimal, of
 * an abstract Unix datagram socket. */
constexpr const char *STEP_REGISTER_VARIABLE = "ELASTIC_STEP_REGISTER";

/* The variable from which programs started by mpiexec read the step's folder. */
constexpr const char *STEP_FOLDER_VARIABLE = "ELASTIC_STEP_FOLDER";

struct StepSpec {
    JobId job = 0;
    uint32_t step = 0;
    uint32_t uid = 0, gid = 0;
    std::string user;
    std::vector<uint32_t> groups;               /* as of the start of the step */
    /* [0]: the program, found by PATH of the environment */
    std::vector<std::string> arguments;
    std::vector<std::string> environment;       /* NAME=VALUE */
    std::string directory;
    /* absolute paths; error empty: the same as output */
    std::string input, output, error;
    bool is_script = false;                     /* signals go to its process group */
    int umask = 022;
    std::vector<ProcessLimit> limits;           /* soft ones; the others are those of elasticd */
    int64_t time_limit_ms = 0;  /* enforced by elastic-stepd when elasticd does not run; 0: none */
    int64_t kill_grace_ms = 0;  /* time between SIGTERM and SIGKILL at that limit */
    /* time before the time limit at which it is sent to the program; 0: none */
    int warn_signal = 0;
    int64_t warn_before_ms = 0;
    std::string control_group;  /* control group of all its processes; empty: none */
    ELASTIC_FIELDS(job, step, uid, gid, user, groups, arguments, environment, directory, input,
                   output, error, is_script, umask, limits, time_limit_ms, kill_grace_ms,
                   warn_signal, warn_before_ms, control_group)
};

struct StepStartedFile {
    int64_t stepd_pid = 0, pid = 0;
    /* in clock ticks since boot: distinguishes a process from a later one with its number */
    uint64_t pid_start = 0;
    std::string boot; /* result of boot_id(): after another boot none of its processes runs */
    ELASTIC_FIELDS(stepd_pid, pid, pid_start, boot)
};

struct StepExitFile {
    bool started = false;       /* false: the program could not start, and reason has the cause */
    int exit_code = 0;          /* 128 + number, if a signal ended it */
    std::string reason;
    bool signalled = false;     /* elastic-stepd had sent it a signal before */
    bool node_fault = false;    /* not started, for a reason that does not depend on the program */
    /* elastic-stepd received an order to end: the node shuts down regularly */
    bool node_leaves = false;
    int64_t cpu_ms = -1, rss_bytes = -1;        /* as in StepEnded; -1: unknown */
    bool own_fault = false;     /* as in StepStartFailed */
    ELASTIC_FIELDS(started, exit_code, reason, signalled, node_fault, node_leaves, cpu_ms,
                   rss_bytes, own_fault)
};

/* Lines of elastic-stepd, on each connection and after each change. */
struct StepdLine {
    bool started = false;       /* the program runs */
    std::string step_socket;    /* of the present mpiexec; empty: none has registered */
    int64_t epoch_offset = -1;  /* stored for elasticd; -1: none yet */
    bool connects = false;      /* supports StepdConnect */
    /* Answer to StepdConnect: the descriptor sent with this line is connected to that socket; no
     * descriptor: the connection failed. */
    std::string connected;
    bool suspends = false;      /* supports StepdSuspend */
    ELASTIC_FIELDS(started, step_socket, epoch_offset, connects, connected, suspends)
};

/* elasticd's lines. */
struct StepdOrder {
    int signal = 0;             /* 0: none */
    /* Number of epochs of earlier mpiexecs of the step, for a restart of elasticd.  -1: nothing
     * to store. */
    int64_t epoch_offset = -1;
    ELASTIC_FIELDS(signal, epoch_offset)
};

/* Sent in a separate line, which older versions of elastic-stepd ignore.  If the step has not
 * ended after this time it is killed, whether elasticd runs or not. */
struct StepdDeadline {
    int64_t kill_after_ms = 0;
    ELASTIC_FIELDS(kill_after_ms)
};

/* Sent in a separate line too: the new time limit, from the start of the program; 0: none. */
struct StepdLimit {
    int64_t time_limit_ms = 0;
    ELASTIC_FIELDS(time_limit_ms)
};

/* Sent in a separate line too: all processes of the step stop, and its time limit with them, or
 * continue. */
struct StepdSuspend {
    bool suspended = false;
    ELASTIC_FIELDS(suspended)
};

/* Sent in a separate line too: connect to this step socket, as the user and in a separate
 * process.  The path belongs to the user and may block any process that opens it. */
struct StepdConnect {
    std::string connect;
    ELASTIC_FIELDS(connect)
};

struct FileOwner {
    uint32_t uid = 0, gid = 0;
};

/* Files in a folder.  Empty, or the error.  With an owner, the file belongs to that user as soon
 * as it has its name. */
std::string write_file(const std::string &folder, const char *name, const std::string &text,
                       unsigned mode = 0600, std::optional<FileOwner> owner = std::nullopt);
/* nullopt: the file does not exist; at most 64 MiB. */
Result<std::optional<std::string>> read_file(const std::string &folder, const char *name);

/* 0: there is no such process. */
uint64_t process_start(int64_t pid);
/* Differs between boots; empty: the kernel does not report it. */
std::string boot_id();

}  // namespace elastic::rm

#endif /* ELASTIC_RM_STEP_SPEC_H_INCLUDED */
