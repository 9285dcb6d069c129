/*
 * C4: a communicator that ended with an adaptation, used in every kind of operation that takes one:
 * MPI_ERR_COMM, and the message names the adaptation.  No operation crashes, hangs or creates
 * anything.  Intracommunicator, Cartesian and graph topologies, intercommunicator.
 */

#include "elastic_test.h"

static MPI_Comm plain, cart, graph, inter;
static int stale_epoch;

/* Every operation of a kind, with arguments that would be right for a live communicator. */
#define GONE(call) ET_ERROR(call, MPI_ERR_COMM, "adaptation")

static void inquiries(MPI_Comm comm)
{
    int value = 0, length, flag;
    char name[MPI_MAX_OBJECT_NAME];
    void *attribute;
    MPI_Group group;
    MPI_Info info;
    MPI_Errhandler handler;

    GONE(MPI_Comm_size(comm, &value));
    GONE(MPI_Comm_rank(comm, &value));
    GONE(MPI_Comm_remote_size(comm, &value));
    GONE(MPI_Comm_group(comm, &group));
    GONE(MPI_Comm_remote_group(comm, &group));
    GONE(MPI_Comm_test_inter(comm, &flag));
    GONE(MPI_Comm_compare(comm, MPI_COMM_WORLD, &value));
    GONE(MPI_Comm_compare(MPI_COMM_WORLD, comm, &value));
    GONE(MPI_Comm_get_name(comm, name, &length));
    GONE(MPI_Comm_set_name(comm, "name"));
    GONE(MPI_Comm_get_info(comm, &info));
    GONE(MPI_Comm_set_info(comm, MPI_INFO_ENV));
    GONE(MPI_Comm_get_errhandler(comm, &handler));
    GONE(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    GONE(MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER));
    GONE(MPI_Comm_get_attr(comm, MPI_TAG_UB, &attribute, &flag));
    GONE(MPI_Topo_test(comm, &value));
}

static void messages(MPI_Comm comm)
{
    int value = 1, flag;
    MPI_Request request;
    MPI_Message message;

    GONE(MPI_Send(&value, 1, MPI_INT, 0, 0, comm));
    GONE(MPI_Ssend(&value, 1, MPI_INT, 0, 0, comm));
    GONE(MPI_Bsend(&value, 1, MPI_INT, 0, 0, comm));
    GONE(MPI_Rsend(&value, 1, MPI_INT, 0, 0, comm));
    GONE(MPI_Recv(&value, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE));
    GONE(MPI_Sendrecv(&value, 1, MPI_INT, 0, 0, &flag, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE));
    GONE(MPI_Sendrecv_replace(&value, 1, MPI_INT, 0, 0, 0, 0, comm, MPI_STATUS_IGNORE));
    GONE(MPI_Isend(&value, 1, MPI_INT, 0, 0, comm, &request));
    GONE(MPI_Issend(&value, 1, MPI_INT, 0, 0, comm, &request));
    GONE(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, &request));
    GONE(MPI_Send_init(&value, 1, MPI_INT, 0, 0, comm, &request));
    GONE(MPI_Recv_init(&value, 1, MPI_INT, 0, 0, comm, &request));
    GONE(MPI_Psend_init(&value, 1, 1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &request));
    GONE(MPI_Precv_init(&value, 1, 1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &request));
    GONE(MPI_Probe(0, 0, comm, MPI_STATUS_IGNORE));
    GONE(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE));
    GONE(MPI_Mprobe(0, 0, comm, &message, MPI_STATUS_IGNORE));
    GONE(MPI_Improbe(0, 0, comm, &flag, &message, MPI_STATUS_IGNORE));
    /* also where nothing would be sent */
    GONE(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, comm));
}

