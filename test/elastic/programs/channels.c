/*
 * SI9, DS5: processes of one host that were started apart talk through shared memory, and what is
 * sent so is as ordinary as any message: order, any source, probes, synchronous and cancelled ones,
 * long and scattered data, more than fits, windows.  --how spawn: by MPI_Comm_spawn, and on what is
 * merged from it; --how join: by process sets.  --channels 0: over the network, which the
 * performance variables distinguish.  --flood N: messages of a flood; over loopback fewer than fill
 * a connection's window, where libfabric's sockets provider can wait for ever
 * (doc/user/troubleshooting.md).
 */

#include "session_changes.h"

#define STARTED 2               /* of each kind */
#define LONG_BYTES (1 << 20)
#define TAG 7

static MPI_T_pvar_session tool;
static MPI_T_pvar_handle channels, sent;
static int with_channels, in_flood, rank, size;

static MPI_T_pvar_handle open_variable(const char *name, int class)
{
    MPI_T_pvar_handle handle;
    int index, count;

    ET_CHECK(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS, "no variable %s", name);
    ET_CHECK(MPI_T_pvar_handle_alloc(tool, index, NULL, &handle, &count) == MPI_SUCCESS,
             "no handle for %s", name);
    return handle;
}

static void open_variables(void)
{
    int provided;

    ET_CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS, "no MPI_T");
    ET_CHECK(MPI_T_pvar_session_create(&tool) == MPI_SUCCESS, "no session of MPI_T");
    channels = open_variable("shm_lanes", MPI_T_PVAR_CLASS_LEVEL);
    sent = open_variable("shm_lane_messages", MPI_T_PVAR_CLASS_COUNTER);
}

static unsigned long long count_sent(void)
{
    unsigned long long value;

    ET_CHECK(MPI_T_pvar_read(tool, sent, &value) == MPI_SUCCESS, "MPI_T_pvar_read");
    return value;
}

static void check_channels(int expected)
{
    unsigned value;

    ET_CHECK(MPI_T_pvar_read(tool, channels, &value) == MPI_SUCCESS, "MPI_T_pvar_read");
    ET_CHECK((int) value == (with_channels ? expected : 0), "%u channels", value);
}

/* ---- messages between all processes of a communicator ---------------------------------------- */

/* Every process sends so many messages to every other one, none of which is received before all
 * have been sent. */
