/*
 * Other names of what mpi.h declares, if a program defines MPIX_DYN_NAMES: those of the MPI
 * Sessions working group, and those of dynamic process management.  mpi.h includes this file at its
 * end.
 */

#ifdef MPIX_DYN_NAMES
#include "mpi_session_dyn.h"
#include "mpe_dynamic.h"
#endif
