/*
 * The event loop of an mpiexec that adapts, its connections to proxies, and its own output.
 */

#ifndef MPIEXEC_OUTPUT_H_INCLUDED
#define MPIEXEC_OUTPUT_H_INCLUDED

#include <stdint.h>

struct HYD_pmcd_hdr;
struct HYD_proxy;
struct HYD_step_proxy;

/* The loop calls `due` at the time that `next` returns, <0: never (timers.h). */
void HYD_step_use_loop(int64_t(*next) (void), void (*due) (void));
/* The control connection of a proxy is established. */
void HYD_step_take_connection(struct HYD_proxy *proxy);
/* This proxy counts its output from now on: it has an adaptive process, or process sets are
 * used. */
void HYD_step_output_counted(struct HYD_step_proxy *proxy);
/* Prints for the user what a signal to mpiexec does, if the signal handler has not
 * (HYD_step_prints_signals). */
void HYD_step_print_signal(int signum);
/* Waits until all output is written; for a limited time if mpiexec has been ordered to end. */
void HYD_step_finish_output(void);

/* ---- called by stock files ---- */

/* Output of a process has arrived: counts it, and returns the rank for its label. */
int HYD_step_output(const struct HYD_proxy *proxy, const struct HYD_pmcd_hdr *hdr);
/* Whether HYD_step_signalled prints the message about a signal to mpiexec, instead of the
 * handler. */
int HYD_step_prints_signals(void);

#endif /* MPIEXEC_OUTPUT_H_INCLUDED */
