/*
 * Checks, before processes are started for MPI_Comm_spawn, whether their programs exist (DS4).
 * Stock detects a missing program only after a proxy has been started, and then ends the job.
 *
 * Only this host can be checked.  For a process on another or an unknown host the check succeeds,
 * and a failure is detected at its start (spawned.h).
 */

#ifndef MPIEXEC_SPAWN_H_INCLUDED
#define MPIEXEC_SPAWN_H_INCLUDED

#include "hydra.h"
#include "common.h"

struct HYD_pmcd_token;
struct HYD_pmcd_token_segment;

/* Also checks whether the resource manager permits so many processes (core.h).  Prints an error to
 * standard error. */
int HYD_spawn_can_start(struct HYD_pmcd_token *tokens,
                        const struct HYD_pmcd_token_segment *commands, int n);

#endif /* MPIEXEC_SPAWN_H_INCLUDED */
