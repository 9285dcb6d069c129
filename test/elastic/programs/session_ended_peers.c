/*
 * SL4: a member of a communicator has ended.  Operations of the others with it on this communicator
 * are errors, also earlier ones; point-to-point operations without it work; what it has sent before
 * is received; and the communicator can be freed.  4 processes, of which rank 3 ends; with --joins
 * 1 it has joined before; --case
 *   before    it has ended before the others do anything
 *   meanwhile it ends while they wait for it
 *   killed    it is to leave, which has been accepted, and dies of a signal while they wait for it
 *   requests  it ends while they wait for it by requests of other kinds, and for many
 * Each collective operation has a communicator of its own, on which nothing has failed before, and
 * --operations have been done, as short ones go another way from the fifth on.  --network 1: a long
 * message may count as sent, and what is not received yet may be dropped when something is sent to
 * an ended process (session_faults receives it).
 */

#include "session_changes.h"
#include <signal.h>
#include <unistd.h>

#define LEAVER 3
#define SMALL 8
#define LONG (1 << 20)
#define MESSAGES 40
#define NEVER 999               /* a tag that nobody sends */
#define ANY 998
#define NOBODY 997
#define MANY 200                /* errors of which MPICH keeps no text any more */
#define WAITING_SECONDS 0.3     /* in which the others come to wait */
#define LIMIT_SECONDS 60        /* all of it */

enum collective {
    BARRIER, ALLREDUCE, BCAST_FROM_IT, BCAST_LONG, LONG_FROM_IT, DUP, ALLGATHER, REDUCE_TO_IT,
        COLLECTIVES
};

static const char *const name_of[] = {
    "MPI_Barrier", "MPI_Allreduce", "MPI_Bcast from it", "a long MPI_Bcast",
        "a long MPI_Bcast from it", "MPI_Comm_dup", "MPI_Allgather", "MPI_Reduce to it"
};

static MPI_Comm comm, ring, own[COLLECTIVES];
static char lengthy[LONG], lengthy_too[4 * LONG];
static int rank, takes_long_ones;
static pset_name all = "mpi://WORLD", ended_one, rest;

static void check_failed(int error, const char *what)
{
    ET_CHECK(class_of(error) == MPIX_ERR_PROC_FAILED, "SL4: rank %d, %s: class %d", rank, what,
             class_of(error));
}

/* A network may have taken it before the end was known. */
static void check_not_sent(int error, const char *what)
{
    if (!takes_long_ones || error != MPI_SUCCESS)
        check_failed(error, what);
}

/* ---- who ends -------------------------------------------------------------------------------- */

/* Its messages leave meanwhile, which needs progress where that is the first message to a
 * process. */
static void let_others_wait(void)
{
    int flag;

    for (double end = et_seconds() + WAITING_SECONDS; et_seconds() < end;)
        ET_MPI(MPI_Iprobe(MPI_ANY_SOURCE, NOBODY, comm, &flag, MPI_STATUS_IGNORE));
}

static void leave(int is_killed, int waits)
{
    char small[MESSAGES][SMALL];

    for (int i = 0; i < MESSAGES; i++) {
        et_fill(small[i], SMALL, LEAVER, i);
        ET_MPI(MPI_Send(small[i], SMALL, MPI_BYTE, i % LEAVER, i, comm));
    }
    if (waits)
        let_others_wait();
    if (is_killed)
        raise(SIGKILL);
    ET_MPI(MPI_Session_finalize(&session));
    exit(0);
}

/* ---- point to point -------------------------------------------------------------------------- */

enum { RECV, ISEND_LONG, ISSEND, ANYBODY, BEGUN };

static MPI_Request begun[BEGUN];
static char received[BEGUN][SMALL];

/* A receive from any source gets a message of a living one in the end. */
static void begin_messages(void)
{
    ET_MPI(MPI_Irecv(received[RECV], SMALL, MPI_BYTE, LEAVER, NEVER, comm, &begun[RECV]));
    ET_MPI(MPI_Isend(lengthy, LONG, MPI_BYTE, LEAVER, NEVER, comm, &begun[ISEND_LONG]));
    ET_MPI(MPI_Issend(received[ISSEND], SMALL, MPI_BYTE, LEAVER, NEVER, comm, &begun[ISSEND]));
    ET_MPI(MPI_Irecv(received[ANYBODY], SMALL, MPI_BYTE, MPI_ANY_SOURCE, ANY, comm,
                     &begun[ANYBODY]));
}

