/* What epop.h needs of MPI, for the unit tests of what makes no MPI call. */

#ifndef EPOP_TESTS_MPI_H_INCLUDED
#define EPOP_TESTS_MPI_H_INCLUDED

typedef int MPI_Comm;

#endif /* EPOP_TESTS_MPI_H_INCLUDED */
