/*
 * One side of a connection between two jobs (DN2-DN7): --role server, client, or one of those that
 * end too early. --name NAME, --times N connections, --port: the server requests a name and writes
 * it into the file "name", where the client reads it. --growth: the memory of the server stays what
 * it was.
 */

#include "elastic_test.h"
#include <signal.h>
#include <unistd.h>

static char name[MPI_MAX_PORT_NAME];

static void write_name(void)
{
    FILE *file = fopen("name.new", "w");

    ET_CHECK(file && fprintf(file, "%s", name) > 0 && fclose(file) == 0, "cannot write the name");
    ET_CHECK(rename("name.new", "name") == 0, "cannot write the name");
}

static void make_name(void)
{
    char given[MPI_MAX_PORT_NAME];

    ET_MPI(MPIX_Get_server_name(name, given));
    strcpy(name, given);
    write_name();
}

static void read_name(void)
{
    FILE *file;

    et_await_file("name");
    file = fopen("name", "r");
    ET_CHECK(file && fgets(name, sizeof(name), file), "no name");
    fclose(file);
}

/* Pages in memory that are the process' own. */
static long pages(void)
{
    long all = 0, resident = 0, shared = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    ET_CHECK(file && fscanf(file, "%ld %ld %ld", &all, &resident, &shared) == 3, "no statm");
    fclose(file);
    return resident - shared;
}

