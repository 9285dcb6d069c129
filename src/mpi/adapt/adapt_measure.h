/*
 * Calls by which MPI_Probe_adapt controls the measurement of loops (adapt_measure.c).
 */

#ifndef ADAPT_MEASURE_H_INCLUDED
#define ADAPT_MEASURE_H_INCLUDED

#include <stdbool.h>
#include <stdint.h>

/* The start time of the probe if it is needed, else 0. */
uint64_t MPIR_Measure_probe_entered(void);
/* The probe returns FALSE: an iteration of the loop has ended, and it is decided whether the next
 * one is measured. */
void MPIR_Measure_probe_false(uint64_t entered);
/* The probe returns TRUE: nothing is measured until the next FALSE. */
void MPIR_Measure_probe_true(void);
/* Called before the process ends. */
void MPIR_Measure_finalize(void);
void MPIR_Measure_register_pvars(void);

/* The time that measuring one call takes. */
uint32_t MPIR_Measure_call_cost_ns(void);
/* Starts or stops recording the calls of this thread. */
void MPIR_Measure_observe(bool on);

#endif /* ADAPT_MEASURE_H_INCLUDED */
