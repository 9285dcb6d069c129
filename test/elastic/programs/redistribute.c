/*
 * Stress with checked data: an array of --cells numbers lies in blocks over the world.  In every
 * window it moves to the new blocks by a way drawn from the seed (messages on the old world and
 * intercomm, gets from the old world's window memory via merged communicators, alltoallv on a
 * merged communicator, broadcast over intercomm for the migrated), in between each cell changes by
 * a rule that a serial run knows, so that the last world can check every cell and the checksum.
 * W5, W6, W7, C2, C9.
 */

#include "elastic_test.h"

static long cells;
static uint64_t *block;

static long first_of(int rank, int size)
{
    return cells * rank / size;
}

static uint64_t start_value(long i)
{
    return (uint64_t) i * 2654435761u + 17;
}

static uint64_t change(uint64_t x, int epoch)
{
    x ^= x >> 13;
    return x * 6364136223846793005ull + (uint64_t) epoch;
}

static uint64_t expected(long i, int epoch)
{
    uint64_t x = start_value(i);

    for (int e = 1; e <= epoch; e++)
        x = change(x, e);
    return x;
}

static void make_block(void)
{
    long from = first_of(et.rank, et.size), to = first_of(et.rank + 1, et.size);

    block = malloc((size_t) (to - from + 1) * sizeof(*block));
    for (long i = from; i < to; i++)
        block[i - from] = start_value(i);
}

static long least(long a, long b)
{
    return a < b ? a : b;
}

static long overlap(long from1, long to1, long from2, long to2, long *from)
{
    long to = least(to1, to2);

    *from = from1 > from2 ? from1 : from2;
    return to > *from ? to - *from : 0;
}

/* Everybody's position in a communicator of all (old order, then joining), and in the new world. */
static int index_in_all(void)
{
    return et.rank + (et.status == MPI_ADAPT_STATUS_JOINING ? et.staying + et.leaving : 0);
}

static int new_rank_of(int position)
{
    int rank = 0;

    if (et.old_leaves[position])
        return -1;
    for (int i = 0; i < position; i++)
        rank += !et.old_leaves[i];
    return rank;
}

struct part {
    long offset_out, count_out, offset_in, count_in;
};

/* Elements that `peer` gets of mine and that I get of its: numbers in my old and in my new
 * block. */
static struct part part_with(int me, int peer)
{
    int pre = et.staying + et.leaving, size = et.staying + et.joining;
    int my_new = new_rank_of(me), peer_new = new_rank_of(peer);
    struct part part = { 0 };
    long from;

    if (me < pre && peer_new >= 0) {
        part.count_out = overlap(first_of(me, pre), first_of(me + 1, pre),
                                 first_of(peer_new, size), first_of(peer_new + 1, size), &from);
        part.offset_out = part.count_out ? from - first_of(me, pre) : 0;
    }
    if (peer < pre && my_new >= 0) {
        part.count_in = overlap(first_of(peer, pre), first_of(peer + 1, pre),
                                first_of(my_new, size), first_of(my_new + 1, size), &from);
        part.offset_in = part.count_in ? from - first_of(my_new, size) : 0;
    }
    return part;
}

/* Messages: to pre-existing processes on the old world, to joining ones by intercomm. */
static void by_messages(uint64_t * fresh, int me, int all)
{
    int pre = et.staying + et.leaving, n = 0;
    MPI_Request *request = calloc((size_t) all * 2, sizeof(*request));

    for (int peer = 0; peer < all; peer++) {
        struct part part = part_with(me, peer);
        MPI_Comm comm = (me < pre) == (peer < pre) ? MPI_COMM_WORLD : et.inter;
        int rank = peer < pre ? peer : peer - pre;
        if (part.count_in)
            ET_MPI(MPI_Irecv(fresh + part.offset_in, (int) part.count_in, MPI_UINT64_T, rank, 91,
                             comm, &request[n++]));
        if (part.count_out)
            ET_MPI(MPI_Isend(block + part.offset_out, (int) part.count_out, MPI_UINT64_T, rank,
                             91, comm, &request[n++]));
    }
    ET_MPI(MPI_Waitall(n, request, MPI_STATUSES_IGNORE));
    free(request);
}

