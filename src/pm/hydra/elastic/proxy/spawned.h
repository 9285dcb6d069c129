/*
 * A node daemon of MPI_Comm_spawn: whether all of its processes have been executed (DS4).  If one has not, it kills the
 * others, says why on its standard error, and ends before it has told mpiexec of any (mpiexec/spawned.h).
 */

#ifndef PROXY_SPAWNED_H_INCLUDED
#define PROXY_SPAWNED_H_INCLUDED

#include "hydra.h"

/* Before they are started, and after. */
HYD_status HYD_spawned_start(void);
void HYD_spawned_check(void);

#endif /* PROXY_SPAWNED_H_INCLUDED */
