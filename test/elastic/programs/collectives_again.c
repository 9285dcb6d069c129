/*
 * Persistent collectives: each is started five times with changed data, on communicators of one
 * process to all, with every root, and with a derived datatype as well (defect 7).  Before the
 * first start and after each completion the request is inactive: every way to wait and test
 * completes at once, with an empty status (defect 6).
 *
 * --case again | inactive;  --count COUNT elements for each process (large ones take other
 * algorithms)
 */

#include "elastic_test.h"

enum { STARTS = 5, MOST = 8 };

static MPI_Comm comm;
static int rank, size, root, count, start;
static MPI_Datatype wide;       /* an int, and a gap of one */
static int wide_ints;           /* of it, in a buffer */
static int *out, *in;
static int counts[MOST], displs[MOST], byte_displs[MOST];
static MPI_Datatype datatypes[MOST];

static int sent(int from, int to, int i)
{
    return 100000 * (start + 1) + 10000 * from + 1000 * to + i % 1000;
}

static int *at(int *buffer, int block, int i)
{
    return buffer + ((size_t) block * (size_t) count + (size_t) i) * (size_t) wide_ints;
}

/* One block for each process of out; in is cleared. */
static void fill(void)
{
    for (int to = 0; to < size; to++)
        for (int i = 0; i < count; i++) {
            *at(out, to, i) = sent(rank, to, i);
            *at(in, to, i) = -1;
        }
}

static void expect(const char *name, int block, int i, int value)
{
    ET_CHECK(*at(in, block, i) == value,
             "%s, start %d, %d processes, root %d, count %d: block %d[%d] is %d, not %d", name,
             start, size, root, count, block, i, *at(in, block, i), value);
}

/* The data for the check of one collective: the initialisation, and what must be in the buffers. */
enum call {
    BARRIER, BCAST, GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV,
        ALLTOALLW, REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, CALLS
};
static const char *const names[CALLS] = {
    "Barrier_init", "Bcast_init", "Gather_init", "Gatherv_init", "Scatter_init", "Scatterv_init",
        "Allgather_init",
    "Allgatherv_init", "Alltoall_init", "Alltoallv_init", "Alltoallw_init", "Reduce_init",
        "Allreduce_init",
    "Reduce_scatter_init", "Reduce_scatter_block_init", "Scan_init", "Exscan_init"
};

static void init_moving(enum call call, MPI_Datatype type, MPI_Request * request)
{
    MPI_Info none = MPI_INFO_NULL;

    if (call == BARRIER)
        ET_MPI(MPI_Barrier_init(comm, none, request));
    else if (call == BCAST)
        ET_MPI(MPI_Bcast_init(rank == root ? out : in, count, type, root, comm, none, request));
    else if (call == GATHER)
        ET_MPI(MPI_Gather_init(out, count, type, in, count, type, root, comm, none, request));
    else if (call == GATHERV)
        ET_MPI(MPI_Gatherv_init(out, count, type, in, counts, displs, type, root, comm, none,
                                request));
    else if (call == SCATTER)
        ET_MPI(MPI_Scatter_init(out, count, type, in, count, type, root, comm, none, request));
    else if (call == SCATTERV)
        ET_MPI(MPI_Scatterv_init(out, counts, displs, type, in, count, type, root, comm, none,
                                 request));
    else if (call == ALLGATHER)
        ET_MPI(MPI_Allgather_init(out, count, type, in, count, type, comm, none, request));
    else if (call == ALLGATHERV)
        ET_MPI(MPI_Allgatherv_init(out, count, type, in, counts, displs, type, comm, none,
                                   request));
    else if (call == ALLTOALL)
        ET_MPI(MPI_Alltoall_init(out, count, type, in, count, type, comm, none, request));
    else if (call == ALLTOALLV)
        ET_MPI(MPI_Alltoallv_init(out, counts, displs, type, in, counts, displs, type, comm, none,
                                  request));
    else
        ET_MPI(MPI_Alltoallw_init(out, counts, byte_displs, datatypes, in, counts, byte_displs,
                                  datatypes, comm, none, request));
}

