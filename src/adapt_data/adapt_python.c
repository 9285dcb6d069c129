/*
 * What the Python package elastic_mpi needs in C: MPI's constants and handles are macros of mpi.h, and
 * communicators are integers there (as mpi4py's Comm.py2f and f2py).  Windows: see adapt_fortran.c.
 */

#include "adapt_data.h"

#include <stdlib.h>
#include "failure.h"

int adapt_python_init(int *status)
{
    int is_initialized = 0, code = MPI_Initialized(&is_initialized);

    if (!code && is_initialized)
        return MPI_ERR_OTHER;
    if (!code)
        code = MPI_Init_adapt(NULL, NULL, status);
    /* as mpi4py has it: errors become exceptions */
    if (!code)
        code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return code ? code : MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

int adapt_python_finalize(void)
{
    int is_finalized = 0, code = MPI_Finalized(&is_finalized);

    return code || is_finalized ? code : MPI_Finalize();
}

/* [0] joining, [1] staying, [2] leaving */
void adapt_python_statuses(int statuses[3])
{
    statuses[0] = MPI_ADAPT_STATUS_JOINING;
    statuses[1] = MPI_ADAPT_STATUS_STAYING;
    statuses[2] = MPI_ADAPT_STATUS_LEAVING;
}

int adapt_python_probe(int *pending, int *status)
{
    int code = MPI_Probe_adapt(pending, status, NULL);

    *pending = *pending == MPI_ADAPT_TRUE;
    return code;
}

int adapt_python_world(int *rank, int *size, MPI_Fint *world)
{
    *world = MPI_Comm_c2f(MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    return MPI_Comm_size(MPI_COMM_WORLD, size);
}

/* An element has `bytes` bytes. */
int adapt_python_add(MPIX_Adapt_data data, const char *name, void **base, int bytes,
                     const MPIX_Adapt_layout *layout, const MPIX_Adapt_memory *memory, int *array)
{
    MPI_Datatype type;
    int code = MPI_Type_contiguous(bytes, MPI_BYTE, &type);

    if (code)
        return code;
    code = MPIX_Adapt_data_add(data, name, base, type, layout, memory, array);
    int free_code = MPI_Type_free(&type);
    return code ? code : free_code;
}

int adapt_python_bcast(void *bytes, int64_t count, MPI_Fint comm)
{
    return MPI_Bcast_c(bytes, count, MPI_BYTE, 0, MPI_Comm_f2c(comm));
}

int adapt_python_barrier(MPI_Fint comm)
{
    return MPI_Barrier(MPI_Comm_f2c(comm));
}

/* At least MPI_MAX_ERROR_STRING characters; the class. */
int adapt_python_error(int code, char text[])
{
    int length = 0, error_class = code;

    text[0] = '\0';
    if (MPI_Error_class(code, &error_class) != MPI_SUCCESS)
        return code;
    MPI_Error_string(code, text, &length);
    return error_class;
}

int adapt_python_error_length(void)
{
    return MPI_MAX_ERROR_STRING;
}
