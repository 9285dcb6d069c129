/*
 * The proxy's answer to STEP_PERFORMANCE: measurements of the processes, from the board.  Data of
 * the probing loop is forwarded as each process wrote it; mpiexec checks it.  All loops are checked
 * and combined here, and sent as one set (wire/loop_set.h).  Performance clauses B3, B6, N.
 */

#ifndef PROXY_PERFORMANCE_H_INCLUDED
#define PROXY_PERFORMANCE_H_INCLUDED

#include "hydra.h"
#include "board.h"

/* Sends the report for this sample.  The payload is that of the command: the interval, or empty. */
HYD_status HYD_performance_report(struct HYD_board *board, uint32_t sample, const void *payload,
                                  size_t bytes);

#endif /* PROXY_PERFORMANCE_H_INCLUDED */
