/*
 * Ends of the job that somebody wants: a signal to mpiexec, or a launch that comes to nothing.
 *
 * mpiexec passes a signal on, as stock does, and the proxies see to it that it has an effect
 * (proxy/end.h).  Here is the rest: proxies that have not come yet get it when they do, and are not
 * waited for when that takes long.  With or without the step manager's core; nothing waits, except
 * at the very end.
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
