/*
 * SI9: what is made of processes that were started apart is an ordinary communicator: hosts, shared
 * memory, one-sided communication, files, topologies, further processes.
 *
 * --how join: processes of the launch and those that are added, over process sets; --how spawn:
 * parents and children, merged; --how part: the first two of a launch, that have no world.  --case
 * states what is read; --hosts N: on how many hosts they are (as mpiexec takes them).
 */

#include "session_changes.h"

#define SPAWNED 2

static int rank, size;
static const char *wanted;

static int is_wanted(const char *name)
{
    return !strcmp(wanted, "all") || !strcmp(wanted, name);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

/* As mpiexec calls it, which is what decides where several hosts are on one machine. */
static uint64_t host_of_this_process(void)
{
    const char *name = getenv("MPIR_CVAR_CH3_INTERFACE_HOSTNAME");
    uint64_t hash = 5381;

    ET_CHECK(name, "mpiexec does not state on which host this is");
    for (; *name; name++)
        hash = hash * 33 + (unsigned char) *name;
    return hash;
}

/* The processes of each host find each other, in the order of their ranks and in no other group. */
static MPI_Comm split_hosts(MPI_Comm comm, long expected)
{
    uint64_t *hosts = malloc(sizeof(*hosts) * (size_t) size), own = host_of_this_process();
    int here_rank, here_size, first = 0, n_here = 0, n_before = 0, n_hosts, is_first;
    MPI_Comm here;

    ET_CHECK(hosts, "no memory");
    ET_MPI(MPI_Allgather(&own, 1, MPI_UINT64_T, hosts, 1, MPI_UINT64_T, comm));
    for (int i = 0; i < size; i++) {
        n_here += hosts[i] == own;
        n_before += hosts[i] == own && i < rank;
    }
    while (hosts[first] != own)
        first++;
    is_first = first == rank;
    ET_MPI(MPI_Allreduce(&is_first, &n_hosts, 1, MPI_INT, MPI_SUM, comm));
    ET_CHECK(n_hosts == expected, "%d hosts, not %ld", n_hosts, expected);
    ET_MPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here));
    ET_MPI(MPI_Comm_size(here, &here_size));
    ET_MPI(MPI_Comm_rank(here, &here_rank));
    ET_CHECK(here_size == n_here &&
             here_rank == n_before, "rank %d of %d on its host, not %d of %d", here_rank, here_size,
             n_before, n_here);
    et_exercise(here, "the processes of a host");
    free(hosts);
    return here;
}

/* ---- collective operations ------------------------------------------------------------------- */

/* Around one cell of shared memory (8 kB, 128 bytes of which are upstream's) and two, behind which
 * they go another way, and short ones between; by all roots, whose data may be scattered in memory
 * where those of others are not. */
static void broadcasts(MPI_Comm comm)
{
    static const int numbers[] = { 2015, 2016, 2017, 1, 2048, 4032, 1, 4033, 4096, 20000 };
    enum { MOST = 20000 };
    int *data = malloc(2 * MOST * sizeof(*data)), value;
    MPI_Datatype second;

    ET_CHECK(data, "no memory");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        int n = numbers[i];
        ET_MPI(MPI_Type_vector(n, 1, 2, MPI_INT, &second));
        ET_MPI(MPI_Type_commit(&second));
        for (int root = 0; root < size; root++) {
            int step = (rank + root) % 2 + 1;
            for (int k = 0; k < n; k++)
                data[k * step] = rank == root ? root * MOST + k : -1;
            ET_MPI(MPI_Bcast(data, step == 2 ? 1 : n, step == 2 ? second : MPI_INT, root, comm));
            for (int k = 0; k < n; k++)
                ET_CHECK(data[k * step] == root * MOST + k, "%d of %d, by %d: %d", k, n, root,
                         data[k * step]);
            ET_MPI(MPI_Allreduce(&rank, &value, 1, MPI_INT, MPI_MAX, comm));
            ET_CHECK(value == size - 1, "maximum after %d numbers: %d", n, value);
        }
        ET_MPI(MPI_Type_free(&second));
    }
    free(data);
}

