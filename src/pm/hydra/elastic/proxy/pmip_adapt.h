/*
 * The proxy's part in adaptations, as called by hydra_pmi_proxy's own files: it makes the board,
 * notifies its processes, forwards their reports to mpiexec and performs mpiexec's commands.  It
 * makes no decision. state.h has the common data of its files; all calls come from the proxy's
 * event loop.  A proxy whose processes were made by MPI_Comm_spawn has no board, and every function
 * here has no effect on it.  Protocol clauses I1-I3, P3, P4, P7, E3, E4.
 */

#ifndef PROXY_PMIP_ADAPT_H_INCLUDED
#define PROXY_PMIP_ADAPT_H_INCLUDED

#include "hydra.h"
#include "common.h"
#include "wire/hook.h"

/* Rows of the proxy's table of parameters (pmip_utils.c). */
#define HYD_PMCD_PMIP_ADAPT_PARAMS                              \
    {"secret", HYD_pmcd_pmip_secret_param, NULL},               \
    {"end-after", HYD_pmcd_pmip_end_after_param, NULL},         \
    {"input-all", HYD_pmcd_pmip_input_all_param, NULL},         \
    {"adapt", HYD_pmcd_pmip_adapt_param, NULL},                 \
    {"adapt-bind", HYD_pmcd_pmip_adapt_bind_param, NULL},       \
    {"adapt-gpus", HYD_pmcd_pmip_adapt_gpus_param, NULL},       \
    {"adapt-tasks", HYD_pmcd_pmip_adapt_tasks_param, NULL},     \
    {"label-tasks", HYD_pmcd_pmip_label_tasks_param, NULL},

/* Handler of the proxy parameter --adapt: data of mpiexec about a joining group. */
HYD_status HYD_pmcd_pmip_adapt_param(char *arg, char ***argv);
/* Handler of --adapt-bind: for each process, its slot of the binding. */
HYD_status HYD_pmcd_pmip_adapt_bind_param(char *arg, char ***argv);
/* Handler of --adapt-gpus: VARIABLE,...:COUNT:NUMBER,...  Sets the variables of each process to
 * COUNT of these GPUs (0: all of them). */
HYD_status HYD_pmcd_pmip_adapt_gpus_param(char *arg, char ***argv);
/* Handler of --adapt-tasks (tasks.h). */
HYD_status HYD_pmcd_pmip_adapt_tasks_param(char *arg, char ***argv);
/* Handler of --label-tasks (tasks.h). */
HYD_status HYD_pmcd_pmip_label_tasks_param(char *arg, char ***argv);
int HYD_pmcd_pmip_adapt_bind_index(int process_id);

/* Makes the board.  Called before the first process is started. */
HYD_status HYD_pmcd_pmip_adapt_start(void);
/* Adds its GPUs and PMI_ADAPT to the environment of a process that is about to be started. */
HYD_status HYD_pmcd_pmip_adapt_env(int process_id, struct HYD_env **env);
/* Pointer to the write end of a process' standard input (stock stores only that of rank 0). */
int *HYD_pmcd_pmip_adapt_stdin(int process_id);
HYD_status HYD_pmcd_pmip_input_all_param(char *arg, char ***argv);
/* All processes run. */
HYD_status HYD_pmcd_pmip_adapt_started(void);

/* --secret: the source of the job's secret; reads it (handshake.c). */
HYD_status HYD_pmcd_pmip_secret_param(char *arg, char ***argv);
/* Called when the proxy id has been sent to mpiexec.  An error if one side does not
 * authenticate. */
HYD_status HYD_pmcd_pmip_handshake(void);

/* A message with command ADAPT has arrived from mpiexec. */
HYD_status HYD_pmcd_pmip_adapt_command(int fd, const struct HYD_pmcd_hdr *hdr);
/* `bytes` of standard input follow, 0: its end.  From now on it is for the process with this rank
 * (-1: no change). */
void HYD_pmcd_pmip_adapt_stdin_to(int rank, int bytes);
/* Writes to a process, as HYDU_sock_write, but data that does not fit waits until the process
 * reads.  A missing reader is neither an error nor SIGPIPE, after which the proxy would kill all
 * processes: further input is dropped. */
HYD_status HYD_pmcd_pmip_adapt_stdin_write(const char *bytes, int n, int *sent, int *closed);

/* mpiexec requests to pass a signal on.  Returns whether that is done: for a suspension, which ends
 * no process. */
int HYD_pmcd_pmip_adapt_signalled(int signum);
/* The PMI connection of a process broke, and the others will be killed next. */
void HYD_pmcd_pmip_adapt_failed(int process_id);
/* Whether the process may end in any way, because it leaves. */
int HYD_pmcd_pmip_adapt_is_let_go(int process_id);
/* The process of this connection waits in a barrier for all others. */
void HYD_pmcd_pmip_adapt_barrier(int fd);
void HYD_pmcd_pmip_adapt_barrier_over(void);
/* The connection of a process was closed.  Returns whether that is permitted, because the process
 * is parked, leaves or has never used MPI. */