/* Each sends its rank to each as soon as it can, and nobody is taken for another one. */
static void exchange_ranks(MPI_Comm inter, int size)
{
    int *theirs = malloc((size_t) size * sizeof(*theirs));
    MPI_Request *requests = malloc(2 * (size_t) size * sizeof(*requests));

    for (int i = 0; i < size; i++)
        ET_MPI(MPI_Irecv(&theirs[i], 1, MPI_INT, i, 3, inter, &requests[i]));
    for (int i = 0; i < size; i++)
        ET_MPI(MPI_Isend(&et.rank, 1, MPI_INT, i, 3, inter, &requests[size + i]));
    for (int i = 0; i < 2 * size; i++)
        ET_MPI(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    for (int i = 0; i < size; i++)
        ET_CHECK(theirs[i] == i, "what %d has sent came as if by %d", theirs[i], i);
    free(theirs);
    free(requests);
}

static void talk(MPI_Comm inter, int i)
{
    int got = -1, size;

    ET_MPI(MPI_Comm_remote_size(inter, &size));
    exchange_ranks(inter, size);
    ET_MPI(MPI_Allreduce(&i, &got, 1, MPI_INT, MPI_SUM, inter));
    ET_CHECK(got == i * size, "the other side is not at %d", i);
    ET_MPI(MPI_Comm_disconnect(&inter));
}

static void connect_often(int is_server, int times, int growth)
{
    MPI_Comm inter;
    long before = 0, after;

    if (!is_server)
        et_log("CONNECTING");
    for (int i = 0; i < times; i++) {
        if (i == times / 2)
            before = pages();
        if (is_server)
            ET_MPI(MPIX_Server_connect(MPI_COMM_WORLD, name, &inter));
        else
            ET_MPI(MPIX_Client_connect(MPI_COMM_WORLD, name, &inter));
        talk(inter, i);
    }
    after = pages();
    if (growth)
        ET_CHECK(after - before < 64, "%ld pages more after %d connections", after - before,
                 times - times / 2);
}

/* The same by the port of MPI's own. */
static void accept_often(int times)
{
    MPI_Comm inter;

    if (et.rank == 0) {
        ET_MPI(MPI_Open_port(MPI_INFO_NULL, name));
        write_name();
    }
    for (int i = 0; i < times; i++) {
        ET_MPI(MPI_Comm_accept(name, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
        talk(inter, i);
    }
    if (et.rank == 0)
        ET_MPI(MPI_Close_port(name));
}

static void call_often(int times)
{
    MPI_Comm inter;

    if (et.rank == 0)
        read_name();
    for (int i = 0; i < times; i++) {
        ET_MPI(MPI_Comm_connect(name, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter));
        talk(inter, i);
    }
}

/* A client that is taken and then ends, so that who attaches to it must not wait. */
static void end_when_taken(int is_server)
{
    MPI_Request request;

    if (is_server)
        ET_MPI(MPIX_Iaccept(MPI_COMM_WORLD, name, 1, &request));
    else
        ET_MPI(MPIX_Icontact(MPI_COMM_WORLD, name, &request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    et_log("TAKEN");
    raise(SIGKILL);
}

static void attach_to_ended(int is_server)
{
    MPI_Request request;
    MPI_Comm inter;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (is_server)
        ET_MPI(MPIX_Iaccept(MPI_COMM_WORLD, name, 1, &request));
    else
        ET_MPI(MPIX_Icontact(MPI_COMM_WORLD, name, &request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    ET_ERROR(MPIX_Remote_attach(MPI_COMM_WORLD, 1, &request, &inter), MPI_ERR_PORT, NULL);
    ET_CHECK(request == MPI_REQUEST_NULL && inter == MPI_COMM_NULL, "something is left");
}

/* bytes: more than the network takes without somebody who receives */
#define LONG (8 << 20)

static void rendezvous(int is_server, MPI_Comm * inter)
{
    if (is_server)
        ET_MPI(MPIX_Server_connect(MPI_COMM_WORLD, name, inter));
    else
        ET_MPI(MPIX_Client_connect(MPI_COMM_WORLD, name, inter));
}

/* Ends on request, and prints something before. */
static void end_when_notified(int is_server)
{
    MPI_Comm inter;
    int number = 42, flag;

    rendezvous(is_server, &inter);
    ET_MPI(MPI_Recv(&number, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Send(&number, 1, MPI_INT, 0, 2, inter));
    et_log("NOTIFIED");
    /* what is sent with a copy goes out */
    for (double end = MPI_Wtime() + 0.5; MPI_Wtime() < end;)
        ET_MPI(MPI_Iprobe(0, 5, inter, &flag, MPI_STATUS_IGNORE));
    raise(SIGKILL);
}

/* Receives from it end with an error, what begins later as well; a long send ends; what it has sent
 * before is there. */
static void talk_to_who_ends(int is_server)
{
    MPI_Comm inter;
    MPI_Request requests[3];
    char *text = calloc(LONG, 1);
    int number = 7, got = 0, flag;

    rendezvous(is_server, &inter);
    ET_MPI(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    if (et.rank == 0) {
        ET_MPI(MPI_Irecv(&got, 1, MPI_INT, 0, 9, inter, &requests[0]));
        ET_MPI(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 8, inter, &requests[1]));
        ET_MPI(MPI_Isend(text, LONG, MPI_BYTE, 0, 6, inter, &requests[2]));
        ET_MPI(MPI_Send(&number, 1, MPI_INT, 0, 1, inter));
        while (access("ended", F_OK) != 0)      /* what is to be sent needs progress */
            (void) MPI_Iprobe(0, 5, inter, &flag, MPI_STATUS_IGNORE);
        ET_MPI(MPI_Recv(&got, 1, MPI_INT, 0, 2, inter, MPI_STATUS_IGNORE));
        ET_CHECK(got == number, "it has sent %d", got);
        for (int i = 0; i < 2; i++)
            ET_ERROR(MPI_Wait(&requests[i], MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED, "ended");
        /* libfabric may report that it was sent */
        (void) MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
        ET_ERROR(MPI_Recv(&got, 1, MPI_INT, 0, 9, inter, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED,
                 "ended");
    }
    ET_MPI(MPI_Comm_free(&inter));
    free(text);
}

/* Waits for a server that never takes it. */
static void wait_in_vain(int error)
{
    MPI_Comm inter;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    et_log("WAITING");
    ET_ERROR(MPIX_Client_connect(MPI_COMM_WORLD, name, &inter), error, NULL);
}

/* All at once: n port requests for n clients of another job, which come as communicators of one
 * process. */
static void serve_many(int n)
{
    MPI_Request *requests = malloc((size_t) n * sizeof(*requests));
    int i;

    ET_MPI(MPIX_Iaccept(MPI_COMM_WORLD, name, n, requests));
    for (int left = n; left > 0; left--) {
        MPI_Comm inter;
        if (et.rank == 0)
            ET_MPI(MPI_Waitany(n, requests, &i, MPI_STATUS_IGNORE));
        ET_MPI(MPI_Bcast(&i, 1, MPI_INT, 0, MPI_COMM_WORLD));
        if (et.rank != 0)
            ET_MPI(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        ET_MPI(MPIX_Remote_attach(MPI_COMM_WORLD, 1, &requests[i], &inter));
        if (et.rank == 0)
            ET_MPI(MPI_Send(&i, 1, MPI_INT, 0, 1, inter));
        ET_MPI(MPI_Comm_disconnect(&inter));
    }
    free(requests);
}

static void come_alone(int times)
{
    MPI_Comm inter;
    int i;

    while (times--) {
        ET_MPI(MPIX_Client_connect(MPI_COMM_SELF, name, &inter));
        ET_MPI(MPI_Recv(&i, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE));
        ET_MPI(MPI_Comm_disconnect(&inter));
    }
}

int main(int argc, char **argv)
{
    const char *role;
    int times;

    ET_MPI(MPI_Init(&argc, &argv));
    et_options(&argc, &argv);
    et_world_changed();
    role = et_argument(argc, argv, "role", "");
    times = (int) et_number(argc, argv, "times", 1);
    snprintf(name, sizeof(name), "%s", et_argument(argc, argv, "name", "dyn_serve"));
    if (strstr(name, ":0")) {
        if (et.rank == 0 && (!strcmp(role, "server") || !strcmp(role, "many")))
            make_name();
        else if (et.rank == 0)
            read_name();
        ET_MPI(MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD));
    }
    if (!strcmp(role, "server") || !strcmp(role, "client"))
        connect_often(!strcmp(role, "server"), times, (int) et_number(argc, argv, "growth", 0));
    else if (!strcmp(role, "accepts"))
        accept_often(times);
    else if (!strcmp(role, "calls"))
        call_often(times);
    else if (!strcmp(role, "busy")) {
        MPI_Request request;
        MPI_Comm inter;
        ET_MPI(MPIX_Iaccept(MPI_COMM_WORLD, name, 1, &request));
        if (et.rank == 0)
            et_log("BUSY");
        et_await_file("go");
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
        ET_MPI(MPIX_Remote_attach(MPI_COMM_WORLD, 1, &request, &inter));
        talk(inter, 0);
    } else if (!strcmp(role, "many"))
        serve_many(times);
    else if (!strcmp(role, "alone"))
        come_alone(times / et.size);
    else if (!strcmp(role, "dying_server") || !strcmp(role, "dying_client"))
        end_when_taken(!strcmp(role, "dying_server"));
    else if (!strcmp(role, "left_server") || !strcmp(role, "left_client"))
        attach_to_ended(!strcmp(role, "left_server"));
    else if (!strcmp(role, "notified_server") || !strcmp(role, "notified_client"))
        end_when_notified(!strcmp(role, "notified_server"));
    else if (!strcmp(role, "widowed_server") || !strcmp(role, "widowed_client"))
        talk_to_who_ends(!strcmp(role, "widowed_server"));
    else if (!strcmp(role, "no_name") || !strcmp(role, "no_port"))
        wait_in_vain(!strcmp(role, "no_name") ? MPI_ERR_NAME : MPI_ERR_PORT);
    else if (!strcmp(role, "listener")) {
        MPI_Request request;
        ET_MPI(MPIX_Iaccept(MPI_COMM_WORLD, name, 1, &request));
        et_log("LISTENING");
        for (;;)
            pause();
    } else
        ET_CHECK(0, "no role %s", role);
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (et.rank == 0)
        et_log("PASS dyn_serve %s", role);
    ET_MPI(MPI_Finalize());
    return 0;
}
