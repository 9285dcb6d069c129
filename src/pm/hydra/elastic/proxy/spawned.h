/*
 * The proxy of processes that MPI_Comm_spawn starts (DS4).  If one of them cannot be executed, the
 * proxy kills the others, writes the reason to its standard error, and ends before it has reported
 * any process to mpiexec (mpiexec/spawned.h).  Later it reports to mpiexec that all of them have
 * called MPI_Init.  It also reports the first process that ends before MPI_Init, or after it
 * without MPI_Finalize, with its exit code.
 *
 * State: a record of each process, owned by spawned.c; used from the event loop only.  For other
 * proxies all functions do nothing.
 */

#ifndef PROXY_SPAWNED_H_INCLUDED
#define PROXY_SPAWNED_H_INCLUDED

#include "hydra.h"

/* Called before the processes are started. */
HYD_status HYD_spawned_start(void);
/* Called after the processes were started. */
HYD_status HYD_spawned_check(void);

/* With -disable-auto-cleanup: whether a process is in MPI_Init, where others may wait for it in
 * shared memory. */
void HYD_spawned_note_init(int process_id, int is_in_init);
int HYD_spawned_in_init(int process_id);
/* Bytes have arrived on the PMI connection of this process. */
void HYD_spawned_began(int process_id);
/* The connection was closed because the process ended. */
void HYD_spawned_failed(int process_id);
/* Closes a PMI connection when the waiting replies have been sent (answers.h), and records that. */
HYD_status HYD_spawned_close(int fd);
/* A process has been waited for. */
void HYD_spawned_exited(int process_id, int wait_status);
/* Whether a process is running, or its end has not been seen, although its output may be closed. */
int HYD_spawned_busy(void);

#endif /* PROXY_SPAWNED_H_INCLUDED */
