/*
 * See external32_data.h.
 */

#include "mpioimpl.h"
#include "bytes_in_file.h"
#include "external32_data.h"
#include "type_parts.h"

/* ---- data ------------------------------------------------------------------------------------ */

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

/* ---- the type in a file ---------------------------------------------------------------------- */

/* MPI_COMBINER_NAMED also for pairs with gaps, which ROMIO takes for structs. */
static int combiner_of(MPI_Datatype type)
{
    MPI_Count integers, addresses, counts, types;
    int combiner;

    PMPI_Type_get_envelope_c(type, &integers, &addresses, &counts, &types, &combiner);
    return combiner;
}

static int is_predefined(MPI_Datatype type)
{
    const int combiner = combiner_of(type);

    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
        combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

/* Integers are aligned in a struct as the type would be on a machine on which it has this size. */
static int type_of_bytes(MPI_Aint bytes, MPI_Datatype * type)
{
    switch (bytes) {
        case 1:
            *type = MPI_BYTE;
            return MPI_SUCCESS;
        case 2:
            *type = MPI_INT16_T;
            return MPI_SUCCESS;
        case 4:
            *type = MPI_INT32_T;
            return MPI_SUCCESS;
        case 8:
            *type = MPI_INT64_T;
            return MPI_SUCCESS;
        default:
            return PMPI_Type_contiguous_c(bytes, MPI_BYTE, type);
    }
}

static int construct_darray(const MPI_Count * n, MPI_Datatype old, MPI_Datatype * type)
{
    const int dimensions = (int) n[2];
    const MPI_Count *sizes = n + 3, *order = sizes + 4 * dimensions;
    int error_code, *ints;

    ints = (int *) ADIOI_Malloc((3 * dimensions + 1) * sizeof(int));
    for (int i = 0; i < 3 * dimensions; i++)
        ints[i] = (int) sizes[dimensions + i];
    error_code =
        PMPI_Type_create_darray_c((int) n[0], (int) n[1], dimensions, sizes, ints,
                                  ints + dimensions, ints + 2 * dimensions, (int) *order, old,
                                  type);
    ADIOI_Free(ints);
    return error_code;
}

/* By the constructor that `parts` describe, of `old` types. */
static int construct(const ADIOI_Type_parts * parts, const MPI_Datatype * old, MPI_Datatype * type)
{
    const MPI_Count *n = parts->integers, *at = parts->addresses;

    switch (parts->combiner) {
        case MPI_COMBINER_DUP:
            return PMPI_Type_contiguous_c(1, *old, type);
        case MPI_COMBINER_CONTIGUOUS:
            return PMPI_Type_contiguous_c(n[0], *old, type);
        case MPI_COMBINER_VECTOR:
            return PMPI_Type_vector_c(n[0], n[1], n[2], *old, type);
        case MPI_COMBINER_HVECTOR:
        case MPI_COMBINER_HVECTOR_INTEGER:
            return PMPI_Type_create_hvector_c(n[0], n[1], at[0], *old, type);
        case MPI_COMBINER_INDEXED:
            return PMPI_Type_indexed_c(n[0], n + 1, n + 1 + n[0], *old, type);
        case MPI_COMBINER_HINDEXED:
        case MPI_COMBINER_HINDEXED_INTEGER:
            return PMPI_Type_create_hindexed_c(n[0], n + 1, at, *old, type);
        case MPI_COMBINER_INDEXED_BLOCK:
            return PMPI_Type_create_indexed_block_c(n[0], n[1], n + 2, *old, type);
        case MPI_COMBINER_HINDEXED_BLOCK:
            return PMPI_Type_create_hindexed_block_c(n[0], n[1], at, *old, type);
        case MPI_COMBINER_STRUCT:
        case MPI_COMBINER_STRUCT_INTEGER:
            return PMPI_Type_create_struct_c(n[0], n + 1, at, old, type);
        case MPI_COMBINER_SUBARRAY:
            return PMPI_Type_create_subarray_c((int) n[0], n + 1, n + 1 + n[0], n + 1 + 2 * n[0],
                                               (int) n[1 + 3 * n[0]], *old, type);
        case MPI_COMBINER_DARRAY:
            return construct_darray(n, *old, type);
        case MPI_COMBINER_RESIZED:
            return PMPI_Type_create_resized_c(*old, at[0], at[1], type);
        default:
            return MPI_ERR_TYPE;
    }
}

static void free_derived(MPI_Datatype * type)
{
    if (combiner_of(*type) != MPI_COMBINER_NAMED)
        PMPI_Type_free(type);
}

/* Frees a type of get_type_in_file. */
static void free_type_in_file(MPI_Datatype type, MPI_Datatype * in_file)
{
    if (*in_file != type)
        free_derived(in_file);
}

static int get_type_in_file(MPI_Datatype type, MPI_Datatype * in_file);

static int get_derived_in_file(MPI_Datatype type, MPI_Datatype * in_file)
{
    int error_code = MPI_SUCCESS, differs = 0;
    ADIOI_Type_parts parts;
    MPI_Datatype *members;
    MPI_Count done;

    ADIOI_Type_parts_get(type, &parts);
    members = (MPI_Datatype *) ADIOI_Malloc((parts.n_types + 1) * sizeof(MPI_Datatype));
    for (done = 0; done < parts.n_types && error_code == MPI_SUCCESS; done++) {
        error_code = get_type_in_file(parts.types[done], &members[done]);
        differs |= members[done] != parts.types[done];
    }
    if (error_code == MPI_SUCCESS && differs)
        error_code = construct(&parts, members, in_file);
    for (MPI_Count i = 0; i < done; i++)
        free_type_in_file(parts.types[i], &members[i]);
    ADIOI_Free(members);
    ADIOI_Type_parts_free(&parts);
    return error_code;
}

/* Sets *in_file to the type itself if it is the same in the file, and after an error. */
static int get_type_in_file(MPI_Datatype type, MPI_Datatype * in_file)
{
    MPI_Aint lb, extent, bytes;
    int error_code;

    *in_file = type;
    if (is_predefined(type)) {
        bytes = MPIR_External32_bytes(type);
        PMPI_Type_get_extent(type, &lb, &extent);
        error_code = bytes == extent ? MPI_SUCCESS : type_of_bytes(bytes, in_file);
    } else {
        error_code = get_derived_in_file(type, in_file);
    }
    if (error_code != MPI_SUCCESS)
        *in_file = type;
    return error_code;
}

/* ---- views ----------------------------------------------------------------------------------- */

/* The types that the program passed. */
struct MPIO_External32_view {
    MPI_Datatype etype, filetype;
};

static MPI_Datatype copy_of(MPI_Datatype type)
{
    MPI_Datatype copy = type;

    if (combiner_of(type) != MPI_COMBINER_NAMED) {
        PMPI_Type_contiguous(1, type, &copy);
        PMPI_Type_commit(&copy);
    }
    return copy;
}

void MPIO_External32_free_view(ADIO_File fd)
{
    if (fd->external32_view == NULL)
        return;
    free_derived(&fd->external32_view->etype);
    free_derived(&fd->external32_view->filetype);
    ADIOI_Free(fd->external32_view);
    fd->external32_view = NULL;
}

/* The file has a copy of a pair with gaps, with any representation. */
static int is_pair(MPI_Datatype type)
{
    return ADIOI_Type_combiner(type) != combiner_of(type);
}

static void set_view(ADIO_File fd, int is_external32, MPI_Datatype etype, MPI_Datatype filetype)
{
    fd->is_external32 = is_external32;
    MPIO_External32_free_view(fd);
    if (is_external32 || is_pair(etype) || is_pair(filetype)) {
        fd->external32_view =
            (struct MPIO_External32_view *) ADIOI_Malloc(sizeof(*fd->external32_view));
        fd->external32_view->etype = copy_of(etype);
        fd->external32_view->filetype = copy_of(filetype);
    }
}

void MPIO_External32_set_view(ADIO_File fd, const char *datarep, ADIO_Offset disp,
                              MPI_Datatype etype, MPI_Datatype filetype, MPI_Info info,
                              int *error_code)
{
    const int is_external32 = !strcmp(datarep, "external32") || !strcmp(datarep, "EXTERNAL32");
    MPI_Datatype etype_in_file = etype, filetype_in_file = filetype;

    *error_code = MPI_SUCCESS;
    if (is_external32)
        *error_code = get_type_in_file(etype, &etype_in_file);
    if (is_external32 && *error_code == MPI_SUCCESS)
        *error_code = get_type_in_file(filetype, &filetype_in_file);
    if (*error_code == MPI_SUCCESS)
        ADIO_Set_view(fd, disp, etype_in_file, filetype_in_file, info, error_code);
    if (*error_code == MPI_SUCCESS)
        set_view(fd, is_external32, etype, filetype);
    free_type_in_file(etype, &etype_in_file);
    free_type_in_file(filetype, &filetype_in_file);
}

int MPIO_External32_get_view(ADIO_File fd, MPI_Datatype * etype, MPI_Datatype * filetype)
{
    if (fd->external32_view == NULL)
        return 0;
    *etype = copy_of(fd->external32_view->etype);
    *filetype = copy_of(fd->external32_view->filetype);
    return 1;
}

MPI_Count MPIO_External32_etype_size(ADIO_File fd)
{
    MPI_Count size = fd->etype_size;

    if (fd->external32_view != NULL)
        MPI_Type_size_x(fd->external32_view->etype, &size);
    return size;
}

int MPIO_External32_extent(ADIO_File fd, MPI_Datatype datatype, MPI_Aint * extent)
{
    MPI_Datatype in_file;
    MPI_Aint lb;
    int error_code;

    if (!fd->is_external32)
        return MPI_SUCCESS;
    error_code = get_type_in_file(datatype, &in_file);
    if (error_code != MPI_SUCCESS)
        return MPIO_Err_return_file(fd, error_code);
    PMPI_Type_get_extent(in_file, &lb, extent);
    free_type_in_file(datatype, &in_file);
    return MPI_SUCCESS;
}
