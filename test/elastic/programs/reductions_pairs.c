/*
 * MPI_MINLOC and MPI_MAXLOC on every type of pairs, of C and of Fortran, compared with plain C:
 * Reduce_local, Allreduce, Reduce, Scan, Exscan, Iallreduce, Reduce_scatter_block, Accumulate,
 * Get_accumulate.  Equal values are among the operands: the lesser index is right.
 */

#include "elastic_test.h"

enum { ELEMENTS = 6, MOST = 8 };

/* Values and indices of one type of pairs, and how they lie in memory. */
struct pairs {
    const char *name;
    MPI_Datatype handle;
    size_t bytes;
    void (*put) (void *at, int value, int index);
    void (*get) (const void *at, int *value, int *index);
};

#define PAIRS(name, value_type, index_type)                                     \
    struct name {                                                               \
        value_type value;                                                       \
        index_type index;                                                       \
    };                                                                          \
    static void put_##name(void *at, int value, int index)                      \
    {                                                                           \
        struct name *pair = at;                                                 \
        pair->value = (value_type) value;                                       \
        pair->index = (index_type) index;                                       \
    }                                                                           \
    static void get_##name(const void *at, int *value, int *index)              \
    {                                                                           \
        const struct name *pair = at;                                           \
        *value = (int) pair->value;                                             \
        *index = (int) pair->index;                                             \
    }
PAIRS(short_int, short, int)
PAIRS(two_ints, int, int)
PAIRS(long_int, long, int)
PAIRS(float_int, float, int)
PAIRS(double_int, double, int)
PAIRS(long_double_int, long double, int)
PAIRS(two_floats, float, float)
PAIRS(two_doubles, double, double)

#define ROW(handle, name) { #handle, handle, sizeof(struct name), put_##name, get_##name }
static const struct pairs types[] = {
    ROW(MPI_SHORT_INT, short_int),
    ROW(MPI_2INT, two_ints),
    ROW(MPI_LONG_INT, long_int),
    ROW(MPI_FLOAT_INT, float_int),
    ROW(MPI_DOUBLE_INT, double_int),
    ROW(MPI_LONG_DOUBLE_INT, long_double_int),
    ROW(MPI_2INTEGER, two_ints),
    ROW(MPI_2REAL, two_floats),
    ROW(MPI_2DOUBLE_PRECISION, two_doubles),
};

static const struct pairs *pairs;
static int is_max;
static MPI_Op op;
static char mine[MOST * ELEMENTS * 32], seen[MOST * ELEMENTS * 32];

static void operand(int rank, int i, int *value, int *index)
{
    *value = (i * 5 + rank * 3) % 2 - 1;
    *index = (rank * 5 + i) % 7 + 100;
}

static void fill(void *buffer, int rank, int n)
{
    for (int i = 0; i < n; i++) {
        int value, index;
        operand(rank, i, &value, &index);
        pairs->put((char *) buffer + (size_t) i * pairs->bytes, value, index);
    }
}

/* Element i of the operands of `ranks` processes must be at `position`. */
static void check(const char *call, const void *buffer, int ranks, int i, int position)
{
    int value, index, found_value, found_index;

    operand(0, i, &value, &index);
    for (int rank = 1; rank < ranks; rank++) {
        int next_value, next_index;
        operand(rank, i, &next_value, &next_index);
        if (next_value == value) {
            index = next_index < index ? next_index : index;
        } else if (is_max ? next_value > value : next_value < value) {
            value = next_value;
            index = next_index;
        }
    }
    pairs->get((const char *) buffer + (size_t) position * pairs->bytes, &found_value,
               &found_index);
    ET_CHECK(found_value == value &&
             found_index == index, "%s of %s by %s, element %d: (%d, %d), not (%d, %d)",
             is_max ? "MPI_MAXLOC" : "MPI_MINLOC", pairs->name, call, i, found_value, found_index,
             value, index);
}

