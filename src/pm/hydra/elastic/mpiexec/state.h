/*
 * State that the files of this folder share; nobody else includes this.  One job step per
 * mpiexec, so the state is one object, HYD_step, used from the event loop only.
 *
 * Groups: a process group of the launch (number 0) or of an expansion (its pgid, never used twice).
 * A group's record lives as long as its struct HYD_pg.  Groups of MPI_Comm_spawn have none.
 *
 * The core must not be called from one of its own effects: such calls are deferred and made when the
 * core has returned (glue.c, HYD_step_drain).
 */

#ifndef STEP_STATE_H_INCLUDED
#define STEP_STATE_H_INCLUDED

#include "glue.h"
#include "core/step_core.h"

struct HYD_step_process {
    int proxy;                  /* index of its proxy in the group */
    int label;                  /* last world rank seen, -1: none yet */
    int place;                  /* on its node, for binding: 0, 1, ... */
    int ended;
    int initialised;            /* it has called MPI_Init */
};

struct HYD_step_proxy {
    struct HYD_proxy *proxy;
    struct HYD_node *node;      /* where its processes are counted */
    int processes;              /* started on it */
    int freed;                  /* of those, ended and no longer counted on the node */
    int *ranks;                 /* of its processes, in the order in which it starts them */
    int ended;                  /* reported to the core as gone */
    int launch_fd;              /* socket pair to a proxy that has not yet said its id, or -1 */
    int launcher_pid;           /* process that started the proxy (or is it), -1: waited for */
    int launcher_watch;         /* pidfd of it, or -1 */
    int given_up;               /* did not come up in time */
    uint32_t sequence;          /* of the last command to it */
    uint32_t frozen_sequence;   /* of the last STEP_FREEZE that it has answered */
    int asked_to_listen;
    uint16_t listen_port;       /* for other daemons, in network order; 0: it does not, or not yet */
    uint32_t address;           /* its host's, in network order, when it listens; 0: this host's */
    int unreached;              /* another daemon could not reach one of this host */
    int counts_output;          /* and sends no more of it than there is room */
    uint64_t output_came, output_room;  /* bytes since it counts */
};

struct HYD_step_group {
    int group;
    struct HYD_pg *pg;
    int count;
    int removed;                /* Hydra's rules for processes that died do not apply any more: */
#define HYD_STEP_FAILED 1       /*   an expansion that failed, of which nothing counts */
#define HYD_STEP_JOB_ENDS 2     /*   the job is being ended */
    struct HYD_step_process *processes; /* by rank */
    struct HYD_step_proxy *proxies;     /* by proxy id */
    int proxy_count;
    int listen_fd;              /* for proxies that connect over the network, or -1 */
    int64_t up_by_ms;           /* when the proxies have to be there, <0: at any time, or they are */
    struct HYD_step_group *next;
};

struct HYD_step {
    struct step_core *core;     /* NULL: not needed so far */
    struct HYD_step_group *groups;
    int64_t zero_us;            /* monotonic clock at time 0 */
    int64_t wake_ms;            /* when the core wants to be called, <0: never */
    int64_t launch_limit_ms;    /* for the proxies of an expansion to come up, 0: none */
    int64_t end_after_ms;       /* for adaptive processes that have been told to end, 0: as long as they like */
    int fanout;                 /* of the tree of daemons, 0: no tree */
    int64_t abort_ms;           /* when the job is ended, or what is left is cut off; <0: not asked */
    int exit_status;            /* see HYD_step_exit_status */
    int failed;                 /* the job may not end with exit code 0 */
    int ending;                 /* all proxies have been told to kill their processes */
    int log_fd;
};
extern struct HYD_step HYD_step;

int64_t HYD_step_now_ms(void);
struct HYD_step_group *HYD_step_find_group(int group);
/* Calls into the core are made between these two; drain makes the deferred ones. */
void HYD_step_enter(void);
void HYD_step_leave(void);
/* Sends to a proxy's control connection if it is there; if it breaks, its end is an event of its own
 * and neither an error nor a signal here. */
void HYD_step_send(const struct HYD_proxy *proxy, struct HYD_pmcd_hdr *hdr, const void *payload,
                   size_t bytes);
