/*
 * Collectives at their edges.
 *
 * --case alone   on one process: with gaps before the blocks, in place, and without elements
 *                (defect 5)
 * --case types   all-to-all in place, with another type and count for each pair of processes
 *                (defect 8)
 * --case split   an intercommunicator is split where rank 0 of a group passes MPI_UNDEFINED (defect
 *                9)
 */

#include "elastic_test.h"

enum { GAP = 3, LENGTH = 2, INTS = 8, MOST = 8 };

static int out[INTS], in[INTS];

static void clear(void)
{
    for (int i = 0; i < INTS; i++) {
        out[i] = 10 + i;
        in[i] = -1;
    }
}

/* `in` has LENGTH elements from `position` on that came from out[from], and nothing else. */
static void expect(const char *call, int position, int from, int length)
{
    for (int i = 0; i < INTS; i++) {
        int right = i >= position && i < position + length ? 10 + from + i - position : -1;
        ET_CHECK(in[i] == right, "%s on one process: [%d] is %d, not %d", call, i, in[i], right);
    }
    clear();
}

static void alone_of_length(int n)
{
    MPI_Comm comm = MPI_COMM_SELF;
    MPI_Datatype type = MPI_INT;
    MPI_Aint bytes = sizeof(int);
    int gap = GAP, byte_gap = GAP * (int) bytes;
    MPI_Request request;

    clear();
#define BOTH(position, from, first, second, ...) \
    do { \
        ET_MPI(first(__VA_ARGS__, comm)); \
        expect(#first, position, from, n); \
        ET_MPI(second(__VA_ARGS__, comm, &request)); \
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE)); \
        expect(#second, position, from, n); \
    } while (0)
    BOTH(GAP, 0, MPI_Allgatherv, MPI_Iallgatherv, out, n, type, in, &n, &gap, type);
    BOTH(GAP, 0, MPI_Gatherv, MPI_Igatherv, out, n, type, in, &n, &gap, type, 0);
    BOTH(0, GAP, MPI_Scatterv, MPI_Iscatterv, out, &n, &gap, type, in, n, type, 0);
    BOTH(GAP, 0, MPI_Alltoallv, MPI_Ialltoallv, out, &n, &(int) { 0 }, type, in, &n, &gap, type);
    BOTH(GAP, 0, MPI_Alltoallw, MPI_Ialltoallw, out, &n, &(int) { 0 }, &type, in, &n, &byte_gap,
         &type);
    BOTH(0, 0, MPI_Allgather, MPI_Iallgather, out, n, type, in, n, type);
    BOTH(0, 0, MPI_Gather, MPI_Igather, out, n, type, in, n, type, 0);
    BOTH(0, 0, MPI_Scatter, MPI_Iscatter, out, n, type, in, n, type, 0);
    BOTH(0, 0, MPI_Alltoall, MPI_Ialltoall, out, n, type, in, n, type);
    BOTH(0, 0, MPI_Allreduce, MPI_Iallreduce, out, in, n, type, MPI_SUM);
    BOTH(0, 0, MPI_Reduce, MPI_Ireduce, out, in, n, type, MPI_SUM, 0);
    BOTH(0, 0, MPI_Scan, MPI_Iscan, out, in, n, type, MPI_SUM);
    BOTH(0, 0, MPI_Reduce_scatter, MPI_Ireduce_scatter, out, in, &n, type, MPI_SUM);
    BOTH(0, 0, MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, out, in, n, type, MPI_SUM);
#undef BOTH
}

static void alone_in_buffer(void)
{
    MPI_Comm comm = MPI_COMM_SELF;
    MPI_Datatype type = MPI_INT, none = MPI_DATATYPE_NULL;
    int n = LENGTH, gap = GAP, byte_gap = GAP * (int) sizeof(int);

    clear();
    ET_MPI(MPI_Allgatherv(MPI_IN_PLACE, 0, none, out, &n, &gap, type, comm));
    ET_MPI(MPI_Gatherv(MPI_IN_PLACE, 0, none, out, &n, &gap, type, 0, comm));
    ET_MPI(MPI_Scatterv(out, &n, &gap, type, MPI_IN_PLACE, 0, none, 0, comm));
    ET_MPI(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, none, out, &n, &gap, type, comm));
    ET_MPI(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, out, &n, &byte_gap, &type, comm));
    ET_MPI(MPI_Allgather(MPI_IN_PLACE, 0, none, out, n, type, comm));
    ET_MPI(MPI_Allreduce(MPI_IN_PLACE, out, n, type, MPI_SUM, comm));
    ET_MPI(MPI_Reduce(MPI_IN_PLACE, out, n, type, MPI_SUM, 0, comm));
    ET_MPI(MPI_Scan(MPI_IN_PLACE, out, n, type, MPI_SUM, comm));
    ET_MPI(MPI_Exscan(MPI_IN_PLACE, out, n, type, MPI_SUM, comm));
    ET_MPI(MPI_Reduce_scatter(MPI_IN_PLACE, out, &n, type, MPI_SUM, comm));
    ET_MPI(MPI_Reduce_scatter_block(MPI_IN_PLACE, out, n, type, MPI_SUM, comm));
    for (int i = 0; i < INTS; i++)
        ET_CHECK(out[i] == 10 + i, "in place on one process: [%d] is %d", i, out[i]);
}

