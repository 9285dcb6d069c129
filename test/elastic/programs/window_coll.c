/*
 * W5, collectives: all of them, small and large, blocking and nonblocking, in every communicator of
 * the window and in the new world.
 */

#include "elastic_test.h"

#define LARGE 40000

static int *mine, *theirs;

static void rooted(MPI_Comm comm, int rank, int size, int count, const char *name)
{
    for (int root = 0; root < size; root += size > 2 ? size - 1 : 1) {
        for (int i = 0; i < count; i++)
            mine[i] = rank == root ? root * 3 + i : -1;
        ET_MPI(MPI_Bcast(mine, count, MPI_INT, root, comm));
        ET_CHECK(mine[0] == root * 3 && mine[count - 1] == root * 3 + count - 1, "%s: bcast",
                 name);
        for (int i = 0; i < count; i++)
            mine[i] = rank + i;
        ET_MPI(MPI_Reduce(mine, theirs, count, MPI_INT, MPI_MAX, root, comm));
        ET_CHECK(rank != root || theirs[count - 1] == size - 1 + count - 1, "%s: reduce", name);
        mine[0] = rank * 5;
        ET_MPI(MPI_Gather(mine, 1, MPI_INT, theirs, 1, MPI_INT, root, comm));
        for (int i = 0; rank == root && i < size; i++)
            ET_CHECK(theirs[i] == i * 5, "%s: gather", name);
        for (int i = 0; i < size; i++)
            mine[i] = i * 7 + root;
        theirs[0] = -1;
        ET_MPI(MPI_Scatter(mine, 1, MPI_INT, theirs, 1, MPI_INT, root, comm));
        ET_CHECK(theirs[0] == rank * 7 + root, "%s: scatter", name);
    }
}

static void all_to_all(MPI_Comm comm, int rank, int size, const char *name)
{
    int *counts = calloc((size_t) size * 4, sizeof(int)), *positions = counts + size;
    int *got_counts = counts + 2 * size, *got_positions = counts + 3 * size, total = 0, got = 0;

    for (int i = 0; i < size; i++)
        mine[i] = rank * 100 + i;
    ET_MPI(MPI_Alltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, comm));
    for (int i = 0; i < size; i++)
        ET_CHECK(theirs[i] == i * 100 + rank, "%s: alltoall", name);

    for (int i = 0; i < size; i++) {    /* rank sends i + 1 numbers to i */
        counts[i] = i + 1;
        positions[i] = total;
        for (int k = 0; k < counts[i]; k++)
            mine[total++] = rank * 100 + i;
        got_counts[i] = rank + 1;
        got_positions[i] = got;
        got += rank + 1;
    }
    ET_MPI(MPI_Alltoallv(mine, counts, positions, MPI_INT, theirs, got_counts, got_positions,
                         MPI_INT, comm));
    for (int i = 0; i < got; i++)
        ET_CHECK(theirs[i] == i / (rank + 1) * 100 + rank, "%s: alltoallv", name);

    ET_MPI(MPI_Allgatherv(mine, rank + 1, MPI_INT, theirs, counts, positions, MPI_INT, comm));
    free(counts);
}

