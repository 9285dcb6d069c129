/*
 * Of collectives_algorithms.c: one collective at a time, called in all its ways, and what must
 * arrive.
 */

#include "elastic_test.h"

enum { MOST = 8, STARTS = 5 };

/* ---- the processes and their data ------------------------------------------------------------ */

static MPI_Comm comm;
static int is_inter;
static int local_first, n_local, remote_first, n_remote;        /* by rank in MPI_COMM_WORLD */
static int rank;                /* in the local group */
static int root;                /* rank in MPI_COMM_WORLD */
static int count, large, round_number, in_place;
static int uneven;              /* the lengths of blocks differ, and some are empty */
static char what[400];          /* for messages */

static MPI_Datatype type, wide; /* an int, or an int and a gap of one */
static int stride;              /* of it, in ints */
static int *out, *in;
static int counts[MOST], counts_out[MOST], displs[MOST], byte_displs[MOST], counts_local[MOST];
static MPI_Datatype types[MOST];

/* x -> a x + b, whose composition does not commute */
struct line {
    int a, b;
};
enum { PRIME = 10007 };
static MPI_Datatype line_type;
static MPI_Op compose, operation;
static int of_lines;

static struct line then(struct line first, struct line second)
{
    struct line result = { first.a * second.a % PRIME, (second.a * first.b + second.b) % PRIME };

    return result;
}

static void compose_lines(void *first, void *both, int *n, MPI_Datatype * unused)
{
    const struct line *x = first;
    struct line *y = both;

    (void) unused;
    for (int i = 0; i < *n; i++)
        y[i] = then(x[i], y[i]);
}

static int sent(int from, int to, int i)
{
    return 1000000 * (round_number % 50) + 10000 * from + 1000 * to + i % 1000;
}

static struct line line_of(int from, int i)
{
    struct line result =
        { 2 + (from * 7 + i + round_number) % 50, 1 + (from * 13 + 3 * i + round_number) % 90 };

    return result;
}

static int *at(int *buffer, int block, int i)
{
    return buffer + ((size_t) block * (size_t) count + (size_t) i) * (size_t) stride;
}

static void check(const char *name, int block, int i, int found, int expected)
{
    ET_CHECK(found == expected, "%s: %s, %d of %d processes%s, root %d, count %d%s%s%s, round %d: "
             "block %d[%d] is %d, not %d", what, name, n_local, n_local + (is_inter ? n_remote : 0),
             is_inter ? " (two groups)" : "", root, count, uneven ? ", uneven" : "",
             in_place ? ", in place" : "",
             stride == 2 ? ", with gaps" : of_lines ? ", not commutative" : "", round_number, block,
             i, found, expected);
}

/* ---- the calls ------------------------------------------------------------------------------- */

enum call {
    BARRIER, BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV,
        ALLTOALLW, REDUCE,
    ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, NEIGHBOR_ALLGATHER,
        NEIGHBOR_ALLGATHERV, NEIGHBOR_ALLTOALL, NEIGHBOR_ALLTOALLV, NEIGHBOR_ALLTOALLW, CALLS
};
static const char *const names[CALLS] = {
    "BARRIER", "BCAST", "GATHER", "GATHERV", "SCATTER", "SCATTERV", "ALLGATHER", "ALLGATHERV",
        "ALLTOALL", "ALLTOALLV",
    "ALLTOALLW", "REDUCE", "ALLREDUCE", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "SCAN", "EXSCAN",
    "NEIGHBOR_ALLGATHER", "NEIGHBOR_ALLGATHERV", "NEIGHBOR_ALLTOALL", "NEIGHBOR_ALLTOALLV",
        "NEIGHBOR_ALLTOALLW"
};

enum form { BLOCKING, NONBLOCKING, PERSISTENT };
static const char *const form_names[] = { "blocking", "nonblocking", "persistent" };

static enum form form;
static MPI_Request request;

