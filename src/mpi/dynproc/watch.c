/*
 * Detects the end of the other side of a connection.  DN4: it is an error of operations on the
 * intercommunicator.
 *
 * The network does not report that the sender of an expected message has ended.  So each process
 * has lines to one or two of the other side (dynproc_lines.h) as long as the intercommunicator
 * exists.  If one breaks without a farewell, that process has ended, and with it, as a rule, its
 * job.  A process that detects this breaks its other lines, so that all are notified, no matter
 * which process has ended.  Messages that were sent before must arrive first, so there is a delay
 * of one second; then every request that waits for the other side ends with an error
 * (mpid_failure.h), and later ones, too.  A farewell is sent when the intercommunicator is freed,
 * and not by MPI_Finalize: the others of the same side may not have arrived there yet.
 *
 * A connection consists of the intercommunicator, its copies, and their communicators for
 * collective operations among the processes of this side (local_comm).  It exists until the last of
 * them is freed.
 *
 * A server of many clients must not run out of descriptors because of lines: beyond half of the
 * process' limit, connections are not watched.
 *
 * Polled in progress, some hundred times a second; no hook is active without connections.  Requests
 * are scanned only when there may be new ones: each holds a reference to its communicator, so that
 * new ones change the number of references.
 */

#include "dynproc_lines.h"
#include "connect_comms.h"
#include "mpid_failure.h"

#define SLOTS_STEP 64               /* increment when all are in use */
#define POLLS 4                 /* between two reads of the clock */
#define LOOK_SECONDS 0.01
#define CONNECTING_SECONDS 20e-6        /* replaces it while a call makes lines */
#define AGAIN_SECONDS 0.1       /* requests are scanned, even if none seems to be new */
#define LOCAL_SECONDS 5.0       /* max time that processes of this side wait for each other */
#define LINGER_SECONDS 1.0      /* for messages in transit to arrive */
#define MATCHED_SECONDS 3.0     /* then a message that is being received is aborted */
#define LINES_SECONDS 5.0       /* max time that a call waits for lines */

struct MPIR_Dynproc_connection {
    unsigned number;            /* of its slot, from 1 on */
    int comms;                  /* number of its communicators */
    struct MPIR_Dynproc_lines *lines;
    bool has_ended;
    double broken_at, failed_at;        /* 0: not broken, not failed */
    /* time of the last scan of the requests between processes of this side */
    double local_at;
    int references;             /* of the communicators, at the last scan of requests */
};

static struct MPIR_Dynproc_connection **connections;    /* by number; NULL: a free slot */
static unsigned n_slots, n_connections;
static int hook_id = -1;
static bool is_connecting;

static struct MPIR_Dynproc_connection *connection_of(const MPIR_Comm * comm)
{
    return comm->adapt.connection ? connections[comm->adapt.connection - 1] : NULL;
}

bool MPIR_Dynproc_has_ended(const MPIR_Comm * comm)
{
    return comm->adapt.connection && connection_of(comm)->has_ended;
}

bool MPIR_Dynproc_had_connections(void)
{
    return hook_id >= 0;
}

void MPIR_Dynproc_note_ended(int context_id)
{
    for (const MPIR_Comm * comm = MPIR_Live_comms; comm; comm = comm->adapt.next) {
        if (comm->adapt.connection && comm->local_comm &&
            comm->local_comm->recvcontext_id == (MPIR_Context_id_t) context_id)
            connection_of(comm)->lines->is_broken = true;
    }
}

/* The other processes are notified through it, too. */
static void poll_lines(struct MPIR_Dynproc_connection *connection)
{
    MPIR_Dynproc_lines_go_on(connection->lines);
    if (!connection->lines->is_broken || connection->broken_at > 0)
        return;
    connection->broken_at = MPIR_Dynproc_now();
    MPIR_Dynproc_lines_end(connection->lines, false);
}

static int count_references(const struct MPIR_Dynproc_connection *connection)
{
    int references = 0;

    for (MPIR_Comm * comm = MPIR_Live_comms; comm; comm = comm->adapt.next) {
        if (comm->adapt.connection == connection->number)
            references +=
                MPIR_Object_get_ref(comm) +
                (comm->local_comm ? MPIR_Object_get_ref(comm->local_comm) : 0);
    }
    return references;
}

static void fail_what_waits(struct MPIR_Dynproc_connection *connection, double now)
{
    int references = count_references(connection);

    if (connection->has_ended && references == connection->references &&
        now - connection->failed_at < AGAIN_SECONDS)
        return;
    bool is_time = now - connection->local_at >= LOCAL_SECONDS;

    connection->has_ended = true;
    connection->failed_at = now;
    connection->local_at = is_time ? now : connection->local_at;
    /* ended requests keep their references until the program has completed them, so another scan
     * follows */
    const struct MPID_Failure failure = {.connection = connection->number,
        .also_matched = now - connection->broken_at > MATCHED_SECONDS,.also_local = is_time
    };
    if (!MPID_Failure_end_requests(&failure))
        connection->references = references;
}

static void connection_release(struct MPIR_Dynproc_connection *connection)
{
    connections[connection->number - 1] = NULL;
    MPIR_Dynproc_lines_free(connection->lines, true);
    MPL_free(connection);
    if (--n_connections == 0)
        MPIR_Progress_hook_deactivate(hook_id);
}

static void give_back(struct MPIR_Dynproc_connection *connection)
{
    if (--connection->comms == 0)
        connection_release(connection);
}