static void init_reduction(enum call call, MPI_Request * request)
{
    MPI_Info none = MPI_INFO_NULL;

    if (call == REDUCE)
        ET_MPI(MPI_Reduce_init(out, in, count, MPI_INT, MPI_SUM, root, comm, none, request));
    else if (call == ALLREDUCE)
        ET_MPI(MPI_Allreduce_init(out, in, count, MPI_INT, MPI_SUM, comm, none, request));
    else if (call == REDUCE_SCATTER)
        ET_MPI(MPI_Reduce_scatter_init(out, in, counts, MPI_INT, MPI_SUM, comm, none, request));
    else if (call == REDUCE_SCATTER_BLOCK)
        ET_MPI(MPI_Reduce_scatter_block_init(out, in, count, MPI_INT, MPI_SUM, comm, none,
                                             request));
    else if (call == SCAN)
        ET_MPI(MPI_Scan_init(out, in, count, MPI_INT, MPI_SUM, comm, none, request));
    else
        ET_MPI(MPI_Exscan_init(out, in, count, MPI_INT, MPI_SUM, comm, none, request));
}

static int sum(int ranks, int to, int i)
{
    int value = 0;

    for (int from = 0; from < ranks; from++)
        value += sent(from, to, i);
    return value;
}

static void verify(enum call call)
{
    const char *name = names[call];

    for (int i = 0; i < count; i++) {
        if (call == BCAST && rank != root)
            expect(name, 0, i, sent(root, 0, i));
        if (call == SCATTER || call == SCATTERV)
            expect(name, 0, i, sent(root, rank, i));
        if ((call == REDUCE && rank == root) || call == ALLREDUCE)
            expect(name, 0, i, sum(size, 0, i));
        if (call == REDUCE_SCATTER || call == REDUCE_SCATTER_BLOCK)
            expect(name, 0, i, sum(size, rank, i));
        if (call == SCAN || (call == EXSCAN && rank > 0))
            expect(name, 0, i, sum(call == SCAN ? rank + 1 : rank, 0, i));
        for (int from = 0; from < size; from++) {
            if (((call == GATHER || call == GATHERV) && rank == root) || call == ALLGATHER ||
                call == ALLGATHERV)
                expect(name, from, i, sent(from, 0, i));
            if (call == ALLTOALL || call == ALLTOALLV || call == ALLTOALLW)
                expect(name, from, i, sent(from, rank, i));
        }
    }
}

static void again(enum call call, MPI_Datatype type)
{
    MPI_Request request;

    wide_ints = type == MPI_INT ? 1 : 2;
    for (int i = 0; i < size; i++) {
        counts[i] = count;
        displs[i] = i * count;
        byte_displs[i] = i * count * wide_ints * (int) sizeof(int);
        datatypes[i] = type;
    }
    start = -1;
    fill();
    if (call < REDUCE)
        init_moving(call, type, &request);
    else
        init_reduction(call, &request);
    for (start = 0; start < STARTS; start++) {
        fill();
        ET_MPI(MPI_Start(&request));
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        verify(call);
    }
    ET_MPI(MPI_Request_free(&request));
}

static void all_again(int elements)
{
    count = elements;
    out = malloc(sizeof(int) * 2 * (size_t) (size * count));
    in = malloc(sizeof(int) * 2 * (size_t) (size * count));
    ET_CHECK(out && in, "no memory");
    for (root = 0; root < size; root++)
        for (enum call call = BARRIER; call < CALLS; call++) {
            again(call, MPI_INT);
            if (call < REDUCE)
                again(call, wide);
        }
    free(out);
    free(in);
}

/* ---- inactive requests ----------------------------------------------------------------------- */

static void check_empty(const char *call, const MPI_Status * status)
{
    int amount, cancelled;

    ET_MPI(MPI_Get_count(status, MPI_BYTE, &amount));
    ET_MPI(MPI_Test_cancelled(status, &cancelled));
    ET_CHECK(status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG && amount == 0
             && !cancelled, "%s of an inactive request: the status is not empty", call);
}

