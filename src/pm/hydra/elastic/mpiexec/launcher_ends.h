/*
 * The processes that launch proxies (ssh, srun, or the proxy itself), until they have ended.
 * Launchers of expansions are waited for here; those of the job's own launch are left to Hydra,
 * which waits for them at the end of the job, unless they fail before their proxy has connected:
 * stock waits for it for ever.
 */

#ifndef MPIEXEC_LAUNCHER_ENDS_H_INCLUDED
#define MPIEXEC_LAUNCHER_ENDS_H_INCLUDED

#include "hydra.h"

struct HYD_step_group;

/* Watches those of a group's proxies: HYD_bscu_pid_list from `first` on. */
HYD_status HYD_step_watch_launchers(struct HYD_step_group *group, int first);
/* The same of one proxy of the job's own launch where there is no record of that (no core): if the
 * launcher fails while the proxy is awaited, the job ends. */
void HYD_step_watch_launcher(const struct HYD_proxy *proxy);
/* From now on Hydra takes the exit codes of launchers for nobody's where a growth or a spawn has
 * failed, or the job has and the reason was reported. */
void HYD_step_excuse_launchers(void);
/* Hydra's lists of launchers and of their output only grow: takes out what has ended. */
void HYD_step_compact_launchers(void);

#endif /* MPIEXEC_LAUNCHER_ENDS_H_INCLUDED */
