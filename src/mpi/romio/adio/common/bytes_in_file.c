/*
 * The end of the file within a read, see bytes_in_file.h.  A view is a sequence of bytes; the
 * functions convert between positions in it and positions in the file.
 */

#include "bytes_in_file.h"
#include "adio_extern.h"
#include <sys/stat.h>

/* The number of bytes of the view before a position of the file. */
static ADIO_Offset view_bytes_before(ADIO_File fd, ADIO_Offset end)
{
    ADIOI_Flatlist_node *flat;
    ADIO_Offset copies, rest, bytes;
    MPI_Count size;
    MPI_Aint lb, extent;
    int contiguous;

    ADIOI_Datatype_iscontig(fd->filetype, &contiguous);
    if (contiguous)
        return MPL_MAX(end - fd->disp, 0);

    flat = ADIOI_Flatten_and_find(fd->filetype);
    MPI_Type_size_x(fd->filetype, &size);
    MPI_Type_get_extent(fd->filetype, &lb, &extent);
    rest = end - fd->disp - flat->indices[0];
    if (rest <= 0 || extent <= 0)
        return 0;
    /* displacements of a filetype do not decrease: the data of earlier copies lies before */
    copies = rest / extent;
    bytes = copies * size;
    rest = end - fd->disp - copies * extent;
    for (MPI_Count i = 0; i < flat->count; i++)
        bytes += MPL_MAX(MPL_MIN(rest - flat->indices[i], flat->blocklens[i]), 0);
    return bytes;
}

/* -1: unknown. */
static ADIO_Offset file_size(ADIO_File fd)
{
    ADIO_Fcntl_t fcntl;
    struct stat found;
    int error_code;

    if (fd->is_open) {
        ADIO_Fcntl(fd, ADIO_FCNTL_GET_FSIZE, &fcntl, &error_code);
        return error_code == MPI_SUCCESS ? fcntl.fsize : -1;
    }
    /* only aggregators have opened the file */
    return stat(fd->filename, &found) == 0 ? (ADIO_Offset) found.st_size : -1;
}

MPI_Count ADIOI_Bytes_in_file(ADIO_File fd, int file_ptr_type, ADIO_Offset position,
                              MPI_Count bytes)
{
    ADIO_Offset size = file_size(fd), start;

    if (size < 0)
        return bytes;
    start = file_ptr_type == ADIO_INDIVIDUAL ? view_bytes_before(fd, position) :
        position * (ADIO_Offset) fd->etype_size;
    return MPL_MAX(MPL_MIN(view_bytes_before(fd, size) - start, bytes), 0);
}

/* The position in the file of byte number `bytes` of the view. */
static ADIO_Offset position_of_view_byte(ADIO_File fd, ADIO_Offset bytes)
{
    ADIOI_Flatlist_node *flat;
    ADIO_Offset rest;
    MPI_Count size;
    MPI_Aint lb, extent;
    int contiguous;

    ADIOI_Datatype_iscontig(fd->filetype, &contiguous);
    MPI_Type_size_x(fd->filetype, &size);
    if (contiguous || size <= 0)
        return fd->disp + bytes;

    flat = ADIOI_Flatten_and_find(fd->filetype);
    MPI_Type_get_extent(fd->filetype, &lb, &extent);
    rest = bytes % size;
    for (MPI_Count i = 0; i < flat->count; i++) {
        if (rest < flat->blocklens[i])
            return fd->disp + bytes / size * extent + flat->indices[i] + rest;
        rest -= flat->blocklens[i];
    }
    return fd->fp_ind;
}

ADIO_Offset ADIOI_Pointer_after(ADIO_File fd, ADIO_Offset previous, MPI_Count bytes)
{
    return position_of_view_byte(fd, view_bytes_before(fd, previous) + bytes);
}

void ADIOI_Pointer_after_read(ADIO_File fd, ADIO_Offset previous, MPI_Count requested,
                              ADIO_Status * status)
{
    MPI_Count bytes = ADIOI_Bytes_of_status(status);

    if (bytes < requested)
        fd->fp_ind = ADIOI_Pointer_after(fd, previous, bytes);
}

MPI_Count ADIOI_Bytes_of_status(ADIO_Status * status)
{
    MPI_Count bytes = 0;

    MPI_Get_elements_x(status, MPI_BYTE, &bytes);
    return bytes;
}
