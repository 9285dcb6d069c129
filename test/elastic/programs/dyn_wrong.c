/*
 * "Errors not named above" of dynamic process management: --case NAME, one of those in the table at
 * the end.  A failed call must change nothing, so that the same calls succeed afterwards.
 */

#include "elastic_test.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_TEXT 70000         /* more than any text may have */

static MPI_Comm none = MPI_COMM_NULL;
static MPI_Request untouched;   /* what a failed call must leave as it is */
static char *text;
static const char *const any[] = { MPIX_ANYWHERE };

static int welcome(const void *key, int bytes, void *state)
{
    return bytes == 3 && !memcmp(key, "key", 3);
}

static int allocate(int n, const char *global, const char *const locals[], const char *arch,
                    const char *const hosts[], int hardness, MPI_Request * requests)
{
    int error;

    if (requests)
        *requests = untouched;
    error = MPIX_Iallocate(n, global, locals, arch, hosts, hardness, requests);
    ET_CHECK(!requests || *requests == untouched, "the failed call has written a request");
    return error;
}

static MPI_Request one_slot(void)
{
    MPI_Request request;

    ET_MPI(MPIX_Iallocate(1, NULL, NULL, MPIX_ANYWHERE, NULL, MPIX_HARD, &request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return request;
}

/* The slot is used, and released. */
static void use_slot(MPI_Request request)
{
    char *args[] = { "-c", "exit 3", NULL };
    MPI_Status status;
    int code;

    ET_MPI(MPIX_Set_exec(request, "sh"));
    ET_MPI(MPIX_Set_args(request, args));
    ET_MPI(MPI_Start(&request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Wait(&request, &status));
    ET_MPI(MPIX_Get_return_code(&status, &code));
    ET_CHECK(code == 3 && request == MPI_REQUEST_NULL, "code %d", code);
}

/* Of this process and itself, which is no connection that can be. */
static void rendezvous_at(const char *name)
{
    MPI_Request accept, contact;
    int done = 0;

    ET_MPI(MPIX_Iaccept(MPI_COMM_SELF, name, 1, &accept));
    ET_MPI(MPIX_Icontact(MPI_COMM_SELF, name, &contact));
    while (!done)
        ET_MPI(MPI_Test(&contact, &done, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Wait(&accept, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Request_free(&contact));
    ET_MPI(MPI_Request_free(&accept));
}

/* ---- MPI_COMM_NULL, and an intercommunicator where an intracommunicator is meant ------------- */

static void wrong_comm(MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm made;

    ET_ERROR(MPIX_Comm_modify(comm, 1, &made), MPI_ERR_COMM, NULL);
    ET_ERROR(MPIX_Spawn(comm, 0, "*", 1, NULL, "sh", NULL, 0, &made), MPI_ERR_COMM, NULL);
    ET_ERROR(MPIX_Client_connect(comm, "wrong", &made), MPI_ERR_COMM, NULL);
    ET_ERROR(MPIX_Server_connect(comm, "wrong", &made), MPI_ERR_COMM, NULL);
    ET_ERROR(MPIX_Iaccept(comm, "wrong", 1, &request), MPI_ERR_COMM, NULL);
    ET_ERROR(MPIX_Iaccept_keyed(comm, "wrong", welcome, NULL, 1, &request), MPI_ERR_COMM, NULL);
    ET_ERROR(MPIX_Icontact(comm, "wrong", &request), MPI_ERR_COMM, NULL);
    ET_ERROR(MPIX_Icontact_keyed(comm, "wrong", "key", 3, &request), MPI_ERR_COMM, NULL);
    ET_ERROR(MPIX_Remote_attach(comm, 1, &request, &made), MPI_ERR_COMM, NULL);
    ET_ERROR(MPIX_Comm_parent_create(comm, 0, NULL, &made), MPI_ERR_COMM, NULL);
    ET_CHECK(request == MPI_REQUEST_NULL, "there is a request");
}

static void comms(void)
{
    MPI_Comm half, inter;

    wrong_comm(MPI_COMM_NULL);
    ET_MPI(MPI_Comm_split(MPI_COMM_WORLD, et.rank == 0, 0, &half));
    ET_MPI(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, et.rank == 0 ? 1 : 0, 5, &inter));
    ET_MPI(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
    wrong_comm(inter);
    et_exercise_inter(inter, et.rank == 0, "the intercommunicator");
    ET_MPI(MPI_Comm_free(&inter));
    ET_MPI(MPI_Comm_free(&half));
    et_exercise(MPI_COMM_WORLD, "the world");
}

/* ---- MPIX_Iallocate, and what is done with process requests ---------------------------------- */

static void positions(void)
{
    static const char *const missing[] = { NULL };
    const char *const longer[] = { text };
    MPI_Request request = MPI_REQUEST_NULL;

    untouched = MPI_REQUEST_NULL;
    ET_ERROR(allocate(-1, NULL, NULL, "*", NULL, MPIX_HARD, &request), MPI_ERR_COUNT, "-1");
    ET_ERROR(allocate(100000, NULL, NULL, "*", NULL, MPIX_HARD, &request), MPIX_ERR_ALLOCATE,
             "4096");
    ET_ERROR(allocate(1, NULL, NULL, "*", NULL, MPIX_HARD, NULL), MPI_ERR_ARG, "array_of_requests");
    ET_ERROR(allocate(1, NULL, NULL, NULL, NULL, MPIX_HARD, &request), MPI_ERR_ARG, "arch_type");
    ET_ERROR(allocate(1, NULL, NULL, "vax", NULL, MPIX_HARD, &request), MPIX_ERR_ALLOCATE, "uname");
    ET_ERROR(allocate(1, NULL, NULL, "*", missing, MPIX_HARD, &request), MPI_ERR_ARG, "missing");
    ET_ERROR(allocate(1, NULL, missing, "*", NULL, MPIX_HARD, &request), MPI_ERR_ARG, "missing");
    ET_ERROR(allocate(1, NULL, NULL, "*", longer, MPIX_HARD, &request), MPI_ERR_ARG, "long");
    ET_ERROR(allocate(1, text, NULL, "*", NULL, MPIX_HARD, &request), MPI_ERR_ARG, "long");
    ET_ERROR(allocate(1, NULL, NULL, "*", NULL, 7, &request), MPI_ERR_ARG, "MPIX_HARD");
    ET_ERROR(allocate(1, NULL, NULL, "*", NULL, -1, &request), MPI_ERR_ARG, "MPIX_SOFT");
    ET_MPI(MPIX_Iallocate(0, NULL, NULL, MPIX_ANYWHERE, NULL, MPIX_HARD, NULL));
    use_slot(one_slot());
}

static void process_arguments(void)
{
    char *longer[] = { text, NULL };
    MPI_Request request = one_slot();
    MPI_Status status;
    int number;

    ET_ERROR(MPIX_Set_exec(request, NULL), MPI_ERR_ARG, "executable");
    ET_ERROR(MPIX_Set_exec(request, ""), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Set_exec(request, text), MPI_ERR_ARG, "long");
    ET_ERROR(MPIX_Set_args(request, longer), MPI_ERR_ARG, "long");
    ET_ERROR(MPIX_Get_nodename(request, NULL), MPI_ERR_ARG, "hostname");
    ET_ERROR(MPIX_Get_jsinfo(request, NULL), MPI_ERR_ARG, "js_dep_info");
    ET_ERROR(MPI_Start(&request), MPI_ERR_REQUEST, "MPIX_Set_exec");    /* nothing has been set */
    ET_ERROR(MPIX_Signal(SIGTERM, -1, &request), MPI_ERR_COUNT, "-1");
    ET_ERROR(MPIX_Signal(SIGTERM, 1, NULL), MPI_ERR_ARG, "array_of_requests");
    ET_ERROR(MPIX_Signal(0, 1, &request), MPIX_ERR_INVALID_SIGNAL, "0");
    ET_ERROR(MPIX_Signal(-3, 1, &request), MPIX_ERR_INVALID_SIGNAL, "-3");
    ET_ERROR(MPIX_Signal(SIGTERM, 1, &request), MPI_ERR_REQUEST, "started");
    ET_MPI(MPIX_Signal(SIGTERM, 0, NULL));
    ET_MPI(MPIX_Set_args(request, NULL));
    ET_ERROR(MPIX_Get_stage(NULL, &number), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Get_stage(MPI_STATUS_IGNORE, &number), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Get_return_code(NULL, &number), MPI_ERR_ARG, NULL);
    for (int tag = 0; tag < 5; tag++) {
        ET_MPI(MPI_Sendrecv(&et.rank, 1, MPI_INT, 0, tag, &number, 1, MPI_INT, 0, tag,
                            MPI_COMM_SELF, &status));
        ET_ERROR(MPIX_Get_stage(&status, &number), MPI_ERR_ARG, "process request");
        ET_ERROR(MPIX_Get_return_code(&status, &number), MPI_ERR_ARG, "process request");
    }
    ET_ERROR(MPIX_Get_stage(&status, NULL), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Get_return_code(&status, NULL), MPI_ERR_ARG, NULL);
    use_slot(request);
}

static void no_process(MPI_Request request)
{
    char capacity[MPI_MAX_INFO_VAL + 1];
    MPI_Comm made;

    ET_ERROR(MPIX_Set_exec(request, "sh"), MPI_ERR_REQUEST, NULL);
    ET_ERROR(MPIX_Set_args(request, NULL), MPI_ERR_REQUEST, NULL);
    ET_ERROR(MPIX_Get_nodename(request, capacity), MPI_ERR_REQUEST, NULL);
    ET_ERROR(MPIX_Get_jsinfo(request, capacity), MPI_ERR_REQUEST, NULL);
    ET_ERROR(MPIX_Signal(SIGTERM, 1, &request), MPI_ERR_REQUEST, NULL);
    ET_ERROR(MPIX_Comm_parent_create(MPI_COMM_SELF, 1, &request, &made), MPI_ERR_REQUEST, NULL);
}

/* Requests of another kind go on as if nothing had been. */
static void kinds(void)
{
    MPI_Request receive, persistent, accept, position = one_slot();
    MPI_Comm made;
    int got = -1, again = -1;

    no_process(MPI_REQUEST_NULL);
    ET_MPI(MPI_Irecv(&got, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &receive));
    ET_MPI(MPI_Recv_init(&again, 1, MPI_INT, 0, 2, MPI_COMM_SELF, &persistent));
    ET_MPI(MPIX_Iaccept(MPI_COMM_SELF, et.rank == 0 ? "of rank 0" : "of rank 1", 1, &accept));
    no_process(receive);
    no_process(persistent);
    no_process(accept);
    ET_ERROR(MPIX_Remote_attach(MPI_COMM_SELF, 1, &position, &made), MPI_ERR_REQUEST, NULL);
    ET_ERROR(MPIX_Remote_attach(MPI_COMM_SELF, 1, &receive, &made), MPI_ERR_REQUEST, NULL);
    ET_ERROR(MPIX_Remote_attach(MPI_COMM_SELF, 1, &persistent, &made), MPI_ERR_REQUEST, NULL);
    /* no client yet */
    ET_ERROR(MPIX_Remote_attach(MPI_COMM_SELF, 1, &accept, &made), MPI_ERR_REQUEST, NULL);
    ET_MPI(MPI_Start(&persistent));
    for (int tag = 1; tag <= 2; tag++)
        ET_MPI(MPI_Send(&tag, 1, MPI_INT, 0, tag, MPI_COMM_SELF));
    ET_MPI(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Wait(&persistent, MPI_STATUS_IGNORE));
    ET_CHECK(got == 1 && again == 2, "received %d and %d", got, again);
    ET_MPI(MPI_Request_free(&persistent));
    ET_MPI(MPI_Cancel(&accept));
    ET_MPI(MPI_Wait(&accept, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Request_free(&accept));
    use_slot(position);
}

/* ---- clients and servers, spawn -------------------------------------------------------------- */

static void outputs(void)
{
    char name[MPI_MAX_PORT_NAME];
    MPI_Request request = MPI_REQUEST_NULL;

    ET_ERROR(MPIX_Spawn(MPI_COMM_SELF, 0, "*", 1, any, "sh", NULL, 0, NULL), MPI_ERR_ARG,
             "newcomm");
    ET_ERROR(MPIX_Client_connect(MPI_COMM_SELF, "wrong", NULL), MPI_ERR_ARG, "newcomm");
    ET_ERROR(MPIX_Server_connect(MPI_COMM_SELF, "wrong", NULL), MPI_ERR_ARG, "newcomm");
    ET_ERROR(MPIX_Remote_attach(MPI_COMM_SELF, 1, &request, NULL), MPI_ERR_ARG, "newcomm");
    ET_ERROR(MPIX_Remote_attach(MPI_COMM_SELF, 1, NULL, &none), MPI_ERR_ARG, "array_of_requests");
    ET_ERROR(MPIX_Comm_parent_create(MPI_COMM_SELF, 0, NULL, NULL), MPI_ERR_ARG, "intercomm");
    ET_ERROR(MPIX_Iaccept(MPI_COMM_SELF, "wrong", 1, NULL), MPI_ERR_ARG, "array_of_requests");
    ET_ERROR(MPIX_Iaccept_keyed(MPI_COMM_SELF, "wrong", welcome, NULL, 1, NULL), MPI_ERR_ARG,
             "array_of_requests");
    ET_ERROR(MPIX_Icontact(MPI_COMM_SELF, "wrong", NULL), MPI_ERR_ARG, "request");
    ET_ERROR(MPIX_Icontact_keyed(MPI_COMM_SELF, "wrong", "key", 3, NULL), MPI_ERR_ARG, "request");
    ET_ERROR(MPIX_Get_server_name(NULL, name), MPI_ERR_ARG, "requested_name");
    ET_ERROR(MPIX_Get_server_name("wrong", NULL), MPI_ERR_ARG, "given_name");
}

static void names(void)
{
    static const char *const wrong[] = { NULL, "", "a\nline", "a\x7f" };
    MPI_Request request = untouched = MPI_REQUEST_NULL;

    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        ET_ERROR(MPIX_Client_connect(MPI_COMM_SELF, wrong[i], &none), MPI_ERR_ARG, NULL);
        ET_ERROR(MPIX_Server_connect(MPI_COMM_SELF, wrong[i], &none), MPI_ERR_ARG, NULL);
        ET_ERROR(MPIX_Iaccept(MPI_COMM_SELF, wrong[i], 1, &request), MPI_ERR_ARG, NULL);
        ET_ERROR(MPIX_Iaccept_keyed(MPI_COMM_SELF, wrong[i], welcome, NULL, 1, &request),
                 MPI_ERR_ARG, NULL);
        ET_ERROR(MPIX_Icontact(MPI_COMM_SELF, wrong[i], &request), MPI_ERR_ARG, NULL);
        ET_ERROR(MPIX_Icontact_keyed(MPI_COMM_SELF, wrong[i], "key", 3, &request), MPI_ERR_ARG,
                 NULL);
        ET_CHECK(request == MPI_REQUEST_NULL && none == MPI_COMM_NULL, "something has been made");
    }
    ET_ERROR(MPIX_Spawn(MPI_COMM_SELF, 0, "*", 1, any, NULL, NULL, 0, &none), MPI_ERR_ARG,
             "executable");
    ET_ERROR(MPIX_Spawn(MPI_COMM_SELF, 0, NULL, 1, any, "sh", NULL, 0, &none), MPI_ERR_ARG,
             "arch_type");
}

static void counts(void)
{
    MPI_Request request = MPI_REQUEST_NULL;

    ET_ERROR(MPIX_Spawn(MPI_COMM_SELF, 0, "*", -1, NULL, "sh", NULL, 0, &none), MPI_ERR_COUNT,
             "-1");
    ET_ERROR(MPIX_Iaccept(MPI_COMM_SELF, "wrong", -1, &request), MPI_ERR_COUNT, "-1");
    ET_ERROR(MPIX_Iaccept(MPI_COMM_SELF, "wrong", 70000, &request), MPI_ERR_COUNT, "65536");
    ET_ERROR(MPIX_Iaccept_keyed(MPI_COMM_SELF, "wrong", welcome, NULL, -1, &request), MPI_ERR_COUNT,
             "-1");
    ET_ERROR(MPIX_Icontact_keyed(MPI_COMM_SELF, "wrong", "key", -1, &request), MPI_ERR_COUNT, "-1");
    ET_ERROR(MPIX_Icontact_keyed(MPI_COMM_SELF, "wrong", NULL, -1, &request), MPI_ERR_COUNT, "-1");
    ET_ERROR(MPIX_Icontact_keyed(MPI_COMM_SELF, "wrong", NULL, 3, &request), MPI_ERR_ARG, "key");
    ET_ERROR(MPIX_Icontact_keyed(MPI_COMM_SELF, "wrong", text, 1025, &request), MPI_ERR_ARG,
             "1024");
    ET_ERROR(MPIX_Remote_attach(MPI_COMM_SELF, -1, &request, &none), MPI_ERR_COUNT, "-1");
    ET_ERROR(MPIX_Remote_attach(MPI_COMM_SELF, 2, &request, &none), MPI_ERR_ARG, "2");
    ET_ERROR(MPIX_Comm_parent_create(MPI_COMM_SELF, -1, &request, &none), MPI_ERR_COUNT, NULL);
    ET_CHECK(request == MPI_REQUEST_NULL && none == MPI_COMM_NULL, "something has been made");
}

/* A key of no bytes is a key: the function is queried about it. */
static int is_empty(const void *key, int bytes, void *state)
{
    *(int *) state = bytes;
    return 1;
}

static void no_bytes(void)
{
    const char *name = et.rank == 0 ? "empty 0" : "empty 1";
    MPI_Request accept, contact;
    int bytes = -1, done = 0;

    ET_MPI(MPIX_Iaccept_keyed(MPI_COMM_SELF, name, is_empty, &bytes, 1, &accept));
    ET_MPI(MPIX_Icontact_keyed(MPI_COMM_SELF, name, NULL, 0, &contact));
    while (!done)
        ET_MPI(MPI_Test(&contact, &done, MPI_STATUS_IGNORE));
    ET_MPI(MPI_Wait(&accept, MPI_STATUS_IGNORE));
    ET_CHECK(bytes == 0, "the key has %d bytes", bytes);
    ET_MPI(MPI_Request_free(&contact));
    ET_MPI(MPI_Request_free(&accept));
}

/* An error that rank 0 finds in a nonblocking call reaches the others with the completion. */
static void broadcast_to_others(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int is_first = et.rank == 0, error;

    for (int i = 0; i < 4; i++) {
        int is_key = i == 2 || i == 3;
        if (i == 0)
            error = MPIX_Iaccept(MPI_COMM_WORLD, NULL, 1, &request);
        else if (i == 1)
            error = MPIX_Icontact(MPI_COMM_WORLD, "", &request);
        else
            error =
                MPIX_Icontact_keyed(MPI_COMM_WORLD, "wrong", i == 2 ? NULL : "key", i == 2 ? 3 : -1,
                                    &request);
        if (!is_first) {
            ET_MPI(error);
            error = MPI_Wait(&request, MPI_STATUS_IGNORE);
            ET_MPI(MPI_Request_free(&request));
        }
        ET_ERROR(error, is_key && i == 3 ? MPI_ERR_COUNT : MPI_ERR_ARG, is_first ? NULL : "rank 0");
        ET_CHECK(request == MPI_REQUEST_NULL, "there is a request");
    }
    ET_ERROR(MPIX_Client_connect(MPI_COMM_WORLD, NULL, &none), MPI_ERR_ARG,
             is_first ? NULL : "rank 0");
    ET_ERROR(MPIX_Server_connect(MPI_COMM_WORLD, NULL, &none), MPI_ERR_ARG,
             is_first ? NULL : "rank 0");
}

static void arguments(void)
{
    comms();
    positions();
    process_arguments();
    kinds();
    outputs();
    names();
    counts();
    no_bytes();
    broadcast_to_others();
    rendezvous_at(et.rank == 0 ? "meets 0" : "meets 1");
}

/* ---- no process manager, or a foreign one ---------------------------------------------------- */

static void outside(void)
{
    MPI_Request request = untouched = MPI_REQUEST_NULL;
    char port[MPI_MAX_PORT_NAME];

    ET_ERROR(allocate(1, NULL, NULL, "*", NULL, MPIX_HARD, &request), MPIX_ERR_ALLOCATE, "mpiexec");
    ET_ERROR(allocate(1, NULL, NULL, "*", NULL, MPIX_SOFT, &request), MPIX_ERR_ALLOCATE, "mpiexec");
    ET_ERROR(allocate(-1, NULL, NULL, "*", NULL, MPIX_HARD, &request), MPI_ERR_COUNT, "-1");
    ET_ERROR(allocate(1, NULL, NULL, NULL, NULL, MPIX_HARD, &request), MPI_ERR_ARG, "arch_type");
    ET_MPI(MPIX_Get_server_name("localhost:0", port));
    rendezvous_at(port);
}

/* A process that needs an mpiexec, and gets none; it may try again. */
static void unmanaged(void)
{
    int *universe, flag, codes[2] = { -1, -1 };

    ET_MPI(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &universe, &flag));
    ET_CHECK(flag && *universe == 1, "%d processes", flag ? *universe : 0);
    for (int i = 0; i < 2; i++) {
        ET_ERROR(MPI_Comm_spawn("true", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &none,
                                codes), MPI_ERR_SPAWN,
                 "mpiexec -n 1");
        ET_CHECK(codes[0] == MPI_ERR_SPAWN && codes[1] == MPI_ERR_SPAWN, "error codes %d and %d",
                 codes[0], codes[1]);
        ET_ERROR(MPIX_Spawn(MPI_COMM_WORLD, 0, "*", 1, NULL, "true", NULL, 0, &none), MPI_ERR_SPAWN,
                 "mpiexec -n 1");
    }
}

/* ---- before MPI_Init and after MPI_Finalize -------------------------------------------------- */

static int call(int which)
{
    static MPI_Request request = MPI_REQUEST_NULL;
    static MPI_Status status;
    char capacity[MPI_MAX_INFO_VAL + 1];
    int number;

    switch (which) {
        case 0:
            return MPIX_Comm_modify(MPI_COMM_WORLD, 1, &none);
        case 1:
            return MPIX_Spawn(MPI_COMM_WORLD, 0, "*", 1, NULL, "sh", NULL, 0, &none);
        case 2:
            return MPIX_Client_connect(MPI_COMM_WORLD, "early", &none);
        case 3:
            return MPIX_Server_connect(MPI_COMM_WORLD, "early", &none);
        case 4:
            return MPIX_Iallocate(1, NULL, NULL, "*", NULL, MPIX_HARD, &request);
        case 5:
            return MPIX_Set_exec(request, "sh");
        case 6:
            return MPIX_Set_args(request, NULL);
        case 7:
            return MPIX_Get_nodename(request, capacity);
        case 8:
            return MPIX_Get_jsinfo(request, capacity);
        case 9:
            return MPIX_Get_stage(&status, &number);
        case 10:
            return MPIX_Get_return_code(&status, &number);
        case 11:
            return MPIX_Comm_parent_create(MPI_COMM_WORLD, 0, NULL, &none);
        case 12:
            return MPIX_Signal(SIGTERM, 0, NULL);
        case 13:
            return MPIX_Iaccept(MPI_COMM_WORLD, "early", 1, &request);
        case 14:
            return MPIX_Iaccept_keyed(MPI_COMM_WORLD, "early", welcome, NULL, 1, &request);
        case 15:
            return MPIX_Icontact(MPI_COMM_WORLD, "early", &request);
        case 16:
            return MPIX_Icontact_keyed(MPI_COMM_WORLD, "early", "key", 3, &request);
        case 17:
            return MPIX_Get_server_name("early", capacity);
        case 18:
            return MPIX_Remote_attach(MPI_COMM_WORLD, 1, &request, &none);
        case 19:
            return MPIX_COMM_PARENT == MPI_COMM_NULL;
        default:
            return -1;
    }
}

/* Ends the process that calls, by no accident. */
static void expect_ends(const char *when)
{
    for (int which = 0; which < 20; which++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            (void) call(which);
            _exit(0);
        }
        ET_CHECK(child > 0 && waitpid(child, &status, 0) == child, "no child");
        ET_CHECK(WIFEXITED(status) &&
                 WEXITSTATUS(status) != 0, "call %d %s: status %x", which, when, status);
    }
}

/* ---- the program ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run) (void);
} cases[] = {
    {"arguments", arguments}, {"outside", outside}, {"unmanaged", unmanaged}, {"early", NULL}
};

int main(int argc, char **argv)
{
    const char *name = et_argument(argc, argv, "case", "arguments");
    int is_early = !strcmp(name, "early"), found = 0;

    if (is_early)
        expect_ends("before MPI_Init");
    ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    text = calloc(LONG_TEXT, 1);
    ET_CHECK(text, "no memory");
    memset(text, 'x', LONG_TEXT - 1);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (strcmp(cases[i].name, name))
            continue;
        found = 1;
        if (cases[i].run)
            cases[i].run();
    }
    ET_CHECK(found, "there is no case %s", name);
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    free(text);
    if (et.rank == 0 && !is_early)
        et_log("PASS dyn_wrong %s size=%d", name, et.size);
    ET_MPI(MPI_Finalize());
    if (is_early) {
        expect_ends("after MPI_Finalize");
        et_log("PASS dyn_wrong early");
    }
    return 0;
}