/* All roots, short and long, an operation that does not commute, and subsets. */
static void collectives(MPI_Comm comm)
{
    enum { LONG = 50000 };
    int *data = malloc(LONG * sizeof(*data)), *all =
        malloc(sizeof(*all) * (size_t) (LONG > size ? LONG : size));
    MPI_Comm part;

    ET_CHECK(data && all, "no memory");
    for (int round = 0; round < 12; round++) {  /* what is chosen may change after some */
        for (int root = 0; root < size; root++) {
            int n = round % 2 ? LONG : 1 + round, sum;
            for (int i = 0; i < n; i++)
                data[i] = rank == root ? root + i : -1;
            ET_MPI(MPI_Bcast(data, n, MPI_INT, root, comm));
            ET_CHECK(data[0] == root &&
                     data[n - 1] == root + n - 1, "broadcast of %d: %d", root, data[n - 1]);
            ET_MPI(MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, root, comm));
            ET_CHECK(rank != root || sum == size * (size - 1) / 2, "sum at %d: %d", root, sum);
            ET_MPI(MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, root, comm));
            for (int i = 0; i < size && rank == root; i++)
                ET_CHECK(all[i] == i, "gathered from %d: %d", i, all[i]);
            ET_MPI(MPI_Barrier(comm));
        }
        for (int i = 0; i < LONG; i++)
            data[i] = rank;
        ET_MPI(MPI_Allreduce(data, all, round % 2 ? LONG : 1, MPI_INT, MPI_MAX, comm));
        ET_CHECK(all[0] == size - 1 &&
                 (round % 2 == 0 || all[LONG - 1] == size - 1), "maximum: %d", all[0]);
        int before = -1;
        ET_MPI(MPI_Exscan(&rank, &before, 1, MPI_INT, MPI_SUM, comm));
        ET_CHECK(rank == 0 || before == rank * (rank - 1) / 2, "exscan: %d", before);
    }
    broadcasts(comm);
    MPI_Request request;
    ET_MPI(MPI_Comm_idup(comm, &part, &request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    et_exercise(part, "a copy");
    ET_MPI(MPI_Comm_free(&part));
    ET_MPI(MPI_Comm_split(comm, rank % 2, -rank, &part));
    et_exercise(part, "a part");
    ET_MPI(MPI_Comm_free(&part));
    free(data);
    free(all);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Each stores into the memory of all others of its host, who see it. */
static void shared_memory(MPI_Comm here)
{
    int here_rank, here_size, unit, *own, *others;
    MPI_Aint bytes;
    MPI_Win win;

    ET_MPI(MPI_Comm_rank(here, &here_rank));
    ET_MPI(MPI_Comm_size(here, &here_size));
    ET_MPI(MPI_Win_allocate_shared((MPI_Aint) sizeof(int) * here_size, sizeof(int), MPI_INFO_NULL,
                                   here, &own, &win));
    ET_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    for (int to = 0; to < here_size; to++) {
        ET_MPI(MPI_Win_shared_query(win, to, &bytes, &unit, &others));
        ET_CHECK(bytes == (MPI_Aint) sizeof(int) * here_size &&
                 unit == sizeof(int), "%ld bytes", (long) bytes);
        others[here_rank] = 100 * here_rank + to;
    }
    ET_MPI(MPI_Win_sync(win));
    ET_MPI(MPI_Barrier(here));
    ET_MPI(MPI_Win_sync(win));
    for (int from = 0; from < here_size; from++)
        ET_CHECK(own[from] == 100 * from + here_rank, "stored by %d: %d", from, own[from]);
    ET_MPI(MPI_Win_unlock_all(win));
    ET_MPI(MPI_Barrier(here));
    int one = 1, sum;
    ET_MPI(MPI_Win_fence(0, win));
    own[0] = 0;
    ET_MPI(MPI_Win_fence(0, win));
    ET_MPI(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    ET_MPI(MPI_Win_fence(0, win));
    ET_MPI(MPI_Get(&sum, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    ET_MPI(MPI_Win_fence(0, win));
    ET_CHECK(sum == here_size, "the sum of %d processes is %d", here_size, sum);
    ET_MPI(MPI_Win_free(&win));
}

/* The target is in no call of MPI while others put into its memory and see it there: by load and
 * store. */
static void without_target(MPI_Comm here)
{
    int here_rank, here_size, value, *memory;
    MPI_Win win;

    ET_MPI(MPI_Comm_rank(here, &here_rank));
    ET_MPI(MPI_Comm_size(here, &here_size));
    ET_MPI(MPI_Win_allocate((MPI_Aint) sizeof(int) * here_size, sizeof(int), MPI_INFO_NULL, here,
                            &memory, &win));
    memset(memory, 0, sizeof(int) * (size_t) here_size);
    ET_MPI(MPI_Barrier(here));
    ET_MPI(MPI_Win_lock_all(MPI_MODE_NOCHECK, win));
    ET_MPI(MPI_Barrier(here));
    if (here_rank == 0) {
        for (int i = 1; i < here_size; i++) {
            double end = et_seconds() + et.patience_s;
            while (__atomic_load_n(&memory[i], __ATOMIC_ACQUIRE) != i) {
                ET_CHECK(et_seconds() < end,
                         "nothing comes from %d while this process calls nothing", i);
                et_sleep_ms(0.1);
            }
        }
    } else {
        ET_MPI(MPI_Put(&here_rank, 1, MPI_INT, 0, here_rank, 1, MPI_INT, win));
        ET_MPI(MPI_Win_flush(0, win));
        ET_MPI(MPI_Get(&value, 1, MPI_INT, 0, here_rank, 1, MPI_INT, win));
        ET_MPI(MPI_Win_flush(0, win));
        ET_CHECK(value == here_rank, "got %d", value);
    }
    ET_MPI(MPI_Win_unlock_all(win));
    ET_MPI(MPI_Win_free(&win));
}

/* Any process of any host; atomic operations from all at once, by locks and by active targets. */
static void windows(MPI_Comm comm)
{
    enum { TIMES = 50 };
    int *memory, own[2], one = 1, old;
    MPI_Win win;

    for (int kind = 0; kind < 3; kind++) {
        memory = own;
        if (kind == 0) {
            ET_MPI(MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &memory,
                                    &win));
        } else if (kind == 1) {
            ET_MPI(MPI_Win_create(own, sizeof(own), sizeof(int), MPI_INFO_NULL, comm, &win));
        } else {
            ET_MPI(MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win));
            ET_MPI(MPI_Win_attach(win, own, sizeof(own)));
        }
        MPI_Aint *at = calloc((size_t) size, sizeof(*at)), address;
        ET_CHECK(at, "no memory");
        if (kind == 2) {
            ET_MPI(MPI_Get_address(own, &address));
            ET_MPI(MPI_Allgather(&address, 1, MPI_AINT, at, 1, MPI_AINT, comm));
        }
        MPI_Aint unit = kind == 2 ? sizeof(int) : 1;
        memory[0] = memory[1] = 0;
        ET_MPI(MPI_Win_fence(0, win));
        ET_MPI(MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, at[(rank + 1) % size] + unit, 1,
                       MPI_INT, win));
        ET_MPI(MPI_Win_fence(0, win));
        ET_CHECK(memory[1] == (rank + size - 1) % size, "window %d: put %d", kind, memory[1]);
        for (int i = 0; i < TIMES; i++) {
            int to = (rank + i) % size;
            ET_MPI(MPI_Win_lock(i % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, to, 0, win));
            ET_MPI(MPI_Fetch_and_op(&one, &old, MPI_INT, to, at[to], MPI_SUM, win));
            ET_MPI(MPI_Win_unlock(to, win));
        }
        ET_MPI(MPI_Barrier(comm));
        int mine, sum;
        ET_MPI(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
        ET_MPI(MPI_Get(&mine, 1, MPI_INT, rank, at[rank], 1, MPI_INT, win));
        ET_MPI(MPI_Win_unlock(rank, win));
        ET_MPI(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
        ET_CHECK(sum == size * TIMES, "window %d: %d of %d were added", kind, sum, size * TIMES);
        if (kind == 2)
            ET_MPI(MPI_Win_detach(win, own));
        ET_MPI(MPI_Win_free(&win));
        free(at);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static void files(MPI_Comm comm)
{
    enum { BLOCK = 1000 };
    int data[BLOCK], all;
    char name[256] = "";
    const char *folder = getenv("TMPDIR");
    MPI_File file;
    MPI_Datatype every;

    if (rank == 0)
        snprintf(name, sizeof(name), "%s/session_hosts.data", folder ? folder : "/tmp");
    ET_MPI(MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, comm));
    ET_MPI(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &file));
    ET_MPI(MPI_Type_vector(BLOCK, 1, size, MPI_INT, &every));
    ET_MPI(MPI_Type_commit(&every));
    for (int i = 0; i < BLOCK; i++)
        data[i] = i * size + rank;
    ET_MPI(MPI_File_set_view(file, rank * (MPI_Offset) sizeof(int), MPI_INT, every, "native",
                             MPI_INFO_NULL));
    ET_MPI(MPI_File_write_all(file, data, BLOCK, MPI_INT, MPI_STATUS_IGNORE));
    ET_MPI(MPI_File_sync(file));
    ET_MPI(MPI_Barrier(comm));
    ET_MPI(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    MPI_Offset at = (MPI_Offset) (size - 1 - rank) * BLOCK;
    ET_MPI(MPI_File_read_at_all(file, at, data, BLOCK, MPI_INT, MPI_STATUS_IGNORE));
    for (int i = 0; i < BLOCK; i++)
        ET_CHECK(data[i] == at + i, "element %d of the file is %d", (int) at + i, data[i]);
    ET_MPI(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    ET_MPI(MPI_File_read_shared(file, &all, 1, MPI_INT, MPI_STATUS_IGNORE));
    int sum;
    ET_MPI(MPI_Allreduce(&all, &sum, 1, MPI_INT, MPI_SUM, comm));
    ET_CHECK(sum == size * (size - 1) / 2, "a shared pointer gave %d in all", sum);
    ET_MPI(MPI_Type_free(&every));
    ET_MPI(MPI_File_close(&file));
}

/* ---- topologies ------------------------------------------------------------------------------ */

static void topologies(MPI_Comm comm)
{
    int dims[2] = { 0, 0 }, periods[2] = { 1, 1 }, before, after, got[2] =
        { -1, -1 }, neighbours[2];
    MPI_Comm grid, row, ring;

    ET_MPI(MPI_Dims_create(size, 2, dims));
    ET_MPI(MPI_Cart_create(comm, 2, dims, periods, 1, &grid));
    int coords[2], grid_rank, row_size;
    ET_MPI(MPI_Comm_rank(grid, &grid_rank));
    ET_MPI(MPI_Cart_coords(grid, grid_rank, 2, coords));
    ET_MPI(MPI_Cart_shift(grid, 0, 1, &before, &after));
    ET_MPI(MPI_Sendrecv(coords, 2, MPI_INT, after, 0, got, 2, MPI_INT, before, 0, grid,
                        MPI_STATUS_IGNORE));
    ET_CHECK(got[0] == (coords[0] + dims[0] - 1) % dims[0] && got[1] == coords[1], "from (%d,%d)",
             got[0], got[1]);
    ET_MPI(MPI_Cart_sub(grid, (int[]) { 0, 1 }, &row));
    ET_MPI(MPI_Comm_size(row, &row_size));
    ET_CHECK(row_size == dims[1], "%d in a row of %d", row_size, dims[1]);
    et_exercise(row, "a row");
    neighbours[0] = (rank + size - 1) % size;
    neighbours[1] = (rank + 1) % size;
    ET_MPI(MPI_Dist_graph_create_adjacent(comm, 2, neighbours, MPI_UNWEIGHTED, 2, neighbours,
                                          MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring));
    ET_MPI(MPI_Neighbor_allgather(&rank, 1, MPI_INT, got, 1, MPI_INT, ring));
    ET_CHECK(got[0] == neighbours[0] &&
             got[1] == neighbours[1], "neighbours %d and %d", got[0], got[1]);
    ET_MPI(MPI_Comm_free(&ring));
    ET_MPI(MPI_Comm_free(&row));
    ET_MPI(MPI_Comm_free(&grid));
}

/* ---- intercommunicators ---------------------------------------------------------------------- */

static void intercommunicators(MPI_Comm comm)
{
    MPI_Comm half, inter, merged;
    int odd = rank % 2, value = 0, merged_size;

    ET_MPI(MPI_Comm_split(comm, odd, rank, &half));
    ET_MPI(MPI_Intercomm_create(half, 0, comm, !odd, 3, &inter));
    et_exercise_inter(inter, !odd, "even and odd ranks");
    int root = odd ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    if (rank == 0)
        value = 17;
    ET_MPI(MPI_Bcast(&value, 1, MPI_INT, root, inter));
    ET_CHECK(value == 17 || (!odd && rank), "broadcast to the other side: %d", value);
    ET_MPI(MPI_Intercomm_merge(inter, odd, &merged));
    ET_MPI(MPI_Comm_size(merged, &merged_size));
    ET_CHECK(merged_size == size, "%d merged", merged_size);
    et_exercise(merged, "merged halves");
    ET_MPI(MPI_Comm_free(&merged));
    ET_MPI(MPI_Comm_free(&inter));
    ET_MPI(MPI_Comm_free(&half));
}

/* ---- further processes ----------------------------------------------------------------------- */

static char **own_argv;

/* They come back as children of all, whose hosts they are on, too. */
static void child(void)
{
    MPI_Comm parent, merged;

    ET_MPI(MPI_Init(NULL, NULL));
    ET_MPI(MPI_Comm_get_parent(&parent));
    ET_CHECK(parent != MPI_COMM_NULL, "no parent");
    ET_MPI(MPI_Intercomm_merge(parent, 1, &merged));
    ET_MPI(MPI_Comm_rank(merged, &rank));
    ET_MPI(MPI_Comm_size(merged, &size));
    collectives(merged);
    ET_MPI(MPI_Comm_free(&merged));
    ET_MPI(MPI_Comm_disconnect(&parent));
    ET_MPI(MPI_Finalize());
}

static void spawns(MPI_Comm comm)
{
    char *arguments[] = { "--child", "1", NULL };
    MPI_Comm children, merged;
    int errors[SPAWNED], old_rank = rank, old_size = size;

    ET_MPI(MPI_Comm_spawn(own_argv[0], arguments, SPAWNED, MPI_INFO_NULL, 0, comm, &children,
                          errors));
    ET_MPI(MPI_Intercomm_merge(children, 0, &merged));
    ET_MPI(MPI_Comm_rank(merged, &rank));
    ET_MPI(MPI_Comm_size(merged, &size));
    ET_CHECK(rank == old_rank &&
             size == old_size + SPAWNED, "rank %d of %d with children", rank, size);
    collectives(merged);
    ET_MPI(MPI_Comm_free(&merged));
    ET_MPI(MPI_Comm_disconnect(&children));
    rank = old_rank;
    size = old_size;
}

/* ---- who they are ---------------------------------------------------------------------------- */

static void check(MPI_Comm comm, long n_hosts)
{
    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    if (is_wanted("memory")) {
        MPI_Comm here = split_hosts(comm, n_hosts);
        shared_memory(here);
        without_target(here);
        ET_MPI(MPI_Comm_free(&here));
    }
    if (is_wanted("collectives"))
        collectives(comm);
    if (is_wanted("windows"))
        windows(comm);
    if (is_wanted("files"))
        files(comm);
    if (is_wanted("topologies"))
        topologies(comm);
    if (is_wanted("inter"))
        intercommunicators(comm);
    if (is_wanted("spawns"))
        spawns(comm);
}

/* A window of a group has no communicator that the program knows. */
static void window_of_group(const char *set, long n_hosts)
{
    MPI_Group group;
    MPI_Win win;
    int *memory, *others, unit, last = 0;
    MPI_Aint bytes;

    if (n_hosts > 1)
        return;
    ET_MPI(MPI_Group_from_session_pset(session, set, &group));
    ET_MPI(MPIX_Win_allocate_shared_from_group(group, "shared", sizeof(int), sizeof(int),
                                               MPI_INFO_NULL, MPI_ERRORS_RETURN, &memory, &win));
    ET_MPI(MPI_Group_free(&group));
    *memory = rank;
    ET_MPI(MPI_Win_fence(0, win));
    ET_MPI(MPI_Win_shared_query(win, (rank + 1) % size, &bytes, &unit, &others));
    last = *others;
    ET_MPI(MPI_Win_fence(0, win));
    ET_CHECK(last == (rank + 1) % size, "the memory of the next one holds %d", last);
    ET_MPI(MPI_Win_free(&win));
}

/* They agree on the set, and are notified of it; the joining ones by the accept. */
static void by_joining(long n_hosts)
{
    pset_name set, delta;
    MPI_Comm before, comm;

    open_session();
    if (is_joining_process(delta)) {
        ET_CHECK(session_value("app_set", set), "no set");
    } else {
        before = connect_set("mpi://WORLD", "before");
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
    check(comm, n_hosts);
    if (is_wanted("memory"))
        window_of_group(set, n_hosts);
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Session_finalize(&session));
}

/* The others may have ended before. */
static void by_parts(long n_hosts)
{
    MPI_Group all, part;
    MPI_Comm comm;

    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
    ET_MPI(MPI_Group_rank(all, &rank));
    if (rank < 2) {
        ET_MPI(MPI_Group_incl(all, 2, (int[]) { 1, 0 }, &part));
        ET_MPI(MPI_Comm_create_from_group(part, "part", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
        check(comm, n_hosts);
        ET_MPI(MPI_Comm_free(&comm));
        ET_MPI(MPI_Group_free(&part));
    }
    ET_MPI(MPI_Group_free(&all));
    ET_MPI(MPI_Session_finalize(&session));
}

static void by_spawn(int argc, char **argv, long n_hosts)
{
    MPI_Comm parent, inter, merged;
    int errors[SPAWNED];

    ET_MPI(MPI_Init(&argc, &argv));
    ET_MPI(MPI_Comm_get_parent(&parent));
    inter = parent;
    if (parent == MPI_COMM_NULL)
        ET_MPI(MPI_Comm_spawn(argv[0], argv + 1, SPAWNED, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                              errors));
    ET_MPI(MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &merged));
    check(merged, n_hosts);
    ET_MPI(MPI_Comm_free(&merged));
    ET_MPI(MPI_Comm_disconnect(&inter));
    ET_MPI(MPI_Finalize());
}

int main(int argc, char **argv)
{
    long n_hosts = et_number(argc, argv, "hosts", 1);

    wanted = et_argument(argc, argv, "case", "all");
    own_argv = argv;
    if (et_number(argc, argv, "child", 0)) {
        child();
        return 0;
    }
    const char *how = et_argument(argc, argv, "how", "join");
    if (!strcmp(how, "spawn"))
        by_spawn(argc, argv, n_hosts);
    else if (!strcmp(how, "part"))
        by_parts(n_hosts);
    else
        by_joining(n_hosts);
    if (rank == 0)
        et_log("PASS session_hosts");
    return 0;
}
