/*
 * W5 and C9, one-sided: fence, lock, lock_all, start/complete, accumulate, fetch and compare, on
 * windows made by allocate, create, dynamic and shared, in the window on the old world, the joining
 * world and new_comm_world, and on the new world after commit.
 */

#include "elastic_test.h"

#define CELLS 2048

static void active(MPI_Win win, long *cells, int rank, int size, const char *name)
{
    long value = 1000 + rank;

    for (int i = 0; i < CELLS; i++)
        cells[i] = -1;
    ET_MPI(MPI_Win_fence(0, win));
    ET_MPI(MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, 3, 1, MPI_LONG, win));
    ET_MPI(MPI_Win_fence(0, win));
    ET_CHECK(cells[3] == 1000 + (rank + size - 1) % size, "%s: put brought %ld", name, cells[3]);
    long *big = malloc(CELLS * sizeof(long));
    ET_MPI(MPI_Get(big, CELLS, MPI_LONG, (rank + 1) % size, 0, CELLS, MPI_LONG, win));
    ET_MPI(MPI_Win_fence(0, win));
    ET_CHECK(big[3] == 1000 + rank && big[CELLS - 1] == -1, "%s: get brought %ld", name, big[3]);
    free(big);
}

static void passive(MPI_Win win, long *cells, int rank, int size, const char *name)
{
    long one = 1, before = -1, want = 0, swap = 7777, found = -1;

    ET_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    cells[0] = cells[1] = 0;
    ET_MPI(MPI_Win_unlock(rank, win));
    ET_MPI(MPI_Win_fence(0, win));
    for (int i = 0; i < 4; i++) {
        ET_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
        ET_MPI(MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, win));
        ET_MPI(MPI_Win_unlock(0, win));
    }
    ET_MPI(MPI_Win_lock_all(0, win));
    ET_MPI(MPI_Fetch_and_op(&one, &before, MPI_LONG, size - 1, 1, MPI_SUM, win));
    ET_MPI(MPI_Win_flush(size - 1, win));
    ET_CHECK(before >= 0 && before < size, "%s: fetch_and_op gives %ld", name, before);
    ET_MPI(MPI_Win_unlock_all(win));
    ET_MPI(MPI_Win_fence(0, win));
    ET_CHECK(rank != 0 || cells[0] == 4 * size, "%s: %ld accumulates arrived", name, cells[0]);
    ET_CHECK(rank != size - 1 || cells[1] == size, "%s: %ld fetches arrived", name, cells[1]);
    ET_MPI(MPI_Win_fence(0, win));
    cells[2] = 0;
    ET_MPI(MPI_Win_fence(0, win));
    ET_MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    ET_MPI(MPI_Compare_and_swap(&swap, &want, &found, MPI_LONG, 0, 2, win));
    ET_MPI(MPI_Win_unlock(0, win));
    ET_CHECK(found == 0 || found == 7777, "%s: compare_and_swap found %ld", name, found);
    ET_MPI(MPI_Win_fence(0, win));
}

static void post_start(MPI_Comm comm, MPI_Win win, long *cells, int rank, int size,
                       const char *name)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Group all, targets, origins;
    long value = 9000 + rank;

    ET_MPI(MPI_Comm_group(comm, &all));
    ET_MPI(MPI_Group_incl(all, 1, &to, &targets));
    ET_MPI(MPI_Group_incl(all, 1, &from, &origins));
    ET_MPI(MPI_Win_post(origins, 0, win));
    ET_MPI(MPI_Win_start(targets, 0, win));
    ET_MPI(MPI_Put(&value, 1, MPI_LONG, to, 9, 1, MPI_LONG, win));
    ET_MPI(MPI_Win_complete(win));
    ET_MPI(MPI_Win_wait(win));
    ET_CHECK(cells[9] == 9000 + from, "%s: post and start brought %ld", name, cells[9]);
    ET_MPI(MPI_Group_free(&all));
    ET_MPI(MPI_Group_free(&targets));
    ET_MPI(MPI_Group_free(&origins));
}

static void dynamic(MPI_Comm comm, int rank, int size, const char *name)
{
    static long cell;
    MPI_Aint here, *positions = calloc((size_t) size, sizeof(MPI_Aint));
    MPI_Win win;
    long value = 333 + rank;

    ET_MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win));
    ET_MPI(MPI_Win_attach(win, &cell, sizeof(cell)));
    ET_MPI(MPI_Get_address(&cell, &here));
    ET_MPI(MPI_Allgather(&here, 1, MPI_AINT, positions, 1, MPI_AINT, comm));
    ET_MPI(MPI_Win_fence(0, win));
    ET_MPI(MPI_Put(&value, 1, MPI_LONG, (rank + 1) % size, positions[(rank + 1) % size], 1,
                   MPI_LONG, win));
    ET_MPI(MPI_Win_fence(0, win));
    ET_CHECK(cell == 333 + (rank + size - 1) % size, "%s: dynamic brought %ld", name, cell);
    ET_MPI(MPI_Win_detach(win, &cell));
    ET_MPI(MPI_Win_free(&win));
    free(positions);
}

static void all(MPI_Comm comm, const char *name)
{
    int rank, size;
    long *cells, *own = malloc(CELLS * sizeof(long));
    MPI_Win win;

    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    ET_MPI(MPI_Win_allocate(CELLS * sizeof(long), sizeof(long), MPI_INFO_NULL, comm, &cells,
                            &win));
    active(win, cells, rank, size, name);
    passive(win, cells, rank, size, name);
    post_start(comm, win, cells, rank, size, name);
    ET_MPI(MPI_Win_free(&win));
    ET_MPI(MPI_Win_create(own, CELLS * sizeof(long), sizeof(long), MPI_INFO_NULL, comm, &win));
    active(win, own, rank, size, name);
    passive(win, own, rank, size, name);
    ET_MPI(MPI_Win_free(&win));
    dynamic(comm, rank, size, name);
    free(own);
}

static void window(void)
{
    all(MPI_COMM_WORLD, et.status == MPI_ADAPT_STATUS_JOINING ? "joining world" : "old world");
    if (et.next != MPI_COMM_NULL)
        all(et.next, "new_comm_world");
}

static void after(void)
{
    all(MPI_COMM_WORLD, "new world");
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    if (!et_argument(argc, argv, "only-after", NULL))
        et.window = window;
    et.after = after;
    return et_run();
}
