/*
 * Two jobs that are connected, of which one ends (DN4).  --role dying: its process --who (-1: all)
 * kills itself after a while; widowed: whatever waits for the other side ends with
 * MPIX_ERR_PROC_FAILED on each process, so does what begins later, and the job goes on.  The
 * process of rank r waits in the operation number --first + r when the other side ends (a
 * collective one: all in number --first), and tries all of them afterwards.  --by: how they are
 * connected, a name or port (MPI_Comm_accept).  pausing, patient: one side is stopped and goes on,
 * which is nobody's error.
 */

#include "elastic_test.h"
#include <signal.h>
#include <unistd.h>

/* bytes: more than the kernel takes without somebody who receives */
#define LONG (32 << 20)
#define TRIES 1000              /* short messages until one is found to lead nowhere */

static MPI_Comm inter, copy;
static char *text;
static int number, flag, vanishes;

static void check(const char *what, int error)
{
    int class = MPI_SUCCESS, bytes;
    char reported[MPI_MAX_ERROR_STRING] = "";

    if (error) {
        MPI_Error_class(error, &class);
        MPI_Error_string(error, reported, &bytes);
    }
    ET_CHECK(class == MPIX_ERR_PROC_FAILED, "%s ends with class %d: %s", what, class, reported);
}

/* Algorithms of shared memory pass on that there is an error, and not which. */
static void check_collective(const char *what, int error)
{
    int class = MPI_SUCCESS;

    if (error)
        MPI_Error_class(error, &class);
    ET_CHECK(class == MPIX_ERR_PROC_FAILED ||
             class == MPI_ERR_OTHER, "%s ends with class %d", what, class);
}

/* The network may have taken it, as far as the memory of the other side's, before that ended. */
static void check_sent(MPI_Request * request)
{
    int error = MPI_Wait(request, MPI_STATUS_IGNORE);

    if (error)
        check("a long send", error);
}

static void check_all(const char *what, int n, MPI_Request requests[])
{
    for (int i = 0; i < n; i++)
        check(what, MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
}

/* ---- what may wait --------------------------------------------------------------------------- */

static void receive(void)
{
    check("MPI_Recv", MPI_Recv(&number, 1, MPI_INT, 0, 9, inter, MPI_STATUS_IGNORE));
}

static void receive_any(void)
{
    check("MPI_Recv from any",
          MPI_Recv(&number, 1, MPI_INT, MPI_ANY_SOURCE, 9, inter, MPI_STATUS_IGNORE));
}

static void send_synchronously(void)
{
    check("MPI_Ssend", MPI_Ssend(&number, 1, MPI_INT, 0, 9, inter));
}

static void send_long(void)
{
    MPI_Request requests[2];

    ET_MPI(MPI_Isend(text, LONG, MPI_BYTE, 0, 9, inter, &requests[0]));
    ET_MPI(MPI_Issend(text, LONG, MPI_BYTE, 0, 9, inter, &requests[1]));
    check_sent(&requests[0]);
    check("a long synchronous send", MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
}

static void send_columns(void)
{
    MPI_Datatype column;
    MPI_Request request;

    ET_MPI(MPI_Type_vector(LONG / 2, 1, 2, MPI_BYTE, &column));
    ET_MPI(MPI_Type_commit(&column));
    ET_MPI(MPI_Isend(text, 1, column, 0, 9, inter, &request));
    ET_MPI(MPI_Type_free(&column));
    check_sent(&request);
}

static void send_often(void)
{
    int error = MPI_SUCCESS;

    if (vanishes)               /* the network takes it, and goes on trying */
        return;
    for (int i = 0; i < TRIES && !error; i++) {
        error = MPI_Send(&number, 1, MPI_INT, 0, 9, inter);
        usleep(i < TRIES - 100 ? 0 : 100000);
    }
    check("MPI_Send", error);
}

static void probe(void)
{
    check("MPI_Probe", MPI_Probe(0, 9, inter, MPI_STATUS_IGNORE));
}

static void probe_matched(void)
{
    MPI_Message message;

    check("MPI_Mprobe", MPI_Mprobe(MPI_ANY_SOURCE, 9, inter, &message, MPI_STATUS_IGNORE));
}

static void probe_often(void)
{
    int error;

    do {
        error = MPI_Iprobe(0, 9, inter, &flag, MPI_STATUS_IGNORE);
    } while (!error);
    check("MPI_Iprobe", error);
}

static void start(void)
{
    MPI_Request requests[2];

    ET_MPI(MPI_Recv_init(&number, 1, MPI_INT, 0, 9, inter, &requests[0]));
    ET_MPI(MPI_Ssend_init(&number, 1, MPI_INT, 0, 9, inter, &requests[1]));
    ET_MPI(MPI_Startall(2, requests));
    check_all("a persistent request", 2, requests);
    for (int i = 0; i < 2; i++)
        ET_MPI(MPI_Request_free(&requests[i]));
}

static void wait_for_any(void)
{
    MPI_Request requests[2];
    int which, mine;

    ET_MPI(MPI_Irecv(&mine, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &requests[0]));
    ET_MPI(MPI_Irecv(&number, 1, MPI_INT, 0, 9, inter, &requests[1]));
    check("MPI_Waitany", MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE));
    ET_CHECK(which == 1, "request %d", which);
    ET_MPI(MPI_Send(&number, 1, MPI_INT, 0, 9, MPI_COMM_SELF));
    ET_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
}

static void receive_on_copy(void)
{
    check("MPI_Recv on a duplicate", MPI_Recv(&number, 1, MPI_INT, 0, 9, copy, MPI_STATUS_IGNORE));
}

static void collect(void)
{
    int sum = 0;

    check_collective("MPI_Allreduce", MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, inter));
}

