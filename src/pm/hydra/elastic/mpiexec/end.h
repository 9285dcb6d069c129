/*
 * Requested ends of the job: a signal to mpiexec, or a launch that fails.
 *
 * mpiexec forwards a signal, as stock does, and the proxies ensure that it has an effect
 * (proxy/end.h).  This file handles proxies that have not connected yet: they get the signal when
 * they connect, and mpiexec waits only a short time for them.  With or without the step manager's
 * core; no function blocks, except at the end of mpiexec.
 */

#ifndef STEP_END_H_INCLUDED
#define STEP_END_H_INCLUDED

/* Ends mpiexec with an error, with all proxies and their processes in any state: after the second
 * Ctrl-C, or a failed launch.  Does not return; takes two seconds at most. */
void HYD_step_end_at_once(void) ATTRIBUTE((noreturn));

/* mpiexec has received a signal and passes it on now. */
void HYD_step_signalled(int signum);

#endif /* STEP_END_H_INCLUDED */
