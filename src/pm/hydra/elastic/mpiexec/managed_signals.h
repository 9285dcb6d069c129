/*
 * Signals of a resource manager, which mpiexec passes on to all processes of the job, on all hosts,
 * beside those that stock MPICH passes on (INT, QUIT, TERM, USR1, ALRM): HUP, USR2, URG, WINCH and
 * XCPU, unless mpiexec was started with the signal ignored.
 *
 * A job is suspended by SIGTSTP, which stops its processes, until SIGCONT lets them continue.
 * mpiexec itself continues: its supervisor stops it when all have been notified.
 *
 * Without a resource manager all of them keep their meaning: Ctrl-Z stops mpiexec alone, as with
 * stock MPICH.
 */

#ifndef MPIEXEC_MANAGED_SIGNALS_H_INCLUDED
#define MPIEXEC_MANAGED_SIGNALS_H_INCLUDED

#include "hydra.h"

/* From now on; before the first process is started. */
HYD_status HYD_step_take_managed_signals(void);

#endif /* MPIEXEC_MANAGED_SIGNALS_H_INCLUDED */
