/*
 * Common data of the proxy's files about adaptations: its processes and their board (board.h). Made
 * by start.c before the first process runs; used from the event loop only.
 */

#ifndef PROXY_STATE_H_INCLUDED
#define PROXY_STATE_H_INCLUDED

#include "pmip.h"
#include "board.h"
#include "wire/send_queue.h"

/* Data of one local process. */
struct HYD_proxy_process {
    /* stdin.c */
    int stdin_fd;               /* write end, or < 0 */
    /* the pipe of a process that reads the end of its input (O_PATH), or < 0 */
    int input_path;
    struct HYD_queue input;     /* not written yet */
    /* messages of mpiexec that were not reported as taken yet */
    uint32_t input_messages;
    int input_ends;             /* stdin_fd is closed when all input is written */
    int adaptive;
    int begun;                  /* it has used MPI; sets.c */
    int broke;                  /* its connection was closed while in use; exits.c */
    int connection;             /* descriptor of that connection */
    int begin_reported;             /* `begun` was reported to mpiexec */
    /* inode of the connection on which it made calls on process sets; 0: none */
    uint64_t socket;
    /* the rest belongs to exits.c */
    int watch_fd;               /* pidfd, or -1 */
    int wake_fd;                /* a second pidfd, which only wakes the main loop */
    /* with -pmi-port: its process group, whose processes may connect; else 0 */
    pid_t leader;
    int ended;
    int wait_status;            /* when ended */
    int held;                   /* its end will be reported after that of the root cause */
    int reported;               /* its end */
    int let_go;                 /* its end, of any kind, ends no other process */
    /* it aborts, and mpiexec has been queried whether it was permitted to exit */
    int undecided;
};

struct HYD_proxy_state {
    struct HYD_board board;     /* fd < 0: no board, and no process here adapts */
    struct HYD_proxy_process *processes;        /* by process number; NULL without a board */
    struct {
        int given;
        unsigned first_uid, epoch, pre, local_pre, modify;
    } join;                     /* --adapt of a joining group */
    uint32_t epoch;             /* of the last command, for reports that reply to no command */
};
extern struct HYD_proxy_state HYD_proxy_state;

static inline int HYD_proxy_process_count(void)
{
    return HYD_pmcd_pmip.local.proxy_process_count;
}

/* The number of a local process with this rank in the group, or on this PMI connection; -1: there
 * is none. */
static inline int HYD_proxy_process_of_rank(int rank)
{
    for (int i = 0; i < HYD_proxy_process_count(); i++)
        if (HYD_pmcd_pmip.downstream.pmi_rank[i] == rank)
            return i;
    return -1;
}

static inline int HYD_proxy_process_of_fd(int fd)
{
    for (int i = 0; i < HYD_proxy_process_count(); i++)
        if (HYD_pmcd_pmip.downstream.pmi_fd[i] == fd)
            return i;
    return -1;
}

#endif /* PROXY_STATE_H_INCLUDED */
