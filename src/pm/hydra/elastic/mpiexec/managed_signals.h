/*
 * Signals of a resource manager that mpiexec passes on to all processes of the job on all hosts:
 * HUP, USR2, URG, WINCH and XCPU, unless mpiexec was started with the signal ignored.  Stock MPICH
 * passes on INT, QUIT, TERM, USR1 and ALRM.
 *
 * SIGTSTP suspends a job: it stops the processes until SIGCONT arrives. mpiexec itself continues:
 * its supervisor stops it when all have been notified.
 *
 * Without a resource manager these signals have their usual effect: Ctrl-Z stops mpiexec alone, as
 * with stock MPICH.
 */

#ifndef MPIEXEC_MANAGED_SIGNALS_H_INCLUDED
#define MPIEXEC_MANAGED_SIGNALS_H_INCLUDED

#include "hydra.h"

/* Passes them on from now on.  Called before the first process is started. */
HYD_status HYD_step_take_managed_signals(void);

#endif /* MPIEXEC_MANAGED_SIGNALS_H_INCLUDED */
