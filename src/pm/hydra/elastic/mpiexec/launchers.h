/*
 * Features that the stock launchers (ssh, srun, ...) lack.
 */

#ifndef MPIEXEC_LAUNCHERS_H_INCLUDED
#define MPIEXEC_LAUNCHERS_H_INCLUDED

/* Called before anything is launched. */
void HYD_step_use_launcher(void);

#endif /* MPIEXEC_LAUNCHERS_H_INCLUDED */
