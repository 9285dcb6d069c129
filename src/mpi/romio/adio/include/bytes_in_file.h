/*
 * The part of a read that lies before the end of the file. The status of a read counts it when the
 * data passes through a buffer (data sieving, collective reads), because no system call reports it.
 */

#ifndef BYTES_IN_FILE_H_INCLUDED
#define BYTES_IN_FILE_H_INCLUDED

#include "adio.h"

/* Of `bytes` bytes that are read through the view: those that the file has.
 * position: with ADIO_INDIVIDUAL the individual file pointer before the read, in bytes of the file;
 * with ADIO_EXPLICIT_OFFSET the offset of the read, in etypes of the view.
 * Without access to the file all bytes are returned. */
MPI_Count ADIOI_Bytes_in_file(ADIO_File fd, int file_ptr_type, ADIO_Offset position,
                              MPI_Count bytes);

/* The individual pointer after `bytes` bytes of the view, starting from `previous`; both in bytes
 * of the file. */
ADIO_Offset ADIOI_Pointer_after(ADIO_File fd, ADIO_Offset previous, MPI_Count bytes);

/* After a blocking read by the individual pointer, which was at `previous` (in bytes of the file):
 * if fewer bytes were read than requested, the pointer moves by the bytes read, also if data passed
 * through a buffer. */
void ADIOI_Pointer_after_read(ADIO_File fd, ADIO_Offset previous, MPI_Count requested,
                              ADIO_Status * status);

/* The bytes that a status counts. */
MPI_Count ADIOI_Bytes_of_status(ADIO_Status * status);

#endif /* BYTES_IN_FILE_H_INCLUDED */
