/*
 * Programs that are hard to measure (doc/user/measuring.md), one a --case.  In each case the loop
 * that probes is found, it takes no more time than there was, and MPI no more than the loop; and
 * the call sites that count are determined by the case.
 */

#define _GNU_SOURCE
#include "elastic_test.h"
#include <pthread.h>
#include <setjmp.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 40

static MPI_T_pvar_session session;
static const char *name;
static int round_number;

static void read_variable(const char *variable, void *value)
{
    MPI_T_pvar_handle handle = et_open_variable(session, variable);

    ET_CHECK(MPI_T_pvar_read(session, handle, value) == MPI_SUCCESS, "%s cannot be read", variable);
    ET_CHECK(MPI_T_pvar_handle_free(session, &handle) == MPI_SUCCESS,
             "the handle of %s cannot be freed", variable);
}

static unsigned read_number(const char *variable)
{
    unsigned value;

    read_variable(variable, &value);
    return value;
}

static double read_seconds(const char *variable)
{
    double value;

    read_variable(variable, &value);
    return value;
}

static void message_to_myself(MPI_Comm comm)
{
    int out = 1, in;

    ET_MPI(MPI_Sendrecv(&out, 1, MPI_INT, 0, 7, &in, 1, MPI_INT, 0, 7, comm, MPI_STATUS_IGNORE));
}

/* ---- threads: another one calls MPI all the time, from a site of its own ---- */

static MPI_Comm threads_comm;
static volatile int threads_over;

static void *call_mpi(void *unused)
{
    (void) unused;
    while (!threads_over) {
        message_to_myself(threads_comm);
        ET_MPI(MPI_Barrier(threads_comm));
        usleep(100);
    }
    return NULL;
}

