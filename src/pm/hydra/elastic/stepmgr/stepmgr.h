/*
 * The interface of the step manager, which is pure: its inputs are events and time, its outputs
 * are effects.  There is one object per job step (mpiexec).  Hydra's event loop calls it, or a test
 * with a clock and fake proxies of its own.  It has no clock, thread, randomness (the caller sets
 * the seed) or other input and output.  SPEC six steps, P3, P4, P7, P8, C7, E3, E4.
 *
 * Times are milliseconds of a monotonic clock whose zero the caller chooses, for example the
 * launch.  Every function may call effects before it returns; effects must not call back into the
 * step manager.
 */

#ifndef ELASTIC_STEPMGR_H_INCLUDED
#define ELASTIC_STEPMGR_H_INCLUDED

#include <stddef.h>
#include <stdint.h>
#include "pmi_adapt.h"
#include "wire/kinds.h"

#ifdef __cplusplus
extern "C" {
#endif

struct step_config {
    const char *step_id;        /* unique among the user's steps on the machine, e.g. "4711" */
    const char *program;        /* argv[0] of the application, for listings */
    const char *user;
    const char *schedule;       /* text of --adapt-schedule (an @FILE already read), or NULL */
    const char *policy;         /* text of --adapt-policy, or NULL */
    int range_min, range_max;   /* --adapt-range; 0: not given */
    int64_t interval_ms;        /* --adapt-interval */
    /* probes from the greatest count to the ceiling; 0: by the program's pace */
    uint64_t margin;
    int64_t prepare_ms;         /* longest time that the freeze waits for processes to prepare */
    int64_t straggler_ms;       /* P8: report stragglers after this time; 0: never */
    uint64_t seed;
    int64_t unix_ms_at_zero;    /* wall clock at time 0, for logs */
    /* of the launch; lets stepmgr_create check the first entry of a schedule; 0: not known yet */
    int size;
    int programs;               /* number of programs launched together (MPMD); 0: not known */
    const char *const *hosts;   /* all hosts of mpiexec, also those without processes */
    int n_hosts;
    /* a resource manager decides: resizes without its tag are refused */
    int managed;
    /* sum of processes of the world, in slots and of MPI_Comm_spawn; 0: any number */
    int processes_max;
    int states;                 /* --sets-log is given; 2: on a terminal */
};

struct step_process {           /* one process of a group */
    int proxy;                  /* proxy within the group */
    const char *host;
};

struct step_spawned {           /* processes of MPI_Comm_spawn that one proxy runs */
    const char *host;
    int processes;
};

struct step_proxy {             /* identified by group and number in the group */
    int group, number;
};

/* Processes that a program starts on its slots as one MPI_COMM_WORLD (MPIX_Comm_parent_create).  By
 * rank: the number of the request, counted by the process `uid`; the host; argv, ended by NULL. */
struct step_world {
    uint32_t uid;
    int count;
    const uint32_t *numbers;
    const char *const *hosts;
    const char *const *const *argv;
    const char *parent;         /* for PMI_PARENT_ENV */
};

/* Actions that the step manager requests.  `context` is the caller's.  Strings and payloads are
 * copied if stored. */
struct step_effects {
    void *context;
    /* Step 2: start `count` processes of `program` (its MPI_APPNUM; STEP_NO_PROGRAM: none, only
     * proxies, for which stepmgr_proxy_up is called) as a new process group numbered `group` for
     * `epoch`; `hosts` (n_hosts names, may be 0) is where.  pre: size of the world now; uids are
     * first_uid + rank; modify: MPIX_Comm_modify creates them.  stepmgr_local_pre returns the
     * processes of a host.  0 or -1 with a message in error. */
    int (*launch) (void *context, uint32_t epoch, int count, int program, int pre,
                   uint32_t first_uid, int modify, const char *const *hosts, int n_hosts,
                   int *group, char *error, size_t error_bytes);
    void (*kill_group) (void *context, int group);      /* remove an expansion that failed */
    void (*abort_step) (void *context, const char *reason);     /* E4: end the whole job */
    /* Send the same message to n proxies.  Messages to one proxy arrive in the order in which they
     * were sent. */
    void (*send) (void *context, const struct step_proxy *to, int n, enum step_command command,
                  uint32_t epoch, const void *payload, size_t bytes);
    /* one JSON line, no newline */
    void (*reply) (void *context, int client, const char *line);
    void (*log) (void *context, const char *line);      /* --adapt-log, one JSON line, no newline */
    void (*notify_user) (void *context, const char *text);      /* one line for standard error */
    /* call stepmgr_time at this time; replaces the previous time; <0: no call */
    void (*wake_at) (void *context, int64_t time_ms);
    /* The same clock in microseconds, only for the times in log lines; NULL: log whole ms. */
    int64_t (*clock_us)(void *context);
    /* --sets-log, lines without the last newline; only if `states` is set. */
    void (*state_line)(void *context, const char *text);
    /* As launch, for processes that a program starts on its slots: a group whose proxies send
     * REPORT_TASK. */
    int (*launch_world)(void *context, const struct step_world *world, int *group, char *error,
                        size_t error_bytes);
};

#define STEP_NO_PROGRAM (-1)

struct stepmgr;

/* Parse --adapt-interval ("1s", "250ms", "0") and --adapt-range ("1:8"). 0, or -1 with a
 * message. */
int stepmgr_parse_time(const char *text, int64_t *ms, char *error, size_t error_bytes);
int stepmgr_parse_range(const char *text, int *min, int *max, char *error, size_t error_bytes);

/* Returns NULL and a message for invalid options: the error, its position, and the allowed
 * values. */
struct stepmgr *stepmgr_create(const struct step_config *config,
                               const struct step_effects *effects,
                               char *error, size_t error_bytes);
void stepmgr_destroy(struct stepmgr *core);
/* Gives the step a new id, because another step has taken the old one meanwhile. */
void stepmgr_id(struct stepmgr *core, const char *step_id);

/* A process group is being started: 0 is the launch, others come from effects.launch (mpiexec
 * calls this after launch() has returned the group number, when the placement is known). */
void stepmgr_group(struct stepmgr *core, int64_t now_ms, int group, int count,
                   const struct step_process *processes);
void stepmgr_report(struct stepmgr *core, int64_t now_ms, int group, int proxy,
                    enum step_report report, uint32_t epoch, const void *payload, size_t bytes);
/* The proxy of a group without a program has connected. */
void stepmgr_proxy_up(struct stepmgr *core, int64_t now_ms, int group);
/* The connection of a proxy broke, or all of its processes have ended. */
void stepmgr_proxy_disconnected(struct stepmgr *core, int64_t now_ms, int group, int proxy);
void stepmgr_time(struct stepmgr *core, int64_t now_ms);
/* mpiexec has received this signal and passes it on.  From now on no adaptation begins, and a
 * failed process is not a failure of the job. */
void stepmgr_terminate(struct stepmgr *core, int64_t now_ms, int signum);
/* All processes of MPI_Comm_spawn that run now; a host may occur several times. */
void stepmgr_spawned(struct stepmgr *core, int64_t now_ms, const struct step_spawned *spawned,
                     int n);
/* Whether MPI_Comm_spawn may start `count` more processes: 0, or -1 with a message. */
int stepmgr_check_spawn(const struct stepmgr *core, int count, char *error, size_t error_bytes);
/* `count` more connections to control ports did not authenticate with the job's secret. */
void stepmgr_unauthenticated(struct stepmgr *core, int64_t now_ms, unsigned count);
/* The proxy on this host failed, or could not be started, and the job ends for this reason. */
void stepmgr_host_lost(struct stepmgr *core, int64_t now_ms, const char *host);

/* Makes processes of the launch a process set.  `runs`: n pairs of first uid and count. 0, or -1:
 * the name is in use, or there are too many sets. */
int stepmgr_add_set(struct stepmgr *core, const char *name, const uint32_t (*runs)[2], int n);

/* Whether the job has or had a process set other than MPI's predefined ones. */
int stepmgr_has_sets(const struct stepmgr *core);

/* Number of processes of the present world on `host`. */
int stepmgr_local_pre(const struct stepmgr *core, const char *host);
/* Whether only the step manager handles a failed process of this group (1: an expansion before
 * agreement; the job goes on), or Hydra's rules apply (0). */
int stepmgr_owns_failure(const struct stepmgr *core, int group);
/* Present world rank of a process (-1: not a member), for messages. */
int stepmgr_world_rank(const struct stepmgr *core, int group, int rank);

/* Step protocol: one client of the socket, one line at a time (without newline, at most
 * STEP_LINE_MAX bytes; mpiexec bounds it). */
#define STEP_LINE_MAX (4 * 1024 * 1024)
void stepmgr_client_line(struct stepmgr *core, int64_t now_ms, int client, const char *line);
void stepmgr_client_disconnected(struct stepmgr *core, int client);

/* One line for mpiexec -v at the end of the job; empty if nothing was adapted. */
size_t stepmgr_summary(const struct stepmgr *core, char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif /* ELASTIC_STEPMGR_H_INCLUDED */
