/*
 * Reports to the library (mpi_epop.h) which loops the program has and in which iteration it is:
 * SPEC-epop M2, L1.  With an MPI that has no adaptations nothing is reported.
 *
 * State: of the one program that the driver runs; one thread.
 */

#ifndef EPOP_PROGRESS_H_INCLUDED
#define EPOP_PROGRESS_H_INCLUDED

#include "loop.h"

/* Before INIT: registers one loop for each elastic and each rigid phase; a rigid phase without a
 * condition runs once.  The program must not change until the last mark. */
void epop_progress_begin(const program_t * program);

/* An iteration begins. */
void epop_progress_mark(epop_position_t where);

#endif /* EPOP_PROGRESS_H_INCLUDED */