#define CALL(NAME, name, ...)                                                            \
    do {                                                                                 \
        if (form == BLOCKING)                                                            \
            ET_MPI(MPI_##NAME(__VA_ARGS__, comm));                                       \
        else if (form == NONBLOCKING)                                                    \
            ET_MPI(MPI_I##name(__VA_ARGS__, comm, &request));                            \
        else                                                                             \
            ET_MPI(MPI_##NAME##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request));       \
    } while (0)

static int is_rooted(enum call call)
{
    return call == BCAST || call == GATHER || call == GATHERV || call == SCATTER || call == SCATTERV
        || call == REDUCE;
}

static int is_reduction(enum call call)
{
    return call >= REDUCE && call <= EXSCAN;
}

static int has_in_place(enum call call)
{
    return !is_inter && call != BARRIER && call != BCAST && call < NEIGHBOR_ALLGATHER;
}

static int has_lengths(enum call call)
{
    return call == GATHERV || call == SCATTERV || call == ALLGATHERV || call == ALLTOALLV ||
        call == ALLTOALLW || (call == REDUCE_SCATTER && !is_inter) || call == NEIGHBOR_ALLGATHERV ||
        call == NEIGHBOR_ALLTOALLV || call == NEIGHBOR_ALLTOALLW;
}

/* The elements of a process' block; a block between two processes is as long as that of the sum of
 * their ranks. */
static int length_of(int process)
{
    return uneven ? count * ((process + 1) % 3) / 2 : count;
}

static int am_root(void)
{
    return et.rank == root;
}

static int root_is_local(void)
{
    return root >= local_first && root < local_first + n_local;
}

static int root_argument(void)
{
    if (!is_inter)
        return root - local_first;
    if (root_is_local())
        return am_root() ? MPI_ROOT : MPI_PROC_NULL;
    return root - remote_first;
}

static void call_barrier(void)
{
    if (form == BLOCKING)
        ET_MPI(MPI_Barrier(comm));
    else if (form == NONBLOCKING)
        ET_MPI(MPI_Ibarrier(comm, &request));
    else
        ET_MPI(MPI_Barrier_init(comm, MPI_INFO_NULL, &request));
}

static void call_moving(enum call call)
{
    void *from = in_place ? MPI_IN_PLACE : out;
    void *from_if_root = in_place && am_root() ? MPI_IN_PLACE : out;
    void *to_if_root = in_place && am_root() ? MPI_IN_PLACE : in;
    const int argument = root_argument();

    if (call == BCAST)
        CALL(Bcast, bcast, am_root() ? out : in, count, type, argument);
    else if (call == GATHER)
        CALL(Gather, gather, from_if_root, count, type, in, count, type, argument);
    else if (call == GATHERV)
        CALL(Gatherv, gatherv, from_if_root, length_of(et.rank), type, in, counts, displs, type,
             argument);
    else if (call == SCATTER)
        CALL(Scatter, scatter, out, count, type, to_if_root, count, type, argument);
    else if (call == SCATTERV)
        CALL(Scatterv, scatterv, out, counts, displs, type, to_if_root, length_of(et.rank), type,
             argument);
    else if (call == ALLGATHER)
        CALL(Allgather, allgather, from, count, type, in, count, type);
    else if (call == ALLGATHERV)
        CALL(Allgatherv, allgatherv, from, length_of(et.rank), type, in, counts, displs, type);
    else if (call == ALLTOALL)
        CALL(Alltoall, alltoall, from, count, type, in, count, type);
    else if (call == ALLTOALLV)
        CALL(Alltoallv, alltoallv, from, counts, displs, type, in, counts, displs, type);
    else
        CALL(Alltoallw, alltoallw, from, counts, byte_displs, types, in, counts, byte_displs,
             types);
}

static void call_reduction(enum call call)
{
    void *from = in_place ? MPI_IN_PLACE : out;
    void *from_if_root = in_place && am_root() ? MPI_IN_PLACE : out;
    const int block = is_inter ? count * n_remote : count;

    if (call == REDUCE)
        CALL(Reduce, reduce, from_if_root, in, count, type, operation, root_argument());
    else if (call == ALLREDUCE)
        CALL(Allreduce, allreduce, from, in, count, type, operation);
    else if (call == REDUCE_SCATTER)
        CALL(Reduce_scatter, reduce_scatter, from, in, counts_local, type, operation);
    else if (call == REDUCE_SCATTER_BLOCK)
        CALL(Reduce_scatter_block, reduce_scatter_block, from, in, block, type, operation);
    else if (call == SCAN)
        CALL(Scan, scan, from, in, count, type, operation);
    else
        CALL(Exscan, exscan, from, in, count, type, operation);
}

static void call_neighbors(enum call call)
{
    const MPI_Aint displacements[2] = { byte_displs[0], byte_displs[1] };

    if (call == NEIGHBOR_ALLGATHER)
        CALL(Neighbor_allgather, neighbor_allgather, out, count, type, in, count, type);
    else if (call == NEIGHBOR_ALLGATHERV)
        CALL(Neighbor_allgatherv, neighbor_allgatherv, out, length_of(et.rank), type, in, counts,
             displs, type);
    else if (call == NEIGHBOR_ALLTOALL)
        CALL(Neighbor_alltoall, neighbor_alltoall, out, count, type, in, count, type);
    else if (call == NEIGHBOR_ALLTOALLV)
        CALL(Neighbor_alltoallv, neighbor_alltoallv, out, counts_out, displs, type, in, counts,
             displs, type);
    else
        CALL(Neighbor_alltoallw, neighbor_alltoallw, out, counts_out, displacements, types, in,
             counts, displacements, types);
}

/* ---- what is sent, and what must arrive ------------------------------------------------------ */

/* Numbered through, as the result may be scattered. */
static void fill_reduction(int *numbers, int n)
{
    for (int i = 0; i < n; i++) {
        if (of_lines)
            ((struct line *) numbers)[i] = line_of(et.rank, i);
        else
            numbers[i] = sent(et.rank, 0, i);
    }
}

static void fill(enum call call)
{
    const int elements = count * MOST * (call == REDUCE_SCATTER ||
                                         call == REDUCE_SCATTER_BLOCK ? MOST : 1);

    round_number++;
    memset(in, 0xff, sizeof(int) * (size_t) (elements * stride));
    if (is_reduction(call)) {
        fill_reduction(in_place && (call != REDUCE || am_root()) ? in : out, elements);
        return;
    }
    for (int block = 0; block < MOST; block++)
        for (int i = 0; i < count; i++)
            *at(out, block, i) = sent(et.rank, block, i);
    if (in_place && (call == ALLTOALL || call == ALLTOALLV || call == ALLTOALLW))
        memcpy(in, out, sizeof(int) * (size_t) (elements * stride));
    else if (in_place)
        for (int i = 0; i < count; i++)
            *at(in, rank, i) = sent(et.rank, 0, i);
}

/* Element number i of what the processes from `first` on have, combined; the result is at
 * `position`. */
static void check_combined(enum call call, int first, int n, int i, int position)
{
    if (of_lines) {
        struct line line = line_of(first, i), found = ((struct line *) in)[position];
        for (int process = first + 1; process < first + n; process++)
            line = then(line, line_of(process, i));
        check(names[call], 0, position, found.a, line.a);
        check(names[call], 1, position, found.b, line.b);
    } else {
        int sum = 0;
        for (int process = first; process < first + n; process++)
            sum = (int) ((unsigned) sum + (unsigned) sent(process, 0, i));
        check(names[call], 0, position, in[position], sum);
    }
}

static void verify_reduction(enum call call)
{
    const int block = is_inter ? count * n_remote : count;

    if (call == REDUCE_SCATTER && uneven) {
        int start = 0;
        for (int before = 0; before < rank; before++)
            start += length_of(before);
        for (int i = 0; i < length_of(rank); i++)
            check_combined(call, remote_first, n_remote, start + i, i);
        return;
    }
    if (call == REDUCE_SCATTER || call == REDUCE_SCATTER_BLOCK) {
        for (int i = 0; i < block; i++)
            check_combined(call, remote_first, n_remote, rank * block + i, i);
        return;
    }
    for (int i = 0; i < count; i++) {
        if ((call == REDUCE && am_root()) || call == ALLREDUCE)
            check_combined(call, remote_first, n_remote, i, i);
        if (call == SCAN)
            check_combined(call, local_first, rank + 1, i, i);
        if (call == EXSCAN && rank > 0)
            check_combined(call, local_first, rank, i, i);
    }
}

/* Element i of a block of `length`; later ones are not received. */
static void check_block(enum call call, int block, int i, int length, int expected)
{
    if (i < length)
        check(names[call], block, i, *at(in, block, i), expected);
    else if (!in_place)
        check(names[call], block, i, *at(in, block, i), -1);
}

static void verify_blocks(enum call call, int i)
{
    for (int from = 0; from < n_remote; from++) {
        const int process = remote_first + from;
        if (((call == GATHER || call == GATHERV) && am_root()) || call == ALLGATHER ||
            call == ALLGATHERV)
            check_block(call, from, i, length_of(process), sent(process, 0, i));
        if (call == ALLTOALL || call == ALLTOALLV || call == ALLTOALLW)
            check_block(call, from, i, length_of(et.rank + process), sent(process, rank, i));
    }
}

static void verify_neighbors(enum call call, int i)
{
    const int left = local_first + (rank + n_local - 1) % n_local, right =
        local_first + (rank + 1) % n_local;
    const int gathers = call == NEIGHBOR_ALLGATHER || call == NEIGHBOR_ALLGATHERV;

    /* the left one sends its block 0 to the right */
    check_block(call, 0, i, counts[0], sent(left, 0, i));
    check_block(call, 1, i, counts[1], sent(right, gathers ? 0 : 1, i));
}

static void verify(enum call call)
{
    const int receives = is_inter ? !root_is_local() : !am_root();

    if (call == BARRIER)
        return;
    if (is_reduction(call)) {
        verify_reduction(call);
        return;
    }
    for (int i = 0; i < count; i++) {
        if (call >= NEIGHBOR_ALLGATHER)
            verify_neighbors(call, i);
        else if (call == BCAST && receives)
            check(names[call], 0, i, *at(in, 0, i), sent(root, 0, i));
        else if ((call == SCATTER || call == SCATTERV) &&
                 (is_inter ? receives : !(in_place && am_root())))
            check_block(call, 0, i, length_of(et.rank), sent(root, rank, i));
        else
            verify_blocks(call, i);
    }
}

/* ---- one call, in all its ways --------------------------------------------------------------- */

static void start_once(enum call call)
{
    if (call == BARRIER)
        call_barrier();
    else if (is_reduction(call))
        call_reduction(call);
    else if (call >= NEIGHBOR_ALLGATHER)
        call_neighbors(call);
    else
        call_moving(call);
}

static void once(enum call call)
{
    fill(call);
    start_once(call);
    if (form == BLOCKING) {
        verify(call);
        fill(call);
        start_once(call);
    }
    for (int times = 0; form == PERSISTENT && times < STARTS; times++) {
        fill(call);
        ET_MPI(MPI_Start(&request));
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        verify(call);
    }
    if (form == PERSISTENT)
        ET_MPI(MPI_Request_free(&request));
    if (form == NONBLOCKING)
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    verify(call);
}

static void set_lengths(enum call call)
{
    const int left = local_first + (rank + n_local - 1) % n_local, right =
        local_first + (rank + 1) % n_local;
    const int between = call == ALLTOALLV || call == ALLTOALLW || call == NEIGHBOR_ALLTOALLV ||
        call == NEIGHBOR_ALLTOALLW ? et.rank : 0;

    for (int i = 0; i < MOST; i++) {
        counts[i] = counts_out[i] = length_of(between + remote_first + i);
        displs[i] = i * count;
        byte_displs[i] = i * count * stride * (int) sizeof(int);
        types[i] = type;
        counts_local[i] = is_inter ? count * n_remote : length_of(i);
    }
    if (call >= NEIGHBOR_ALLGATHER) {
        counts[0] = counts_out[1] = length_of(between + left);
        counts[1] = counts_out[0] = length_of(between + right);
    }
}

static void with_type(enum call call, MPI_Datatype of_type, int ints)
{
    type = of_type;
    stride = ints;
    set_lengths(call);
    for (in_place = 0; in_place <= has_in_place(call); in_place++)
        once(call);
    in_place = 0;
}

static void with_types(enum call call)
{
    of_lines = 0;
    operation = MPI_SUM;
    with_type(call, MPI_INT, 1);
    if (is_reduction(call)) {
        of_lines = 1;
        operation = compose;
        with_type(call, line_type, 2);
        of_lines = 0;
    } else if (call != BARRIER) {
        with_type(call, wide, 2);
    }
}

static void with_root(enum call call, int number)
{
    const int amounts[] = { 0, 1, large };

    root = number;
    for (unsigned i = 0; i < sizeof(amounts) / sizeof(*amounts); i++) {
        count = amounts[i];
        with_types(call);
        uneven = count > 0 && has_lengths(call);
        if (uneven)
            with_types(call);
        uneven = 0;
    }
}

static void in_all_ways(enum call call, enum form of_form)
{
    form = of_form;
    with_root(call, 0);
    if (is_rooted(call) && n_local + (is_inter ? n_remote : 0) > 1)
        with_root(call, is_inter ? n_local + n_remote - 1 : n_local - 1);
}
