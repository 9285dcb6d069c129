/*
 * Calls and probes that adapt_measure.c reports in a program of phases (mpi_epop.h).  Only the
 * measured thread calls these functions.
 */

#ifndef ADAPT_PHASES_H_INCLUDED
#define ADAPT_PHASES_H_INCLUDED

#include <stdbool.h>
#include <stdint.h>

/* active: the program reports its own position, and adapt_measure.c measures nothing.  It changes
 * only before initialisation. */
extern struct MPIR_Phases_s {
    bool active;
} MPIR_Phases;

/* Called around each outermost MPI call of a measured iteration. */
void MPIR_Phases_enter(void);
void MPIR_Phases_leave(void);
/* A probe returns FALSE; `entered` is its start time (0: not needed). */
void MPIR_Phases_probe_false(uint64_t entered);
/* A probe returns TRUE. */
void MPIR_Phases_suspend(void);
void MPIR_Phases_finalize(void);

#endif /* ADAPT_PHASES_H_INCLUDED */
