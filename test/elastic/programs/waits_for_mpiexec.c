/*
 * Calls that wait for mpiexec let the requests and the other threads of their process go on, and
 * names have any characters.
 *
 *   --case lookup     MPI_Lookup_name, while the proxy is stopped: a message of rank 0 completes,
 *                     and a thread answers
 *   --case server     MPIX_Iaccept as in a job of elasticd, which registers the name, while the
 *                     proxy is stopped
 *   --case client     MPIX_Client_connect as in such a job
 *   --case contact    MPIX_Icontact as in such a job; and MPI_Lookup_name meanwhile
 *   --case spawn      MPI_Comm_spawn of a program that waits for what another thread of the root
 *                     does
 *   --case spawns     two threads spawn at once, and others look up names
 *   --case texts      names and ports with any characters, and too long ones
 */

#include "elastic_test.h"
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define BYTES (4 << 20)         /* of a message that needs the progress of both sides */
#define LIMIT_S 60
#define NAMES 20

enum { TAG_LARGE = 1, TAG_QUERY, TAG_REPLY };

static int rank;
static char *program;
static char large[BYTES];

static void give_up(int signal_number)
{
    (void) signal_number;
    kill(getppid(), SIGCONT);
    static const char text[] = "rank 0 makes no progress while it waits for mpiexec\n";
    if (write(2, text, sizeof(text) - 1) < 0)
        _exit(98);
    _exit(ET_FAILED);
}

static pthread_t start(void *(*work) (void *), void *argument)
{
    pthread_t thread;

    ET_CHECK(pthread_create(&thread, NULL, work, argument) == 0, "no thread");
    return thread;
}

