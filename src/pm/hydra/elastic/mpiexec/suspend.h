/*
 * A job that its resource manager suspends.  At SIGTSTP mpiexec stops all processes of the job, on all hosts, and at
 * SIGCONT it lets them continue.  mpiexec itself continues: its supervisor stops it when all have been notified.
 *
 * Without a resource manager both signals keep their meaning: Ctrl-Z stops mpiexec alone, as with stock MPICH.
 */

#ifndef STEP_SUSPEND_H_INCLUDED
#define STEP_SUSPEND_H_INCLUDED

#include "hydra.h"

/* From now on; before the first process is started. */
HYD_status HYD_step_take_suspensions(void);

#endif /* STEP_SUSPEND_H_INCLUDED */
