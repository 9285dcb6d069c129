/*
 * Views with blocks, strides and counts beyond 2 and 4 GiB, and memory with holes of that size.
 * The file is sparse: a few bytes of it are used.  --hints NAME=VALUE,...
 */

#define _GNU_SOURCE             /* MAP_ANONYMOUS */
#include "file_calls.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define GIB ((MPI_Offset) 1 << 30)

static const char *const path = "files_far_types.data";

#define BLOCKS 3
#define NEAR 6                  /* bytes of one access */
/* between the views of two processes: more than a block of 4 bytes and its next copy */
#define APART 32

/* The blocks of one copy of a filetype, in bytes. */
struct map {
    const char *name;
    MPI_Datatype (*make) (void);
    struct {
        MPI_Offset at, length;
    } blocks[BLOCKS];           /* those of length 0 do not count */
    MPI_Offset extent;
};

static MPI_Datatype far_contiguous(void)
{
    MPI_Datatype type;

    ET_MPI(MPI_Type_contiguous_c(3 * GIB, MPI_BYTE, &type));
    return type;
}

static MPI_Datatype far_vector(void)
{
    MPI_Datatype type;

    ET_MPI(MPI_Type_vector_c(2, 3 * GIB, 5 * GIB, MPI_BYTE, &type));
    return type;
}

static MPI_Datatype far_hvector(void)
{
    MPI_Datatype type;

    ET_MPI(MPI_Type_create_hvector_c(3, 4, 3 * GIB, MPI_BYTE, &type));
    return type;
}

static MPI_Datatype far_indexed(void)
{
    const MPI_Count lengths[2] = { 3 * GIB, 4 }, displs[2] = { 0, 4 * GIB };
    MPI_Datatype type;

    ET_MPI(MPI_Type_indexed_c(2, lengths, displs, MPI_BYTE, &type));
    return type;
}

static MPI_Datatype far_hindexed(void)
{
    const MPI_Count lengths[2] = { 4, 3 * GIB / 4 }, displs[2] = { 8, 3 * GIB };
    MPI_Datatype type;

    ET_MPI(MPI_Type_create_hindexed_c(2, lengths, displs, MPI_INT, &type));
    return type;
}

static MPI_Datatype far_indexed_block(void)
{
    const MPI_Count displs[2] = { 0, 3 * GIB };
    MPI_Datatype type;

    ET_MPI(MPI_Type_create_indexed_block_c(2, 5 * GIB / 2, displs, MPI_BYTE, &type));
    return type;
}

static MPI_Datatype far_hindexed_block(void)
{
    const MPI_Count displs[3] = { 0, 3 * GIB, 6 * GIB };
    MPI_Datatype type;

    ET_MPI(MPI_Type_create_hindexed_block_c(3, 1, displs, MPI_INT, &type));
    return type;
}

static MPI_Datatype far_struct(void)
{
    const MPI_Count lengths[2] = { 4, 3 * GIB }, displs[2] = { 4, 5 * GIB };
    const MPI_Datatype types[2] = { MPI_CHAR, MPI_BYTE };
    MPI_Datatype type;

    ET_MPI(MPI_Type_create_struct_c(2, lengths, displs, types, &type));
    return type;
}

static MPI_Datatype far_subarray(void)
{
    const MPI_Count sizes[2] = { 3, 3 * GIB }, parts[2] = { 2, 5 * GIB / 2 }, starts[2] =
        { 1, GIB / 2 };
    MPI_Datatype type;

    ET_MPI(MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_BYTE, &type));
    return type;
}

static MPI_Datatype far_block(void)
{
    const MPI_Count size = 6 * GIB;
    const int block = MPI_DISTRIBUTE_BLOCK, rest = MPI_DISTRIBUTE_DFLT_DARG, processes = 2;
    MPI_Datatype type;

    ET_MPI(MPI_Type_create_darray_c(2, 1, 1, &size, &block, &rest, &processes, MPI_ORDER_C,
                                    MPI_BYTE, &type));
    return type;
}

