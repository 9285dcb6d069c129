/*
 * What hydra_pmi_proxy does for adaptations, as its own files call it.  State (the board, the
 * descriptors that watch processes) is owned by agent.c; all calls come from the proxy's event
 * loop.  A proxy whose processes were made by MPI_Comm_spawn has no board, and every function here
 * does nothing for it.  SPEC I1-I3, P3, P4, P7, E3, E4.
 */

#ifndef ADAPT_PMIP_H_INCLUDED
#define ADAPT_PMIP_H_INCLUDED

#include "end.h"

#include "hydra.h"
#include "common.h"

/* Handler of the proxy parameter --adapt: what mpiexec says of a joining group. */
HYD_status HYD_pmcd_pmip_adapt_param(char *arg, char ***argv);
/* Handler of --adapt-bind: for each process, which place of the binding it takes. */
HYD_status HYD_pmcd_pmip_adapt_bind_param(char *arg, char ***argv);
int HYD_pmcd_pmip_adapt_bind_index(int process_id);

/* Before the first process is started: makes the board. */
HYD_status HYD_pmcd_pmip_adapt_start(void);
/* Adds PMI_ADAPT to the environment of a process that is about to be started. */
HYD_status HYD_pmcd_pmip_adapt_env(int process_id, struct HYD_env **env);
/* Where the write end of a process' standard input is kept (stock forgets all but rank 0's). */
int *HYD_pmcd_pmip_adapt_stdin(int process_id, int *otherwise);
/* All processes run. */
HYD_status HYD_pmcd_pmip_adapt_started(void);

/* --secret: where the job's secret is to be had; takes it (greeting.c). */
HYD_status HYD_pmcd_pmip_secret_param(char *arg, char ***argv);
/* The proxy id has been sent to mpiexec.  An error if either does not know the other. */
HYD_status HYD_pmcd_pmip_greet(void);

/* A message with command ADAPT has come from mpiexec. */
HYD_status HYD_pmcd_pmip_adapt_command(int fd, const struct HYD_pmcd_hdr *hdr);
/* Standard input goes to the process of this rank from now on (-1: no change). */
void HYD_pmcd_pmip_adapt_stdin_to(int rank);

/* mpiexec wants a signal to be passed on. */
void HYD_pmcd_pmip_adapt_signalled(int signum);
/* The PMI connection of a process broke; the others are about to be killed for it. */
void HYD_pmcd_pmip_adapt_lost(int process_id);
/* A process has been waited for. */
void HYD_pmcd_pmip_adapt_exited(int process_id, int wait_status);
/* Whether it has called MPI_Init_adapt, or is started to join. */
int HYD_pmcd_pmip_adapt_is_adaptive(int process_id);
/* Some watched process still runs although its output is closed. */
int HYD_pmcd_pmip_adapt_busy(void);

/* So much output of a process has been sent to mpiexec (output.h). */
void HYD_pmcd_pmip_adapt_output(int bytes);
/* All has been sent: waits until it is on its way. */
HYD_status HYD_pmcd_pmip_adapt_flush(void);

/* PMI commands of the processes (PMI-1 table). */
HYD_status HYD_pmcd_pmip_adapt_fn_init(int fd, char *args[]);
HYD_status HYD_pmcd_pmip_adapt_fn_ready(int fd, char *args[]);
HYD_status HYD_pmcd_pmip_adapt_fn_prepared(int fd, char *args[]);
HYD_status HYD_pmcd_pmip_adapt_fn_greeted(int fd, char *args[]);
HYD_status HYD_pmcd_pmip_adapt_fn_unable(int fd, char *args[]);
HYD_status HYD_pmcd_pmip_adapt_fn_committed(int fd, char *args[]);
/* committed.c: the window of this epoch opens; tells mpiexec when all of the board have committed. */
struct HYD_board;
HYD_status HYD_pmcd_pmip_adapt_await_commit(const struct HYD_board *board, uint32_t epoch);
/* Tells it now, if they have; to be called before what must come after it. */
HYD_status HYD_pmcd_pmip_adapt_look_committed(void);
/* say.c */
HYD_status HYD_pmcd_pmip_adapt_fn_sizes(int fd, char *args[]);
HYD_status HYD_pmcd_pmip_adapt_fn_unreceived(int fd, char *args[]);

/* performance.c: answers STEP_PERFORMANCE with the number of that sample. */
HYD_status HYD_pmcd_pmip_adapt_report_performance(const struct HYD_board *board, uint32_t sample);

/* For the other files of this kind: a report (enum step_report) to mpiexec; the rank of the process at a PMI
 * connection, -1 if there is none or no board; a token of a PMI command, NULL if it is missing. */
HYD_status HYD_pmcd_pmip_adapt_report(int kind, uint32_t epoch, const void *payload, size_t bytes);
int HYD_pmcd_pmip_adapt_rank_of(int fd);
const char *HYD_pmcd_pmip_adapt_argument(char *args[], const char *key);

#endif /* ADAPT_PMIP_H_INCLUDED */
