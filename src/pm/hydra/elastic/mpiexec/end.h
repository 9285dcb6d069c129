/*
 * Requested ends of the job: a signal to mpiexec, or a launch that fails.
 *
 * mpiexec forwards a signal, as stock does, and the proxies ensure that it has an effect
 * (proxy/end.h).  This file does the rest: a proxy that has not connected yet gets the signal when
 * it connects, and mpiexec does not wait long for it.  With or without the step manager's core; no
 * function blocks, except at the end of mpiexec.
 */

#ifndef STEP_END_H_INCLUDED
#define STEP_END_H_INCLUDED

/* Ends mpiexec with an error, all proxies and their processes, whatever state they are in: the
 * second Ctrl-C, or a launch that cannot come to anything.  Does not return; takes two seconds at
 * most. */
void HYD_step_end_at_once(void) ATTRIBUTE((noreturn));

/* mpiexec has got a signal that it passes on now. */
void HYD_step_signalled(int signum);

#endif /* STEP_END_H_INCLUDED */
