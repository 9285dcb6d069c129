/*
 * Collectives over hosts of different sizes, and algorithms that a control variable selects.
 *
 * --case reductions  reductions of several lengths, to each root, in place as well: rank 0 may be
 *                    alone on its host
 * --case gaps        allgatherv with gaps between the blocks, and blocks of different lengths
 * --case empty       the same with a datatype of size zero
 */

#include "elastic_test.h"

enum { MOST = 5000, GAP = 3, MOST_RANKS = 8 };

static int mine[MOST], seen[MOST];

/* Rank r contributes r + 1 + i; the sum over the first `ranks` ranks. */
static int sum(int ranks, int i)
{
    return ranks * (ranks + 1) / 2 + ranks * i;
}

static void fill(int *values, int count)
{
    for (int i = 0; i < count; i++)
        values[i] = et.rank + 1 + i;
}

static void expect_sum(const char *call, int count, int ranks, int first)
{
    for (int i = 0; i < count; i++)
        ET_CHECK(seen[i] == sum(ranks, first + i), "%s of %d: [%d] is %d, not %d", call, count, i,
                 seen[i], sum(ranks, first + i));
    memset(seen, 0xff, sizeof seen);
}

static void reduce_to(int root, int count)
{
    fill(mine, count);
    memset(seen, 0xff, sizeof seen);
    ET_MPI(MPI_Reduce(mine, seen, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
    if (et.rank == root)
        expect_sum("Reduce", count, et.size, 0);
    fill(seen, count);
    ET_MPI(MPI_Reduce(et.rank == root ? MPI_IN_PLACE : mine, seen, count, MPI_INT, MPI_SUM, root,
                      MPI_COMM_WORLD));
    if (et.rank == root)
        expect_sum("Reduce in place", count, et.size, 0);
}

static void reduce_all(int count)
{
    MPI_Request request;
    int block = count / et.size;

    fill(mine, count);
    ET_MPI(MPI_Allreduce(mine, seen, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    expect_sum("Allreduce", count, et.size, 0);
    fill(seen, count);
    ET_MPI(MPI_Allreduce(MPI_IN_PLACE, seen, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    expect_sum("Allreduce in place", count, et.size, 0);
    ET_MPI(MPI_Iallreduce(mine, seen, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    expect_sum("Iallreduce", count, et.size, 0);
    ET_MPI(MPI_Scan(mine, seen, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    expect_sum("Scan", count, et.rank + 1, 0);
    ET_MPI(MPI_Exscan(mine, seen, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    if (et.rank > 0)
        expect_sum("Exscan", count, et.rank, 0);
    ET_MPI(MPI_Reduce_scatter_block(mine, seen, block, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    expect_sum("Reduce_scatter_block", block, et.size, et.rank * block);
}

static void reductions(void)
{
    const int counts[] = { 1, 70, MOST };

    for (int c = 0; c < 3; c++) {
        for (int root = 0; root < et.size; root++)
            reduce_to(root, counts[c]);
        reduce_all(counts[c]);
    }
}

/* Block r has r % 3 elements and begins at r * GAP + 1. */
static void expect_blocks(const char *call)
{
    for (int i = 0; i < et.size * GAP + 1; i++) {
        int rank = i > 0 ? (i - 1) / GAP : 0, in_block = i > 0 ? (i - 1) % GAP : GAP;
        int right = in_block < rank % 3 ? rank + 1 + in_block : -1;
        ET_CHECK(seen[i] == right, "%s: [%d] is %d, not %d", call, i, seen[i], right);
    }
    memset(seen, 0xff, sizeof seen);
}

static void blocks(MPI_Datatype type, int with_data)
{
    int counts[MOST_RANKS], positions[MOST_RANKS];
    MPI_Request request;

    for (int r = 0; r < et.size; r++) {
        counts[r] = r % 3;
        positions[r] = r * GAP + 1;
    }
    fill(mine, GAP);
    memset(seen, 0xff, sizeof seen);
    ET_MPI(MPI_Allgatherv(mine, et.rank % 3, type, seen, counts, positions, type, MPI_COMM_WORLD));
    if (with_data)
        expect_blocks("Allgatherv");
    ET_MPI(MPI_Iallgatherv(mine, et.rank % 3, type, seen, counts, positions, type, MPI_COMM_WORLD,
                           &request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (with_data)
        expect_blocks("Iallgatherv");
    memcpy(seen + positions[et.rank], mine, (size_t) counts[et.rank] * sizeof *mine);
    ET_MPI(MPI_Iallgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, seen, counts, positions, type,
                           MPI_COMM_WORLD, &request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (with_data)
        expect_blocks("Iallgatherv in place");
}

static void empty_blocks(void)
{
    MPI_Datatype empty;

    ET_MPI(MPI_Type_contiguous(0, MPI_INT, &empty));
    ET_MPI(MPI_Type_commit(&empty));
    blocks(empty, 0);
    ET_MPI(MPI_Type_free(&empty));
}

int main(int argc, char **argv)
{
    const char *what = et_argument(argc, argv, "case", "reductions");

    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    ET_CHECK(et.size <= MOST_RANKS, "%d processes", et.size);
    if (strcmp(what, "reductions") == 0)
        reductions();
    else if (strcmp(what, "gaps") == 0)
        blocks(MPI_INT, 1);
    else
        empty_blocks();
    if (et.rank == 0)
        et_log("PASS collectives hosts %s", what);
    ET_MPI(MPI_Finalize());
    return 0;
}
