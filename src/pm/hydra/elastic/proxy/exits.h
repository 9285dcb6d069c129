/*
 * Ends of processes.  Stock reports the exit codes of a proxy when all of its processes have ended.
 * Adaptations need each at once, and leaving processes must not remain as zombies, so a pidfd
 * watches every adaptive process.  The pidfd only wakes the loop; the stock waitpid reaps.  An
 * aborted process is reported before those that are killed for it.  A process of the launch that
 * ends without having used MPI is reported, for others may wait for it in MPI_Init.  In jobs that
 * do not adapt a pidfd watches a process once its connection is closed unused, or once all output
 * on its host is closed.  pmip_adapt.h has the calls for Hydra's own files.
 */

#ifndef PROXY_EXITS_H_INCLUDED
#define PROXY_EXITS_H_INCLUDED

#include "hydra.h"

/* The connection of this process has been closed by its end. */
void HYD_exits_closed(int process_id);
/* A process has ended: whether that is too early (early_ends.c); its input that may not have been
 * read yet. */
void HYD_exits_check_early(int process_id);
void HYD_exits_read_connection(int process_id);
/* The same with -disable-auto-cleanup for the first process of MPI_Comm_spawn that has ended, after
 * it had begun on this connection. */
void HYD_exits_spawned_ended(int process_id, int wait_status, int connection);
/* The main loop wakes when it has ended; all have been killed, or are in a moment. */
void HYD_exits_wake_at_end(int process_id);
int HYD_exits_kills(void);
/* The processes of the launch run.  With -pmi-port no end of a connection tells that one will never
 * use MPI. */
void HYD_exits_started(void);
/* Watches those that are not watched yet. */
HYD_status HYD_exits_watch(void);
/* Ends of processes before they were watched. */
void HYD_exits_report_earlier(void);
/* STEP_LET_GO, STEP_BREAK.  An error if the payload is malformed. */
HYD_status HYD_exits_let_go(const char *payload, size_t bytes);
HYD_status HYD_exits_break(const char *payload, size_t bytes);
/* From now on processes may be permitted to exit: for an aborted process mpiexec is queried whether
 * it was, since its notification may be in transit. */
void HYD_exits_may_be_let_go(void);
/* A process breaks off.  0: it is decided here; the others are to be killed. */
int HYD_exits_query(int process_id);

#endif /* PROXY_EXITS_H_INCLUDED */
