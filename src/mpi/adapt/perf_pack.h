/*
 * Packs measurements for the board (pmi_adapt_measured.h): the graph with the links of its loops,
 * and their times.  Pure.  SPEC-performance B2, C4.
 */

#ifndef PERF_PACK_H_INCLUDED
#define PERF_PACK_H_INCLUDED

#include "perf_measure.h"
#include "pmi_adapt_measured.h"

/* Fills all but seq, the summary's epoch and the names of loops. */
void perf_pack(const struct perf_measure *measure, struct pmi_adapt_graph *packed);

#endif /* PERF_PACK_H_INCLUDED */