static void collectives(MPI_Comm comm)
{
    int mine = 1, got[64], counts[64] = { 0 };
    MPI_Request request;

    GONE(MPI_Barrier(comm));
    GONE(MPI_Bcast(&mine, 1, MPI_INT, 0, comm));
    GONE(MPI_Reduce(&mine, got, 1, MPI_INT, MPI_SUM, 0, comm));
    GONE(MPI_Allreduce(&mine, got, 1, MPI_INT, MPI_SUM, comm));
    GONE(MPI_Gather(&mine, 1, MPI_INT, got, 1, MPI_INT, 0, comm));
    GONE(MPI_Gatherv(&mine, 1, MPI_INT, got, counts, counts, MPI_INT, 0, comm));
    GONE(MPI_Scatter(got, 1, MPI_INT, &mine, 1, MPI_INT, 0, comm));
    GONE(MPI_Allgather(&mine, 1, MPI_INT, got, 1, MPI_INT, comm));
    GONE(MPI_Allgatherv(&mine, 1, MPI_INT, got, counts, counts, MPI_INT, comm));
    GONE(MPI_Alltoall(counts, 1, MPI_INT, got, 1, MPI_INT, comm));
    GONE(MPI_Alltoallv(counts, counts, counts, MPI_INT, got, counts, counts, MPI_INT, comm));
    GONE(MPI_Reduce_scatter_block(counts, got, 1, MPI_INT, MPI_SUM, comm));
    GONE(MPI_Scan(&mine, got, 1, MPI_INT, MPI_SUM, comm));
    GONE(MPI_Exscan(&mine, got, 1, MPI_INT, MPI_SUM, comm));
    GONE(MPI_Ibarrier(comm, &request));
    GONE(MPI_Ibcast(&mine, 1, MPI_INT, 0, comm, &request));
    GONE(MPI_Iallreduce(&mine, got, 1, MPI_INT, MPI_SUM, comm, &request));
    GONE(MPI_Ialltoall(counts, 1, MPI_INT, got, 1, MPI_INT, comm, &request));
    GONE(MPI_Barrier_init(comm, MPI_INFO_NULL, &request));
    GONE(MPI_Allreduce_init(&mine, got, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    GONE(MPI_Neighbor_allgather(&mine, 1, MPI_INT, got, 1, MPI_INT, comm));
    GONE(MPI_Ineighbor_alltoall(counts, 1, MPI_INT, got, 1, MPI_INT, comm, &request));
}

static void constructors(MPI_Comm comm)
{
    int dims[1] = { 1 }, periods[1] = { 0 }, index[1] = { 0 }, edges[1] = { 0 };
    char base[8], port[MPI_MAX_PORT_NAME] = "";
    void *memory;
    MPI_Comm made;
    MPI_Group world;
    MPI_Win win;
    MPI_File file;
    MPI_Request request;

    GONE(MPI_Comm_dup(comm, &made));
    GONE(MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &made));
    GONE(MPI_Comm_idup(comm, &made, &request));
    GONE(MPI_Comm_split(comm, 0, 0, &made));
    GONE(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
    ET_MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
    GONE(MPI_Comm_create(comm, world, &made));
    GONE(MPI_Comm_create_group(comm, world, 0, &made));
    ET_MPI(MPI_Group_free(&world));
    GONE(MPI_Intercomm_create(comm, 0, MPI_COMM_WORLD, 0, 0, &made));
    GONE(MPI_Intercomm_create(MPI_COMM_SELF, 0, comm, 0, 0, &made));
    GONE(MPI_Intercomm_merge(comm, 0, &made));
    GONE(MPI_Cart_create(comm, 1, dims, periods, 0, &made));
    GONE(MPI_Graph_create(comm, 1, index, edges, 0, &made));
    GONE(MPI_Dist_graph_create_adjacent(comm, 0, edges, edges, 0, edges, edges, MPI_INFO_NULL, 0,
                                        &made));
    GONE(MPI_Cart_map(comm, 1, dims, periods, index));
    GONE(MPI_Win_create(base, 8, 1, MPI_INFO_NULL, comm, &win));
    GONE(MPI_Win_allocate(8, 1, MPI_INFO_NULL, comm, &memory, &win));
    GONE(MPI_Win_allocate_shared(8, 1, MPI_INFO_NULL, comm, &memory, &win));
    GONE(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win));
    GONE(MPI_File_open(comm, "nothing", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    GONE(MPI_Comm_spawn("nothing", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, comm, &made,
                        MPI_ERRCODES_IGNORE));
    GONE(MPI_Comm_accept(port, MPI_INFO_NULL, 0, comm, &made));
    GONE(MPI_Comm_connect(port, MPI_INFO_NULL, 0, comm, &made));
}

static void topologies(void)
{
    int n, m, values[8];

    GONE(MPI_Cartdim_get(cart, &n));
    GONE(MPI_Cart_get(cart, 1, values, values + 1, values + 2));
    values[0] = 0;
    GONE(MPI_Cart_rank(cart, values, &n));
    GONE(MPI_Cart_coords(cart, 0, 1, values));
    GONE(MPI_Cart_shift(cart, 0, 1, &n, &m));
    values[0] = 1;
    MPI_Comm made;
    GONE(MPI_Cart_sub(cart, values, &made));
    GONE(MPI_Graphdims_get(graph, &n, &m));
    GONE(MPI_Graph_neighbors_count(graph, 0, &n));
    GONE(MPI_Graph_neighbors(graph, 0, 8, values));
    GONE(MPI_Dist_graph_neighbors_count(graph, &n, &m, values));
}

static void all_kinds(MPI_Comm comm)
{
    inquiries(comm);
    messages(comm);
    collectives(comm);
    constructors(comm);
}

static void make(void)
{
    int dims[1], periods[1] = { 1 }, *index, *edges;

    ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &plain));
    ET_MPI(MPI_Comm_set_name(plain, "plain"));
    dims[0] = et.size;
    ET_MPI(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &cart));
    index = malloc(et.size * sizeof(int));
    edges = malloc(et.size * sizeof(int));
    for (int i = 0; i < et.size; i++) {
        index[i] = i + 1;
        edges[i] = (i + 1) % et.size;
    }
    ET_MPI(MPI_Graph_create(MPI_COMM_WORLD, et.size, index, edges, 0, &graph));
    free(index);
    free(edges);
    inter = MPI_COMM_NULL;
    if (et.size > 1) {
        MPI_Comm half;
        ET_MPI(MPI_Comm_split(MPI_COMM_WORLD, et.rank == 0, 0, &half));
        ET_MPI(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, et.rank == 0, 5, &inter));
        ET_MPI(MPI_Comm_free(&half));
        /* its local communicator exists, too */
        ET_MPI(MPI_Barrier(inter));
    }
    stale_epoch = et.epoch + 1;
}

