/*
 * Ends of processes and of their proxies, exit codes, and their effect on the job.  end.h has
 * signals to mpiexec.
 */

#ifndef MPIEXEC_EXITS_H_INCLUDED
#define MPIEXEC_EXITS_H_INCLUDED

#include "hydra.h"
#include <stdint.h>

struct HYD_proxy;
struct HYD_step_group;
struct HYD_step_proxy;

/* Whether Hydra's rules for processes that died apply to this group. */
int HYD_step_rules_apply(const struct HYD_step_group *group);
/* One more process of this proxy has ended. */
void HYD_step_note_exit(struct HYD_step_proxy *proxy);
/* A process has failed: ends the job after a delay, in which its proxy can report the cause. */
void HYD_step_end_job_soon(void);
/* Called by the clock: ends the job, or closes the connections to what is left of it. */
void HYD_step_end_due(int64_t now_ms);
/* The proxy of a host of the job's own launch could not be started: the job ends. */
void HYD_step_launch_failed(const struct HYD_proxy *proxy);
/* The end of a spawned process, with this wait status, ends the job.  Only the first call
 * counts. */
void HYD_step_spawned_died_of(int wait_status);
/* The proxy of this host has reported why it cannot start its processes (HYD_ADAPT_CANNOT). */
void HYD_step_cannot_start(const struct HYD_proxy *proxy, const char *why, size_t bytes);
/* Whether the job ends because of a spawned process. */
int HYD_step_spawned_died(void);
/* HYD_ADAPT_IS_MISSED has arrived from this proxy. */
void HYD_step_is_missed(const struct HYD_proxy *proxy, const char *payload, size_t bytes);
/* All of this group has ended: frees its data. */
void HYD_step_free_missed(const struct HYD_pg *pg);
/* The program of a process, by its number on the proxy. */
const char *HYD_step_program_of(const struct HYD_proxy *proxy, int index);
/* Describes the end of a process, as the rest of a sentence. */
void HYD_step_describe_end(char *text, size_t bytes, int wait_status);
/* Call it after HYD_step_exit_status. */
void HYD_step_free_exits(void);

/* ---- called by stock files ---- */

/* The wait status of the job: that of the launch, or-ed with those of joined processes, of an
 * aborted adaptation and of a failed spawned process.  With -print-all-exitcodes it prints them as
 * stock does for the launch. */
int HYD_step_exit_status(int of_launch);
/* A proxy has sent its exit statuses and is cleaned up.  Returns whether stock's rules for failed
 * processes apply to it (0: a failed expansion; the job continues). */
int HYD_step_proxy_ended(struct HYD_proxy *proxy);
/* A process has failed and all others have to end.  Returns 1: the end is under way, stock does
 * nothing. */
int HYD_step_end_job(void);
/* A process has called MPI_Abort: the same, with this exit code.  Stock would lose the last output
 * of other hosts. */
int HYD_step_abort(int exit_code);
/* The control connection of a proxy failed.  Ends its group or the job; stock has nothing more to
 * do. */
void HYD_step_proxy_disconnected(struct HYD_proxy *proxy);
/* Number of processes of this proxy that are still counted on its node; stock subtracts them all at
 * once. */
int HYD_step_counted_processes(const struct HYD_proxy *proxy);
/* Passes a signal on. 0: stock has to do it; 1: done, or there is no receiver. */
int HYD_step_signal(const struct HYD_proxy *proxy, int signum);
/* The result of stock's read from or write to a proxy.  Returns HYD_SUCCESS also if it failed
 * because of a failed proxy, which has been handled. */
HYD_status HYD_step_control_result(HYD_status status);
/* Bracket stock's first messages to a proxy and its replies to PMI commands.  Writing to a failed
 * proxy then raises no signal, and for a proxy of an expansion it is no error of the job (E3). */
void HYD_step_pmi_begin(void);
HYD_status HYD_step_pmi_end(const struct HYD_proxy *proxy, HYD_status status);
/* Whether to discard a PMI command of this proxy: the job ends, so the reply might go to a closed
 * proxy; or a process there sends commands without reading the replies, whose number has no other
 * limit. */
int HYD_step_pmi_is_discarded(const struct HYD_proxy *proxy);

#endif /* MPIEXEC_EXITS_H_INCLUDED */
