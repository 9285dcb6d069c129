/*
 * How much of a read lies before the end of the file: what the status of a read counts when its data
 * passes through a buffer (data sieving, collective reads), where no system call tells.
 */

#ifndef BYTES_IN_FILE_H_INCLUDED
#define BYTES_IN_FILE_H_INCLUDED

#include "adio.h"

/* Of `bytes` bytes that are read through the view: those that the file has.
 * position: with ADIO_INDIVIDUAL the individual file pointer before the read, in bytes of the file;
 * with ADIO_EXPLICIT_OFFSET the offset of the read, in etypes of the view.
 * Without access to the file all bytes are returned. */
MPI_Count ADIOI_Bytes_in_file(ADIO_File fd, int file_ptr_type, ADIO_Offset position, MPI_Count bytes);

/* The bytes that a status counts. */
MPI_Count ADIOI_Bytes_of_status(ADIO_Status * status);

#endif /* BYTES_IN_FILE_H_INCLUDED */
