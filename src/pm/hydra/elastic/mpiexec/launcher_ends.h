/*
 * Ends of the processes that launch proxies (ssh, srun, or the proxy itself).  This file waits for
 * launchers of expansions.  Hydra waits for those of the job's own launch at the end of the job.
 * This file also handles those that fail before their proxy has connected, because stock would wait
 * for that proxy for ever.
 */

#ifndef MPIEXEC_LAUNCHER_ENDS_H_INCLUDED
#define MPIEXEC_LAUNCHER_ENDS_H_INCLUDED

#include "hydra.h"

struct HYD_step_group;

/* Watches the launchers of a group's proxies: HYD_bscu_pid_list from `first` on. */
HYD_status HYD_step_watch_launchers(struct HYD_step_group *group, int first);
/* The same for one proxy of the job's own launch if that has no record (no core): if the launcher
 * fails before the proxy has connected, the job ends. */
void HYD_step_watch_launcher(const struct HYD_proxy *proxy);
/* From now on Hydra ignores exit codes of launchers if a growth or a spawn has failed, or if the
 * job has failed and the reason was reported. */
void HYD_step_excuse_launchers(void);
/* Removes ended launchers from Hydra's lists of launchers and their output, which otherwise only
 * grow. */
void HYD_step_compact_launchers(void);

#endif /* MPIEXEC_LAUNCHER_ENDS_H_INCLUDED */