static void scans(MPI_Comm comm, int rank, int size, const char *name)
{
    int one = rank + 1, sum = 0, part = 0;

    ET_MPI(MPI_Scan(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    ET_CHECK(sum == (rank + 1) * (rank + 2) / 2, "%s: scan gives %d", name, sum);
    ET_MPI(MPI_Exscan(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
    ET_CHECK(rank == 0 || sum == rank * (rank + 1) / 2, "%s: exscan gives %d", name, sum);
    for (int i = 0; i < size; i++)
        mine[i] = i;
    ET_MPI(MPI_Reduce_scatter_block(mine, &part, 1, MPI_INT, MPI_SUM, comm));
    ET_CHECK(part == rank * size, "%s: reduce_scatter_block gives %d", name, part);
}

static void nonblocking(MPI_Comm comm, int rank, int size, const char *name)
{
    int value = rank == 0 ? 42 : -1, one = 1, sum = -1;
    MPI_Request request[4];

    for (int i = 0; i < size; i++)
        mine[i] = -1;
    ET_MPI(MPI_Ibcast(&value, 1, MPI_INT, 0, comm, &request[0]));
    ET_MPI(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request[1]));
    ET_MPI(MPI_Ibarrier(comm, &request[2]));
    ET_MPI(MPI_Iallgather(&rank, 1, MPI_INT, mine, 1, MPI_INT, comm, &request[3]));
    ET_MPI(MPI_Waitall(4, request, MPI_STATUSES_IGNORE));
    ET_CHECK(value == 42 && sum == size, "%s: ibcast %d, iallreduce %d", name, value, sum);
    for (int i = 0; i < size; i++)
        ET_CHECK(mine[i] == i, "%s: iallgather", name);
}

static void all(MPI_Comm comm, const char *name)
{
    int rank, size;

    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    rooted(comm, rank, size, 4, name);
    rooted(comm, rank, size, LARGE, name);
    all_to_all(comm, rank, size, name);
    scans(comm, rank, size, name);
    nonblocking(comm, rank, size, name);
    for (int i = 0; i < LARGE; i++)
        mine[i] = rank + i;
    ET_MPI(MPI_Allreduce(mine, theirs, LARGE, MPI_INT, MPI_SUM, comm));
    for (int i = 0; i < LARGE; i++)
        ET_CHECK(theirs[i] == size * i + size * (size - 1) / 2, "%s: large allreduce", name);
}

static void all_inter(MPI_Comm inter, int first)
{
    int rank, size, remote;

    ET_MPI(MPI_Comm_rank(inter, &rank));
    ET_MPI(MPI_Comm_size(inter, &size));
    ET_MPI(MPI_Comm_remote_size(inter, &remote));
    et_exercise_inter(inter, first, "intercomm");
    for (int i = 0; i < remote; i++)
        mine[i] = rank * 100 + i;
    ET_MPI(MPI_Alltoall(mine, 1, MPI_INT, theirs, 1, MPI_INT, inter));
    for (int i = 0; i < remote; i++)
        ET_CHECK(theirs[i] == i * 100 + rank, "intercomm: alltoall");
    /* a gather to the last process of the joining group */
    if (first)
        ET_MPI(MPI_Gather(&rank, 1, MPI_INT, NULL, 0, MPI_INT, remote - 1, inter));
    else
        ET_MPI(MPI_Gather(NULL, 0, MPI_INT, theirs, 1, MPI_INT,
                          rank == size - 1 ? MPI_ROOT : MPI_PROC_NULL, inter));
    for (int i = 0; !first && rank == size - 1 && i < remote; i++)
        ET_CHECK(theirs[i] == i, "intercomm: gather");
    for (int i = 0; i < LARGE; i++)
        mine[i] = first ? i : -i;
    ET_MPI(MPI_Allreduce(mine, theirs, LARGE, MPI_INT, MPI_SUM, inter));
    ET_CHECK(theirs[LARGE - 1] == (first ? -1 : 1) * remote * (LARGE - 1),
             "intercomm: large allreduce");
    ET_MPI(MPI_Barrier(inter));
}

static void window(void)
{
    int joining_rank = et.status == MPI_ADAPT_STATUS_JOINING;

    all(MPI_COMM_WORLD, joining_rank ? "joining world" : "old world");
    if (et.inter != MPI_COMM_NULL)
        all_inter(et.inter, !joining_rank);
    if (et.next != MPI_COMM_NULL)
        all(et.next, "new_comm_world");
}

static void after(void)
{
    all(MPI_COMM_WORLD, "new world");
}

int main(int argc, char **argv)
{
    mine = calloc(LARGE, sizeof(int));
    theirs = calloc(LARGE, sizeof(int));
    et_init(&argc, &argv);
    et.window = window;
    et.after = after;
    int result = et_run();
    free(mine);
    free(theirs);
    return result;
}
