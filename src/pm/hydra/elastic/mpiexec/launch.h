/*
 * Process groups that come and go while the job runs: how one is placed, started, watched and removed.
 */

#ifndef MPIEXEC_LAUNCH_H_INCLUDED
#define MPIEXEC_LAUNCH_H_INCLUDED

#include "hydra.h"

int HYD_step_launch(uint32_t epoch, int count, int program, int pre, uint32_t first_uid, int modify,
                    const char *const *hosts, int n_hosts, int *group, char *error,
                    size_t error_bytes);
/* How many programs the job was launched with. */
int HYD_step_programs(void);
void HYD_step_kill_group(int group);
/* When the next group's time for its proxies to come up is over, <0: none waits. */
int64_t HYD_step_next_launch_limit(void);
/* Gives up the proxies whose time is over. */
void HYD_step_end_slow_launches(int64_t now_ms);
/* Watches the processes that launch its proxies: `first` and following of HYD_bscu_pid_list. */
HYD_status HYD_step_watch_launch(int first);

#endif /* MPIEXEC_LAUNCH_H_INCLUDED */
