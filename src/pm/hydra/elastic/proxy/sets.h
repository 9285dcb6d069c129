/*
 * The proxy's part in calls of its processes on process sets (pmi_adapt_set.h): forwards each
 * complete call to mpiexec, and stores the reply until the process has fetched it.  It makes no
 * decision.  A query whose reply may be shared is sent once: callers of the same query wait for
 * that reply meanwhile, and later callers get the cached reply.
 *
 * State: calls without a fetched reply, at most PMI_SET_CALLS_MAX of each process, and the latest
 * replies that may be shared; owned by sets.c, used from the event loop only.
 */

#ifndef PROXY_SETS_H_INCLUDED
#define PROXY_SETS_H_INCLUDED

#include "hydra.h"

/* STEP_SETS: mpiexec needs reports on the ends of all processes. */
HYD_status HYD_sets_used(void);
/* STEP_SET_ANSWER.  An error if the payload is malformed. */
HYD_status HYD_sets_answered(const char *payload, size_t bytes);
/* STEP_SET_SHARED, the same. */
HYD_status HYD_sets_shared(const char *payload, size_t bytes);
/* STEP_STARTS: reports the processes that have begun to use MPI to mpiexec, with this number, and
 * later ones as they begin. */
HYD_status HYD_sets_starts(uint64_t number);
/* STEP_SYNC: forwards all that this process has sent until now. */
HYD_status HYD_sets_sync(uint32_t uid);
/* STEP_COMES: notifies mpiexec whether this process is making this communicator. */
HYD_status HYD_sets_comes(uint64_t number, uint64_t creation, uint32_t uid);
/* Forwards all that this process has sent, before its end is reported. */
HYD_status HYD_sets_read(int process_id);
/* The process on this connection uses sessions. */
void HYD_sets_connect(int fd);
/* Whether the connection on which it made its calls is still open here. */
int HYD_sets_connected(int process_id);
/* The process with this number fetches no more replies. */
void HYD_sets_ended(int process_id);

#endif /* PROXY_SETS_H_INCLUDED */
