/*
 * C2 and C9, shared memory after adaptations: MPI_Win_allocate_shared on the node's communicator,
 * old and joining processes together; everybody reads everybody's part by load; and no trace of it
 * remains when the window is freed.
 */

#include "elastic_test.h"

#define PART 5000

static void share(MPI_Comm node, const char *name)
{
    int rank, size, unit;
    long *mine, *other;
    MPI_Aint bytes;
    MPI_Win win;

    ET_MPI(MPI_Comm_rank(node, &rank));
    ET_MPI(MPI_Comm_size(node, &size));
    ET_MPI(MPI_Win_allocate_shared(PART * sizeof(long), sizeof(long), MPI_INFO_NULL, node, &mine,
                                   &win));
    ET_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    for (int i = 0; i < PART; i++)
        mine[i] = rank * 10000L + i;
    ET_MPI(MPI_Win_sync(win));
    ET_MPI(MPI_Barrier(node));
    ET_MPI(MPI_Win_sync(win));
    for (int peer = 0; peer < size; peer++) {
        ET_MPI(MPI_Win_shared_query(win, peer, &bytes, &unit, &other));
        ET_CHECK(bytes == (MPI_Aint) (PART * sizeof(long)) && unit == sizeof(long),
                 "%s: the part of %d has %ld bytes", name, peer, (long) bytes);
        for (int i = 0; i < PART; i++)
            ET_CHECK(other[i] == peer * 10000L + i, "%s: number %d of %d is %ld", name, i, peer,
                     other[i]);
    }
    ET_MPI(MPI_Barrier(node));
    ET_MPI(MPI_Win_unlock_all(win));
    ET_MPI(MPI_Win_free(&win));
}

static void on_node_of(MPI_Comm comm, const char *name)
{
    MPI_Comm node;
    int all, here;

    ET_MPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    ET_MPI(MPI_Comm_size(comm, &all));
    ET_MPI(MPI_Comm_size(node, &here));
    ET_CHECK(getenv("ET_HOSTS") || here == all, "%s: only %d of %d share memory", name, here, all);
    share(node, name);
    ET_MPI(MPI_Comm_free(&node));
}

static void window(void)
{
    on_node_of(MPI_COMM_WORLD, "old world");
    if (et.next != MPI_COMM_NULL)
        on_node_of(et.next, "new_comm_world");
}

static void after(void)
{
    on_node_of(MPI_COMM_WORLD, "new world");
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    et.window = window;
    et.after = after;
    return et_run();
}