static void check_all(const char *call, int ranks)
{
    for (int i = 0; i < ELEMENTS; i++)
        check(call, seen, ranks, i, i);
}

static void local(void)
{
    fill(mine, 1, ELEMENTS);
    fill(seen, 0, ELEMENTS);
    ET_MPI(MPI_Reduce_local(mine, seen, ELEMENTS, pairs->handle, op));
    check_all("Reduce_local", 2);
}

static void together(void)
{
    MPI_Request request;

    fill(mine, et.rank, ELEMENTS * et.size);
    ET_MPI(MPI_Allreduce(mine, seen, ELEMENTS, pairs->handle, op, MPI_COMM_WORLD));
    check_all("Allreduce", et.size);
    memset(seen, 0, sizeof(seen));
    ET_MPI(MPI_Iallreduce(mine, seen, ELEMENTS, pairs->handle, op, MPI_COMM_WORLD, &request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_all("Iallreduce", et.size);
    memset(seen, 0, sizeof(seen));
    ET_MPI(MPI_Reduce(mine, seen, ELEMENTS, pairs->handle, op, et.size - 1, MPI_COMM_WORLD));
    if (et.rank == et.size - 1)
        check_all("Reduce", et.size);
    memset(seen, 0, sizeof(seen));
    ET_MPI(MPI_Scan(mine, seen, ELEMENTS, pairs->handle, op, MPI_COMM_WORLD));
    check_all("Scan", et.rank + 1);
    memset(seen, 0, sizeof(seen));
    ET_MPI(MPI_Exscan(mine, seen, ELEMENTS, pairs->handle, op, MPI_COMM_WORLD));
    if (et.rank > 0)
        check_all("Exscan", et.rank);
    memset(seen, 0, sizeof(seen));
    ET_MPI(MPI_Reduce_scatter_block(mine, seen, ELEMENTS, pairs->handle, op, MPI_COMM_WORLD));
    for (int i = 0; i < ELEMENTS; i++)
        check("Reduce_scatter_block", seen, et.size, et.rank * ELEMENTS + i, i);
}

/* All processes accumulate into the window of rank 0, which it has filled with its own pairs
 * before. */
static void into_window(MPI_Win win, char *base)
{
    for (int fetches = 0; fetches < 2; fetches++) {
        if (et.rank == 0)
            fill(base, 0, ELEMENTS);
        ET_MPI(MPI_Win_fence(0, win));
        fill(mine, et.rank, ELEMENTS);
        if (et.rank > 0 && fetches)
            ET_MPI(MPI_Get_accumulate(mine, ELEMENTS, pairs->handle, seen, ELEMENTS, pairs->handle,
                                      0, 0, ELEMENTS, pairs->handle, op, win));
        else if (et.rank > 0)
            ET_MPI(MPI_Accumulate(mine, ELEMENTS, pairs->handle, 0, 0, ELEMENTS, pairs->handle, op,
                                  win));
        ET_MPI(MPI_Win_fence(0, win));
        for (int i = 0; i < ELEMENTS && et.rank == 0; i++)
            check(fetches ? "Get_accumulate" : "Accumulate", base, et.size, i, i);
        ET_MPI(MPI_Win_fence(0, win));
    }
}

int main(int argc, char **argv)
{
    MPI_Win win;
    char *base;

    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    ET_CHECK(et.size <= MOST, "at most %d processes", MOST);
    ET_MPI(MPI_Win_allocate(sizeof(mine), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    for (unsigned t = 0; t < sizeof(types) / sizeof(*types); t++)
        for (is_max = 0; is_max < 2; is_max++) {
            pairs = &types[t];
            op = is_max ? MPI_MAXLOC : MPI_MINLOC;
            local();
            together();
            into_window(win, base);
        }
    ET_MPI(MPI_Win_free(&win));
    if (et.rank == 0)
        et_log("PASS reductions_pairs");
    ET_MPI(MPI_Finalize());
    return 0;
}
