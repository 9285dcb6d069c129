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
/* A process has failed: the job ends after its proxy had time to report the cause. */
void HYD_step_end_job_soon(void);
/* By the clock: ends the job, or cuts off what is left of it. */
void HYD_step_end_due(int64_t now_ms);
/* The proxy of a host of the job's own launch could not be started: the job ends. */
void HYD_step_launch_failed(const struct HYD_proxy *proxy);
/* A spawned process has ended in a way that ends the job, with this wait status; the first
 * counts. */
void HYD_step_spawned_died_of(int wait_status);
/* The proxy of this host has reported why it cannot start its processes (HYD_ADAPT_CANNOT). */
void HYD_step_cannot_start(const struct HYD_proxy *proxy, const char *why, size_t bytes);
/* Whether the job ends because of a spawned process. */
int HYD_step_spawned_died(void);
/* HYD_ADAPT_IS_MISSED has come from this proxy. */
void HYD_step_is_missed(const struct HYD_proxy *proxy, const char *payload, size_t bytes);
/* Nothing of this group is left. */
void HYD_step_free_missed(const struct HYD_pg *pg);
/* The program of a process, by its number on the proxy; how it has ended, as the rest of a
 * sentence. */
const char *HYD_step_program_of(const struct HYD_proxy *proxy, int index);
void HYD_step_describe_end(char *text, size_t bytes, int wait_status);
/* After HYD_step_exit_status. */
void HYD_step_free_exits(void);

/* ---- called by stock files ---- */

/* The wait status that the job ends with: that of the launch, or-ed with those of the processes
 * that joined and of an aborted adaptation, or the death of a spawned process; prints them like
 * stock does for the launch if -print-all-exitcodes is given. */
int HYD_step_exit_status(int of_launch);
/* A proxy has sent its exit statuses and is cleaned up.  Whether stock's rules for processes that
 * died apply to it (0: an expansion that failed, the job goes on). */
int HYD_step_proxy_ended(struct HYD_proxy *proxy);
/* A process has failed and all others have to end.  Returns 1: that is on its way, stock does
 * nothing. */
int HYD_step_end_job(void);
/* A process has called MPI_Abort: the same, with this exit code.  Stock loses what other hosts have
 * printed last. */
int HYD_step_abort(int exit_code);
/* The control connection of a proxy failed.  The consequence is complete: the end of its group, or
 * of the job. */
void HYD_step_proxy_disconnected(struct HYD_proxy *proxy);
/* Processes of this proxy that are still counted on its node: stock counts them off all at once. */
int HYD_step_counted_processes(const struct HYD_proxy *proxy);
/* Passes a signal on.  Whether that is done (0: stock's way; 1 also if there is nobody to get
 * it). */
int HYD_step_signal(const struct HYD_proxy *proxy, int signum);
/* Stock's reading from a proxy or writing to it has come to this: HYD_SUCCESS also if it failed
 * because one failed, which has been dealt with. */
HYD_status HYD_step_control_result(HYD_status status);
/* Around stock's first words to a proxy and its answers to PMI commands: writing to one that has
 * died is no signal, and if it is one of an expansion, no error of the job (E3). */
void HYD_step_pmi_begin(void);
HYD_status HYD_step_pmi_end(const struct HYD_proxy *proxy, HYD_status status);
/* Whether a PMI command of this proxy is not processed: the job ends, and the answer could go to a
 * proxy that is closed; or a process there sends commands and does not read the answers, which
 * nothing else bounds. */
int HYD_step_pmi_is_discarded(const struct HYD_proxy *proxy);

#endif /* MPIEXEC_EXITS_H_INCLUDED */