static void flood(MPI_Comm comm, int from_any)
{
    MPI_Request *requests = malloc(sizeof(*requests) * (size_t) size * (size_t) in_flood);
    int (*values)[2] = malloc(sizeof(*values) * (size_t) size * (size_t) in_flood);
    int *next = calloc((size_t) size, sizeof(*next));
    int n = 0, value[2];
    MPI_Status status;

    ET_CHECK(requests && values && next, "no memory");
    for (int i = 0; i < in_flood; i++) {
        for (int to = 0; to < size; to++) {
            values[n][0] = rank;
            values[n][1] = i;
            if (to != rank)
                ET_MPI(MPI_Isend(values[n], 2, MPI_INT, to, TAG, comm, &requests[n]));
            n += to != rank;
        }
    }
    for (int i = 0; i < (size - 1) * in_flood; i++) {
        int from = from_any ? MPI_ANY_SOURCE : (rank + 1 + i / in_flood) % size;
        ET_MPI(MPI_Recv(value, 2, MPI_INT, from, from_any ? MPI_ANY_TAG : TAG, comm, &status));
        ET_CHECK(value[0] == status.MPI_SOURCE &&
                 value[1] == next[value[0]]++, "message %d of %d, from %d", value[1], value[0],
                 status.MPI_SOURCE);
    }
    ET_MPI(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
    ET_MPI(MPI_Barrier(comm));  /* any tag is of what comes next, too */
    free(requests);
    free(values);
    free(next);
}

/* Around the ring, of several sizes, by synchronous sends, too. */
static void ring(MPI_Comm comm, int synchronous)
{
    static const int bytes[] = { 0, 1, 4000, 65536, 69000, 70000, LONG_BYTES + 3, 17 };
    char *out = malloc(LONG_BYTES + 3), *in = malloc(LONG_BYTES + 3);
    int to = (rank + 1) % size, from = (rank + size - 1) % size, count;
    MPI_Request request;
    MPI_Status status;

    ET_CHECK(out && in, "no memory");
    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
        et_fill(out, (size_t) bytes[i], rank, (int) i);
        if (synchronous)
            ET_MPI(MPI_Issend(out, bytes[i], MPI_BYTE, to, (int) i, comm, &request));
        else
            ET_MPI(MPI_Isend(out, bytes[i], MPI_BYTE, to, (int) i, comm, &request));
        ET_MPI(MPI_Probe(from, MPI_ANY_TAG, comm, &status));
        ET_MPI(MPI_Get_count(&status, MPI_BYTE, &count));
        ET_CHECK(status.MPI_TAG == (int) i && count == bytes[i], "a probe returns %d bytes", count);
        ET_MPI(MPI_Recv(in, bytes[i], MPI_BYTE, from, (int) i, comm, MPI_STATUS_IGNORE));
        et_verify(in, (size_t) bytes[i], from, (int) i, "a message of the ring");
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    free(out);
    free(in);
}

/* Long ones, so many that each way of copying is used, at any address; received before they come
 * and after. */
static void long_ones(MPI_Comm comm)
{
    enum { ROUNDS = 60, EACH = 8, SLICE = 80000 };
    char *out = malloc(EACH * SLICE), *in = malloc(EACH * SLICE);
    int to = (rank + 1) % size, from = (rank + size - 1) % size, count;
    MPI_Request sends[EACH], receives[EACH];
    MPI_Status statuses[EACH];

    ET_CHECK(out && in, "no memory");
    for (int round = 0; round < ROUNDS; round++) {
        int bytes = 8 * (1000 + 131 * round), is_late = round % 2;
        for (int i = 0; i < EACH; i++) {
            et_fill(out + i * SLICE + round + i, (size_t) bytes, rank, round * EACH + i);
            ET_MPI(MPI_Isend(out + i * SLICE + round + i, bytes, MPI_BYTE, to, TAG + i, comm,
                             &sends[i]));
        }
        for (int i = 0; is_late && i < EACH; i++)
            ET_MPI(MPI_Probe(from, TAG + i, comm, MPI_STATUS_IGNORE));
        for (int i = 0; i < EACH; i++)
            ET_MPI(MPI_Irecv(in + i * SLICE + 3 * i, bytes / 8 + i, MPI_DOUBLE, from, TAG + i, comm,
                             &receives[i]));
        ET_MPI(MPI_Waitall(EACH, receives, statuses));
        for (int i = 0; i < EACH; i++) {
            ET_MPI(MPI_Get_count(&statuses[i], MPI_DOUBLE, &count));
            ET_CHECK(count == bytes / 8, "%d numbers of %d", count, bytes / 8);
            et_verify(in + i * SLICE + 3 * i, (size_t) bytes, from, round * EACH + i,
                      "a long message");
        }
        ET_MPI(MPI_Waitall(EACH, sends, MPI_STATUSES_IGNORE));
    }
    free(out);
    free(in);
}

/* For which there is no space: an error, and nothing is written after the end of the space. */
static void too_long(MPI_Comm comm)
{
    enum { BYTES = 60000, SLICE = 20000 };
    char *out = calloc(BYTES, 1), *in = malloc(BYTES);
    int to = (rank + 1) % size, from = (rank + size - 1) % size, class = MPI_SUCCESS;
    MPI_Request request;

    ET_CHECK(out && in, "no memory");
    memset(in, 1, BYTES);
    ET_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Isend(out, BYTES, MPI_BYTE, to, TAG, comm, &request));
    MPI_Error_class(MPI_Recv(in, SLICE, MPI_BYTE, from, TAG, comm, MPI_STATUS_IGNORE), &class);
    ET_CHECK(class == MPI_ERR_TRUNCATE, "class %d", class);
    for (int i = SLICE; i < BYTES; i++)
        ET_CHECK(in[i] == 1, "byte %d was written", i);
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL));
    free(out);
    free(in);
}

