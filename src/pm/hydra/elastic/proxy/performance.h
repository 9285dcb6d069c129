/*
 * The node daemon's answer to STEP_PERFORMANCE: what the processes have measured, from the board.  Of the loop that
 * probes, what each process wrote is passed on as it is; mpiexec looks whether it can be true.  All loops are looked at
 * and put together here, and go up as one set (wire/loop_set.h).  SPEC-performance B3, B6, N.
 */

#ifndef PROXY_PERFORMANCE_H_INCLUDED
#define PROXY_PERFORMANCE_H_INCLUDED

#include "hydra.h"
#include "board.h"

/* Reports under the number of that sample.  The payload is that of the command: the interval, or nothing. */
HYD_status HYD_performance_report(struct HYD_board *board, uint32_t sample, const void *payload, size_t bytes);

#endif /* PROXY_PERFORMANCE_H_INCLUDED */
