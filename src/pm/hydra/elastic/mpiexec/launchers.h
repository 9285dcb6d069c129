/*
 * What the stock launchers (ssh, srun, ...) lack.
 */

#ifndef MPIEXEC_LAUNCHERS_H_INCLUDED
#define MPIEXEC_LAUNCHERS_H_INCLUDED

struct HYD_proxy;

void HYD_step_use_launcher(void);
/* The launcher of this proxy may have failed: if so, and the proxy belongs to the job's own launch, the job ends. */
void HYD_step_watch_launcher(const struct HYD_proxy *proxy);

#endif /* MPIEXEC_LAUNCHERS_H_INCLUDED */