/* Every second element, into every third. */
static void scattered(MPI_Comm comm)
{
    enum { N = 60000 };
    int *out = calloc(2 * N, sizeof(int)), *in = calloc(3 * N, sizeof(int));
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Datatype second, third;

    ET_CHECK(out && in, "no memory");
    for (int i = 0; i < N; i++)
        out[2 * i] = rank * N + i;
    ET_MPI(MPI_Type_vector(N, 1, 2, MPI_INT, &second));
    ET_MPI(MPI_Type_vector(N, 1, 3, MPI_INT, &third));
    ET_MPI(MPI_Type_commit(&second));
    ET_MPI(MPI_Type_commit(&third));
    ET_MPI(MPI_Sendrecv(out, 1, second, to, TAG, in, 1, third, from, TAG, comm, MPI_STATUS_IGNORE));
    for (int i = 0; i < N; i++)
        ET_CHECK(in[3 * i] == from * N + i &&
                 (i == N - 1 || in[3 * i + 1] == 0), "element %d is %d", i, in[3 * i]);
    ET_MPI(MPI_Type_free(&second));
    ET_MPI(MPI_Type_free(&third));
    free(out);
    free(in);
}

static void to_itself(MPI_Comm comm)
{
    char out[100], in[100];

    et_fill(out, sizeof(out), rank, TAG);
    ET_MPI(MPI_Sendrecv(out, sizeof(out), MPI_BYTE, rank, TAG, in, sizeof(in), MPI_BYTE, rank, TAG,
                        comm, MPI_STATUS_IGNORE));
    et_verify(in, sizeof(in), rank, TAG, "a message to itself");
}

/* A receive that nothing comes for is cancelled; a matched probe takes its message out of what
 * others receive. */
static void cancelled(MPI_Comm comm)
{
    int to = (rank + 1) % size, from = (rank + size - 1) % size, flag, value = rank, first, second;
    MPI_Request request, sends[2];
    MPI_Message message;
    MPI_Status status;

    for (int any = 0; any < 2; any++) {
        ET_MPI(MPI_Irecv(&value, 1, MPI_INT, any ? MPI_ANY_SOURCE : from, TAG + 1, comm, &request));
        ET_MPI(MPI_Cancel(&request));
        ET_MPI(MPI_Wait(&request, &status));
        ET_MPI(MPI_Test_cancelled(&status, &flag));
        ET_CHECK(flag, "a receive was not cancelled");
    }
    first = 10 * rank;
    second = first + 1;
    ET_MPI(MPI_Isend(&first, 1, MPI_INT, to, TAG, comm, &sends[0]));
    ET_MPI(MPI_Isend(&second, 1, MPI_INT, to, TAG, comm, &sends[1]));
    ET_MPI(MPI_Mprobe(MPI_ANY_SOURCE, TAG, comm, &message, &status));
    ET_MPI(MPI_Recv(&value, 1, MPI_INT, from, TAG, comm, MPI_STATUS_IGNORE));
    ET_CHECK(value == 10 * from + 1, "%d after a matched probe", value);
    ET_MPI(MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    ET_CHECK(value == 10 * from, "%d by a matched probe", value);
    ET_MPI(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
}

/* Each writes into the windows of all, reads them, and adds to the first one. */
static void windows(MPI_Comm comm)
{
    int *memory, value, one = 1, sum = size;
    MPI_Win win;

    for (int kind = 0; kind < 2; kind++) {
        if (kind == 0) {
            ET_MPI(MPI_Win_allocate((size + 1) * (int) sizeof(int), sizeof(int), MPI_INFO_NULL,
                                    comm, &memory, &win));
        } else {
            memory = malloc((size_t) (size + 1) * sizeof(int));
            ET_MPI(MPI_Win_create(memory, (size + 1) * (int) sizeof(int), sizeof(int),
                                  MPI_INFO_NULL, comm, &win));
        }
        memset(memory, 0, (size_t) (size + 1) * sizeof(int));
        ET_MPI(MPI_Win_fence(0, win));
        for (int to = 0; to < size; to++)
            ET_MPI(MPI_Put(&rank, 1, MPI_INT, to, rank, 1, MPI_INT, win));
        ET_MPI(MPI_Win_fence(0, win));
        for (int i = 0; i < size; i++)
            ET_CHECK(memory[i] == i, "put by %d: %d", i, memory[i]);
        for (int from = 0; from < size; from++) {
            ET_MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, from, 0, win));
            ET_MPI(MPI_Get(&value, 1, MPI_INT, from, rank, 1, MPI_INT, win));
            ET_MPI(MPI_Win_unlock(from, win));
            ET_CHECK(value == rank, "got from %d: %d", from, value);
        }
        ET_MPI(MPI_Win_fence(0, win));
        ET_MPI(MPI_Accumulate(&one, 1, MPI_INT, 0, size, 1, MPI_INT, MPI_SUM, win));
        ET_MPI(MPI_Win_fence(0, win));
        ET_CHECK(rank || memory[size] == sum, "the sum is %d", memory[size]);
        ET_MPI(MPI_Win_free(&win));
        if (kind == 1)
            free(memory);
    }
}

