/*
 * Nonblocking operations on files in the data representation external32.  Their data pass through a
 * buffer that is converted before a write and after a read, so they are complete when they return.
 */

#ifndef EXTERNAL32_REQUEST_H_INCLUDED
#define EXTERNAL32_REQUEST_H_INCLUDED

#include "mpioimpl.h"
#include "bytes_in_file.h"

/* The request of an operation that has ended with this error and status.  Its error handler has
 * been called. */
static inline int MPIO_External32_request(ADIO_File fd, int error_code, MPI_Status * status,
                                          MPI_Request * request)
{
    int none = MPI_SUCCESS;

    MPIO_Completed_request_create(&fd,
                                  error_code == MPI_SUCCESS ? ADIOI_Bytes_of_status(status) : 0,
                                  &none, request);
    return error_code;
}

#endif /* EXTERNAL32_REQUEST_H_INCLUDED */