static MPI_Comm everybody(void)
{
    MPI_Comm merged;

    if (et.inter == MPI_COMM_NULL)
        ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &merged));
    else
        ET_MPI(MPI_Intercomm_merge(et.inter, et.status == MPI_ADAPT_STATUS_JOINING, &merged));
    return merged;
}

static void by_alltoall(uint64_t * fresh, int me, int all)
{
    int *counts = calloc((size_t) all * 4, sizeof(int));
    MPI_Comm merged = everybody();

    for (int peer = 0; peer < all; peer++) {
        struct part part = part_with(me, peer);
        counts[peer] = (int) part.count_out;
        counts[all + peer] = (int) part.offset_out;
        counts[2 * all + peer] = (int) part.count_in;
        counts[3 * all + peer] = (int) part.offset_in;
    }
    ET_MPI(MPI_Alltoallv(block, counts, counts + all, MPI_UINT64_T, fresh, counts + 2 * all,
                         counts + 3 * all, MPI_UINT64_T, merged));
    ET_MPI(MPI_Comm_free(&merged));
    free(counts);
}

static void by_one_sided(uint64_t * fresh, int me, int all)
{
    int pre = et.staying + et.leaving;
    MPI_Comm merged = everybody();
    MPI_Aint bytes = me < pre ? (MPI_Aint) sizeof(*block) * (first_of(me + 1, pre) -
                                                           first_of(me, pre)) : 0;
    MPI_Win win;

    ET_MPI(MPI_Win_create(bytes ? block : NULL, bytes, sizeof(*block), MPI_INFO_NULL, merged,
                          &win));
    ET_MPI(MPI_Win_fence(0, win));
    for (int peer = 0; peer < pre; peer++) {
        struct part mine = part_with(me, peer), theirs = part_with(peer, me);
        if (mine.count_in)
            ET_MPI(MPI_Get(fresh + mine.offset_in, (int) mine.count_in, MPI_UINT64_T, peer,
                           (MPI_Aint) theirs.offset_out, (int) mine.count_in, MPI_UINT64_T, win));
    }
    (void) all;
    ET_MPI(MPI_Win_fence(0, win));
    ET_MPI(MPI_Win_free(&win));
    if (et.epoch % 2)
        ET_MPI(MPI_Comm_free(&merged));
}

static void window(void)
{
    int all = et.staying + et.leaving + et.joining, me = index_in_all(), mine = new_rank_of(me);
    int size = et.staying + et.joining;
    unsigned draw = et.seed + 31u * (unsigned) et.epoch;
    long n = mine < 0 ? 0 : first_of(mine + 1, size) - first_of(mine, size);
    uint64_t *fresh = malloc((size_t) (n + 1) * sizeof(*fresh));

    memset(fresh, 0xa5, (size_t) (n + 1) * sizeof(*fresh));
    switch (et_random(&draw) % 3) {
        case 0:
            by_messages(fresh, me, all);
            break;
        case 1:
            by_alltoall(fresh, me, all);
            break;
        default:
            by_one_sided(fresh, me, all);
    }
    free(block);
    block = fresh;
}

static void after(void)
{
    long from = first_of(et.rank, et.size), to = first_of(et.rank + 1, et.size);

    for (long i = from; i < to; i++) {
        ET_CHECK(block[i - from] == expected(i, et.epoch - 1), "cell %ld is wrong after the move",
                 i);
        block[i - from] = change(block[i - from], et.epoch);
    }
}

static void check_all(void)
{
    uint64_t sum = 0, total = 0, want = 0;
    long from = first_of(et.rank, et.size), to = first_of(et.rank + 1, et.size);

    for (long i = from; i < to; i++)
        sum += block[i - from];
    ET_MPI(MPI_Allreduce(&sum, &total, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD));
    for (long i = 0; i < cells; i++)
        want += expected(i, et.epoch);
    ET_CHECK(total == want, "checksum %llx, not %llx", (unsigned long long) total,
             (unsigned long long) want);
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    cells = et_number(argc, argv, "cells", 20011);
    if (et.status == MPI_ADAPT_STATUS_NEW)
        make_block();
    et.window = window;
    et.after = after;
    et_loop();
    check_all();
    free(block);
    return et_finish();
}
