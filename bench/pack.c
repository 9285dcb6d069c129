/*
 * Time of MPI_Pack, MPI_Unpack, MPI_Pack_external and MPI_Unpack_external of derived datatypes, and
 * of MPI_Accumulate on them.
 *
 *   mpiexec -n 1 pack [--ms TIME] [NAME...]
 *
 * Prints one line of samples for each combination `pack:TYPE:ELEMENT` and `unpack:TYPE:ELEMENT`, of
 * one process.  TYPE is a vector, indexed blocks, or a face of a two- or three-dimensional array,
 * as codes exchange them; ELEMENT is double or int.  `accumulate:...` adds to such a target in a
 * window of the process itself.  `external_pack:...` and `external_unpack:...` convert to and from
 * external32; their TYPE is also contiguous data.  Compiles with any MPI.
 */

#include "measure.h"
#include <string.h>

#define EDGE 48                 /* elements along each side of the arrays */
#define ELEMENTS (EDGE * EDGE * EDGE)
#define BLOCKS 512
#define PAGE 4096
#define PACKED_OFFSET 1024
#define CONTIGUOUS "contiguous" /* only converted: otherwise it is a copy */
#define EXTERNAL "external_"

struct layout {
    const char *name;
    MPI_Datatype (*make) (MPI_Datatype element);
};

struct transfer {
    MPI_Datatype type, element;
    int packed_bytes, elements;
    char *array, *packed;
    MPI_Win win;
};

static double budget_us = 10000;

/* ---- layouts ---------------------------------------------------------------------------- */

static MPI_Datatype contiguous(MPI_Datatype element)
{
    MPI_Datatype type;

    MPI_Type_contiguous(ELEMENTS, element, &type);
    return type;
}

static MPI_Datatype vector(MPI_Datatype element)
{
    MPI_Datatype type;

    MPI_Type_vector(EDGE * EDGE, 1, EDGE, element, &type);
    return type;
}

static MPI_Datatype vector_of_three(MPI_Datatype element)
{
    MPI_Datatype type;

    MPI_Type_vector(EDGE * EDGE, 3, EDGE, element, &type);
    return type;
}

static MPI_Datatype indexed(MPI_Datatype element)
{
    int lengths[BLOCKS], displacements[BLOCKS];
    MPI_Datatype type;

    for (int i = 0; i < BLOCKS; i++) {
        lengths[i] = 1 + i % 5;
        displacements[i] = i * 13 + i % 3;
    }
    MPI_Type_indexed(BLOCKS, lengths, displacements, element, &type);
    return type;
}

static MPI_Datatype indexed_blocks(MPI_Datatype element)
{
    int displacements[BLOCKS];
    MPI_Datatype type;

    for (int i = 0; i < BLOCKS; i++)
        displacements[i] = i * 11 + i % 3;
    MPI_Type_create_indexed_block(BLOCKS, 2, displacements, element, &type);
    return type;
}

/* A part of the array: its sizes, from the slowest dimension to the fastest. */
static MPI_Datatype part(int dimensions, const int *sub_sizes, MPI_Datatype element)
{
    const int sizes[3] = { EDGE, EDGE, EDGE }, starts[3] = { 1, 1, 1 };
    MPI_Datatype type;

    MPI_Type_create_subarray(dimensions, sizes, sub_sizes, starts, MPI_ORDER_C, element, &type);
    return type;
}

static MPI_Datatype column(MPI_Datatype element)
{
    return part(2, (const int[]) { EDGE - 2, 1 }, element);
}

static MPI_Datatype face_x(MPI_Datatype element)
{
    return part(3, (const int[]) { EDGE - 2, EDGE - 2, 1 }, element);
}

static MPI_Datatype face_y(MPI_Datatype element)
{
    return part(3, (const int[]) { EDGE - 2, 1, EDGE - 2 }, element);
}

static MPI_Datatype face_z(MPI_Datatype element)
{
    return part(3, (const int[]) { 1, EDGE - 2, EDGE - 2 }, element);
}

static MPI_Datatype vector_of_vectors(MPI_Datatype element)
{
    MPI_Datatype inner, type;

    MPI_Type_vector(EDGE / 2, 2, 4, element, &inner);
    MPI_Type_create_hvector(EDGE - 2, 1, EDGE * EDGE * (MPI_Aint) sizeof(int), inner, &type);
    MPI_Type_free(&inner);
    return type;
}

static const struct layout layouts[] = {
    {"vector", vector}, {"vector3", vector_of_three}, {"indexed", indexed},
    {"blocks", indexed_blocks},
    {"column", column}, {"face_x", face_x}, {"face_y", face_y}, {"face_z", face_z},
    {"nested", vector_of_vectors}, {CONTIGUOUS, contiguous},
};