static MPI_Datatype far_cyclic(void)
{
    const MPI_Count size = 5 * GIB;
    const int cyclic = MPI_DISTRIBUTE_CYCLIC, length = 1 << 30, processes = 2;
    MPI_Datatype type;

    ET_MPI(MPI_Type_create_darray_c(2, 0, 1, &size, &cyclic, &length, &processes, MPI_ORDER_FORTRAN,
                                    MPI_BYTE, &type));
    return type;
}

static MPI_Datatype far_nested(void)
{
    MPI_Datatype inner = far_hvector(), type;

    ET_MPI(MPI_Type_create_resized_c(inner, 0, 7 * GIB, &type));
    ET_MPI(MPI_Type_free(&inner));
    return type;
}

static const struct map maps[] = {
    {"contiguous", far_contiguous, {{0, 3 * GIB}}, 3 * GIB},
    {"vector", far_vector, {{0, 3 * GIB}, {5 * GIB, 3 * GIB}}, 8 * GIB},
    {"hvector", far_hvector, {{0, 4}, {3 * GIB, 4}, {6 * GIB, 4}}, 6 * GIB + 4},
    {"indexed", far_indexed, {{0, 3 * GIB}, {4 * GIB, 4}}, 4 * GIB + 4},
    {"hindexed", far_hindexed, {{8, 16}, {3 * GIB, 3 * GIB}}, 6 * GIB - 8},
    {"indexed_block", far_indexed_block, {{0, 5 * GIB / 2}, {3 * GIB, 5 * GIB / 2}}, 11 * GIB / 2},
    {"hindexed_block", far_hindexed_block, {{0, 4}, {3 * GIB, 4}, {6 * GIB, 4}}, 6 * GIB + 4},
    {"struct", far_struct, {{4, 4}, {5 * GIB, 3 * GIB}}, 8 * GIB - 4},
    {"subarray", far_subarray, {{7 * GIB / 2, 5 * GIB / 2}, {13 * GIB / 2, 5 * GIB / 2}}, 9 * GIB},
    {"darray_block", far_block, {{3 * GIB, 3 * GIB}}, 6 * GIB},
    {"darray_cyclic", far_cyclic, {{0, GIB}, {2 * GIB, GIB}, {4 * GIB, GIB}}, 5 * GIB},
    {"nested", far_nested, {{0, 4}, {3 * GIB, 4}, {6 * GIB, 4}}, 7 * GIB},
};

static MPI_Offset size_of(const struct map *map)
{
    MPI_Offset size = 0;

    for (int i = 0; i < BLOCKS; i++)
        size += map->blocks[i].length;
    return size;
}

/* Where in the file the byte `index` of the view is, without the displacement. */
static MPI_Offset offset_of(const struct map *map, MPI_Offset index)
{
    const MPI_Offset copy = index / size_of(map);
    int i = 0;

    for (index %= size_of(map); index >= map->blocks[i].length; i++)
        index -= map->blocks[i].length;
    return copy * map->extent + map->blocks[i].at + index;
}

static int is_collective(int call)
{
    return strstr(names[call], "all") != NULL;
}

/* Processes use bytes that are near each other: each has a displacement of its own. */
static void access_far(const struct map *map, MPI_Offset first, int call)
{
    const MPI_Offset displacement = et.rank * APART;
    char data[NEAR], found[NEAR];
    MPI_Offset position;
    int fd = open(path, O_RDWR);

    ET_MPI(MPI_File_get_byte_offset(file, first, &position));
    ET_CHECK(position == displacement + offset_of(map, first), "%s: byte offset of %lld is %lld",
             map->name, (long long) first, (long long) position);
    for (int i = 0; i < NEAR; i++)
        data[i] = (char) (1 + CALLS * (et.rank * NEAR + i) + call);
    writes[call] (first, data, NEAR, MPI_BYTE);
    ET_MPI(MPI_File_sync(file));
    for (int i = 0; i < NEAR; i++) {
        position = displacement + offset_of(map, first + i);
        ET_CHECK(pread(fd, found, 1, position) == 1 &&
                 found[0] == data[i], "write_%s, %s: byte %lld, at %lld", names[call], map->name,
                 (long long) first + i, (long long) position);
    }
    memset(found, 0, NEAR);
    reads[call] (first, found, NEAR, MPI_BYTE);
    ET_CHECK(memcmp(found, data, NEAR) == 0, "read_%s, %s: %d bytes from %lld", names[call],
             map->name, NEAR, (long long) first);
    if (strcmp(names[call], "pointer") == 0) {
        ET_MPI(MPI_File_get_position(file, &position));
        ET_CHECK(position == first + NEAR, "%s: the pointer is at %lld", map->name,
                 (long long) position);
    }
    close(fd);
}

