/*
 * DN1-DN6 within one job: the lower half of the world is a server, the upper half its client.
 * --name is the name that is requested; with a port of 0 the server finds one.
 */

#include "elastic_test.h"

#define CONNECT_S 30

static MPI_Comm mine;
static int is_server, rank, size;
static char name[MPI_MAX_PORT_NAME];

static int welcome(const void *key, int bytes, void *state)
{
    ++*(int *) state;
    return bytes == 6 && !memcmp(key, "a\0cret", 6);
}

/* How long this process waits for a server that does not come, in seconds. */
static void limit_waits(int seconds)
{
    MPI_T_cvar_handle handle;
    int provided, index, count;

    ET_MPI(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    ET_MPI(MPI_T_cvar_get_index("MPIR_CVAR_CH4_COMM_CONNECT_TIMEOUT", &index));
    ET_MPI(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    ET_MPI(MPI_T_cvar_write(handle, &seconds));
    ET_MPI(MPI_T_cvar_handle_free(&handle));
    ET_MPI(MPI_T_finalize());
}

/* Both groups as they should be, and messages between all pairs; then the end of the connection. */
static void use(MPI_Comm inter)
{
    int n, is_inter;

    ET_MPI(MPI_Comm_test_inter(inter, &is_inter));
    ET_CHECK(is_inter, "no intercommunicator");
    ET_MPI(MPI_Comm_size(inter, &n));
    ET_CHECK(n == size, "a local group of %d", n);
    ET_MPI(MPI_Comm_remote_size(inter, &n));
    ET_CHECK(n == et.size - size, "a remote group of %d", n);
    et_exercise_inter(inter, is_server, "the connection");
    ET_MPI(MPI_Comm_disconnect(&inter));
}

static void blocking(void)
{
    MPI_Comm inter;

    for (int i = 0; i < 3; i++) {
        if (is_server)
            ET_MPI(MPIX_Server_connect(mine, rank == 0 ? name : NULL, &inter));
        else
            ET_MPI(MPIX_Client_connect(mine, rank == 0 ? name : NULL, &inter));
        use(inter);
    }
}

/* All of a group attach the request that its rank 0 has completed first. */
static int complete_one(int n, MPI_Request * requests)
{
    int i;

    if (rank == 0) {
        ET_MPI(MPI_Waitany(n, requests, &i, MPI_STATUS_IGNORE));
        ET_CHECK(i != MPI_UNDEFINED && requests[i] != MPI_REQUEST_NULL, "request %d", i);
    }
    ET_MPI(MPI_Bcast(&i, 1, MPI_INT, 0, mine));
    if (rank != 0)
        ET_MPI(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    return i;
}

/* The requests that are complete on all processes. */
static void attach_to(MPI_Request * request)
{
    MPI_Comm inter;

    ET_MPI(MPIX_Remote_attach(mine, 1, request, &inter));
    ET_CHECK(*request == MPI_REQUEST_NULL, "the request is still there");
    use(inter);
}

static void attach(int n, MPI_Request * requests)
{
    attach_to(&requests[complete_one(n, requests)]);
}

static void cancel_rest(int n, MPI_Request * requests)
{
    for (int i = 0; i < n; i++) {
        MPI_Status status;
        int cancelled, flag;
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        ET_MPI(MPI_Test(&requests[i], &flag, &status));
        ET_CHECK(!flag, "request %d is complete without a client", i);
        ET_MPI(MPI_Barrier(mine));
        ET_MPI(MPI_Cancel(&requests[i]));
        ET_MPI(MPI_Wait(&requests[i], &status));
        ET_MPI(MPI_Test_cancelled(&status, &cancelled));
        ET_CHECK(cancelled, "request %d is not cancelled", i);
        ET_MPI(MPI_Request_free(&requests[i]));
    }
}

static void nonblocking(void)
{
    MPI_Request requests[3];
    int n = is_server ? 3 : 2, flag;

    if (is_server) {
        ET_MPI(MPIX_Iaccept(mine, rank == 0 ? name : NULL, n, requests));
    } else {
        for (int i = 0; i < n; i++)
            ET_MPI(MPIX_Icontact(mine, rank == 0 ? name : NULL, &requests[i]));
    }
    /* one after the other, or the two sides might choose different ones */
    if (!is_server) {
        ET_MPI(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
        ET_MPI(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
        ET_MPI(MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE));
        ET_CHECK(flag && requests[1] != MPI_REQUEST_NULL, "a request that is complete is inactive");
    } else {
        ET_MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
        for (int i = 0; i < 2; i++)
            ET_CHECK(requests[i] != MPI_REQUEST_NULL, "completion has freed request %d", i);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Comm inter;
        ET_MPI(MPIX_Remote_attach(mine, 1, &requests[i], &inter));
        use(inter);
    }
    if (is_server)
        cancel_rest(3, requests);
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));        /* the next client is not for these */
}

/* DN6: what is withdrawn while it waits in the server's queue is no client any more. */
static void withdrawn(void)
{
    MPI_Request taken, waiting;

    if (is_server)
        ET_MPI(MPIX_Iaccept(mine, name, 1, &taken));
    else
        ET_MPI(MPIX_Icontact(mine, name, &taken));
    ET_MPI(MPI_Wait(&taken, MPI_STATUS_IGNORE));
    if (!is_server) {
        ET_MPI(MPIX_Icontact(mine, name, &waiting));
        cancel_rest(1, &waiting);
    }
    attach_to(&taken);
    if (is_server)
        ET_MPI(MPIX_Iaccept(mine, name, 1, &taken));
    else
        ET_MPI(MPIX_Icontact(mine, name, &taken));
    attach(1, &taken);
}

/* DN5: three keys, of which one is welcome. */
static void keyed(void)
{
    MPI_Request request;
    int queried = 0;

    ET_MPI(MPI_Comm_set_errhandler(mine, MPI_ERRORS_RETURN));
    if (is_server) {
        ET_MPI(MPIX_Iaccept_keyed(mine, name, welcome, &queried, 1, &request));
    } else {
        ET_MPI(MPIX_Icontact(mine, name, &request));
        ET_ERROR(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_KEY,
                 rank == 0 ? "not accept" : "rank 0");
        ET_MPI(MPI_Request_free(&request));
        ET_MPI(MPIX_Icontact_keyed(mine, name, "a\0", 2, &request));
        ET_ERROR(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_KEY, NULL);
        ET_MPI(MPI_Request_free(&request));
        ET_ERROR(rank == 0 ? MPIX_Icontact_keyed(mine, name, name, 1025, &request) :
                 MPI_ERR_ARG, MPI_ERR_ARG, rank == 0 ? "1024" : NULL);
        if (rank != 0) {
            ET_MPI(MPIX_Icontact_keyed(mine, NULL, NULL, 0, &request));
            ET_ERROR(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_ARG, NULL);
            ET_MPI(MPI_Request_free(&request));
        }
        ET_MPI(MPIX_Icontact_keyed(mine, name, "a\0cret", 6, &request));
    }
    attach(1, &request);
    if (is_server)
        ET_CHECK(queried == (rank == 0 ? 2 : 0), "the function was called %d times", queried);
    ET_MPI(MPI_Comm_set_errhandler(mine, MPI_ERRORS_ARE_FATAL));
}

/* DN1, DN6: a name has one server, and is free when its port requests are cancelled. */
static void one_server(void)
{
    MPI_Request request;
    MPI_Comm inter;
    char other[MPI_MAX_PORT_NAME];

    ET_MPI(MPI_Comm_set_errhandler(mine, MPI_ERRORS_RETURN));
    if (is_server)
        ET_MPI(MPIX_Iaccept(mine, "one server", 1, &request));
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (!is_server) {
        ET_ERROR(MPIX_Server_connect(mine, "one server", &inter), MPI_ERR_SERVICE,
                 rank == 0 ? "another server" : NULL);
        ET_MPI(MPIX_Get_server_name("one server", other));
        ET_CHECK(strcmp(other, "one server"), "a name that another one has was given");
        limit_waits(1);
        ET_ERROR(MPIX_Client_connect(mine, "nobody's", &inter), MPI_ERR_NAME,
                 rank == 0 ? "nobody's" : NULL);
        ET_ERROR(MPIX_Client_connect(mine, "", &inter), MPI_ERR_ARG, NULL);
        ET_ERROR(MPIX_Client_connect(mine, "one\nserver", &inter), MPI_ERR_ARG, NULL);
        ET_ERROR(MPIX_Client_connect(mine, "localhost:1", &inter), MPI_ERR_PORT, NULL);
        limit_waits(CONNECT_S);
    }
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (is_server)
        cancel_rest(1, &request);
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (!is_server) {
        ET_MPI(MPIX_Iaccept(mine, "one server", 1, &request));
        cancel_rest(1, &request);
    }
    ET_MPI(MPI_Comm_set_errhandler(mine, MPI_ERRORS_ARE_FATAL));
}

static void wrong_arguments(void)
{
    MPI_Request requests[2], receive;
    MPI_Comm inter;
    int i = 0;
    char long_name[400];

    ET_MPI(MPI_Comm_set_errhandler(mine, MPI_ERRORS_RETURN));
    memset(long_name, 'x', sizeof(long_name));
    long_name[sizeof(long_name) - 1] = '\0';
    ET_ERROR(MPIX_Client_connect(mine, long_name, &inter), MPI_ERR_ARG, NULL);
    long_name[200] = '\0';
    limit_waits(1);
    ET_ERROR(MPIX_Client_connect(mine, long_name, &inter), MPI_ERR_NAME, NULL);
    limit_waits(CONNECT_S);
    ET_ERROR(MPIX_Client_connect(mine, name, NULL), MPI_ERR_ARG, NULL);
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_ERROR(MPIX_Get_server_name(name, NULL), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Get_server_name(NULL, long_name), MPI_ERR_ARG, NULL);
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    ET_ERROR(MPIX_Iaccept(mine, name, -1, requests), MPI_ERR_COUNT, NULL);
    ET_ERROR(MPIX_Iaccept(mine, name, 1, NULL), MPI_ERR_ARG, NULL);
    ET_MPI(MPI_Irecv(&i, 1, MPI_INT, MPI_ANY_SOURCE, 9, mine, &receive));
    ET_ERROR(MPIX_Remote_attach(mine, 1, &receive, &inter), MPI_ERR_REQUEST, NULL);
    ET_ERROR(MPIX_Remote_attach(mine, 2, requests, &inter), MPI_ERR_ARG, NULL);
    ET_MPI(MPI_Cancel(&receive));
    ET_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    /* not complete yet */
    if (is_server) {
        ET_MPI(MPIX_Iaccept(mine, "nobody comes", 1, requests));
        ET_ERROR(MPIX_Remote_attach(mine, 1, requests, &inter), MPI_ERR_REQUEST, NULL);
        cancel_rest(1, requests);
    }
    ET_MPI(MPI_Comm_set_errhandler(mine, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    const char *wanted;

    ET_MPI(MPI_Init(&argc, &argv));
    et_options(&argc, &argv);
    wanted = et_argument(argc, argv, "name", "a name, of \"signs\"/&;");
    et_world_changed();
    is_server = et.rank < et.size / 2;
    ET_MPI(MPI_Comm_split(MPI_COMM_WORLD, is_server, et.rank, &mine));
    ET_MPI(MPI_Comm_rank(mine, &rank));
    ET_MPI(MPI_Comm_size(mine, &size));
    if (et.rank == 0) {
        ET_MPI(MPIX_Get_server_name(wanted, name));
        ET_CHECK(strstr(wanted, ":0") || !strcmp(name, wanted), "the name is '%s'", name);
        ET_CHECK(!strstr(wanted, ":0") || strcmp(name, wanted), "the name is '%s'", name);
    }
    ET_MPI(MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD));
    blocking();
    nonblocking();
    withdrawn();
    keyed();
    one_server();
    wrong_arguments();
    ET_MPI(MPI_Comm_free(&mine));
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (et.rank == 0)
        et_log("PASS dyn_pair size=%d", et.size);
    ET_MPI(MPI_Finalize());
    return 0;
}
