/*
 * Files and datatypes of large-count functions (MPI_Type_vector_c and its siblings), with small
 * counts: as view and in memory they are those of the functions with int counts.  --hints
 * NAME=VALUE,...
 */

#include "file_calls.h"
#include <fcntl.h>
#include <unistd.h>

static const char *const path = "files_large_types.data";

enum constructor {
    CONTIGUOUS, VECTOR, HVECTOR, INDEXED, HINDEXED, INDEXED_BLOCK, HINDEXED_BLOCK, STRUCT,
        SUBARRAY_C, SUBARRAY_FORTRAN, DARRAY_BLOCK, DARRAY_CYCLIC, RESIZED, CONSTRUCTORS
};

#define MAKE(name, ...) (large ? MPI_Type_##name##_c(__VA_ARGS__, &type) \
                         : MPI_Type_##name(__VA_ARGS__, &type))

/* Calls the function that takes MPI_Count or the one that takes int (or MPI_Aint), with the same
 * numbers. */
static MPI_Datatype make(enum constructor constructor, int large, MPI_Datatype old)
{
    enum { PARTS = 4, DIMENSIONS = 3 };
    const int lengths[PARTS] = { 0, 2, 1, 3 }, displs[PARTS] = { 0, 1, 5, 9 };
    const int sizes[DIMENSIONS] = { 5, 4, 6 }, parts[DIMENSIONS] = { 2, 3, 4 }, starts[DIMENSIONS] =
        { 1, 1, 2 };
    const int block[2] = { MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE };
    const int cyclic[2] = { MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC };
    const int defaults[2] = { MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG }, blocks[2] =
        { 2, 3 };
    const int column[2] = { 2, 1 }, grid[2] = { 2, 2 };
    MPI_Count large_lengths[PARTS], large_displs[PARTS], large_offsets[PARTS];
    MPI_Count large_sizes[DIMENSIONS], large_parts[DIMENSIONS], large_starts[DIMENSIONS];
    MPI_Aint bytes[PARTS], lb, extent;
    MPI_Datatype type, types[PARTS] = { old, old, MPI_CHAR, old };
    int error = MPI_ERR_INTERN;

    ET_MPI(MPI_Type_get_extent(old, &lb, &extent));
    for (int i = 0; i < PARTS; i++) {
        large_lengths[i] = lengths[i];
        large_displs[i] = displs[i];
        large_offsets[i] = bytes[i] = displs[i] * extent;
    }
    for (int i = 0; i < DIMENSIONS; i++) {
        large_sizes[i] = sizes[i];
        large_parts[i] = parts[i];
        large_starts[i] = starts[i];
    }
    switch (constructor) {
        case CONTIGUOUS:
            error = MAKE(contiguous, 3, old);
            break;
        case VECTOR:
            error = MAKE(vector, 3, 2, 5, old);
            break;
        case HVECTOR:
            error = MAKE(create_hvector, 3, 2, 5 * extent, old);
            break;
        case INDEXED:
            error = large ? MPI_Type_indexed_c(PARTS, large_lengths, large_displs, old, &type) :
                MPI_Type_indexed(PARTS, lengths, displs, old, &type);
            break;
        case HINDEXED:
            error = large ? MPI_Type_create_hindexed_c(PARTS, large_lengths, large_offsets, old,
                                                       &type) :
                MPI_Type_create_hindexed(PARTS, lengths, bytes, old, &type);
            break;
        case INDEXED_BLOCK:
            error = large ? MPI_Type_create_indexed_block_c(PARTS - 1, 2, large_displs + 1, old,
                                                            &type) :
                MPI_Type_create_indexed_block(PARTS - 1, 2, displs + 1, old, &type);
            break;
        case HINDEXED_BLOCK:
            error =
                large ? MPI_Type_create_hindexed_block_c(PARTS - 1, 2, large_offsets + 1, old,
                                                         &type) :
                MPI_Type_create_hindexed_block(PARTS - 1, 2, bytes + 1, old, &type);
            break;
        case STRUCT:
            error = large ? MPI_Type_create_struct_c(PARTS, large_lengths, large_offsets, types,
                                                     &type) :
                MPI_Type_create_struct(PARTS, lengths, bytes, types, &type);
            break;
        case SUBARRAY_C:
        case SUBARRAY_FORTRAN:{
                const int order = constructor == SUBARRAY_C ? MPI_ORDER_C : MPI_ORDER_FORTRAN;

                error = large ? MPI_Type_create_subarray_c(DIMENSIONS, large_sizes, large_parts,
                                                           large_starts, order, old, &type) :
                    MPI_Type_create_subarray(DIMENSIONS, sizes, parts, starts, order, old, &type);
                break;
            }
        case DARRAY_BLOCK:
            error = large ? MPI_Type_create_darray_c(2, 1, 2, large_sizes, block, defaults, column,
                                                     MPI_ORDER_C, old, &type) :
                MPI_Type_create_darray(2, 1, 2, sizes, block, defaults, column, MPI_ORDER_C, old,
                                       &type);
            break;
        case DARRAY_CYCLIC:
            error = large ? MPI_Type_create_darray_c(4, 1, 2, large_sizes, cyclic, blocks, grid,
                                                     MPI_ORDER_FORTRAN, old, &type) :
                MPI_Type_create_darray(4, 1, 2, sizes, cyclic, blocks, grid, MPI_ORDER_FORTRAN, old,
                                       &type);
            break;
        case RESIZED:
            error = large ? MPI_Type_create_resized_c(old, 0, 3 * extent, &type) :
                MPI_Type_create_resized(old, 0, 3 * extent, &type);
            break;
        case CONSTRUCTORS:
            break;
    }
    ET_MPI(error);
    ET_MPI(MPI_Type_commit(&type));
    return type;
}