static void check_map(const struct map *map)
{
    MPI_Datatype type = map->make(), etype, filetype;
    MPI_Aint lb, extent, expected;
    MPI_Offset displacement, end = 0;
    MPI_Count size;
    char representation[MPI_MAX_DATAREP_STRING];

    ET_MPI(MPI_Type_commit(&type));
    MPI_Barrier(MPI_COMM_WORLD);
    ET_MPI(MPI_File_set_size(file, 0));
    ET_MPI(MPI_File_set_view(file, et.rank * APART, MPI_BYTE, type, "native", MPI_INFO_NULL));
    for (int i = 0; i < BLOCKS; i++) {
        end += map->blocks[i].length;
        for (int call = 0; call < CALLS && map->blocks[i].length; call++)
            /* these exchange in rounds, of which a hole has many */
            if (i == 0 || !is_collective(call))
                access_far(map, end - NEAR / 2, call);
    }
    ET_MPI(MPI_File_get_view(file, &displacement, &etype, &filetype, representation));
    ET_MPI(MPI_Type_size_x(filetype, &size));
    ET_MPI(MPI_Type_get_extent(type, &lb, &expected));
    ET_MPI(MPI_Type_get_extent(filetype, &lb, &extent));
    ET_CHECK(size == size_of(map) &&
             extent == expected, "%s: get_view returns a type of %lld bytes", map->name,
             (long long) size);
    ET_MPI(MPI_Type_free(&filetype));
    ET_MPI(MPI_Type_free(&type));
}

/* Memory with holes of 3 GiB, of which two pages are used. */
static void check_memory(void)
{
    const size_t room = 6 * GIB + 4096;
    MPI_Datatype type = far_hvector();
    char *memory =
        mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
             0);
    char found[12];

    ET_CHECK(memory != MAP_FAILED, "no addresses");
    ET_MPI(MPI_Type_commit(&type));
    ET_MPI(MPI_File_set_view(file, et.rank * 12, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    for (int call = 0; call < CALLS; call++) {
        for (int i = 0; i < 12; i++)
            memory[i / 4 * 3 * GIB + i % 4] = (char) (i + call);
        writes[call] (0, memory, 1, type);
        for (int i = 0; i < 12; i++)
            memory[i / 4 * 3 * GIB + i % 4] = 0;
        read_at(0, found, 12, MPI_BYTE);
        reads[call] (0, memory, 1, type);
        for (int i = 0; i < 12; i++) {
            ET_CHECK(found[i] == (char) (i + call), "write_%s from memory with holes: byte %d",
                     names[call], i);
            ET_CHECK(memory[i / 4 * 3 * GIB + i % 4] == found[i],
                     "read_%s to memory with holes: byte %d", names[call], i);
        }
    }
    ET_MPI(MPI_Type_free(&type));
    munmap(memory, room);
}

static void check_all(void)
{
    struct stat facts;

    for (unsigned i = 0; i < sizeof(maps) / sizeof(*maps); i++)
        check_map(&maps[i]);
    ET_CHECK(stat(path, &facts) == 0 && facts.st_blocks < 4 << 20, "the file has %lld blocks",
             (long long) facts.st_blocks);
    check_memory();
}

int main(int argc, char **argv)
{
    return check_file_calls(argc, argv, path, check_all, "files far types");
}
