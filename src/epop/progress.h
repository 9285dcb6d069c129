/*
 * Reports to the library (mpi_epop.h) which loops the program has and in which iteration it is:
 * SPEC-epop M2, L1.  With an MPI that has no adaptations nothing is reported.
 *
 * State: of the one program that the driver runs; one thread.
 */

#ifndef EPOP_PROGRESS_H_INCLUDED
#define EPOP_PROGRESS_H_INCLUDED

#include "loop.h"

/* Before INIT: hands out one loop for each elastic phase and each rigid one, which without a
 * condition has ended round once.  The program stays as it is as long as it is marked. */
void epop_progress_begin(const program_t * program);

/* An iteration begins. */
void epop_progress_mark(epop_position_t where);

#endif /* EPOP_PROGRESS_H_INCLUDED */