/* A block that is too long is an error, as it is on two processes. */
static void alone_too_long(void)
{
    int n = 1, gap = 0;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    ET_ERROR(MPI_Allgatherv(out, 2, MPI_INT, in, &n, &gap, MPI_INT, MPI_COMM_SELF),
             MPI_ERR_TRUNCATE, NULL);
}

/* Ranks i and j exchange i + j + 1 elements of a type of their own: ints, shorts or chars. */
static void types(void)
{
    static const MPI_Datatype basic[] = { MPI_INT, MPI_SHORT, MPI_CHAR };
    static const int sizes[] = { sizeof(int), sizeof(short), 1 };
    static const char *const forms[] = {
        "Alltoallw in place", "Ialltoallw in place", "Alltoallw_init in place, started",
            "started again"
    };
    enum { BLOCK = 2 * MOST * sizeof(int) };
    char buffer[MOST * BLOCK];
    int counts[MOST], displs[MOST];
    MPI_Datatype datatypes[MOST];
    MPI_Request request, persistent;

    for (int i = 0; i < et.size; i++) {
        datatypes[i] = basic[(i + et.rank) % 3];
        counts[i] = i + et.rank + 1;
        displs[i] = i * BLOCK;
    }
    ET_MPI(MPI_Alltoallw_init(MPI_IN_PLACE, NULL, NULL, NULL, buffer, counts, displs, datatypes,
                              MPI_COMM_WORLD, MPI_INFO_NULL, &persistent));
    for (int form = 0; form < 4; form++) {
        memset(buffer, 0, sizeof buffer);
        for (int i = 0; i < et.size; i++)
            et_fill(buffer + displs[i], (size_t) (counts[i] * sizes[(i + et.rank) % 3]), et.rank,
                    form * MOST + i);
        if (form == 0) {
            ET_MPI(MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, buffer, counts, displs, datatypes,
                                 MPI_COMM_WORLD));
        } else if (form == 1) {
            ET_MPI(MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, buffer, counts, displs, datatypes,
                                  MPI_COMM_WORLD, &request));
            ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else {
            ET_MPI(MPI_Start(&persistent));
            ET_MPI(MPI_Wait(&persistent, MPI_STATUS_IGNORE));
        }
        for (int i = 0; i < et.size; i++)
            et_verify(buffer + displs[i], (size_t) (counts[i] * sizes[(i + et.rank) % 3]), i,
                      form * MOST + et.rank, forms[form]);
    }
    ET_MPI(MPI_Request_free(&persistent));
}

/* Two groups: the even ranks, and the odd ones.  `quiet`: whose rank 0 passes MPI_UNDEFINED. */
static void split(int quiet)
{
    int odd = et.rank % 2, rank, low, high, remote;
    MPI_Comm half, inter, next;

    ET_MPI(MPI_Comm_split(MPI_COMM_WORLD, odd, et.rank, &half));
    ET_MPI(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, odd ? 0 : 1, 1, &inter));
    ET_MPI(MPI_Comm_rank(inter, &rank));
    low = rank == 0 && (quiet == 2 || quiet == odd);
    ET_MPI(MPI_Comm_split(inter, low ? MPI_UNDEFINED : 4, 0, &next));
    ET_CHECK((next == MPI_COMM_NULL) == low, "Comm_split of an intercommunicator: rank %d has %s",
             rank, low ? "a communicator" : "none");
    if (next != MPI_COMM_NULL) {
        ET_MPI(MPI_Comm_remote_size(next, &remote));
        ET_CHECK(remote == et.size / 2 - (quiet == 2 || quiet == !odd),
                 "%d processes in the other group", remote);
        ET_MPI(MPI_Allreduce(&et.rank, &high, 1, MPI_INT, MPI_MAX, next));
        ET_CHECK(high == (odd ? et.size - 2 : et.size - 1), "the other group's highest rank is %d",
                 high);
        ET_MPI(MPI_Comm_free(&next));
    }
    ET_MPI(MPI_Comm_free(&inter));
    ET_MPI(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    const char *what = et_argument(argc, argv, "case", "alone");

    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    ET_CHECK(et.size <= MOST, "at most %d processes", MOST);
    if (strcmp(what, "alone") == 0) {
        alone_of_length(LENGTH);
        alone_of_length(0);
        alone_in_buffer();
        alone_too_long();
    } else if (strcmp(what, "types") == 0) {
        types();
    } else {
        ET_CHECK(et.size >= 4 && et.size % 2 == 0, "an even number of processes, 4 or more");
        for (int quiet = 0; quiet < 4; quiet++)
            split(quiet);
    }
    if (et.rank == 0)
        et_log("PASS collectives_edges %s", what);
    ET_MPI(MPI_Finalize());
    return 0;
}
