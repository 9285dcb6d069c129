/*
 * Reads and writes of a contiguous piece of any length: the functions of a file system count bytes
 * in an int.
 */

#ifndef LARGE_PIECE_H_INCLUDED
#define LARGE_PIECE_H_INCLUDED

#include "adio.h"

#define ADIOI_PIECE_BYTES_MAX (1 << 30)

/* At offset, in bytes of the file.  Ends at the first error. */
static inline void ADIOI_Read_piece(ADIO_File fd, char *buf, ADIO_Offset bytes, ADIO_Offset offset,
                                    int *error_code)
{
    ADIO_Status status;

    do {
        int now = (int) MPL_MIN(bytes, ADIOI_PIECE_BYTES_MAX);

        ADIO_ReadContig(fd, buf, now, MPI_BYTE, ADIO_EXPLICIT_OFFSET, offset, &status, error_code);
        buf += now;
        offset += now;
        bytes -= now;
    } while (bytes > 0 && *error_code == MPI_SUCCESS);
}

static inline void ADIOI_Write_piece(ADIO_File fd, const char *buf, ADIO_Offset bytes,
                                     ADIO_Offset offset, int *error_code)
{
    ADIO_Status status;

    do {
        int now = (int) MPL_MIN(bytes, ADIOI_PIECE_BYTES_MAX);

        ADIO_WriteContig(fd, buf, now, MPI_BYTE, ADIO_EXPLICIT_OFFSET, offset, &status, error_code);
        buf += now;
        offset += now;
        bytes -= now;
    } while (bytes > 0 && *error_code == MPI_SUCCESS);
}

#endif /* LARGE_PIECE_H_INCLUDED */