static void names_epoch(void)
{
    char text[MPI_MAX_ERROR_STRING], word[32];
    int length, size, error = MPI_Comm_size(plain, &size);

    ET_MPI(MPI_Error_string(error, text, &length));
    snprintf(word, sizeof(word), "adaptation %d", stale_epoch);
    ET_CHECK(strstr(text, word), "the message does not contain '%s': %s", word, text);
    ET_CHECK(strstr(text, "plain"), "the message does not contain the name: %s", text);
}

static void release(MPI_Comm * comm)
{
    if (*comm == MPI_COMM_NULL)
        return;
    ET_MPI(MPI_Comm_free(comm));
    ET_CHECK(*comm == MPI_COMM_NULL, "freeing left a handle");
}

static void after(void)
{
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    if (plain != MPI_COMM_NULL) {
        names_epoch();
        all_kinds(plain);
        all_kinds(cart);
        topologies();
        if (inter != MPI_COMM_NULL)
            all_kinds(inter);
        /* disconnecting is freeing */
        ET_MPI(MPI_Comm_disconnect(&plain));
        ET_CHECK(plain == MPI_COMM_NULL, "disconnecting left a handle");
        release(&cart);
        release(&graph);
        release(&inter);
    }
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    make();
    et_exercise(plain, "a communicator made after the errors");
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    plain = cart = graph = inter = MPI_COMM_NULL;
    if (et.status == MPI_ADAPT_STATUS_NEW)
        make();
    et.after = after;
    return et_run();
}
