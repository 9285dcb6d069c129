/*
 * Where what is measured is put for others: this process' slot and graph on the board (pmi_adapt_measured.h), and
 * performance variables.  Used by the two that measure, adapt_measure.c and adapt_phases.c, of which one is active.
 * By the measured thread alone.  SPEC-performance B, V8.
 */

#ifndef ADAPT_PUBLISHED_H_INCLUDED
#define ADAPT_PUBLISHED_H_INCLUDED

#include "perf_measure.h"
#include "pmi_adapt_measured.h"

/* Once, when the board is known: finds the graph's place; there may be none. */
void MPIR_Published_open(void);
void MPIR_Published_close(void);

/* Of the loop that probes. */
void MPIR_Published_elastic(const struct perf_times *times, unsigned every, unsigned nodes, unsigned loops);

/* Whether the graph, which has changed so often, is to be written. */
bool MPIR_Published_is_due(uint64_t structure, uint64_t now, uint32_t interval_ms);
/* Where the graph is put together; NULL: it has no place. */
struct pmi_adapt_graph *MPIR_Published_packed(void);
/* Writes what has been put together there. */
void MPIR_Published_write(uint64_t now);
/* The next time it is written at once. */
void MPIR_Published_hurry(void);

/* Where the program is, on the board; NULL: there is no place. */
struct pmi_adapt_place *MPIR_Published_place(void);

#endif /* ADAPT_PUBLISHED_H_INCLUDED */
