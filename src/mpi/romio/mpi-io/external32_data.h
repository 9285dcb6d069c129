/*
 * Files in the data representation external32.  A blocking operation transfers a buffer of external
 * bytes without gaps instead of the program's data: they are converted before a write, and after a
 * read, as far as it was read.
 */

#ifndef EXTERNAL32_DATA_H_INCLUDED
#define EXTERNAL32_DATA_H_INCLUDED

#include "adio.h"
#include "mpir_external32.h"

struct MPIO_External32 {
    void *bytes;                /* NULL: there is nothing to convert */
    MPI_Datatype bytes_type;    /* of more than an int can count; MPI_BYTE otherwise */
    void *buf;                  /* this and the following: as the program gave them */
    int count;
    MPI_Datatype datatype;
    ADIO_Status status;         /* if the program gave none */
};

/* The beginning of an operation, once its arguments have been checked: if the file is in
 * external32, they become those of a transfer of bytes.  Of a read the result is its status. */
ADIO_Status *MPIO_External32_begin_read(struct MPIO_External32 *external32, ADIO_File fd,
                                        void **buf, int *count, MPI_Datatype * datatype,
                                        MPI_Count * datatype_size, ADIO_Status * status);
int MPIO_External32_begin_write(struct MPIO_External32 *external32, ADIO_File fd, const void **buf,
                                int *count, MPI_Datatype * datatype, MPI_Count * datatype_size);
/* Its end, with the error code and status of the transfer: the status counts the program's
 * bytes. */
int MPIO_External32_end_read(struct MPIO_External32 *external32, ADIO_File fd, int error_code,
                             ADIO_Status * status);
void MPIO_External32_end_write(struct MPIO_External32 *external32, int error_code,
                               ADIO_Status * status);

/* Offsets of a view in external32 count etypes as they are in the file. */
void MPIO_External32_view(ADIO_File fd, MPI_Datatype etype);
/* The extent of a type in the file, if it is `native` in memory. */
MPI_Count MPIO_External32_extent(ADIO_File fd, MPI_Datatype datatype, MPI_Count native);

#endif /* EXTERNAL32_DATA_H_INCLUDED */
