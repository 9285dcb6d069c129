/*
 * What node daemons say to mpiexec (wire/kinds.h): some of it is mpiexec's own business, the rest goes to the core.
 * HYD_step_message (glue.h) is what Hydra calls.
 */

#ifndef MPIEXEC_REPORTS_H_INCLUDED
#define MPIEXEC_REPORTS_H_INCLUDED

#include <stdint.h>

/* REPORT_FROZEN has come from this daemon, on whichever way, as the answer to the command of this sequence. */
void HYD_step_frozen(int group, int proxy, uint32_t sequence, uint32_t epoch, uint64_t ceiling);

#endif /* MPIEXEC_REPORTS_H_INCLUDED */