static const struct {
    const char *name;
    size_t bytes;
    MPI_Datatype type;
} elements[] = { {"double", sizeof(double), MPI_DOUBLE}, {"int", sizeof(int), MPI_INT} };

/* ---- operations ------------------------------------------------------------------------- */

static void pack(const void *what, int count)
{
    const struct transfer *t = what;

    for (int i = 0; i < count; i++) {
        int position = 0;
        MPI_Pack(t->array, 1, t->type, t->packed, t->packed_bytes, &position, MPI_COMM_SELF);
    }
}

static void unpack(const void *what, int count)
{
    const struct transfer *t = what;

    for (int i = 0; i < count; i++) {
        int position = 0;
        MPI_Unpack(t->packed, t->packed_bytes, &position, t->array, 1, t->type, MPI_COMM_SELF);
    }
}

static void external_pack(const void *what, int count)
{
    const struct transfer *t = what;

    for (int i = 0; i < count; i++) {
        MPI_Aint position = 0;
        MPI_Pack_external("external32", t->array, 1, t->type, t->packed, t->packed_bytes,
                          &position);
    }
}

static void external_unpack(const void *what, int count)
{
    const struct transfer *t = what;

    for (int i = 0; i < count; i++) {
        MPI_Aint position = 0;
        MPI_Unpack_external("external32", t->packed, t->packed_bytes, &position, t->array, 1,
                            t->type);
    }
}

static void accumulate(const void *what, int count)
{
    const struct transfer *t = what;

    for (int i = 0; i < count; i++)
        MPI_Accumulate(t->packed, t->elements, t->element, 0, 0, 1, t->type, MPI_SUM, t->win);
    MPI_Win_flush(0, t->win);
}

static const struct {
    const char *name;
    operation run;
} operations[] = {
    {"pack", pack}, {"unpack", unpack}, {"accumulate", accumulate},
    {EXTERNAL "pack", external_pack}, {EXTERNAL "unpack", external_unpack},
};

/* ---- program ---------------------------------------------------------------------------- */

static int is_wanted(const char *name, char **names)
{
    if (strstr(name, CONTIGUOUS) && strncmp(name, EXTERNAL, strlen(EXTERNAL)) != 0)
        return 0;
    if (!*names)
        return 1;
    for (; *names; names++)
        if (strncmp(name, *names, strlen(*names)) == 0)
            return 1;
    return 0;
}

/* Zeros, `offset` bytes after the start of a page: the distance of two arrays modulo a page changes
 * the time of a copy by half, and malloc of two MPIs chooses two distances. */
static char *at_start_of_page(size_t bytes, size_t offset)
{
    void *memory = NULL;

    if (posix_memalign(&memory, PAGE, offset + bytes) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return (char *) memset(memory, 0, offset + bytes) + offset;
}

static void measure_layout(const struct layout *layout, int element, char **names)
{
    struct transfer t = {.element = elements[element].type };
    size_t bytes = ELEMENTS * elements[element].bytes;

    t.type = layout->make(t.element);
    MPI_Type_commit(&t.type);
    MPI_Pack_size(1, t.type, MPI_COMM_SELF, &t.packed_bytes);
    t.elements = t.packed_bytes / (int) elements[element].bytes;
    t.packed = at_start_of_page((size_t) t.packed_bytes, PACKED_OFFSET);
    t.array = at_start_of_page(bytes, 0);
    MPI_Win_create(t.array, (MPI_Aint) bytes, 1, MPI_INFO_NULL, MPI_COMM_SELF, &t.win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, t.win);
    for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
        char name[64];

        snprintf(name, sizeof(name), "%s:%s:%s", operations[i].name, layout->name,
                 elements[element].name);
        if (is_wanted(name, names))
            measure(name, operations[i].run, &t, 1, MPI_COMM_SELF, budget_us);
    }
    MPI_Win_unlock(0, t.win);
    MPI_Win_free(&t.win);
    MPI_Type_free(&t.type);
    free(t.packed - PACKED_OFFSET);
    free(t.array);
}

int main(int argc, char **argv)
{
    char **names = argv + 1;

    MPI_Init(&argc, &argv);
    if (*names && strcmp(*names, "--ms") == 0 && names[1]) {
        budget_us = 1000 * atof(names[1]);
        names += 2;
    }
    bind_to_core(0);
    for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
        for (int element = 0; element < 2; element++)
            measure_layout(&layouts[i], element, names);
    MPI_Finalize();
    return 0;
}
