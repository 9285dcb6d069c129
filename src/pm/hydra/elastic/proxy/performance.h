/*
 * The node daemon's answer to STEP_PERFORMANCE: what the processes have measured, from the slots of the board.  What a
 * process wrote is passed on as it is; mpiexec looks whether it can be true.
 */

#ifndef PROXY_PERFORMANCE_H_INCLUDED
#define PROXY_PERFORMANCE_H_INCLUDED

#include "hydra.h"
#include "board.h"

/* Reports the slots of the board under the number of that sample. */
HYD_status HYD_performance_report(const struct HYD_board *board, uint32_t sample);

#endif /* PROXY_PERFORMANCE_H_INCLUDED */