static void complete_messages(void)
{
    MPI_Status status;

    check_failed(MPI_Wait(&begun[RECV], MPI_STATUS_IGNORE), "a receive that was posted before");
    check_not_sent(MPI_Wait(&begun[ISEND_LONG], MPI_STATUS_IGNORE),
                   "a long send that was posted before");
    check_failed(MPI_Wait(&begun[ISSEND], MPI_STATUS_IGNORE),
                 "a synchronous send that was posted before");
    ET_MPI(MPI_Send(received[RECV], SMALL, MPI_BYTE, (rank + 1) % LEAVER, ANY, comm));
    ET_MPI(MPI_Wait(&begun[ANYBODY], &status));
    ET_CHECK(status.MPI_SOURCE == (rank + LEAVER - 1) % LEAVER, "SL4: a message of rank %d",
             status.MPI_SOURCE);
}

static void check_probes(void)
{
    MPI_Message message;
    int flag = 0, error;

    check_failed(MPI_Probe(LEAVER, NEVER, comm, MPI_STATUS_IGNORE), "MPI_Probe");
    check_failed(MPI_Mprobe(LEAVER, NEVER, comm, &message, MPI_STATUS_IGNORE), "MPI_Mprobe");
    do
        error = MPI_Iprobe(LEAVER, NEVER, comm, &flag, MPI_STATUS_IGNORE);
    while (!error && !flag);
    check_failed(error, "MPI_Iprobe");
    ET_MPI(MPI_Iprobe(MPI_ANY_SOURCE, NEVER, comm, &flag, MPI_STATUS_IGNORE));
    ET_CHECK(!flag, "SL4: a message that nobody has sent");
}

static void check_messages(void)
{
    char small[SMALL];
    int next = (rank + 1) % LEAVER, last = (rank + LEAVER - 1) % LEAVER;

    check_failed(MPI_Recv(small, SMALL, MPI_BYTE, LEAVER, NEVER, comm, MPI_STATUS_IGNORE),
                 "MPI_Recv");
    check_not_sent(MPI_Send(lengthy, LONG, MPI_BYTE, LEAVER, NEVER, comm), "a long MPI_Send");
    check_failed(MPI_Ssend(small, SMALL, MPI_BYTE, LEAVER, NEVER, comm), "MPI_Ssend");
    for (int i = 0; i < 200; i++) {
        int class = class_of(MPI_Send(small, SMALL, MPI_BYTE, LEAVER, NEVER, comm));
        ET_CHECK(class == MPI_SUCCESS ||
                 class == MPIX_ERR_PROC_FAILED, "SL4: a short MPI_Send: class %d", class);
    }
    ET_MPI(MPI_Sendrecv(lengthy, LONG, MPI_BYTE, next, 0, lengthy_too, LONG, MPI_BYTE, last, 0,
                        comm, MPI_STATUS_IGNORE));
}

static void receive_what_was_sent(void)
{
    char small[SMALL];

    for (int i = rank; i < MESSAGES; i += LEAVER) {
        ET_MPI(MPI_Recv(small, SMALL, MPI_BYTE, i % 2 ? LEAVER : MPI_ANY_SOURCE, i, comm,
                        MPI_STATUS_IGNORE));
        et_verify(small, SMALL, LEAVER, i, "a message of a process that has ended");
    }
}

/* ---- requests of other kinds ----------------------------------------------------------------- */

/* A process that waits for the last one first finds that the others have ended long ago. */
static void check_many(void)
{
    static char small[MANY][SMALL];
    MPI_Request requests[MANY];

    for (int i = 0; i < MANY; i++)
        ET_MPI(MPI_Irecv(small[i], SMALL, MPI_BYTE, LEAVER, NEVER, comm, &requests[i]));
    for (int i = MANY - 1; i >= 0; i--)
        check_failed(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), "one of many receives");
    for (int i = 0; i < MANY; i++)
        ET_MPI(MPI_Issend(small[i], SMALL, MPI_BYTE, LEAVER, NEVER, comm, &requests[i]));
    for (int i = MANY - 1; i >= 0; i--)
        check_failed(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), "one of many synchronous sends");
}

