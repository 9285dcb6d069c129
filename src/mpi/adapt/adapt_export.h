/*
 * Exports measurements to this process' slot and graph on the board (pmi_adapt_measured.h), and to
 * performance variables.  Used by adapt_measure.c and adapt_phases.c, of which one is active.
 * Called by the measured thread alone.  SPEC-performance B, V8.
 */

#ifndef ADAPT_EXPORT_H_INCLUDED
#define ADAPT_EXPORT_H_INCLUDED

#include "perf_measure.h"
#include "pmi_adapt_measured.h"

/* Called once, when the board is known: finds the space for the graph; there may be none. */
void MPIR_Export_open(void);
void MPIR_Export_close(void);

/* Exports the times of the loop that probes. */
void MPIR_Export_elastic(const struct perf_times *times, unsigned every, unsigned nodes,
                         unsigned loops);

/* Whether the graph is to be written; `structure` is its number of changes. */
bool MPIR_Export_is_due(uint64_t structure, uint64_t now, uint32_t interval_ms);
/* The buffer in which the graph is packed; NULL: there is no space for a graph. */
struct pmi_adapt_graph *MPIR_Export_packed(void);
/* Writes the packed graph to the board. */
void MPIR_Export_write(uint64_t now);
/* The next call of is_due returns true. */
void MPIR_Export_hurry(void);

/* The program's position on the board; NULL: there is no space. */
struct pmi_adapt_position *MPIR_Export_position(void);

#endif /* ADAPT_EXPORT_H_INCLUDED */