static void check_inactive(MPI_Request * request)
{
    MPI_Request both[2] = { MPI_REQUEST_NULL, *request };
    MPI_Status status, statuses[2];
    int flag = 0, index = 0, n = 0, indices[2];

    memset(&status, 1, sizeof status);
    ET_MPI(MPI_Request_get_status(*request, &flag, &status));
    ET_CHECK(flag, "Request_get_status reports an inactive request as pending");
    check_empty("Request_get_status", &status);
    memset(&status, 1, sizeof status);
    ET_MPI(MPI_Test(request, &flag, &status));
    ET_CHECK(flag && *request == both[1], "Test reports an inactive request as pending");
    check_empty("Test", &status);
    memset(&status, 1, sizeof status);
    ET_MPI(MPI_Testany(2, both, &index, &flag, &status));
    ET_CHECK(flag && index == MPI_UNDEFINED, "Testany: flag %d, index %d", flag, index);
    memset(&status, 1, sizeof status);
    ET_MPI(MPI_Testany(1, both + 1, &index, &flag, &status));
    ET_CHECK(flag && index == MPI_UNDEFINED, "Testany of one: flag %d, index %d", flag, index);
    ET_MPI(MPI_Testall(2, both, &flag, statuses));
    ET_CHECK(flag, "Testall reports an inactive request as pending");
    check_empty("Testall", &statuses[1]);
    ET_MPI(MPI_Testsome(2, both, &n, indices, statuses));
    ET_CHECK(n == MPI_UNDEFINED, "Testsome: %d complete", n);
    memset(&status, 1, sizeof status);
    ET_MPI(MPI_Wait(request, &status));
    check_empty("Wait", &status);
    memset(&status, 1, sizeof status);
    ET_MPI(MPI_Waitany(2, both, &index, &status));
    ET_CHECK(index == MPI_UNDEFINED, "Waitany: index %d", index);
    check_empty("Waitany", &status);
    ET_MPI(MPI_Waitall(2, both, statuses));
    check_empty("Waitall", &statuses[1]);
    ET_MPI(MPI_Waitsome(2, both, &n, indices, statuses));
    ET_CHECK(n == MPI_UNDEFINED, "Waitsome: %d complete", n);
    ET_CHECK(both[1] == *request, "an inactive request is freed");
}

static void inactive(void)
{
    MPI_Request request, pair[2];
    int mine = rank, all, index;

    ET_MPI(MPI_Allreduce_init(&mine, &all, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    check_inactive(&request);
    for (int i = 0; i < 2; i++) {
        all = -1;
        ET_MPI(MPI_Start(&request));
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        ET_CHECK(all == size * (size - 1) / 2, "the sum is %d", all);
        check_inactive(&request);
    }
    /* The one of two that is active is reported. */
    ET_MPI(MPI_Barrier_init(comm, MPI_INFO_NULL, &pair[0]));
    pair[1] = request;
    ET_MPI(MPI_Start(&pair[1]));
    ET_MPI(MPI_Waitany(2, pair, &index, MPI_STATUS_IGNORE));
    ET_CHECK(index == 1, "Waitany: index %d", index);
    ET_MPI(MPI_Request_free(&pair[0]));         /* never started */
    ET_MPI(MPI_Request_free(&request));
    ET_MPI(MPI_Recv_init(&mine, 1, MPI_INT, 0, 0, comm, &request));
    check_inactive(&request);
    ET_MPI(MPI_Request_free(&request));
}

int main(int argc, char **argv)
{
    const char *what = et_argument(argc, argv, "case", "again");
    int elements = (int) et_number(argc, argv, "count", 3);

    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    ET_CHECK(et.size <= MOST, "at most %d processes", MOST);
    ET_MPI(MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &wide));
    ET_MPI(MPI_Type_commit(&wide));
    for (int members = 1; members <= et.size; members++) {
        ET_MPI(MPI_Comm_split(MPI_COMM_WORLD, et.rank < members ? 0 : MPI_UNDEFINED, -et.rank,
                              &comm));
        if (comm == MPI_COMM_NULL)
            continue;
        ET_MPI(MPI_Comm_rank(comm, &rank));
        ET_MPI(MPI_Comm_size(comm, &size));
        if (strcmp(what, "inactive") == 0)
            inactive();
        else
            all_again(elements);
        ET_MPI(MPI_Comm_free(&comm));
    }
    ET_MPI(MPI_Type_free(&wide));
    if (et.rank == 0)
        et_log("PASS collectives_again %s", what);
    ET_MPI(MPI_Finalize());
    return 0;
}