/* In rank 0, while its main thread waits for mpiexec. */
static void *answer(void *file)
{
    int value;

    ET_MPI(MPI_Recv(&value, 1, MPI_INT, 1, TAG_QUERY, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    value++;
    ET_MPI(MPI_Send(&value, 1, MPI_INT, 1, TAG_REPLY, MPI_COMM_WORLD));
    if (file)
        et_make_file(file);
    return NULL;
}

static void query(void)
{
    int value = 41;

    ET_MPI(MPI_Send(&value, 1, MPI_INT, 0, TAG_QUERY, MPI_COMM_WORLD));
    ET_MPI(MPI_Recv(&value, 1, MPI_INT, 0, TAG_REPLY, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    ET_CHECK(value == 42, "received %d", value);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Operations that wait for mpiexec in rank 0. */
static const char *which;
static MPI_Request contact = MPI_REQUEST_NULL;

static void wait_for_mpiexec(void)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm inter;

    if (!strcmp(which, "server")) {
        ET_MPI(MPIX_Iaccept(MPI_COMM_SELF, "server", 1, &contact));
    } else if (!strcmp(which, "client")) {
        ET_MPI(MPIX_Client_connect(MPI_COMM_SELF, "server", &inter));
        ET_MPI(MPI_Comm_disconnect(&inter));
    } else {
        ET_MPI(MPI_Lookup_name("a name", MPI_INFO_NULL, port));
        ET_CHECK(!strcmp(port, "a port"), "the port is '%s'", port);
    }
}

static void lookup_stopped(void)
{
    MPI_Request send;
    MPI_Status status;

    ET_MPI(MPI_Publish_name("a name", MPI_INFO_NULL, "a port"));
    ET_MPI(MPI_Isend(large, BYTES, MPI_CHAR, 1, TAG_LARGE, MPI_COMM_WORLD, &send));
    pthread_t thread = start(answer, NULL);
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    et_await_file("stopped");
    if (!strcmp(which, "contact"))
        ET_MPI(MPIX_Icontact(MPI_COMM_SELF, "nobody", &contact));
    wait_for_mpiexec();
    ET_CHECK(pthread_join(thread, NULL) == 0, "no thread");
    ET_MPI(MPI_Wait(&send, MPI_STATUS_IGNORE));
    for (int k = 0; k < NAMES && !strcmp(which, "contact"); k++)
        wait_for_mpiexec();
    if (contact != MPI_REQUEST_NULL) {
        ET_MPI(MPI_Cancel(&contact));
        ET_MPI(MPI_Wait(&contact, &status));
        ET_MPI(MPI_Request_free(&contact));
    }
    ET_MPI(MPI_Unpublish_name("a name", MPI_INFO_NULL, "a port"));
}

static void lookup(void)
{
    MPI_Request port = MPI_REQUEST_NULL;
    MPI_Comm inter;

    if (rank == 0) {
        lookup_stopped();
        return;
    }
    if (!strcmp(which, "client"))
        ET_MPI(MPIX_Iaccept(MPI_COMM_SELF, "server", 1, &port));
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    signal(SIGALRM, give_up);
    ET_CHECK(kill(getppid(), SIGSTOP) == 0, "the proxy cannot be stopped");
    et_make_file("stopped");
    alarm(LIMIT_S);
    query();
    ET_MPI(MPI_Recv(large, BYTES, MPI_CHAR, 0, TAG_LARGE, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    alarm(0);
    kill(getppid(), SIGCONT);
    if (port == MPI_REQUEST_NULL)
        return;
    ET_MPI(MPI_Wait(&port, MPI_STATUS_IGNORE));
    ET_MPI(MPIX_Remote_attach(MPI_COMM_SELF, 1, &port, &inter));
    ET_MPI(MPI_Comm_disconnect(&inter));
}

/* Names of servers go the way of MPI_Publish_name then; mpiexec itself knows of no elasticd. */
static void use_name_service(void)
{
    setenv("ELASTICD_SOCKET", "none", 1);
    setenv("ELASTIC_JOB_ID", "1", 1);
    setenv("ELASTIC_STEP_REGISTER", "none", 1);
}

static void check_text(const char *name, const char *port)
{
    char found[MPI_MAX_PORT_NAME] = "";

    ET_MPI(MPI_Publish_name(name, MPI_INFO_NULL, port));
    ET_MPI(MPI_Lookup_name(name, MPI_INFO_NULL, found));
    ET_CHECK(!strcmp(found, port), "'%s' leads to '%s' instead of '%s'", name, found, port);
    ET_ERROR(MPI_Publish_name(name, MPI_INFO_NULL, "another"), MPI_ERR_NAME, NULL);
    ET_MPI(MPI_Unpublish_name(name, MPI_INFO_NULL, port));
    ET_ERROR(MPI_Lookup_name(name, MPI_INFO_NULL, found), MPI_ERR_NAME, NULL);
    ET_ERROR(MPI_Unpublish_name(name, MPI_INFO_NULL, port), MPI_ERR_SERVICE, NULL);
}

static void texts(void)
{
    static const char *const odd[] =
        { "plain", "two words", "two others", "a=b", "100%", "%41", "line\nbreak", "",
        "service=x port=y", "\xc3\xa4"
    };
    char found[MPI_MAX_PORT_NAME], longest[MPI_MAX_PORT_NAME], too_long[5000];
    const int n = (int) (sizeof(odd) / sizeof(odd[0]));

    if (rank != 0)
        return;
    for (int k = 0; k < n; k++)
        check_text(odd[k], odd[(k + 1) % n]);
    for (int k = 0; k < n; k++)
        ET_MPI(MPI_Publish_name(odd[k], MPI_INFO_NULL, odd[k]));
    for (int k = 0; k < n; k++) {
        ET_MPI(MPI_Lookup_name(odd[k], MPI_INFO_NULL, found));
        ET_CHECK(!strcmp(found, odd[k]), "'%s' leads to '%s'", odd[k], found);
        ET_MPI(MPI_Unpublish_name(odd[k], MPI_INFO_NULL, odd[k]));
    }
    memset(longest, 'p', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    check_text("longest", longest);
    memset(too_long, 'n', sizeof(too_long) - 1);
    for (int length = 512; length < (int) sizeof(too_long); length *= 2) {
        too_long[length] = '\0';
        if (length > 1024)
            ET_ERROR(MPI_Publish_name(too_long, MPI_INFO_NULL, "p"), MPI_ERR_NAME, NULL);
        else if (MPI_Publish_name(too_long, MPI_INFO_NULL, "p") == MPI_SUCCESS)
            ET_MPI(MPI_Unpublish_name(too_long, MPI_INFO_NULL, "p"));
        too_long[length] = 'n';
    }
}

/* ---- spawns ---------------------------------------------------------------------------------- */

static int child(void)
{
    MPI_Comm parent;

    et_await_file("answered");
    ET_MPI(MPI_Init(NULL, NULL));
    ET_MPI(MPI_Comm_get_parent(&parent));
    ET_MPI(MPI_Comm_disconnect(&parent));
    ET_MPI(MPI_Finalize());
    return 0;
}

static void spawn_one(MPI_Comm comm)
{
    char *arguments[] = { "--child", "1", NULL };
    MPI_Comm inter;

    ET_MPI(MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, comm, &inter,
                          MPI_ERRCODES_IGNORE));
    ET_MPI(MPI_Comm_disconnect(&inter));
}

static void spawn(void)
{
    if (rank == 0) {
        pthread_t thread = start(answer, "answered");
        ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
        spawn_one(MPI_COMM_SELF);
        ET_CHECK(pthread_join(thread, NULL) == 0, "no thread");
    } else {
        ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
        usleep(100000);         /* rank 0 is in the spawn, in most cases */
        query();
    }
}

static void *spawn_own(void *comm)
{
    spawn_one(*(MPI_Comm *) comm);
    return NULL;
}

static void *use_names(void *number)
{
    char name[32], port[MPI_MAX_PORT_NAME];

    for (int k = 0; k < NAMES; k++) {
        snprintf(name, sizeof(name), "name %d of thread %d of %d", k, *(int *) number, rank);
        ET_MPI(MPI_Publish_name(name, MPI_INFO_NULL, name));
        ET_MPI(MPI_Lookup_name(name, MPI_INFO_NULL, port));
        ET_CHECK(!strcmp(name, port), "'%s' leads to '%s'", name, port);
        ET_MPI(MPI_Unpublish_name(name, MPI_INFO_NULL, port));
    }
    return NULL;
}

static void spawns(void)
{
    pthread_t threads[4];
    int numbers[2] = { 0, 1 };
    MPI_Comm comms[2];

    for (int k = 0; k < 2; k++)
        ET_MPI(MPI_Comm_dup(MPI_COMM_SELF, &comms[k]));
    for (int k = 0; k < 2; k++) {
        threads[k] = start(spawn_own, &comms[k]);
        threads[k + 2] = start(use_names, &numbers[k]);
    }
    usleep(200000);             /* both spawns wait, in most cases */
    et_make_file("answered");
    for (int k = 0; k < 4; k++)
        ET_CHECK(pthread_join(threads[k], NULL) == 0, "no thread");
    for (int k = 0; k < 2; k++)
        ET_MPI(MPI_Comm_free(&comms[k]));
}

int main(int argc, char **argv)
{
    int provided;

    which = et_argument(argc, argv, "case", "lookup");
    program = argv[0];
    if (et_argument(argc, argv, "child", NULL))
        return child();
    ET_MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    ET_CHECK(provided == MPI_THREAD_MULTIPLE, "level %d", provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (!strcmp(which, "server") || !strcmp(which, "client") || !strcmp(which, "contact"))
        use_name_service();
    if (!strcmp(which, "texts"))
        texts();
    else if (!strcmp(which, "spawn"))
        spawn();
    else if (!strcmp(which, "spawns"))
        spawns();
    else
        lookup();
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0)
        et_log("PASS waits %s", which);
    ET_MPI(MPI_Finalize());
    return 0;
}
