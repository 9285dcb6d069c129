/*
 * I4: MPI_TAG_UB is at least 2^28 - 1 before and after adaptations, never shrinks, and messages
 * with the greatest tag arrive in every communicator of the window and in the new world.
 */

#include "elastic_test.h"

#define LEAST ((1 << 28) - 1)

static int bound(MPI_Comm comm)
{
    int *value = NULL, flag = 0;

    ET_MPI(MPI_Comm_get_attr(comm, MPI_TAG_UB, &value, &flag));
    ET_CHECK(flag && value, "no MPI_TAG_UB");
    ET_CHECK(*value >= LEAST, "MPI_TAG_UB is %d", *value);
    return *value;
}

static void ring(MPI_Comm comm, const char *name)
{
    int rank, size, got = -1, tag = bound(MPI_COMM_WORLD);

    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    ET_MPI(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, tag, &got, 1, MPI_INT,
                        (rank + size - 1) % size, tag, comm, MPI_STATUS_IGNORE));
    ET_CHECK(got == (rank + size - 1) % size, "%s: got %d", name, got);
}

static void window(void)
{
    int tag = bound(MPI_COMM_WORLD), got = -1;

    ring(MPI_COMM_WORLD, "the world in the window");
    if (et.next != MPI_COMM_NULL)
        ring(et.next, "new_comm_world");
    if (et.inter == MPI_COMM_NULL || et.rank != 0)
        return;
    ET_MPI(MPI_Sendrecv(&et.size, 1, MPI_INT, 0, tag, &got, 1, MPI_INT, 0, tag, et.inter,
                        MPI_STATUS_IGNORE));
    ET_CHECK(got == et.staying + et.leaving + et.joining - et.size, "intercomm: got %d", got);
}

static void after(void)
{
    ring(MPI_COMM_WORLD, "the new world");
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    et.window = window;
    et.after = after;
    ring(MPI_COMM_WORLD, "the world at the start");
    return et_run();
}
