/*
 * How MPI_Probe_adapt drives the measurement of loops (adapt_measure.c).
 */

#ifndef ADAPT_MEASURE_H_INCLUDED
#define ADAPT_MEASURE_H_INCLUDED

#include <stdbool.h>
#include <stdint.h>

/* When the probe began, if that is of interest, else 0. */
uint64_t MPIR_Measure_probe_entered(void);
/* The probe has answered FALSE: the loop has iterated, its next iteration is measured or not. */
void MPIR_Measure_probe_false(uint64_t entered);
/* The probe has answered TRUE: nothing is measured until the next FALSE. */
void MPIR_Measure_probe_true(void);
/* Before the process' end. */
void MPIR_Measure_finalize(void);
void MPIR_Measure_register_pvars(void);

/* For those that measure: what measuring a call takes. */
uint32_t MPIR_Measure_call_cost_ns(void);
/* From now on the calls of this thread are recorded, or none. */
void MPIR_Measure_observe(bool on);

#endif /* ADAPT_MEASURE_H_INCLUDED */
