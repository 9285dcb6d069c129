/*
 * Start and end of the part of mpiexec for adaptations.
 */

#ifndef MPIEXEC_START_H_INCLUDED
#define MPIEXEC_START_H_INCLUDED

/* Called before anything is launched.  Ends mpiexec with one message if an --adapt option is
 * invalid. */
void HYD_step_start(void);
/* The job is over; `HYD_step_exit_status` may still be called. */
void HYD_step_finish(void);

#endif /* MPIEXEC_START_H_INCLUDED */
