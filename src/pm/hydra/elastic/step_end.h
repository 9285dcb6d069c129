/*
 * Ends of the job that somebody wants.
 */

#ifndef STEP_END_H_INCLUDED
#define STEP_END_H_INCLUDED

/* Ends mpiexec with an error, all daemons and their processes, whatever state they are in: the second
 * Ctrl-C, or a launch that cannot come to anything.  Does not return; takes two seconds at most. */
void HYD_step_end_at_once(void) ATTRIBUTE((noreturn));

#endif /* STEP_END_H_INCLUDED */
