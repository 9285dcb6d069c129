/*
 * Messages on the window's communicators that nobody receives by commit: mpiexec states how many,
 * where, and from whom; none of them reaches a later world.  Two stray messages from rank 1 to rank
 * 0 on the old world, three from rank 0 of the old world to joining process 0 on the
 * intercommunicator, one to itself in the new world.
 */

#include "elastic_test.h"

#define TAG 41

static void window(void)
{
    int value = -1, joining = et.status == MPI_ADAPT_STATUS_JOINING;

    for (int i = 0; !joining && et.size > 1 && et.rank == 1 && i < 2; i++)
        ET_MPI(MPI_Send(&value, 1, MPI_INT, 0, TAG + i, MPI_COMM_WORLD));
    for (int i = 0; !joining && et.joining > 0 && et.rank == 0 && i < 3; i++)
        ET_MPI(MPI_Send(&value, 1, MPI_INT, 0, TAG + i, et.inter));
    if (!joining && et.rank == 0 && et.next != MPI_COMM_NULL)
        ET_MPI(MPI_Send(&value, 1, MPI_INT, 0, TAG, et.next));
    /* they are there before commit, wherever they come from */
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (!joining && et.size > 1 && et.rank == 0)
        ET_MPI(MPI_Probe(1, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    if (joining && et.rank == 0)
        ET_MPI(MPI_Probe(0, TAG + 2, et.inter, MPI_STATUS_IGNORE));
}

static void after(void)
{
    int flag, right = et.rank;

    ET_MPI(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    ET_CHECK(!flag, "a message of a former world");
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));        /* nobody has sent yet */
    ET_MPI(MPI_Sendrecv_replace(&right, 1, MPI_INT, (et.rank + et.size - 1) % et.size, TAG,
                                (et.rank + 1) % et.size, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    ET_CHECK(right == (et.rank + 1) % et.size, "got %d", right);
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    et.window = window;
    et.after = after;
    return et_run();
}
