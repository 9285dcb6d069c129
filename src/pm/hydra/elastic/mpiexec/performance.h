/*
 * --adapt-performance FILE: samples of the use of time by the processes, one JSON line each, at
 * regular intervals.  They are the answers of the core to the operation `performance`, as any
 * client gets them (doc/developer/step-protocol.md).
 */

#ifndef STEP_PERFORMANCE_H_INCLUDED
#define STEP_PERFORMANCE_H_INCLUDED

#include <stdint.h>

/* Opens the file if the option is given; ends mpiexec with a message if that cannot be done. */
void HYD_step_performance_open(void);
void HYD_step_performance_close(void);
/* When the next sample is due, <0: never. */
int64_t HYD_step_performance_next(void);
void HYD_step_performance_time(int64_t now_ms);
/* An answer to this client: whether it was a sample, which is in the file now. */
int HYD_step_performance_answer(int client, const char *line);

#endif /* STEP_PERFORMANCE_H_INCLUDED */
