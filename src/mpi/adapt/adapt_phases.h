/*
 * Calls and probes that adapt_measure.c reports in a program of phases (mpi_epop.h).  By the
 * measured thread alone.
 */

#ifndef ADAPT_PHASES_H_INCLUDED
#define ADAPT_PHASES_H_INCLUDED

#include <stdbool.h>
#include <stdint.h>

/* The program reports its own position: adapt_measure.c measures nothing.  Changes before
 * initialisation only. */
extern struct MPIR_Phases_s {
    bool active;
} MPIR_Phases;

/* Around an outermost MPI call of an iteration that is measured. */
void MPIR_Phases_enter(void);
void MPIR_Phases_leave(void);
/* A probe that began then (0: of no interest) has answered FALSE. */
void MPIR_Phases_probe_false(uint64_t entered);
/* A probe has answered TRUE. */
void MPIR_Phases_suspend(void);
void MPIR_Phases_finalize(void);

#endif /* ADAPT_PHASES_H_INCLUDED */
