/*
 * The proxy's part in adaptations, as hydra_pmi_proxy's own files call it: it makes the board,
 * notifies its processes, forwards their reports to mpiexec and performs mpiexec's commands.  It
 * makes no decision. state.h has the common data of its files; all calls come from the proxy's
 * event loop. A proxy whose processes were made by MPI_Comm_spawn has no board, and every function
 * here has no effect on it. Protocol clauses I1-I3, P3, P4, P7, E3, E4.
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
/* Handler of --adapt-gpus: VARIABLE,...:COUNT:NUMBER,...  Each process gets so many of these GPUs
 * (0: all of them) in the variables. */
HYD_status HYD_pmcd_pmip_adapt_gpus_param(char *arg, char ***argv);
/* Handler of --adapt-tasks (tasks.h). */
HYD_status HYD_pmcd_pmip_adapt_tasks_param(char *arg, char ***argv);
/* Handler of --label-tasks (tasks.h). */
HYD_status HYD_pmcd_pmip_label_tasks_param(char *arg, char ***argv);
int HYD_pmcd_pmip_adapt_bind_index(int process_id);

/* Before the first process is started: makes the board. */
HYD_status HYD_pmcd_pmip_adapt_start(void);
/* Adds its GPUs and PMI_ADAPT to the environment of a process that is about to be started. */
HYD_status HYD_pmcd_pmip_adapt_env(int process_id, struct HYD_env **env);
/* Where the write end of a process' standard input is (stock stores only rank 0's). */
int *HYD_pmcd_pmip_adapt_stdin(int process_id);
HYD_status HYD_pmcd_pmip_input_all_param(char *arg, char ***argv);
/* All processes run. */
HYD_status HYD_pmcd_pmip_adapt_started(void);

/* --secret: the source of the job's secret; reads it (handshake.c). */
HYD_status HYD_pmcd_pmip_secret_param(char *arg, char ***argv);
/* The proxy id has been sent to mpiexec.  An error if either does not know the other. */
HYD_status HYD_pmcd_pmip_handshake(void);

/* A message with command ADAPT has come from mpiexec. */
HYD_status HYD_pmcd_pmip_adapt_command(int fd, const struct HYD_pmcd_hdr *hdr);
/* So many bytes of standard input come, 0: its end; from now on for the process of this rank (-1:
 * no change). */
void HYD_pmcd_pmip_adapt_stdin_to(int rank, int bytes);
/* Writes to a process, as HYDU_sock_write; but data that does not fit waits for the process to
 * read.  That nobody reads any more is neither an error nor SIGPIPE, by which the proxy would kill
 * all processes: input from here on is dropped. */
HYD_status HYD_pmcd_pmip_adapt_stdin_write(const char *bytes, int n, int *sent, int *closed);

/* mpiexec wants a signal to be passed on.  Whether that is done: of a suspension, by which no
 * process ends. */
int HYD_pmcd_pmip_adapt_signalled(int signum);
/* The PMI connection of a process broke; the others are about to be killed for it. */
void HYD_pmcd_pmip_adapt_failed(int process_id);
/* Whether it may end in any way, because it leaves. */
int HYD_pmcd_pmip_adapt_is_let_go(int process_id);
/* The process of this connection waits in a barrier for all others. */
void HYD_pmcd_pmip_adapt_barrier(int fd);
void HYD_pmcd_pmip_adapt_barrier_over(void);
/* The connection of a process has ended: whether it may, because it is parked, leaves or has never
 * used MPI. */
int HYD_pmcd_pmip_adapt_closed(int process_id, int fd);
/* A process has been waited for. */
void HYD_pmcd_pmip_adapt_exited(int process_id, int wait_status);
/* The exit status of a process that has ended after a signal of mpiexec. */
int HYD_pmcd_pmip_adapt_status(int wait_status);
/* Some child has been waited for. */
void HYD_pmcd_pmip_adapt_reaped(pid_t pid, int wait_status);
/* Whether it has called MPI_Init_adapt, or is started to join. */
int HYD_pmcd_pmip_adapt_is_adaptive(int process_id);
/* The processes cannot be started: reports the reason to mpiexec, and ends started ones and the
 * proxy. */
void HYD_pmcd_pmip_cannot(const char *format, ...) __attribute__ ((noreturn, format(printf, 1, 2)));
/* Whether the processes started next have only the variables that are given for them (-genvnone,
 * -genvlist, ...). */
void HYD_pmcd_pmip_choose_env(const char *prop);

/* Some process still runs although its output is closed, or a decision about one is awaited. */
int HYD_pmcd_pmip_adapt_busy(void);

/* So much output of a process has been sent to mpiexec (output.h). */
void HYD_pmcd_pmip_adapt_output(int bytes);
/* All reports are sent, the exit status last: waits until mpiexec has read them and closed the
 * connection. */
HYD_status HYD_pmcd_pmip_adapt_flush(void);

/* pmip_cb.c: takes in what there is on a PMI connection. */
HYD_status HYD_pmcd_pmip_adapt_read_pmi(int fd);

/* Something has come on the PMI connection of this process (-1: not known whose it is). */
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
/* abort.c: what is there of output goes to mpiexec before, which ends by it. */
HYD_status HYD_pmcd_pmip_adapt_fn_abort(int fd, char *args[]);
/* parked.c: the process may end now; it goes on. */
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