/* One receive that fails, another one of a living process. */
static void check_some(void)
{
    char small[2][SMALL], sent[SMALL] = { 0 };
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int indices[2], n;

    ET_MPI(MPI_Irecv(small[0], 0, MPI_BYTE, LEAVER, NEVER, comm, &requests[0]));
    ET_MPI(MPI_Irecv(small[1], SMALL, MPI_BYTE, (rank + LEAVER - 1) % LEAVER, ANY, comm,
                     &requests[1]));
    ET_MPI(MPI_Send(sent, SMALL, MPI_BYTE, (rank + 1) % LEAVER, ANY, comm));
    for (int left = 2; left > 0; left -= n) {
        int error = MPI_Waitsome(2, requests, &n, indices, statuses);
        for (int i = 0; i < n; i++) {
            int class = error ? class_of(statuses[i].MPI_ERROR) : MPI_SUCCESS;
            ET_CHECK(class == (indices[i] == 0 ? MPIX_ERR_PROC_FAILED : MPI_SUCCESS),
                     "SL4: rank %d, MPI_Waitsome, request %d: class %d", rank, indices[i], class);
        }
    }
}

static void check_started(MPI_Request request, const char *what)
{
    for (int i = 0; i < 2; i++) {
        ET_MPI(MPI_Start(&request));
        check_failed(MPI_Wait(&request, MPI_STATUS_IGNORE), what);
    }
    ET_MPI(MPI_Request_free(&request));
}

static void check_others(void)
{
    static int parts[2 * SMALL];
    int all_parts[2];
    MPI_Request request;
    MPI_Datatype apart;

    ET_MPI(MPI_Type_vector(SMALL, 1, 2, MPI_INT, &apart));
    ET_MPI(MPI_Type_commit(&apart));
    ET_MPI(MPI_Irecv(parts, 1, apart, LEAVER, NEVER, comm, &request));
    ET_MPI(MPI_Type_free(&apart));
    check_failed(MPI_Wait(&request, MPI_STATUS_IGNORE), "a receive of a type that has been freed");
    ET_MPI(MPI_Recv_init(parts, SMALL, MPI_INT, LEAVER, NEVER, comm, &request));
    check_started(request, "a persistent receive");
    ET_MPI(MPI_Precv_init(parts, 2, SMALL, MPI_INT, LEAVER, NEVER, comm, MPI_INFO_NULL, &request));
    check_started(request, "a partitioned receive");
    ET_MPI(MPI_Isendrecv(parts, 1, MPI_INT, LEAVER, NEVER, parts + 1, 1, MPI_INT, LEAVER, NEVER,
                         comm, &request));
    check_failed(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Isendrecv");
    int error = MPI_Neighbor_allgather(parts, 1, MPI_INT, all_parts, 1, MPI_INT, ring);
    if (rank == 0 || rank == LEAVER - 1)
        check_failed(error, "MPI_Neighbor_allgather");
    ET_MPI(MPI_Comm_free(&ring));
}

static void make_ring(void)
{
    int size = LEAVER + 1, is_round = 1;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));  /* that of MPI_Waitsome */
    ET_MPI(MPI_Cart_create(comm, 1, &size, &is_round, 0, &ring));
}

/* ---- collective ------------------------------------------------------------------------------ */

static int call(enum collective which)
{
    MPI_Comm of = own[which], made = MPI_COMM_NULL;
    int one = 1, sum;

    switch (which) {
        case BARRIER:
            return MPI_Barrier(of);
        case ALLREDUCE:
            return MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, of);
        case BCAST_FROM_IT:
            return MPI_Bcast(lengthy, SMALL, MPI_BYTE, LEAVER, of);
        case BCAST_LONG:
            return MPI_Bcast(lengthy, LONG, MPI_BYTE, 0, of);
        case LONG_FROM_IT:
            return MPI_Bcast(lengthy, LONG, MPI_BYTE, LEAVER, of);
        case DUP:
            return MPI_Comm_dup(of, &made);
        case ALLGATHER:
            return MPI_Allgather(lengthy, LONG / 8, MPI_BYTE, lengthy_too, LONG / 8, MPI_BYTE, of);
        case REDUCE_TO_IT:
            return MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, LEAVER, of);
        default:
            return MPI_SUCCESS;
    }
}

/* Some processes need nothing of the one that has ended in a broadcast of another one, or for a
 * reduction to it.  By flags in shared memory it is notified only that there was an error. */
