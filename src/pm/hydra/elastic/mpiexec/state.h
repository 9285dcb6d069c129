/*
 * State that the files of this folder share; no other file includes this.  One job step per
 * mpiexec, so the state is one object, HYD_step, used from the event loop only.
 *
 * Groups: a process group of the launch (number 0) or of an expansion (its pgid, never used twice).
 * A group's record lives as long as its struct HYD_pg.  Groups of MPI_Comm_spawn have none.
 */

#ifndef STEP_STATE_H_INCLUDED
#define STEP_STATE_H_INCLUDED

#include "hydra.h"
#include "hydra_server.h"
#include "common.h"

/* time for an abandoned launcher to end before it is killed */
#define HYD_STEP_KILL_LAUNCHER_MS 5000

struct stepmgr;                 /* core.c */

struct HYD_step_process {
    int proxy;                  /* index of its proxy in the group */
    int label;                  /* last known world rank, -1: none yet */
    int slot;                  /* on its node, for binding: 0, 1, ... */
    int ended;
};

struct HYD_step_proxy {
    struct HYD_proxy *proxy;
    struct HYD_node *node;      /* the node on which its processes are counted */
    int processes;              /* number of processes started on it */
    /* of these, number that ended and are no longer counted on the node */
    int freed;
    int *ranks;                 /* ranks of its processes, in the order in which it starts them */
    int ended;                  /* reported to the core as disconnected */
    int launch_fd;              /* socket pair to a proxy that has not yet sent its id, or -1 */
    /* process that started the proxy, or the proxy itself; -1: waited for */
    int launcher_pid;
    int launcher_watch;         /* pidfd of it, or -1 */
    /* it has received its program; our messages must not precede that */
    int up;
    int given_up;               /* it did not connect in time */
    uint32_t sequence;          /* of the last command to it */
    struct HYD_step_deferred *deferred; /* commands that wait until it has connected (relay.c) */
    uint32_t frozen_sequence;   /* of the last STEP_FREEZE to which it has replied */
    uint32_t reported;          /* greatest number of its reports through the tree, */
    /* and those that have arrived: bit i stands for number reported - i */
    uint64_t reported_before;
    int requested_to_listen;
    /* port for other proxies, in network order; 0: it does not listen, or not yet */
    uint16_t listen_port;
    /* of its host, in network order, once it listens; 0: that of this host */
    uint32_t address;
    int unreached;              /* another proxy could not reach a proxy on this host */
    int counts_output;          /* it counts its output, and sends no more than its credit */
    uint64_t output_came, output_capacity;  /* bytes since the count began */
};

struct HYD_step_group {
    int group;
    struct HYD_pg *pg;
    int count;
    int is_relay_proxy;             /* without a program: it only keeps its proxy */
    int removed;                /* Hydra's rules for failed processes no longer apply: */
#define HYD_STEP_FAILED 1       /*   an expansion that failed, of which nothing counts */
#define HYD_STEP_JOB_ENDS 2     /*   the job is being ended */
    struct HYD_step_process *processes; /* by rank */
    struct HYD_step_proxy *proxies;     /* by proxy id */
    int proxy_count;
    /* processes that a program has started in its slots: they end by themselves */
    int is_tasks;
    int listen_fd;              /* for proxies that connect over the network, or -1 */
    /* time by which the proxies must have connected, <0: no limit, or all have */
    int64_t up_by_ms;
    struct HYD_step_group *next;
};

struct HYD_step {
    struct stepmgr *core;       /* NULL: not needed so far */
    struct HYD_step_group *groups;
    int64_t zero_us;            /* monotonic clock at time 0 */
    int64_t wake_ms;            /* time of the next call of the core, <0: never */
    int64_t launch_limit_ms;    /* time limit for the proxies of an expansion to connect, 0: none */
    /* time for adaptive processes to end after the order, 0: unlimited */
    int64_t end_after_ms;
    int fanout;                 /* of the tree of proxies, 0: no tree */
    /* time at which to end the job, or to close what is left of it; <0: not requested */
    int64_t abort_ms;
    int exit_status;            /* see HYD_step_exit_status */
    int failed;                 /* the job may not end with exit code 0 */
    /* the first received signal of SIGTERM, SIGINT and SIGQUIT; 0: none */
    int notified_to_end;
    int ending;                 /* all proxies have been ordered to kill their processes */
    int has_set_calls;          /* processes use sessions */
    int log_fd, sets_log_fd;
};
extern struct HYD_step HYD_step;

/* ---- what most files of this folder use ---- */

int64_t HYD_step_now_ms(void);
struct HYD_step_group *HYD_step_find_group(int group);
/* Sends on a proxy's control connection, if there is one.  A broken connection is a separate event,
 * and neither an error nor a signal here. */
void HYD_step_send(const struct HYD_proxy *proxy, struct HYD_pmcd_hdr *hdr, const void *payload,
                   size_t bytes);
void HYD_step_send_signal(const struct HYD_proxy *proxy, int signum);
/* One line for standard error. */
void HYD_step_print_message(const char *text);
/* Deregisters a registered descriptor, closes an open one, and sets it to -1. */
void HYD_step_close_fd(int *fd);
/* Whether this proxy has not connected yet, and still may. */
int HYD_step_is_awaited(const struct HYD_proxy *proxy);
/* Stock's clean-up of one proxy, which is not public (pmiserv_cb.c). */
HYD_status HYD_step_cleanup_proxy(struct HYD_proxy *proxy);

#endif /* STEP_STATE_H_INCLUDED */
