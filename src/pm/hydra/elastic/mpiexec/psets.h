/*
 * mpiexec's --pset NAME: the processes of an executable block are a process set of MPI Sessions.
 * SN5.
 */

#ifndef STEP_PSETS_H_INCLUDED
#define STEP_PSETS_H_INCLUDED

#include "hydra.h"

/* The option, and its help.  Ends mpiexec with one message if the name is invalid. */
HYD_status HYD_step_pset_fn(char *arg, char ***argv);
void HYD_step_pset_help_fn(void);
/* Reports the sets to the new core, when the numbers of processes are known. */
void HYD_step_psets_add(void);

#endif /* STEP_PSETS_H_INCLUDED */
