/* One run of a program, from INIT to MPI_Finalize: SPEC-epop E2. */

#ifndef EPOP_DRIVER_H_INCLUDED
#define EPOP_DRIVER_H_INCLUDED

#include "program.h"

/* `program` is valid (epop_program_is_whole); argv[0] is its name.  Returns the exit code. */
int epop_drive(program_t * program, int argc, char **argv, bool check);

#endif /* EPOP_DRIVER_H_INCLUDED */
