/*
 * Files in the data representation external32.  A blocking operation transfers a buffer of external
 * bytes without gaps instead of the program's data: they are converted before a write, and after a
 * read, as far as it was read.
 *
 * Some predefined types have another size in the file than in memory (MPI_LONG, MPI_WCHAR), and
 * pairs have no gap there.  The types of a view are interpreted as if they had been constructed by
 * the same calls from types of the sizes in the file: displacements in elements scale with them,
 * displacements and bounds in bytes do not.
 */

#ifndef EXTERNAL32_DATA_H_INCLUDED
#define EXTERNAL32_DATA_H_INCLUDED

#include "adio.h"
#include "mpir_external32.h"

struct MPIO_External32 {
    void *bytes;                /* NULL: there is nothing to convert */
    MPI_Datatype bytes_type;    /* a type of more bytes than an int can count; otherwise MPI_BYTE */
    void *buf;                  /* this and the following: the program's arguments */
    int count;
    MPI_Datatype datatype;
    ADIO_Status status;         /* used if the program passed none */
};

/* Begins an operation whose arguments have been checked: if the file is in external32, the
 * arguments become those of a transfer of bytes.  A read returns the status to use. */
ADIO_Status *MPIO_External32_begin_read(struct MPIO_External32 *external32, ADIO_File fd,
                                        void **buf, int *count, MPI_Datatype * datatype,
                                        MPI_Count * datatype_size, ADIO_Status * status);
int MPIO_External32_begin_write(struct MPIO_External32 *external32, ADIO_File fd, const void **buf,
                                int *count, MPI_Datatype * datatype, MPI_Count * datatype_size);
/* Ends the operation, with the error code and status of the transfer: the status then counts the
 * program's bytes. */
int MPIO_External32_end_read(struct MPIO_External32 *external32, ADIO_File fd, int error_code,
                             ADIO_Status * status);
void MPIO_External32_end_write(struct MPIO_External32 *external32, int error_code,
                               ADIO_Status * status);

/* ADIO_Set_view with the data representation `datarep`, which an error leaves as it was. */
void MPIO_External32_set_view(ADIO_File fd, const char *datarep, ADIO_Offset disp,
                              MPI_Datatype etype, MPI_Datatype filetype, MPI_Info info,
                              int *error_code);
/* If the types of the file may not be those that the program passed: returns 1, and sets the
 * arguments to these, or copies of them. */
int MPIO_External32_get_view(ADIO_File fd, MPI_Datatype * etype, MPI_Datatype * filetype);
/* The size in memory of the view's etype. */
MPI_Count MPIO_External32_etype_size(ADIO_File fd);
/* Before the file is closed. */
void MPIO_External32_free_view(ADIO_File fd);
/* Changes the extent in memory to that in the file. */
int MPIO_External32_extent(ADIO_File fd, MPI_Datatype datatype, MPI_Aint * extent);

#endif /* EXTERNAL32_DATA_H_INCLUDED */
