/* The part of MPI that epop.h needs, for unit tests of code without MPI calls. */

#ifndef EPOP_TESTS_MPI_H_INCLUDED
#define EPOP_TESTS_MPI_H_INCLUDED

typedef int MPI_Comm, MPI_Info;

#define MPI_ADAPT_TRUE 1        /* an MPI with adaptations: adapt_window.h includes no stub */

#endif /* EPOP_TESTS_MPI_H_INCLUDED */
