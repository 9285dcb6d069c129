/*
 * Reductions of a user-defined operation on large and on oddly laid out elements, more often than
 * the number of calls after which MPICH goes over to the host's shared reduce buffers, whose cells
 * have 8 kB: in the world at launch and after each adaptation, in the communicators of the window,
 * and in one of a part of the host.
 */

#include "elastic_test.h"

#define CALLS 8
#define MAX_INTS 30000

static int mine[MAX_INTS], theirs[MAX_INTS];
static MPI_Op operation;

/* An element as operations see it: ints first, step, ... step * (n - 1) positions from its address
 * are significant. */
static struct layout {
    const char *name;
    int first, n, step;         /* of one element */
    int extent;                 /* from element to element, in ints */
    int count;
} layout;

static int position(int element, int i)
{
    return element * layout.extent + layout.first + i * layout.step;
}

static void add(void *in, void *inout, int *count, MPI_Datatype * type)
{
    const int *a = in;
    int *b = inout;

    (void) type;
    for (int element = 0; element < *count; element++) {
        for (int i = 0; i < layout.n; i++)
            b[position(element, i)] += a[position(element, i)];
    }
}

static int value(int rank, int element, int i)
{
    return (rank + 1) * 7 + element * 13 + i % 1000;
}

static void fill(int *buffer, int rank)
{
    for (int i = 0; i < MAX_INTS; i++)
        buffer[i] = -5;
    for (int element = 0; element < layout.count; element++) {
        for (int i = 0; i < layout.n; i++)
            buffer[position(element, i)] = value(rank, element, i);
    }
}

static void verify(int size, const char *call, const char *comm)
{
    for (int element = 0; element < layout.count; element++) {
        for (int i = 0; i < layout.n; i++) {
            int sum = 0, found = theirs[position(element, i)];
            for (int rank = 0; rank < size; rank++)
                sum += value(rank, element, i);
            ET_CHECK(found == sum, "%s of %s in the %s: element %d, number %d is %d, not %d",
                     call, layout.name, comm, element, i, found, sum);
        }
    }
}

static MPI_Datatype type_of(void)
{
    MPI_Datatype vector, shifted, type;
    int one = 1;
    MPI_Aint displacement = layout.first * (MPI_Aint) sizeof(int);

    ET_MPI(MPI_Type_vector(layout.n, 1, layout.step, MPI_INT, &vector));
    ET_MPI(MPI_Type_create_hindexed(1, &one, &displacement, vector, &shifted));
    ET_MPI(MPI_Type_create_resized(shifted, 0, layout.extent * (MPI_Aint) sizeof(int), &type));
    ET_MPI(MPI_Type_commit(&type));
    ET_MPI(MPI_Type_free(&vector));
    ET_MPI(MPI_Type_free(&shifted));
    return type;
}

static void reduce(MPI_Comm comm, MPI_Datatype type, int root, const char *name)
{
    int rank, size;

    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    fill(mine, rank);
    fill(theirs, rank);
    ET_MPI(MPI_Reduce(mine, theirs, layout.count, type, operation, root, comm));
    if (rank == root)
        verify(size, "MPI_Reduce", name);
    fill(theirs, rank);
    ET_MPI(MPI_Reduce(rank == root ? MPI_IN_PLACE : theirs, theirs, layout.count, type, operation,
                      root, comm));
    if (rank == root)
        verify(size, "MPI_Reduce in place", name);
    ET_MPI(MPI_Allreduce(mine, theirs, layout.count, type, operation, comm));
    verify(size, "MPI_Allreduce", name);
    fill(theirs, rank);
    ET_MPI(MPI_Allreduce(MPI_IN_PLACE, theirs, layout.count, type, operation, comm));
    verify(size, "MPI_Allreduce in place", name);
}

static void all(MPI_Comm comm, const char *name)
{
    static const struct layout layouts[] = {
        {"a cell's bytes", 0, 2048, 1, 2048, 1},
        {"a cell's bytes, several", 0, 2048, 1, 2048, 5},
        {"one more than a cell", 0, 2049, 1, 2049, 1},
        {"16 kB", 0, 4000, 1, 4000, 1},
        {"16 kB, several", 0, 4000, 1, 4000, 5},
        {"40 kB", 0, 10000, 1, 10000, 2},
        {"gaps, 16 kB", 0, 1000, 4, 4000, 3},
        {"a displacement within the cell", 100, 50, 1, 150, 3},
        {"a displacement beyond the cell", 5000, 10, 1, 5010, 2},
        {"small ones after a large displacement", 2040, 10, 1, 10, 3},
        {"columns of a matrix", 0, 20, 100, 1, 90},
    };
    int size;

    ET_MPI(MPI_Comm_size(comm, &size));
    for (unsigned l = 0; l < sizeof(layouts) / sizeof(layouts[0]); l++) {
        layout = layouts[l];
        MPI_Datatype type = type_of();
        for (int call = 0; call < CALLS; call++)
            reduce(comm, type, call % size, name);
        ET_MPI(MPI_Type_free(&type));
    }
}

static void world(void)
{
    MPI_Comm part;

    all(MPI_COMM_WORLD, "world");
    ET_MPI(MPI_Comm_split(MPI_COMM_WORLD, et.rank % 2, -et.rank, &part));
    all(part, "half of the world");
    ET_MPI(MPI_Comm_free(&part));
}

static void window(void)
{
    if (et.next != MPI_COMM_NULL)
        all(et.next, "new_comm_world");
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    ET_MPI(MPI_Op_create(add, 1, &operation));
    et.window = window;
    et.after = world;
    if (et.status != MPI_ADAPT_STATUS_JOINING)
        world();
    return et_run();
}
