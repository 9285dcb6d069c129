/*
 * Operations on process sets as Fortran calls them: arrays of names, texts that are given and
 * delivered, and names that may be blank, as they are, blank-padded, with the length of an element
 * as the last arguments (src/mpi/session/session_fortran.c).  All other arguments are those of the
 * operations in C.  Called by generated code (pset_fortran.py).
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
/* A blank name: all processes. */
int MPIR_Session_rc_test_fortran(MPI_Session session, const char *pset_name, int *flag,
                                 int pset_name_len) MPICH_API_PUBLIC;
int MPIR_Session_rc_get_fortran(MPI_Session session, const char *pset_name, int *rc_type,
                                char *delta_pset, int *tag, MPI_Info * info,
                                int pset_name_len) MPICH_API_PUBLIC;

/* In libmpi only.  Texts as C has them, in one piece with their addresses and a NULL after them,
 * the caller's to free; NULL: no memory. */
char **MPIR_Fortran_copy_texts(const char *padded, int n, int length);
/* The names before the first blank one. */
int MPIR_Fortran_count_texts(const char *padded, int length);

#endif /* MPIR_PSET_FORTRAN_H_INCLUDED */
