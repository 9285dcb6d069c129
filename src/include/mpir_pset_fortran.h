/*
 * Operations on process sets for Fortran: arrays of names, texts for input and output, and names
 * that may be blank are passed blank-padded, and the lengths of their elements are the last
 * arguments (src/mpi/session/session_fortran.c).  All other arguments are those of the operations
 * in C.  Called by generated code (pset_fortran.py).
 */

#ifndef MPIR_PSET_FORTRAN_H_INCLUDED
#define MPIR_PSET_FORTRAN_H_INCLUDED

#include <mpi.h>

int MPIR_Session_pset_op_fortran(MPI_Session session, int op, const char *input, int ninput,
                                 MPI_Info info, char *output, int *noutput, int input_len,
                                 int output_len) MPICH_API_PUBLIC;
int MPIR_Session_get_pset_op_fortran(MPI_Session session, const char *coll_pset,
                                     const char *pset_name, int *op, char *output, int *noutput,
                                     int output_len) MPICH_API_PUBLIC;
int MPIR_Session_get_pset_data_fortran(MPI_Session session, const char *coll_pset,
                                       const char *pset_name, const char *keys, int nkeys, int wait,
                                       MPI_Info * data, int keys_len) MPICH_API_PUBLIC;
int MPIR_Session_iget_pset_data_fortran(MPI_Session session, const char *coll_pset,
                                        const char *pset_name, const char *keys, int nkeys,
                                        int wait, MPI_Info * data, MPI_Request * request,
                                        int keys_len) MPICH_API_PUBLIC;
/* The first `length` characters of the text are used. */
int MPIR_Session_bcast_pset_info_fortran(MPI_Session session, const char *pset_name, char *text,
                                         int length, int primary, int text_len) MPICH_API_PUBLIC;
/* A blank name means all processes. */
int MPIR_Session_rc_test_fortran(MPI_Session session, const char *pset_name, int *flag,
                                 int pset_name_len) MPICH_API_PUBLIC;
int MPIR_Session_rc_get_fortran(MPI_Session session, const char *pset_name, int *rc_type,
                                char *delta_pset, int *tag, MPI_Info * info,
                                int pset_name_len) MPICH_API_PUBLIC;

/* In libmpi only.  C strings in one block of memory, with an array of their addresses that ends
 * with NULL; the caller frees it.  NULL: out of memory. */
char **MPIR_Fortran_copy_texts(const char *padded, int n, int length);
/* The number of names before the first blank one. */
int MPIR_Fortran_count_texts(const char *padded, int length);

#endif /* MPIR_PSET_FORTRAN_H_INCLUDED */