static void check_collectives(int first, int end, int by_flags)
{
    for (int which = first; which < end; which++) {
        int class = class_of(call(which)), may_succeed = which == BCAST_LONG ||
            which == REDUCE_TO_IT;
        ET_CHECK(class == MPIX_ERR_PROC_FAILED || (by_flags && class == MPI_ERR_OTHER) ||
                 (may_succeed &&
                  class == MPI_SUCCESS), "SL4: rank %d, %s: class %d", rank, name_of[which], class);
    }
}

static void make_communicators(int operations_before)
{
    for (int which = 0; which < COLLECTIVES; which++) {
        ET_MPI(MPI_Comm_dup(comm, &own[which]));
        for (int i = 0; i < operations_before; i++)
            ET_MPI(MPI_Barrier(own[which]));
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static void connect_all(int joins)
{
    pset_name delta;

    if (is_joining_process(delta)) {
        ET_CHECK(session_value("app_set", all), "SR7: the keys of the accept");
    } else if (joins) {
        comm = connect_set("mpi://WORLD", "launch");
        ET_MPI(MPI_Comm_rank(comm, &rank));
        if (rank == 0) {
            struct change change = await_change(NULL);
            set_after("mpi://WORLD", &change, all);
            accept_change(&change, "app_set", all);
        }
        ET_MPI(MPI_Bcast(all, sizeof(all), MPI_BYTE, 0, comm));
        ET_MPI(MPI_Comm_free(&comm));
    }
    comm = connect_set(all, "all");
    ET_MPI(MPI_Comm_rank(comm, &rank));
}

static void print_sets(int is_killed)
{
    pset_name news[2];

    if (rank == 0 && is_killed) {
        struct change change = await_change(all);
        ET_CHECK(change.type == MPIX_RC_SUB, "type %d", change.type);
        strcpy(news[0], change.delta);
        set_after(all, &change, news[1]);
        accept_change(&change, NULL, NULL);
    } else if (rank == 0) {
        const char *operand = all;
        pset_name halves[2];
        int n = 2;
        MPI_Info sizes;
        ET_MPI(MPI_Info_create(&sizes));
        ET_MPI(MPI_Info_set(sizes, "mpi_part_sizes", "3,1"));
        ET_MPI(MPIX_Session_pset_op(session, MPIX_PSETOP_SPLIT, &operand, 1, sizes, halves, &n));
        ET_MPI(MPI_Info_free(&sizes));
        strcpy(news[0], halves[1]);
        strcpy(news[1], halves[0]);
    }
    ET_MPI(MPI_Bcast(news, sizeof(news), MPI_BYTE, 0, comm));
    strcpy(ended_one, news[0]);
    strcpy(rest, news[1]);
}

static void free_communicators(void)
{
    for (int which = 0; which < COLLECTIVES; which++)
        ET_MPI(MPI_Comm_free(&own[which]));
    ET_MPI(MPI_Comm_free(&comm));
    comm = connect_set(rest, "the rest");
    ET_MPI(MPI_Barrier(comm));
    ET_MPI(MPI_Comm_disconnect(&comm));
}

int main(int argc, char **argv)
{
    const char *what = et_argument(argc, argv, "case", "before");
    int operations_before = (int) et_number(argc, argv, "operations", 0);
    int is_killed = !strcmp(what, "killed"), is_before = !strcmp(what, "before"), is_others =
        !strcmp(what, "requests");

    takes_long_ones = (int) et_number(argc, argv, "network", 0);
    et_options(&argc, &argv);
    alarm(LIMIT_SECONDS);
    open_session();
    connect_all((int) et_number(argc, argv, "joins", 0));
    print_sets(is_killed);
    make_communicators(operations_before);
    if (is_others)
        make_ring();
    if (rank == LEAVER)
        leave(is_killed, !is_before);
    if (is_before)
        await_state(ended_one, "ended");
    if (takes_long_ones)
        receive_what_was_sent();
    if (is_others) {
        check_many();
        check_some();
        check_others();
    }
    begin_messages();
    check_collectives(BARRIER, BARRIER + 1, operations_before > 0);
    complete_messages();
    check_collectives(BARRIER + 1, COLLECTIVES, operations_before > 0);
    check_probes();
    check_messages();
    if (!takes_long_ones)
        receive_what_was_sent();
    free_communicators();
    if (rank == 0)
        et_log("PASS session_ended_peers");
    ET_MPI(MPI_Session_finalize(&session));
    return 0;
}
