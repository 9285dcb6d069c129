/*
 * Messages of proxies to mpiexec (wire/kinds.h): mpiexec handles some of them itself, the rest goes to the core.
 * Hydra calls HYD_step_message (hooks.h).
 */

#ifndef MPIEXEC_REPORTS_H_INCLUDED
#define MPIEXEC_REPORTS_H_INCLUDED

#include <stdint.h>

/* REPORT_FROZEN has come from this daemon, on whichever way, as the answer to the command of this sequence. */
void HYD_step_frozen(int group, int proxy, uint32_t sequence, uint32_t epoch, uint64_t ceiling);

#endif /* MPIEXEC_REPORTS_H_INCLUDED */
