/* See mpir_dynproc_fortran.h.  The arguments are checked in C; here are only the checks for the
 * copy. */

#include "dynproc.h"
#include "mpii_fortlogical.h"
#include "mpir_dynproc_fortran.h"
#include "mpir_pset_fortran.h"

/* Texts of C instead of those of Fortran; none for MPI_ARGV_NULL. */
static int copy(const char *padded, int n, int length, char ***texts)
{
    *texts = padded ? MPIR_Fortran_copy_texts(padded, n, length) : NULL;
    return padded && !*texts ? MPI_ERR_NO_MEM : MPI_SUCCESS;
}

static int copy_arguments(const char *padded, int length, char ***texts)
{
    return copy(padded, padded ? MPIR_Fortran_count_texts(padded, length) : 0, length, texts);
}

static bool is_root(MPI_Comm comm, int root)
{
    MPIR_Comm *comm_ptr = NULL;

    if (comm == MPI_COMM_NULL || HANDLE_GET_MPI_KIND(comm) != MPIR_COMM)
        return false;
    MPIR_Comm_get_ptr(comm, comm_ptr);
    return comm_ptr && comm_ptr->rank == root;
}

/* Only on the root the arrays need to be valid. */
int MPIR_Spawn_fortran(MPI_Comm oldcomm, int root, const char *arch_type, int count,
                       const char *array_of_names, const char *executable, const char *argvector,
                       int flag, MPI_Comm * newcomm, int array_of_names_len, int argvector_len)
{
    char **names = NULL, **arguments = NULL;
    int error = MPI_SUCCESS;

    if (is_root(oldcomm, root)) {
        error = copy(array_of_names, count, array_of_names_len, &names);
        if (!error)
            error = copy_arguments(argvector, argvector_len, &arguments);
    }
    if (!error)
        error =
            PMPIX_Spawn(oldcomm, root, arch_type, count, (const char *const *) names, executable,
                        arguments, flag, newcomm);
    MPL_free(names);
    MPL_free(arguments);
    return error;
}

int MPIR_Iallocate_fortran(int num_requested, const char *global_js_dep_string,
                           const char *array_of_local_js_dep_strings, const char *arch_type,
                           const char *array_of_nodenames, int hardness,
                           MPI_Request array_of_requests[], int array_of_local_js_dep_strings_len,
                           int array_of_nodenames_len)
{
    char **locals = NULL, **hosts = NULL;
    int error =
        copy(array_of_local_js_dep_strings, num_requested, array_of_local_js_dep_strings_len,
             &locals);

    if (!error)
        error = copy(array_of_nodenames, num_requested, array_of_nodenames_len, &hosts);
    if (!error)
        error =
            PMPIX_Iallocate(num_requested, global_js_dep_string, (const char *const *) locals,
                            arch_type, (const char *const *) hosts, hardness, array_of_requests);
    MPL_free(locals);
    MPL_free(hosts);
    return error;
}

int MPIR_Set_args_fortran(MPI_Request request, const char *args, int args_len)
{
    char **arguments;
    int error = copy_arguments(args, args_len, &arguments);

    if (!error)
        error = PMPIX_Set_args(request, arguments);
    MPL_free(arguments);
    return error;
}

int MPIR_Dynproc_call_fortran_key(const void *key, int key_bytes, void *extra_state)
{
    struct MPIR_Dynproc_key_fortran *fortran = extra_state;
    MPI_Fint bytes = key_bytes, welcome = MPII_F_FALSE;

    fortran->function(key, &bytes, &fortran->extra_state, &welcome);
    return MPII_FROM_FLOG(welcome);
}

/* The value of extra_state is passed, as in other callbacks of Fortran. */
int MPIR_Iaccept_keyed_fortran(MPI_Comm comm, const char *name, MPIX_Key_function * validate,
                               void *extra_state, int num_requests, MPI_Request array_of_requests[])
{
    /* by void (*)(void), which converts to any function without a warning */
    struct MPIR_Dynproc_key_fortran fortran = {
        .function = (void (*)(const void *, MPI_Fint *, MPI_Aint *,
                              MPI_Fint *)) (void (*)(void)) validate,
        .extra_state = *(MPI_Aint *) extra_state
    };

    return PMPIX_Iaccept_keyed(comm, name, MPIR_Dynproc_call_fortran_key, &fortran, num_requests,
                               array_of_requests);
}