#define COPIES 3
#define ROOM 16384              /* for COPIES of any of the types */

/* Where `data` lies if it is unpacked into copies of the type. */
static void unpack(char *image, const char *data, int bytes, MPI_Datatype type)
{
    int position = 0;

    memset(image, 0, ROOM);
    ET_MPI(MPI_Unpack(data, bytes, &position, image, COPIES, type, MPI_COMM_SELF));
}

static void check_file(const char *image, const char *what, int constructor)
{
    char *found = calloc(1, ROOM);
    int fd = open(path, O_RDONLY);

    ET_CHECK(found && fd >= 0 && pread(fd, found, ROOM, (off_t) et.rank * ROOM) >= 0, "no file");
    close(fd);
    for (int i = 0; i < ROOM; i++)
        ET_CHECK(found[i] == image[i], "%s, constructor %d: byte %d is %d, not %d", what,
                 constructor, i, found[i], image[i]);
    free(found);
}

static void clear_file(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    ET_MPI(MPI_File_set_size(file, 0));
    ET_MPI(MPI_File_set_size(file, (MPI_Offset) et.size * ROOM));
}

static void view(MPI_Datatype type)
{
    ET_MPI(MPI_File_set_view(file, (MPI_Offset) et.rank * ROOM, MPI_BYTE, type, "native",
                             MPI_INFO_NULL));
}

/* MPI_File_get_view returns a type with the layout of the view, and that is the program's to
 * free. */
static void check_view(MPI_Datatype type, const char *image, const char *data, int bytes,
                       int constructor)
{
    MPI_Datatype etype, filetype;
    MPI_Offset displacement;
    MPI_Aint lb, extent, expected_lb, expected;
    char representation[MPI_MAX_DATAREP_STRING], *found = malloc(ROOM);

    ET_MPI(MPI_File_get_view(file, &displacement, &etype, &filetype, representation));
    ET_CHECK(etype == MPI_BYTE &&
             displacement == (MPI_Offset) et.rank * ROOM, "constructor %d", constructor);
    ET_MPI(MPI_Type_get_extent(type, &expected_lb, &expected));
    ET_MPI(MPI_Type_get_extent(filetype, &lb, &extent));
    ET_CHECK(lb == expected_lb &&
             extent == expected, "constructor %d: extent %ld", constructor, (long) extent);
    unpack(found, data, bytes, filetype);
    ET_CHECK(memcmp(found, image, ROOM) == 0, "constructor %d: get_view returns another type",
             constructor);
    ET_MPI(MPI_Type_free(&filetype));
    free(found);
}

static void check_constructor(enum constructor constructor, MPI_Datatype old)
{
    MPI_Datatype type = make(constructor, 1, old), sibling = make(constructor, 0, old);
    char *data = malloc(ROOM), *image = malloc(ROOM), *buf = malloc(ROOM);
    MPI_Count size;
    int bytes;

    ET_MPI(MPI_Type_size_x(type, &size));
    bytes = (int) size * COPIES;
    ET_CHECK(bytes > 0 && bytes <= ROOM, "constructor %d: %d bytes", constructor, bytes);
    for (int i = 0; i < bytes; i++)
        data[i] = (char) (i % 100 + 1 + et.rank);
    unpack(image, data, bytes, sibling);

    for (int call = 0; call < CALLS; call++) {
        clear_file();
        view(type);
        writes[call] (0, data, bytes, MPI_BYTE);
        ET_MPI(MPI_File_sync(file));
        check_file(image, names[call], constructor);
        check_view(type, image, data, bytes, constructor);
        memset(buf, 0, ROOM);
        reads[call] (0, buf, bytes, MPI_BYTE);
        ET_CHECK(memcmp(buf, data, bytes) == 0, "read_%s of the view, constructor %d", names[call],
                 constructor);

        /* the type in memory, and the file without it; then the type in both */
        for (int both = 0; both < 2; both++) {
            clear_file();
            view(both ? type : MPI_BYTE);
            writes[call] (0, image, COPIES, type);
            ET_MPI(MPI_File_sync(file));
            memset(buf, 0, ROOM);
            memcpy(buf, data, bytes);
            check_file(both ? image : buf, "from memory", constructor);
            memset(buf, 0, ROOM);
            reads[call] (0, buf, COPIES, type);
            ET_CHECK(memcmp(buf, image, ROOM) == 0, "read_%s to memory, constructor %d",
                     names[call], constructor);
        }
    }
    ET_MPI(MPI_Type_free(&sibling));
    ET_MPI(MPI_Type_free(&type));
    free(data);
    free(image);
    free(buf);
}

static void check_all(void)
{
    MPI_Datatype gaps, rows;

    ET_MPI(MPI_Type_vector_c(2, 1, 2, MPI_INT, &gaps));
    ET_MPI(MPI_Type_create_resized_c(gaps, 0, 16, &rows));
    for (int i = 0; i < CONSTRUCTORS; i++) {
        check_constructor(i, MPI_INT);
        check_constructor(i, gaps);
        check_constructor(i, rows);
    }
    ET_MPI(MPI_Type_free(&gaps));
    ET_MPI(MPI_Type_free(&rows));
}

int main(int argc, char **argv)
{
    return check_file_calls(argc, argv, path, check_all, "files large types");
}