static void synchronise(void)
{
    MPI_Request request;

    ET_MPI(MPI_Ibarrier(inter, &request));
    check_collective("MPI_Ibarrier", MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void be_notified(void)
{
    check_collective("MPI_Bcast", MPI_Bcast(text, 100000, MPI_BYTE, 0, inter));
}

static void (*const operations[])(void) = {
    receive, send_synchronously, probe, send_long, receive_any, probe_matched, send_columns,
        probe_often, start,
    send_often, wait_for_any, receive_on_copy, collect, synchronise, be_notified
};

/* these and the following take all processes of the side at the same time */
#define COLLECTIVE 12
#define OPERATIONS (int) (sizeof(operations) / sizeof(operations[0]))

/* ---- the two sides --------------------------------------------------------------------------- */

static void connect_by_port(int is_server)
{
    char port[MPI_MAX_PORT_NAME] = "";
    FILE *file;

    if (et.rank == 0 && is_server) {
        ET_MPI(MPI_Open_port(MPI_INFO_NULL, port));
        file = fopen("port.new", "w");
        ET_CHECK(file && fputs(port, file) >= 0 && fclose(file) == 0, "cannot write the port");
        ET_CHECK(rename("port.new", "port") == 0, "cannot write the port");
    } else if (et.rank == 0) {
        et_await_file("port");
        file = fopen("port", "r");
        ET_CHECK(file && fgets(port, sizeof(port), file), "no port");
        fclose(file);
    }
    if (is_server)
        ET_MPI(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
    else
        ET_MPI(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
}

static void rendezvous(int is_server, const char *by)
{
    if (!strcmp(by, "port"))
        connect_by_port(is_server);
    else if (is_server)
        ET_MPI(MPIX_Server_connect(MPI_COMM_WORLD, by, &inter));
    else
        ET_MPI(MPIX_Client_connect(MPI_COMM_WORLD, by, &inter));
    ET_MPI(MPI_Comm_dup(inter, &copy));
}

static void progress(double seconds)
{
    for (double end = MPI_Wtime() + seconds; MPI_Wtime() < end;)
        (void) MPI_Iprobe(MPI_ANY_SOURCE, 8, inter, &flag, MPI_STATUS_IGNORE);
}

/* Sent by each process to one of the other side's: there is a connection between any two that need
 * one. */
static void send_to_peers(void)
{
    int sum = 0, size, one = 1;

    ET_MPI(MPI_Comm_remote_size(inter, &size));
    ET_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter));
    ET_CHECK(sum == size, "the other side has %d processes", sum);
}

static void die(int who, const char *file)
{
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (file[0])
        et_await_file(file);
    progress(1);
    if (who < 0 || et.rank == who)
        raise(SIGKILL);
    for (;;)
        progress(1);
}

static void survive(int first)
{
    int sum = 0, one = 1;

    ET_MPI(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN));
    /* it is that of MPI_Waitany */
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    operations[first < COLLECTIVE ? (first + et.rank) % COLLECTIVE : first] ();
    et_log("NOTIFIED %d", et.rank);
    for (int i = 0; i < OPERATIONS; i++) {
        if (i >= COLLECTIVE)
            ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
        operations[i] ();
    }
    ET_MPI(MPI_Comm_free(&copy));
    ET_MPI(MPI_Comm_disconnect(&inter));
    ET_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    ET_CHECK(sum == et.size, "the job is not whole: %d of %d", sum, et.size);
}

/* Two sides of which one is stopped meanwhile. */
static void pause_and_talk(int is_patient)
{
    MPI_Request requests[2];
    int n, got = 0, peer = 0;

    ET_MPI(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    if (is_patient) {
        ET_MPI(MPI_Irecv(&got, 1, MPI_INT, 0, 2, inter, &requests[0]));
        ET_MPI(MPI_Isend(text, LONG, MPI_BYTE, 0, 4, inter, &requests[1]));
        et_log("WAITS %d", et.rank);
        ET_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        ET_CHECK(got == 42, "it has sent %d", got);
    } else {
        while (access("resumed", F_OK) != 0)
            progress(0.01);
        ET_MPI(MPI_Comm_remote_size(inter, &n));
        for (got = 42; et.rank == 0 && peer < n; peer++) {
            ET_MPI(MPI_Send(&got, 1, MPI_INT, peer, 2, inter));
            ET_MPI(MPI_Recv(text, LONG, MPI_BYTE, peer, 4, inter, MPI_STATUS_IGNORE));
        }
    }
    ET_MPI(MPI_Comm_free(&copy));
    ET_MPI(MPI_Comm_disconnect(&inter));
}

int main(int argc, char **argv)
{
    const char *role;

    ET_MPI(MPI_Init(&argc, &argv));
    et_options(&argc, &argv);
    et_world_changed();
    text = calloc(LONG, 1);
    vanishes = (int) et_number(argc, argv, "vanishes", 0);
    role = et_argument(argc, argv, "role", "");
    rendezvous((int) et_number(argc, argv, "server", 0),
               et_argument(argc, argv, "by", "dyn_widow"));
    send_to_peers();
    et_log("PID %d %ld", et.rank, (long) getpid());
    if (!strcmp(role, "dying"))
        die((int) et_number(argc, argv, "who", -1), et_argument(argc, argv, "until", ""));
    else if (!strcmp(role, "widowed"))
        survive((int) et_number(argc, argv, "first", 0));
    else
        pause_and_talk(!strcmp(role, "patient"));
    free(text);
    if (et.rank == 0)
        et_log("PASS dyn_widow %s", role);
    ET_MPI(MPI_Finalize());
    return 0;
}
