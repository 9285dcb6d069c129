/*
 * The daemon's part in calls of its processes on process sets (pmi_adapt_set.h): each goes up to mpiexec once it is
 * whole, and its answer waits here until the process has fetched it.  Nothing is decided here.  But a look that mpiexec
 * lets others have is asked for once: whoever asks the same meanwhile waits for it, and whoever does later is given it.
 *
 * State: calls that are not answered or not fetched yet, at most PMI_SET_CALLS_MAX of a process, and the latest answers
 * that others may have; owned by sets.c, used from the event loop only.
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
/* STEP_STARTS: mpiexec is told who has begun to use MPI, with this number, and what comes later as it comes. */
HYD_status HYD_sets_starts(uint64_t number);
/* STEP_SYNC: what this process has said until now is passed on. */
HYD_status HYD_sets_sync(uint32_t uid);
/* STEP_COMES: mpiexec is told whether this process is making this communicator. */
HYD_status HYD_sets_comes(uint64_t number, uint64_t creation, uint32_t uid);
/* Before the end of the process of this number is told: the same. */
HYD_status HYD_sets_read(int process_id);
/* The process uses sessions, by this connection. */
void HYD_sets_connect(int fd);
/* Whether the connection on which it made its calls is still open here. */
int HYD_sets_connected(int process_id);
/* The process of this number fetches nothing any more. */
void HYD_sets_ended(int process_id);

#endif /* PROXY_SETS_H_INCLUDED */
