/*
 * Neighbourhood collectives, blocking, non-blocking and persistent: all-to-all of one type, with
 * counts, with types; allgather of one type, with counts.  A persistent one is started five times,
 * with other data each time.
 *
 * --case degrees     every process sends to rank 0 alone: in-degree and out-degree differ (defect
 *                    3)
 * --case cartesian   grids with periodic dimensions of extent 1 and 2, where both neighbours are
 *                    one process: what is sent to the upper neighbour arrives in its lower block
 *                    (defect 4)
 * --case graph       a graph of MPI_Graph_create, where each process is its own neighbour, and
 *                    twice its partner's
 * --case parallel    a graph with two edges between the same processes: messages keep the order of
 *                    the edges
 */

#include "elastic_test.h"

enum { MOST = 16, FORMS = 3, PERSISTENT = 2, KINDS = 5, GATHERS = 3, STARTS = 5, NEXT = 10000 };

static MPI_Comm comm;
static int rank, size, in_degree, out_degree;
static int out[MOST], in[MOST];
static const char *const kinds[KINDS] =
    { "alltoall", "alltoallv", "alltoallw", "allgather", "allgatherv" };
static const char *const forms[FORMS] = { "blocking", "non-blocking", "persistent" };

/* The arrays end where the degrees end: a valgrind run, and values that no call accepts, show who
 * reads on.  They exist until the request is complete. */
static MPI_Request exchange(int kind, int form)
{
    static int send_counts[MOST], receive_counts[MOST], displs[MOST];
    static MPI_Aint byte_displs[MOST];
    static MPI_Datatype datatypes[MOST];
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Info none = MPI_INFO_NULL;

    for (int i = 0; i < MOST; i++) {
        send_counts[i] = i < out_degree ? 1 : -7;
        receive_counts[i] = i < in_degree ? 1 : -7;
        displs[i] = i;
        byte_displs[i] = i * (MPI_Aint) sizeof(int);
        datatypes[i] = MPI_INT;
        in[i] = -1;
    }
    if (kind == 0 && form == 0)
        ET_MPI(MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm));
    else if (kind == 0 && form == 1)
        ET_MPI(MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm, &request));
    else if (kind == 0)
        ET_MPI(MPI_Neighbor_alltoall_init(out, 1, MPI_INT, in, 1, MPI_INT, comm, none, &request));
    else if (kind == 1 && form == 0)
        ET_MPI(MPI_Neighbor_alltoallv(out, send_counts, displs, MPI_INT, in, receive_counts, displs,
                                      MPI_INT, comm));
    else if (kind == 1 && form == 1)
        ET_MPI(MPI_Ineighbor_alltoallv(out, send_counts, displs, MPI_INT, in, receive_counts,
                                       displs, MPI_INT, comm, &request));
    else if (kind == 1)
        ET_MPI(MPI_Neighbor_alltoallv_init(out, send_counts, displs, MPI_INT, in, receive_counts,
                                           displs, MPI_INT, comm, none, &request));
    else if (kind == 3 && form == 0)
        ET_MPI(MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, comm));
    else if (kind == 3 && form == 1)
        ET_MPI(MPI_Ineighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, comm, &request));
    else if (kind == 3)
        ET_MPI(MPI_Neighbor_allgather_init(out, 1, MPI_INT, in, 1, MPI_INT, comm, none, &request));
    else if (kind == 4 && form == 0)
        ET_MPI(MPI_Neighbor_allgatherv(out, 1, MPI_INT, in, receive_counts, displs, MPI_INT, comm));
    else if (kind == 4 && form == 1)
        ET_MPI(MPI_Ineighbor_allgatherv(out, 1, MPI_INT, in, receive_counts, displs, MPI_INT, comm,
                                        &request));
    else if (kind == 4)
        ET_MPI(MPI_Neighbor_allgatherv_init(out, 1, MPI_INT, in, receive_counts, displs, MPI_INT,
                                            comm, none, &request));
    else if (form == 0)
        ET_MPI(MPI_Neighbor_alltoallw(out, send_counts, byte_displs, datatypes, in, receive_counts,
                                      byte_displs, datatypes, comm));
    else if (form == 1)
        ET_MPI(MPI_Ineighbor_alltoallw(out, send_counts, byte_displs, datatypes, in, receive_counts,
                                       byte_displs, datatypes, comm, &request));
    else
        ET_MPI(MPI_Neighbor_alltoallw_init(out, send_counts, byte_displs, datatypes, in,
                                           receive_counts, byte_displs,
                                           datatypes, comm, none, &request));
    return request;
}

/* All that is sent becomes larger by `more`. */
static void start_with(int more, MPI_Request * request)
{
    for (int i = 0; i < MOST; i++) {
        out[i] += more;
        in[i] = -1;
    }
    ET_MPI(MPI_Start(request));
}

static void check(int kind, int form, int start, const int *blocks)
{
    for (int i = 0; i < MOST; i++) {
        int right = i >= in_degree || blocks[i] == -1 ? -1 : blocks[i] + start * NEXT;
        ET_CHECK(in[i] == right, "%s, %s, %d processes, start %d: block %d is %d, not %d",
                 kinds[kind], forms[form], size, start, i, in[i], right);
    }
}

/* Block i of an all-to-all is right[i], that of an allgather the sender's first block,
 * right_first[i]. */