static int poll_connections(int *made_progress)
{
    /* ending requests makes progress, which would call this function again */
    static bool is_polling;
    static unsigned polls;
    static double last;
    const double interval = is_connecting ? CONNECTING_SECONDS : LOOK_SECONDS;

    if (is_polling || (!is_connecting && ++polls % POLLS) || MPIR_Dynproc_now() - last < interval)
        return MPI_SUCCESS;
    is_polling = true;
    last = MPIR_Dynproc_now();
    MPIR_Dynproc_lines_poll();
    for (unsigned i = 0; i < n_slots; i++) {
        struct MPIR_Dynproc_connection *connection = connections[i];
        if (!connection)
            continue;
        connection->comms++;    /* an ended request may hold the last reference to one of them */
        poll_lines(connection);
        if (connection->broken_at > 0 && last - connection->broken_at > LINGER_SECONDS)
            fail_what_waits(connection, last);
        give_back(connection);
    }
    MPID_Dynproc_sweep();
    is_polling = false;
    return MPI_SUCCESS;
}

int MPIR_Dynproc_await_lines(const MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Dynproc_lines *lines = connection_of(comm)->lines;
    struct MPIR_Dynproc_wait wait = {.is_short = true };
    double begin = MPIR_Dynproc_now();

    while (lines->making && !lines->is_broken && MPIR_Dynproc_now() - begin < LINES_SECONDS) {
        wait.fd = MPIR_Dynproc_lines_fd(lines);
        mpi_errno = MPIR_Dynproc_pause(&wait);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIR_Dynproc_is_connecting(bool is)
{
    is_connecting = is;
}

void MPIR_Dynproc_set_broken(const MPIR_Comm * comm)
{
    connection_of(comm)->lines->is_broken = true;
}

/* NULL: out of memory, or no hook. */
static struct MPIR_Dynproc_connection *new_connection(void)
{
    struct MPIR_Dynproc_connection *connection = MPL_calloc(1, sizeof(*connection), MPL_MEM_OTHER);
    unsigned i = 0;

    while (i < n_slots && connections[i])
        i++;
    if (i == n_slots) {
        size_t bytes = (n_slots + SLOTS_STEP) * sizeof(connections[0]);
        struct MPIR_Dynproc_connection * *grown = MPL_realloc(connections, bytes, MPL_MEM_OTHER);
        if (grown) {
            memset(grown + n_slots, 0, SLOTS_STEP * sizeof(connections[0]));
            connections = grown;
            n_slots += SLOTS_STEP;
        }
    }
    if (!connection || i == n_slots || (hook_id < 0 && MPIR_Progress_hook_register(poll_connections,
                                                                                   &hook_id) !=
                                        MPI_SUCCESS)) {
        MPL_free(connection);
        return NULL;
    }
    connections[i] = connection;
    connection->number = i + 1;
    n_connections++;
    MPIR_Progress_hook_activate(hook_id);
    return connection;
}

int MPIR_Dynproc_connect(MPIR_Comm * comm, struct MPIR_Dynproc_lines *lines)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Dynproc_connection *connection = lines ? new_connection() : NULL;

    MPIR_ERR_CHKANDJUMP(!connection, mpi_errno, MPI_ERR_OTHER, "**nomem");
    connection->lines = lines;
    connection->comms = 1;
    comm->adapt.connection = connection->number;
    if (comm->local_comm)
        MPIR_Dynproc_comm_derived(comm->local_comm, comm);

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPIR_Dynproc_lines_free(lines, true);
    goto fn_exit;
}

/* The accepting side, which is the low one, sends the business cards by MPI. */
int MPIR_Dynproc_accepted(MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    struct MPIR_Dynproc_lines *lines = MPIR_Dynproc_lines_new();
    struct MPIR_Dynproc_bc mine, *bcs = NULL;
    const MPI_Aint sent = comm->is_low_group ? sizeof(mine) : 0, received =
        comm->is_low_group ? 0 : sizeof(mine);

    mpi_errno = MPIR_Dynproc_connect(comm, lines);
    MPIR_ERR_CHECK(mpi_errno);
    if (comm->is_low_group) {
        MPIR_Dynproc_lines_listen(lines, &mine);
        MPIR_Dynproc_lines_make(lines, comm, false, NULL);
    } else {
        bcs = MPL_malloc(sizeof(mine) * (size_t) comm->remote_size, MPL_MEM_OTHER);
        MPIR_ERR_CHKANDJUMP(!bcs, mpi_errno, MPI_ERR_OTHER, "**nomem");
    }
    mpi_errno = MPIR_Allgather(&mine, sent, MPI_BYTE, bcs, received, MPI_BYTE, comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Dynproc_is_connecting(true);
    if (bcs)
        MPIR_Dynproc_lines_make(lines, comm, false, bcs);
    mpi_errno = MPIR_Dynproc_await_lines(comm);
    MPIR_Dynproc_is_connecting(false);

  fn_exit:
    MPL_free(bcs);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIR_Dynproc_watch(MPIR_Comm * comm, int fd)
{
    MPIR_Dynproc_lines_add(connection_of(comm)->lines, fd);
}

void MPIR_Dynproc_comm_derived(MPIR_Comm * comm, const MPIR_Comm * from)
{
    if (!from->adapt.connection || comm->adapt.connection ||
        (comm->comm_kind != MPIR_COMM_KIND__INTERCOMM && from->local_comm != comm))
        return;
    comm->adapt.connection = from->adapt.connection;
    connection_of(comm)->comms++;
}

void MPIR_Dynproc_comm_freed(const MPIR_Comm * comm)
{
    if (comm->adapt.connection)
        give_back(connection_of(comm));
}