void HYD_step_send_signal(const struct HYD_proxy *proxy, int signum);
/* The node daemon of who reads standard input, NULL: nobody. */
struct HYD_proxy *HYD_step_first_proxy(void);
/* Makes the core, when the first process says that it is adaptive or an option asks for it. */
void HYD_step_create_core(void);
/* Whether Hydra's rules for processes that died apply to this group. */
int HYD_step_rules_apply(const struct HYD_step_group *group);
/* One more process of this daemon has ended. */
void HYD_step_note_exit(struct HYD_step_proxy *proxy);
/* A process has died: the job ends when its daemon has had time to tell how. */
void HYD_step_end_job_soon(void);
/* Deferred calls. */
void HYD_step_defer_placed(struct HYD_step_group *group);
void HYD_step_defer_proxy_gone(struct HYD_step_group *group, int proxy);
/* The node daemon of a host of the job's own launch could not be started: the job ends. */
void HYD_step_launch_failed(const struct HYD_proxy *proxy);

/* launch.c */
int HYD_step_launch(void *context, uint32_t epoch, int count, int program, int pre, uint32_t first_uid,
                    const char *const *hosts, int n_hosts, int *group, char *error,
                    size_t error_bytes);
/* How many programs the job was launched with. */
int HYD_step_programs(void);
void HYD_step_kill_group(void *context, int group);
/* When the next group's time for its proxies to come up is over, <0: none waits. */
int64_t HYD_step_next_launch_limit(void);
/* Gives up the proxies whose time is over. */
void HYD_step_end_slow_launches(int64_t now_ms);
/* The record of the launch itself. */
HYD_status HYD_step_adopt_launch(void);
/* Watches the processes that launch its proxies: `first` and following of HYD_bscu_pid_list. */
HYD_status HYD_step_watch_launch(int first);
void HYD_step_free_group(struct HYD_step_group *group);

/* launchers.c: what the stock launchers lack */
void HYD_step_use_launcher(void);
/* The launcher of this proxy may have failed: if so, and the proxy belongs to the job's own launch, the job ends. */
void HYD_step_watch_launcher(const struct HYD_proxy *proxy);

/* relay.c: commands of the core, to each daemon or through a tree of them */
void HYD_step_send_to_all(void *context, const struct step_agent *to, int n, enum step_command command,
                          uint32_t epoch, const void *payload, size_t bytes);
/* Asks daemons for ports, if there are enough of them for a tree. */
void HYD_step_relay_prepare(void);
/* A message of mpiexec itself. */
void HYD_step_send_message(const struct HYD_step_proxy *proxy, uint32_t kind, const void *payload, size_t bytes);
/* HYD_ADAPT_LISTENS and HYD_ADAPT_RELAYED have come from this daemon, or it is gone. */
void HYD_step_relay_listens(struct HYD_step_proxy *proxy, const char *payload, size_t bytes);
void HYD_step_relay_answered(int group, int proxy, const char *payload, size_t bytes);
void HYD_step_relay_gone(int group, int proxy);
/* When HYD_step_relay_time has to be called, <0: at no time. */
int64_t HYD_step_relay_next(void);
void HYD_step_relay_time(int64_t now_ms);
void HYD_step_relay_finish(void);

/* output.c: the event loop of an mpiexec that adapts, its connections and its output */
void HYD_step_use_loop(void);
/* The control connection of a proxy is there. */
void HYD_step_take_connection(struct HYD_proxy *proxy);
/* This daemon has an adaptive process, and counts its output from now on. */
void HYD_step_output_counted(struct HYD_step_proxy *proxy);
/* Tells the user what a signal to mpiexec does, if the signal handler has not (HYD_step_tells_signals). */
void HYD_step_tell_signal(int signum);
/* Waits until all output is taken; not for ever if mpiexec has been told to end. */
void HYD_step_finish_output(void);
/* Work that is due by the clock (glue.c). */
int64_t HYD_step_next_wake(void);
void HYD_step_tick(void);

/* socket.c */
/* Whether this step belongs to a job of a resource manager. */
int HYD_step_managed(void);
/* The step's id: mpiexec's pid, unless a step with that id is there already (wire/step_socket.h). */
const char *HYD_step_id(void);
void HYD_step_socket_open(void);
void HYD_step_socket_close(void);
void HYD_step_reply(void *context, int client, const char *line);

#endif /* STEP_STATE_H_INCLUDED */
