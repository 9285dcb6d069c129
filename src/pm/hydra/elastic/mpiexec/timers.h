/*
 * Work of this folder that is due by the clock.
 */

#ifndef MPIEXEC_TIMERS_H_INCLUDED
#define MPIEXEC_TIMERS_H_INCLUDED

#include <stdint.h>

/* When HYD_step_tick has to be called, <0: at no time. */
int64_t HYD_step_next_wake(void);
void HYD_step_tick(void);

#endif /* MPIEXEC_TIMERS_H_INCLUDED */
