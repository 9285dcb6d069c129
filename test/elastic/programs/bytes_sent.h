/*
 * Counts the bytes that are given to MPI_Isend.  Included by one source of a program, which this
 * interposes.
 */

#ifndef BYTES_SENT_H_INCLUDED
#define BYTES_SENT_H_INCLUDED

#include <mpi.h>
#include <stdint.h>

static int64_t bytes_sent;

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request * request)
{
    int bytes;

    PMPI_Type_size(type, &bytes);
    bytes_sent += (int64_t) bytes *count;
    return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}

#endif /* BYTES_SENT_H_INCLUDED */
