/*
 * Checks, before processes are started for MPI_Comm_spawn, whether their programs exist (DS4).
 * Stock notices only when a proxy has been started for them, and then ends the job.
 *
 * Only this host can be checked.  If a process is to run elsewhere, or its host is not known, the
 * answer is yes, and a failure is detected at its start (spawned.h).
 */

#ifndef MPIEXEC_SPAWN_H_INCLUDED
#define MPIEXEC_SPAWN_H_INCLUDED

#include "hydra.h"
#include "common.h"

struct HYD_pmcd_token;
struct HYD_pmcd_token_segment;

/* Also whether the resource manager lets the job have so many processes (core.h).  Prints the error
 * on standard error, if there is one. */
int HYD_spawn_can_start(struct HYD_pmcd_token *tokens,
                        const struct HYD_pmcd_token_segment *commands, int n);

#endif /* MPIEXEC_SPAWN_H_INCLUDED */
