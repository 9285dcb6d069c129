/*
 * MPI_Status_f082f and MPI_Status_f2f08 for programs in C.  The release declares them in mpi.h and
 * defines them in the module mpi_f08 only (doc/developer/known-defects.md, 29).
 */

#include "mpi_fortimpl.h"
#include "mpir_err.h"

#if defined(HAVE_PRAGMA_WEAK)
#pragma weak MPI_Status_f082f = PMPI_Status_f082f
#pragma weak MPI_Status_f2f08 = PMPI_Status_f2f08
#elif defined(HAVE_WEAK_ATTRIBUTE)
int MPI_Status_f082f(const MPI_F08_status * f08_status, MPI_Fint * f_status)
    __attribute__ ((weak, alias("PMPI_Status_f082f")));
int MPI_Status_f2f08(const MPI_Fint * f_status, MPI_F08_status * f08_status)
    __attribute__ ((weak, alias("PMPI_Status_f2f08")));
#endif

#ifndef MPICH_MPI_FROM_PMPI
#undef MPI_Status_f082f
#define MPI_Status_f082f PMPI_Status_f082f
#undef MPI_Status_f2f08
#define MPI_Status_f2f08 PMPI_Status_f2f08
#endif

/* A constant that means "no status" cannot be converted. */
static int refuse_ignore(const char *function, int line)
{
    int mpi_errno =
        MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, line, MPI_ERR_OTHER,
                             "**notfstatignore", 0);

    return MPIR_Err_return_comm(0, function, mpi_errno);
}

int MPI_Status_f082f(const MPI_F08_status * f08_status, MPI_Fint * f_status)
{
    if (f08_status == MPI_F08_STATUS_IGNORE || f_status == MPI_F_STATUS_IGNORE)
        return refuse_ignore("MPI_Status_f082f", __LINE__);
    f_status[0] = f08_status->count_lo;
    f_status[1] = f08_status->count_hi_and_cancelled;
    f_status[MPI_F_SOURCE] = f08_status->MPI_SOURCE;
    f_status[MPI_F_TAG] = f08_status->MPI_TAG;
    f_status[MPI_F_ERROR] = f08_status->MPI_ERROR;
    return MPI_SUCCESS;
}

int MPI_Status_f2f08(const MPI_Fint * f_status, MPI_F08_status * f08_status)
{
    if (f_status == MPI_F_STATUS_IGNORE || f08_status == MPI_F08_STATUS_IGNORE)
        return refuse_ignore("MPI_Status_f2f08", __LINE__);
    f08_status->count_lo = f_status[0];
    f08_status->count_hi_and_cancelled = f_status[1];
    f08_status->MPI_SOURCE = f_status[MPI_F_SOURCE];
    f08_status->MPI_TAG = f_status[MPI_F_TAG];
    f08_status->MPI_ERROR = f_status[MPI_F_ERROR];
    return MPI_SUCCESS;
}
