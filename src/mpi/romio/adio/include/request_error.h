/*
 * Errors of nonblocking operations on files.  After an error a collective operation continues: the
 * other processes wait for its messages.  Its request completes, and reports the error, first to
 * the error handler of the file.  The type is in adioi.h.
 */

#ifndef REQUEST_ERROR_H_INCLUDED
#define REQUEST_ERROR_H_INCLUDED

#include "adio.h"

/* MPI_Wait and others return this error, and do not call the error handler of a communicator as
 * well (errutil.c). */
void MPIR_Err_raised_by_file(int error_code);

/* Moves an error of a part of the operation to the request. */
static inline void ADIOI_Request_error_record(ADIOI_Request_error * error, int *error_code)
{
    if (error->code == MPI_SUCCESS)
        error->code = *error_code;
    *error_code = MPI_SUCCESS;
}

/* Starts an agreement whether a collective read failed anywhere. */
static inline int ADIOI_Request_error_share(ADIOI_Request_error * error, ADIO_File fd,
                                            MPI_Request * request)
{
    error->failed = error->any_failed = error->code != MPI_SUCCESS;
    if (fd->hints->cb_nodes == 1)
        return MPI_Ibcast(&error->any_failed, 1, MPI_INT, fd->hints->ranklist[0], fd->comm,
                          request);
    return MPI_Iallreduce(&error->failed, &error->any_failed, 1, MPI_INT, MPI_MAX, fd->comm,
                          request);
}

/* After the agreement: if any process has an error, the processes without one get an error, too. */
static inline void ADIOI_Request_error_shared(ADIOI_Request_error * error, const char *function)
{
    if (error->any_failed && error->code == MPI_SUCCESS)
        error->code =
            MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, __LINE__, MPI_ERR_IO,
                                 "**io", "**io %s", "an aggregator could not read");
}

/* For the query function of the request, which may be called several times. */
static inline int ADIOI_Request_error_report(ADIOI_Request_error * error, ADIO_File fd)
{
    if (error->code != MPI_SUCCESS) {
        if (!error->is_raised)
            error->code = MPIO_Err_return_file(fd, error->code);
        error->is_raised = 1;
        MPIR_Err_raised_by_file(error->code);
    }
    return error->code;
}

#endif /* REQUEST_ERROR_H_INCLUDED */
