/*
 * The proxy's part in calls of its processes on process sets (pmi_adapt_set.h): each complete call
 * goes up to mpiexec, and its answer waits here until the process has fetched it.  No decision is
 * made here.  A query whose answer may be shared is sent once: callers of the same query meanwhile
 * wait for it, and later callers get the cached answer.
 *
 * State: calls without an answer or with one that is not fetched, at most PMI_SET_CALLS_MAX of a
 * process, and the latest answers that may be shared; owned by sets.c, used from the event loop
 * only.
 */

#ifndef PROXY_SETS_H_INCLUDED
#define PROXY_SETS_H_INCLUDED

#include "hydra.h"

/* STEP_SETS: mpiexec needs to know of the ends of all processes. */
HYD_status HYD_sets_used(void);
/* STEP_SET_ANSWER.  An error if the payload is malformed. */
HYD_status HYD_sets_answered(const char *payload, size_t bytes);
/* STEP_SET_SHARED, the same. */
HYD_status HYD_sets_shared(const char *payload, size_t bytes);
/* STEP_STARTS: notifies mpiexec of the processes that have begun to use MPI, with this number, and
 * of later ones as they begin. */
HYD_status HYD_sets_starts(uint64_t number);
/* STEP_SYNC: forwards all that this process has sent until now. */
HYD_status HYD_sets_sync(uint32_t uid);
/* STEP_COMES: notifies mpiexec whether this process is making this communicator. */
HYD_status HYD_sets_comes(uint64_t number, uint64_t creation, uint32_t uid);
/* The same before the end of the process of this number is reported. */
HYD_status HYD_sets_read(int process_id);
/* The process uses sessions, by this connection. */
void HYD_sets_connect(int fd);
/* Whether the connection on which it made its calls is still open here. */
int HYD_sets_connected(int process_id);
/* The process of this number fetches nothing any more. */
void HYD_sets_ended(int process_id);

#endif /* PROXY_SETS_H_INCLUDED */
