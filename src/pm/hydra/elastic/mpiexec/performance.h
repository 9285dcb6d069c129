/*
 * --adapt-performance FILE: samples of the use of time by the processes, one JSON line each, at
 * regular intervals.  They are the core's replies to the operation `performance`, as for any client
 * (doc/developer/step-protocol.md).
 */

#ifndef STEP_PERFORMANCE_H_INCLUDED
#define STEP_PERFORMANCE_H_INCLUDED

#include <stdint.h>

/* Opens the file if the option is given; ends mpiexec with a message if that fails. */
void HYD_step_performance_open(void);
void HYD_step_performance_close(void);
/* Time of the next sample, <0: never. */
int64_t HYD_step_performance_next(void);
void HYD_step_performance_time(int64_t now_ms);
/* A reply to this client.  Returns whether it was a sample, which has been written to the file. */
int HYD_step_performance_answer(int client, const char *line);

#endif /* STEP_PERFORMANCE_H_INCLUDED */
