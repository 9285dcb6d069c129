/*
 * See external32_data.h.
 */

#include "mpioimpl.h"
#include "bytes_in_file.h"
#include "external32_data.h"
#include "type_parts.h"

static void begin(struct MPIO_External32 *external32, const void *buf, int *count,
                  MPI_Datatype * datatype, MPI_Count * datatype_size)
{
    const MPI_Count bytes = *count * (MPI_Count) MPIR_External32_bytes(*datatype);

    external32->buf = (void *) buf;
    external32->count = *count;
    external32->datatype = *datatype;
    external32->bytes = ADIOI_Malloc(bytes ? bytes : 1);
    external32->bytes_type = MPI_BYTE;
    *count = (int) bytes;
    *datatype_size = 1;
    if (*count != bytes) {
        MPI_Type_contiguous_c(bytes, MPI_BYTE, &external32->bytes_type);
        MPI_Type_commit(&external32->bytes_type);
        *count = 1;
        *datatype_size = bytes;
    }
    *datatype = external32->bytes_type;
}

static void end(struct MPIO_External32 *external32)
{
    ADIOI_Free(external32->bytes);
    external32->bytes = NULL;
    if (external32->bytes_type != MPI_BYTE)
        MPI_Type_free(&external32->bytes_type);
}

ADIO_Status *MPIO_External32_begin_read(struct MPIO_External32 *external32, ADIO_File fd,
                                        void **buf, int *count, MPI_Datatype * datatype,
                                        MPI_Count * datatype_size, ADIO_Status * status)
{
    if (!fd->is_external32)
        return status;
    begin(external32, *buf, count, datatype, datatype_size);
    *buf = external32->bytes;
    if (status == MPI_STATUS_IGNORE)
        status = &external32->status;
    /* some drivers do not set it */
    MPIR_Status_set_bytes(status, MPI_BYTE, *count * *datatype_size);
    return status;
}

int MPIO_External32_begin_write(struct MPIO_External32 *external32, ADIO_File fd, const void **buf,
                                int *count, MPI_Datatype * datatype, MPI_Count * datatype_size)
{
    int error_code;

    if (!fd->is_external32)
        return MPI_SUCCESS;
    begin(external32, *buf, count, datatype, datatype_size);
    *buf = external32->bytes;
    error_code =
        MPIR_External32_pack(external32->buf, external32->count, external32->datatype,
                             external32->bytes);
    return error_code == MPI_SUCCESS ? error_code : MPIO_Err_return_file(fd, error_code);
}

int MPIO_External32_end_read(struct MPIO_External32 *external32, ADIO_File fd, int error_code,
                             ADIO_Status * status)
{
    MPI_Aint native;

    if (external32->bytes == NULL)
        return error_code;
    if (error_code == MPI_SUCCESS) {
        error_code =
            MPIR_External32_unpack(external32->bytes, ADIOI_Bytes_of_status(status),
                                   external32->buf, external32->count, external32->datatype,
                                   &native);
        MPIR_Status_set_bytes(status, external32->datatype, native);
        if (error_code != MPI_SUCCESS)
            error_code = MPIO_Err_return_file(fd, error_code);
    }
    end(external32);
    return error_code;
}

void MPIO_External32_end_write(struct MPIO_External32 *external32, int error_code,
                               ADIO_Status * status)
{
    MPI_Count size;

    if (external32->bytes == NULL)
        return;
    MPI_Type_size_x(external32->datatype, &size);
    if (error_code == MPI_SUCCESS)
        MPIR_Status_set_bytes(status, external32->datatype, external32->count * size);
    end(external32);
}

void MPIO_External32_view(ADIO_File fd, MPI_Datatype etype)
{
    fd->is_external32 = 1;
    fd->etype_size = MPIR_External32_bytes(etype);
}

MPI_Count MPIO_External32_extent(ADIO_File fd, MPI_Datatype datatype, MPI_Count native)
{
    if (!fd->is_external32 || ADIOI_Type_combiner(datatype) != MPI_COMBINER_NAMED)
        return native;
    return MPIR_External32_bytes(datatype);
}