static void exercise(MPI_Comm comm, const char *name, int others)
{
    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    unsigned long long before = count_sent();
    flood(comm, 0);
    ET_CHECK((count_sent() - before >= (unsigned long long) in_flood * (unsigned) others) ==
             with_channels, "%s: %llu messages were sent on channels", name, count_sent() - before);
    flood(comm, 1);
    for (int synchronous = 0; synchronous < 2; synchronous++)
        ring(comm, synchronous);
    long_ones(comm);
    too_long(comm);
    scattered(comm);
    to_itself(comm);
    cancelled(comm);
    et_exercise(comm, name);
    windows(comm);
}

/* ---- who is started apart -------------------------------------------------------------------- */

static int by_spawn(int argc, char **argv)
{
    MPI_Comm parent, inter, merged;
    int errors[STARTED];

    ET_MPI(MPI_Init(&argc, &argv));
    open_variables();
    ET_MPI(MPI_Comm_get_parent(&parent));
    inter = parent;
    if (parent == MPI_COMM_NULL)
        ET_MPI(MPI_Comm_spawn(argv[0], argv + 1, STARTED, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                              errors));
    check_channels(STARTED);
    et_exercise_inter(inter, parent == MPI_COMM_NULL, "parents and children");
    ET_MPI(MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &merged));
    exercise(merged, "merged", STARTED);
    ET_MPI(MPI_Comm_free(&merged));
    ET_MPI(MPI_Comm_disconnect(&inter));
    et_world_changed();
    et_exercise(MPI_COMM_WORLD, "the world");
    if (parent == MPI_COMM_NULL && et.rank == 0)
        et_log("PASS channels");
    ET_MPI(MPI_Finalize());
    return 0;
}

static int by_joining(void)
{
    pset_name set = "mpi://WORLD", delta;
    MPI_Comm comm;

    open_session();
    open_variables();
    int joins = is_joining_process(delta);
    if (joins) {
        ET_CHECK(session_value("app_set", set), "no set");
    } else {
        MPI_Comm before = connect_set("mpi://WORLD", "before");
        check_channels(0);
        ET_MPI(MPI_Comm_rank(before, &rank));
        if (rank == 0) {
            struct change change = await_change("mpi://WORLD");
            set_after("mpi://WORLD", &change, set);
            accept_change(&change, "app_set", set);
        }
        ET_MPI(MPI_Bcast(set, sizeof(set), MPI_CHAR, 0, before));
        ET_MPI(MPI_Comm_free(&before));
    }
    comm = connect_set(set, "all");
    check_channels(STARTED);       /* to the other start group */
    exercise(comm, "a communicator over start groups", STARTED);
    check_channels(STARTED);
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS channels");
    return 0;
}

int main(int argc, char **argv)
{
    with_channels = et_number(argc, argv, "channels", 1) != 0;
    in_flood = (int) et_number(argc, argv, "flood", 3000);
    return strcmp(et_argument(argc, argv, "how", "join"), "spawn") ? by_joining()
        : by_spawn(argc, argv);
}
