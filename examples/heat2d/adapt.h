/*
 * The solver's adaptation window: what happens to the plate when the world changes.  Only needed
 * with a library that has the adaptation operations; elsewhere these calls do nothing.
 */

#ifndef ADAPT_H_INCLUDED
#define ADAPT_H_INCLUDED

#include "plate.h"

/* Instead of MPI_Init.  A process that joins takes part in its window here and returns with its
 * rows of the plate (1); one of the launch returns 0. */
int adapt_init(int *argc, char ***argv, struct plate *plate);

/* Probes; if an adaptation is requested, moves the plate to the new world.  All processes call it
 * after the same sweeps.  Rank 0 of the new world prints a line about it.  Leaving processes do not
 * return. */
void adapt_if_pending(struct plate *plate);

#endif /* ADAPT_H_INCLUDED */
