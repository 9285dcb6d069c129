/*
 * Ends of processes and of their proxies, exit codes, and their effect on the job.  hooks.h has more of it, called by
 * Hydra's own files; end.h has signals to mpiexec.
 */

#ifndef MPIEXEC_EXITS_H_INCLUDED
#define MPIEXEC_EXITS_H_INCLUDED

#include <stdint.h>

struct HYD_proxy;
struct HYD_step_group;
struct HYD_step_proxy;

/* Whether Hydra's rules for processes that died apply to this group. */
int HYD_step_rules_apply(const struct HYD_step_group *group);
/* One more process of this daemon has ended. */
void HYD_step_note_exit(struct HYD_step_proxy *proxy);
/* A process has failed: the job ends after its proxy had time to report the cause. */
void HYD_step_end_job_soon(void);
/* By the clock: ends the job, or cuts off what is left of it. */
void HYD_step_end_due(int64_t now_ms);
/* The node daemon of a host of the job's own launch could not be started: the job ends. */
void HYD_step_launch_failed(const struct HYD_proxy *proxy);
/* A spawned process has ended in a way that ends the job, with this wait status; the first counts. */
void HYD_step_spawned_died_of(int wait_status);
/* The proxy of this host has reported why it cannot start its processes (HYD_ADAPT_CANNOT). */
void HYD_step_cannot_start(const struct HYD_proxy *proxy, const char *why, size_t bytes);
/* Whether the job ends because of a spawned process. */
int HYD_step_spawned_died(void);
/* HYD_ADAPT_IS_MISSED has come from this proxy. */
void HYD_step_is_missed(const struct HYD_proxy *proxy, const char *payload, size_t bytes);
/* Nothing of this group is left. */
void HYD_step_free_missed(const struct HYD_pg *pg);
/* The program of a process, by its number on the proxy; how it has ended, as the rest of a sentence. */
const char *HYD_step_program_of(const struct HYD_proxy *proxy, int index);
void HYD_step_describe_end(char *text, size_t bytes, int wait_status);
/* After HYD_step_exit_status. */
void HYD_step_free_exits(void);

#endif /* MPIEXEC_EXITS_H_INCLUDED */
