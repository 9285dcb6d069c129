/*
 * mpiexec's --pset NAME: the processes of an executable block are a process set of MPI Sessions.
 * SN5.
 */

#ifndef STEP_PSETS_H_INCLUDED
#define STEP_PSETS_H_INCLUDED

#include "hydra.h"

/* The option, and its help.  Ends mpiexec with one message if the name is no name of a set. */
HYD_status HYD_step_pset_fn(char *arg, char ***argv);
void HYD_step_pset_help_fn(void);
/* The numbers of processes are known: reports them to the core, which is new. */
void HYD_step_psets_add(void);

#endif /* STEP_PSETS_H_INCLUDED */