static void threads_round(void)
{
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* ---- recursion: calls on the way down and on the way up ---- */

static void descend(int depth)
{
    ET_MPI(MPI_Barrier(MPI_COMM_SELF));
    if (depth > 0)
        descend(depth - 1);
    message_to_myself(MPI_COMM_SELF);
}

static void recursion_round(void)
{
    descend(round_number % 7);
}

/* ---- longjmp: out of a loop, and out of an MPI call by way of an error handler ---- */

static jmp_buf way_out;
static MPI_Comm failing;

static void leave_call(MPI_Comm * comm, int *error, ...)
{
    (void) comm;
    (void) error;
    longjmp(way_out, 2);
}

static void longjmp_round(void)
{
    int nothing = 0;

    switch (setjmp(way_out)) {
        case 0:
            for (int i = 0;; i++) {
                message_to_myself(MPI_COMM_SELF);
                if (i == round_number % 5)
                    longjmp(way_out, 1);
            }
        case 1:
            ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
            MPI_Send(&nothing, 1, MPI_INT, -77, 7, failing);    /* an error, and so a way out */
            ET_CHECK(0, "the error handler has not been called");
            break;
        default:
            ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    }
}

/* ---- fork: a child that ends as it is, and one that becomes another program ---- */

static void fork_round(void)
{
    if (round_number % 10 == 5) {
        pid_t child = fork();
        if (child == 0 && round_number % 20 == 5)
            _exit(0);
        if (child == 0) {
            execl("/bin/true", "true", (char *) NULL);
            _exit(1);
        }
        int status = -1;
        ET_CHECK(child > 0 && waitpid(child, &status, 0) == child &&
                 status == 0, "a child ended with %d", status);
    }
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* ---- sites: more than 1024 ---- */

#define ONE ET_MPI(MPI_Barrier(MPI_COMM_SELF));
#define TEN ONE ONE ONE ONE ONE ONE ONE ONE ONE ONE
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static void sites_round(void)
{
    HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED HUNDRED
}

/* ---- identifiers: one site that stands for three, and two that stand for one ---- */

static void identifiers_round(void)
{
    static const int ids[] = { -1, 0, 2147483647 };

    for (int i = 0; i < 3; i++) {
        ET_CHECK(MPI_T_set_call_site_identifier(ids[i]) == MPI_SUCCESS,
                 "the identifier %d is refused", ids[i]);
        message_to_myself(MPI_COMM_SELF);
    }
    ET_CHECK(MPI_T_set_call_site_identifier(5) == MPI_SUCCESS, "an identifier is refused");
    ET_MPI(MPI_Barrier(MPI_COMM_SELF));
    ET_CHECK(MPI_T_set_call_site_identifier(5) == MPI_SUCCESS, "an identifier is refused");
    ET_MPI(MPI_Barrier(MPI_COMM_SELF));
}

/* ---- polling: how often is no step of the program ---- */

static void polling_round(void)
{
    MPI_Request request;
    int done = 0;

    ET_MPI(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    if (et.rank == 0)
        usleep(500);
    while (!done)
        ET_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
}

/* ---- writes: all loops are written at the first probe, then once a second at most ---- */

#define LONGER_THAN_A_SECOND 1200000

static void writes_round(void)
{
    static double began;
    static unsigned before;
    unsigned writes = read_number("adapt_graph_writes");

    if (round_number == 0)
        began = MPI_Wtime();
    else
        ET_CHECK(writes >= 1 && writes - 1 <= MPI_Wtime() - began, "%u writes in %g s", writes,
                 MPI_Wtime() - began);
    if (round_number == 20) {
        before = writes;
        usleep(LONGER_THAN_A_SECOND);
    } else {
        usleep(1000);           /* so that each round is measured */
    }
    if (round_number == 21)
        ET_CHECK(writes > before, "%u writes, as before a second in which nothing was written",
                 writes);
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
}

/* ---- all ---- */

/* Sites beside the probe: exactly, or at most if less than 0. */
static const struct odd_case {
    const char *name;
    void (*round) (void);
    int sites;
} cases[] = {
    {"threads", threads_round, 1},
    {"recursion", recursion_round, 2},
    {"longjmp", longjmp_round, 4},
    {"fork", fork_round, 1},
    {"sites", sites_round, 1023},
    {"identifiers", identifiers_round, 4},
    {"polling", polling_round, 1},
    {"writes", writes_round, 1},
    {"never", NULL, 0}
};

static const struct odd_case *find_case(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (!strcmp(cases[i].name, name))
            return &cases[i];
    }
    ET_CHECK(0, "no case %s", name);
    return NULL;
}

static void check_measured(const struct odd_case *odd, double wall)
{
    unsigned nodes = read_number("adapt_graph_nodes"), loops = read_number("adapt_graph_loops");
    double loop = read_seconds("adapt_loop_time"), mpi = read_seconds("adapt_mpi_time");

    if (!odd->round) {
        ET_CHECK(nodes == 0 && loops == 0 && loop == 0 &&
                 mpi == 0, "measured without a probe: %u sites", nodes);
        return;
    }
    ET_CHECK(nodes == (unsigned) odd->sites + 1, "%u sites, not the probe and %d", nodes,
             odd->sites);
    ET_CHECK(loops >= 1 && loops <= 64, "%u loops", loops);
    ET_CHECK(loop > 0 && loop <= wall, "%g s in the loop, of %g", loop, wall);
    ET_CHECK(mpi > 0 && mpi <= loop, "%g s in MPI, of %g in the loop", mpi, loop);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    int provided;

    name = et_argument(argc, argv, "case", "threads");
    const struct odd_case *odd = find_case();
    et_init_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    ET_CHECK(MPI_T_set_call_site_identifier(1) == MPI_SUCCESS,
             "an identifier is refused before the first probe");
    ET_CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS, "no MPI_T");
    ET_CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS, "no session");
    ET_MPI(MPI_Comm_dup(MPI_COMM_SELF, &threads_comm));
    ET_MPI(MPI_Comm_dup(MPI_COMM_SELF, &failing));
    MPI_Errhandler handler;
    ET_MPI(MPI_Comm_create_errhandler(leave_call, &handler));
    ET_MPI(MPI_Comm_set_errhandler(failing, handler));
    ET_MPI(MPI_Errhandler_free(&handler));
    if (odd->round == threads_round)
        ET_CHECK(pthread_create(&thread, NULL, call_mpi, NULL) == 0, "no thread");

    double start = MPI_Wtime();
    for (round_number = 0; round_number < ROUNDS; round_number++) {
        if (odd->round) {
            odd->round();
            et_probe();
        } else {
            ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
        }
    }
    check_measured(odd, MPI_Wtime() - start);

    threads_over = 1;
    if (odd->round == threads_round)
        pthread_join(thread, NULL);
    ET_MPI(MPI_Comm_free(&threads_comm));
    ET_MPI(MPI_Comm_free(&failing));
    return et_finish();
}
