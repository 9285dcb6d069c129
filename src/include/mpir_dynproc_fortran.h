/*
 * Dynamic process management for Fortran: arrays of texts are blank-padded (NULL: MPI_ARGV_NULL),
 * and the lengths of their elements are the last arguments (src/mpi/dynproc/dynproc_fortran.c).
 * All other arguments are those of the operations in C.  Called by generated code
 * (pset_fortran.py).
 */

#ifndef MPIR_DYNPROC_FORTRAN_H_INCLUDED
#define MPIR_DYNPROC_FORTRAN_H_INCLUDED

#include <mpi.h>

#undef MPIX_COMM_PARENT         /* also a name of MPIX_Comm_parent in Fortran */

/* argvector ends with a blank element. */
int MPIR_Spawn_fortran(MPI_Comm oldcomm, int root, const char *arch_type, int count,
                       const char *array_of_names, const char *executable, const char *argvector,
                       int flag, MPI_Comm * newcomm, int array_of_names_len,
                       int argvector_len) MPICH_API_PUBLIC;
int MPIR_Iallocate_fortran(int num_requested, const char *global_js_dep_string,
                           const char *array_of_local_js_dep_strings, const char *arch_type,
                           const char *array_of_nodenames, int hardness,
                           MPI_Request array_of_requests[], int array_of_local_js_dep_strings_len,
                           int array_of_nodenames_len) MPICH_API_PUBLIC;
/* args ends with a blank element. */
int MPIR_Set_args_fortran(MPI_Request request, const char *args, int args_len) MPICH_API_PUBLIC;
/* validate is a procedure of interface mpix_key_function, extra_state an
 * INTEGER(KIND=MPI_ADDRESS_KIND). */
int MPIR_Iaccept_keyed_fortran(MPI_Comm comm, const char *name, MPIX_Key_function * validate,
                               void *extra_state, int num_requests,
                               MPI_Request array_of_requests[]) MPICH_API_PUBLIC;

#endif /* MPIR_DYNPROC_FORTRAN_H_INCLUDED */
