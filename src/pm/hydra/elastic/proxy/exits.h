/*
 * Ends of processes.  Stock reports the exit codes of a proxy when all of its processes have ended.
 * Adaptations need each one at once, and leaving processes must not remain as zombies.  So a pidfd
 * watches every adaptive process.  The pidfd only wakes the loop; stock's waitpid reaps.  An
 * aborted process is reported before the processes that are killed because of it.  A process of the
 * launch that ends without using MPI is reported, because others may wait for it in MPI_Init.  In
 * jobs that do not adapt, a pidfd watches a process once its connection is closed unused, or once
 * all output on its host is closed.  pmip_adapt.h has the calls for Hydra's own files.
 */

#ifndef PROXY_EXITS_H_INCLUDED
#define PROXY_EXITS_H_INCLUDED

#include "hydra.h"

/* The connection of this process was closed because the process ended. */
void HYD_exits_closed(int process_id);
/* A process has ended: checks whether it ended too early (early_ends.c). */
void HYD_exits_check_early(int process_id);
/* Reads what a process sent before its end. */
void HYD_exits_read_connection(int process_id);
/* As HYD_exits_check_early, with -disable-auto-cleanup, for the first process of MPI_Comm_spawn
 * that ended after it had used this connection. */
void HYD_exits_spawned_ended(int process_id, int wait_status, int connection);
/* Wakes the main loop when the process has ended. */
void HYD_exits_wake_at_end(int process_id);
/* Whether all processes have been killed, or will be killed next. */
int HYD_exits_kills(void);
/* The processes of the launch run.  With -pmi-port, no closed connection shows that a process will
 * never use MPI. */
void HYD_exits_started(void);
/* Watches all processes that are not watched yet. */
HYD_status HYD_exits_watch(void);
/* Reports processes that ended before they were watched. */
void HYD_exits_report_earlier(void);
/* STEP_LET_GO, STEP_BREAK.  An error if the payload is malformed. */
HYD_status HYD_exits_let_go(const char *payload, size_t bytes);
HYD_status HYD_exits_break(const char *payload, size_t bytes);
/* From now on processes may be permitted to exit.  When a process aborts, the proxy then queries
 * mpiexec whether it was permitted, because the permission may be in transit. */
void HYD_exits_may_be_let_go(void);
/* A process aborts: queries mpiexec. 0: no query is needed; the other processes are to be
 * killed. */
int HYD_exits_query(int process_id);

#endif /* PROXY_EXITS_H_INCLUDED */