int HYD_pmcd_pmip_adapt_closed(int process_id, int fd);
/* A process has been waited for. */
void HYD_pmcd_pmip_adapt_exited(int process_id, int wait_status);
/* The exit status to report for a process that ended after a signal of mpiexec. */
int HYD_pmcd_pmip_adapt_status(int wait_status);
/* A child process has been waited for. */
void HYD_pmcd_pmip_adapt_reaped(pid_t pid, int wait_status);
/* Whether the process has called MPI_Init_adapt, or was started to join. */
int HYD_pmcd_pmip_adapt_is_adaptive(int process_id);
/* The processes cannot be started: reports the reason to mpiexec, and ends the started processes
 * and the proxy. */
void HYD_pmcd_pmip_cannot(const char *format, ...) __attribute__ ((noreturn, format(printf, 1, 2)));
/* Sets whether processes that are started next get only the variables that are given for them
 * (-genvnone, -genvlist, ...). */
void HYD_pmcd_pmip_choose_env(const char *prop);

/* Whether a process still runs although its output is closed, or a decision about one is
 * pending. */
int HYD_pmcd_pmip_adapt_busy(void);

/* `bytes` of output of a process have been sent to mpiexec (output.h). */
void HYD_pmcd_pmip_adapt_output(int bytes);
/* Called when all reports have been sent, the exit status last: waits until mpiexec has read them
 * and closed the connection. */
HYD_status HYD_pmcd_pmip_adapt_flush(void);

/* pmip_cb.c: reads all data on a PMI connection. */
HYD_status HYD_pmcd_pmip_adapt_read_pmi(int fd);

/* Data has arrived on the PMI connection of this process (-1: unknown). */
void HYD_pmcd_pmip_adapt_began(int process_id);

/* PMI commands of the processes: rows of the table of PMI-1 (pmip_pmi_v1.c). */
#define HYD_PMCD_PMIP_ADAPT_COMMANDS                                            \
    {"adapt_init", HYD_pmcd_pmip_adapt_fn_init},                                \
    {"adapt_ready", HYD_pmcd_pmip_adapt_fn_ready},                              \
    {"adapt_prepared", HYD_pmcd_pmip_adapt_fn_prepared},                        \
    {"adapt_greeted", HYD_pmcd_pmip_adapt_fn_greeted},                          \
    {"adapt_unable", HYD_pmcd_pmip_adapt_fn_unable},                            \
    {"adapt_committed", HYD_pmcd_pmip_adapt_fn_committed},                      \
    {"adapt_sizes", HYD_pmcd_pmip_adapt_fn_sizes},                              \
    {"adapt_unreceived", HYD_pmcd_pmip_adapt_fn_unreceived},                    \
    {"adapt_wish", HYD_pmcd_pmip_adapt_fn_request},                             \
    {"adapt_wish_withdraw", HYD_pmcd_pmip_adapt_fn_request_withdraw},           \
    {"adapt_set_call", HYD_pmcd_pmip_adapt_fn_set_call},                        \
    {"adapt_set_fetch", HYD_pmcd_pmip_adapt_fn_set_fetch},                      \
    {"adapt_parked", HYD_pmcd_pmip_adapt_fn_parked},                            \
    {"adapt_resumed", HYD_pmcd_pmip_adapt_fn_resumed},                          \
    {"abort", HYD_pmcd_pmip_adapt_fn_abort},
HYD_status HYD_pmcd_pmip_adapt_fn_init(int fd, char *args[]);
HYD_status HYD_pmcd_pmip_adapt_fn_ready(int fd, char *args[]);
HYD_status HYD_pmcd_pmip_adapt_fn_prepared(int fd, char *args[]);
HYD_status HYD_pmcd_pmip_adapt_fn_greeted(int fd, char *args[]);
HYD_status HYD_pmcd_pmip_adapt_fn_unable(int fd, char *args[]);
HYD_status HYD_pmcd_pmip_adapt_fn_committed(int fd, char *args[]);
/* abort.c: sends present output to mpiexec before the abort, which ends mpiexec. */
HYD_status HYD_pmcd_pmip_adapt_fn_abort(int fd, char *args[]);
/* parked.c: the process may end now, but continues. */
HYD_status HYD_pmcd_pmip_adapt_fn_parked(int fd, char *args[]);
HYD_status HYD_pmcd_pmip_adapt_fn_resumed(int fd, char *args[]);
/* say.c */
HYD_status HYD_pmcd_pmip_adapt_fn_sizes(int fd, char *args[]);
HYD_status HYD_pmcd_pmip_adapt_fn_request(int fd, char *args[]);
HYD_status HYD_pmcd_pmip_adapt_fn_request_withdraw(int fd, char *args[]);
HYD_status HYD_pmcd_pmip_adapt_fn_unreceived(int fd, char *args[]);
/* sets.c */
HYD_status HYD_pmcd_pmip_adapt_fn_set_call(int fd, char *args[]);
HYD_status HYD_pmcd_pmip_adapt_fn_set_fetch(int fd, char *args[]);

#endif /* PROXY_PMIP_ADAPT_H_INCLUDED */