static void compare(const int *right, const int *right_first)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int form = 0; form < FORMS; form++) {
            const int *blocks = kind < GATHERS ? right : right_first;
            const int starts = form == PERSISTENT ? STARTS : 1;
            MPI_Request request = exchange(kind, form);
            for (int start = 0; start < starts; start++) {
                if (form == PERSISTENT)
                    start_with(start ? NEXT : 0, &request);
                ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
                check(kind, form, start, blocks);
            }
            if (form == PERSISTENT)
                ET_MPI(MPI_Request_free(&request));
            for (int i = 0; i < MOST; i++)
                out[i] -= (starts - 1) * NEXT;
        }
}

static void degrees(void)
{
    int sources[MOST], target = 0, right[MOST] = { 0 };

    in_degree = et.rank == 0 ? et.size : 0;
    out_degree = 1;
    for (int i = 0; i < et.size; i++) {
        sources[i] = i;
        right[i] = 100 + i;
    }
    ET_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in_degree, sources, MPI_UNWEIGHTED,
                                          out_degree, &target,
                                          MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    out[0] = 100 + rank;
    compare(right, right);
    ET_MPI(MPI_Comm_free(&comm));
}

static void grid(int dimensions, int *extents, int *periods)
{
    int right[MOST], right_first[MOST];

    ET_MPI(MPI_Cart_create(MPI_COMM_WORLD, dimensions, extents, periods, 0, &comm));
    if (comm == MPI_COMM_NULL)
        return;
    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    in_degree = out_degree = 2 * dimensions;
    for (int d = 0; d < dimensions; d++) {
        int lower, upper;
        ET_MPI(MPI_Cart_shift(comm, d, 1, &lower, &upper));
        out[2 * d] = 100 * rank + 10 * d;
        out[2 * d + 1] = 100 * rank + 10 * d + 1;
        right[2 * d] = lower == MPI_PROC_NULL ? -1 : 100 * lower + 10 * d + 1;
        right[2 * d + 1] = upper == MPI_PROC_NULL ? -1 : 100 * upper + 10 * d;
        right_first[2 * d] = lower == MPI_PROC_NULL ? -1 : 100 * lower;
        right_first[2 * d + 1] = upper == MPI_PROC_NULL ? -1 : 100 * upper;
    }
    compare(right, right_first);
    ET_MPI(MPI_Comm_free(&comm));
}

static void cartesian(void)
{
    int on[] = { 1, 1, 1 }, off[] = { 0, 0, 0 }, first[] = { 1, 0, 0 };

    grid(1, (int[]) { 1 }, on);
    grid(1, (int[]) { 2 }, on);
    grid(1, (int[]) { 3 }, on);
    grid(1, (int[]) { 2 }, off);
    grid(2, (int[]) { 1, 1 }, on);
    grid(2, (int[]) { 2, 1 }, on);
    grid(2, (int[]) { 2, 2 }, on);
    grid(2, (int[]) { 2, 2 }, first);
    grid(2, (int[]) { 1, 3 }, on);
    grid(3, (int[]) { 1, 2, 1 }, on);
}

/* Pairs of processes: each has itself, its partner twice, and itself again. */
static void graph(void)
{
    int ends[MOST], edges[4 * MOST], right[4], right_first[4];

    for (int i = 0; i < et.size; i++) {
        const int neighbors[] = { i, i ^ 1, i ^ 1, i };
        ends[i] = 4 * (i + 1);
        memcpy(edges + 4 * i, neighbors, sizeof(neighbors));
    }
    ET_MPI(MPI_Graph_create(MPI_COMM_WORLD, et.size, ends, edges, 0, &comm));
    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    in_degree = out_degree = 4;
    for (int i = 0; i < 4; i++) {
        const int neighbor = i == 0 || i == 3 ? rank : rank ^ 1;
        out[i] = 100 * rank + i;
        right[i] = 100 * neighbor + i;
        right_first[i] = 100 * neighbor;
    }
    compare(right, right_first);
    ET_MPI(MPI_Comm_free(&comm));
}

/* Rank 0 has three edges to the last rank. */
static void parallel(void)
{
    int sources[] = { 0, 0, 0 }, targets[] = { et.size - 1, et.size - 1, et.size - 1 }, right[] =
        { 7, 8, 9 };
    int right_first[] = { 7, 7, 7 };

    in_degree = et.rank == et.size - 1 ? 3 : 0;
    out_degree = et.rank == 0 ? 3 : 0;
    ET_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in_degree, sources, MPI_UNWEIGHTED,
                                          out_degree, targets,
                                          MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm));
    ET_MPI(MPI_Comm_size(comm, &size));
    for (int i = 0; i < 3; i++)
        out[i] = right[i];
    compare(right, right_first);
    ET_MPI(MPI_Comm_free(&comm));
}

int main(int argc, char **argv)
{
    const char *what = et_argument(argc, argv, "case", "degrees");

    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    ET_CHECK(et.size <= MOST, "at most %d processes", MOST);
    if (strcmp(what, "degrees") == 0)
        degrees();
    else if (strcmp(what, "cartesian") == 0)
        cartesian();
    else if (strcmp(what, "graph") == 0)
        graph();
    else
        parallel();
    if (et.rank == 0)
        et_log("PASS neighbors %s", what);
    ET_MPI(MPI_Finalize());
    return 0;
}
