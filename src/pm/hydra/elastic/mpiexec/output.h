/*
 * The event loop of an mpiexec that adapts, its connections to node daemons, and its own output.
 */

#ifndef MPIEXEC_OUTPUT_H_INCLUDED
#define MPIEXEC_OUTPUT_H_INCLUDED

struct HYD_proxy;
struct HYD_step_proxy;

void HYD_step_use_loop(void);
/* The control connection of a proxy is there. */
void HYD_step_take_connection(struct HYD_proxy *proxy);
/* This daemon counts its output from now on: it has an adaptive process, or process sets are used. */
void HYD_step_output_counted(struct HYD_step_proxy *proxy);
/* Prints for the user what a signal to mpiexec does, if the signal handler has not (HYD_step_prints_signals). */
void HYD_step_print_signal(int signum);
/* Waits until all output is written; not for ever if mpiexec has been ordered to end. */
void HYD_step_finish_output(void);

#endif /* MPIEXEC_OUTPUT_H_INCLUDED */
