/*
 * Ends processes in bounded time after a signal.  mpiexec forwards SIGTERM, SIGINT and SIGQUIT.
 * After one second the proxy searches for processes that the signal has not reached, and from five
 * seconds on for processes that will never end:
 *   - A handler may hang: libinfinipath, which libfabric loads, calls exit() in its own, and waits
 *     for a lock that the interrupted function holds.  A process that is idle and waits in a futex
 *     is killed.
 *   - Adaptive processes are killed when the time that mpiexec gives them is over (--end-after).
 *   - Others have a handler of their own and work to do, for example a checkpoint to write: they
 *     end when they are ready, as under stock Hydra.
 * A process that is being debugged, or writes a core file, is not killed.  A killed process ends
 * the job, by the rules of stock Hydra.
 *
 * State: the signal and its time; used from the event loop only, no function blocks.
 */

#ifndef ADAPT_END_H_INCLUDED
#define ADAPT_END_H_INCLUDED

#include "hydra.h"

/* --end-after: milliseconds that adaptive processes have, 0: no limit. */
HYD_status HYD_pmcd_pmip_end_after_param(char *arg, char ***argv);
/* mpiexec has sent a signal, which will be passed on next. */
void HYD_pmcd_pmip_end_signalled(int signum);

/* Sends a signal to the process group of a process; only to the process if it is still in our
 * group. */
void HYD_pmcd_pmip_adapt_kill(pid_t pid, pid_t group, int signum);

/* Whether a process of this process group lives. */
int HYD_end_group_lives(pid_t leader);

#endif /* ADAPT_END_H_INCLUDED */
