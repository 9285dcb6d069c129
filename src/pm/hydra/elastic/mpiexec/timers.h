/*
 * Timed work of this folder.
 */

#ifndef MPIEXEC_TIMERS_H_INCLUDED
#define MPIEXEC_TIMERS_H_INCLUDED

#include <stdint.h>

/* Time of the next call of HYD_step_tick, <0: never. */
int64_t HYD_step_next_wake(void);
void HYD_step_tick(void);

#endif /* MPIEXEC_TIMERS_H_INCLUDED */
