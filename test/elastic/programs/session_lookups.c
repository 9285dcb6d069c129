/*
 * SR2: as long as there is no change, searching for one is local: no question is queried, however
 * often a process polls, and whoever only polls receives what others send.  A name that is no set's
 * is an error (SE1).  Run by 2 processes.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE             /* RUSAGE_THREAD */
#endif
#include "session_changes.h"
#include <sys/resource.h>

#define QUERIES 20000
#define BYTES (32 << 20)

static void query(const char *set)
{
    int flag = -1;

    ET_MPI(MPIX_Session_rc_test(session, set, &flag));
    ET_CHECK(flag == 0, "rc_test(%s): %d", set ? set : "NULL", flag);
    struct change change = get_change(set);
    ET_CHECK(change.type == MPIX_RC_NONE, "rc_get(%s): type %d", set ? set : "NULL", change.type);
}

/* How often this thread has slept: whoever queries mpiexec does so until there is an answer. */
static long sleeps(void)
{
    struct rusage usage;

    ET_CHECK(getrusage(RUSAGE_THREAD, &usage) == 0, "getrusage fails");
    return usage.ru_nvcsw;
}

static void query_often(void)
{
    const char *const sets[] = { NULL, "mpi://WORLD", "app://both" };
    enum { N = sizeof(sets) / sizeof(sets[0]) };

    for (int i = 0; i < N; i++)
        query(sets[i]);          /* queries, of each once */
    long before = sleeps();
    for (int i = 0; i < QUERIES; i++)
        query(sets[i % N]);
    long slept = sleeps() - before;
    ET_CHECK(slept < QUERIES / 10, "%d queries have slept %ld times", QUERIES, slept);
}

/* It arrives although its receiver does nothing but query. */
static void take_in(MPI_Comm comm, int rank)
{
    char *message = calloc(BYTES, 1);
    volatile char *last = message + BYTES - 1;
    MPI_Request request;
    int flag;

    ET_CHECK(message != NULL, "no memory");
    if (rank == 0) {
        *last = 1;
        ET_MPI(MPI_Send(message, BYTES, MPI_CHAR, 1, 0, comm));
    } else {
        ET_MPI(MPI_Irecv(message, BYTES, MPI_CHAR, 0, 0, comm, &request));
        while (!*last)
            ET_MPI(MPIX_Session_rc_test(session, NULL, &flag));
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    free(message);
}

int main(int argc, char **argv)
{
    MPI_Info info;
    int rank, flag;
    const char *world = "mpi://WORLD";
    pset_name made;
    int n = 1;

    et_options(&argc, &argv);
    open_session();
    MPI_Comm comm = connect_set(world, "queries");
    ET_MPI(MPI_Comm_rank(comm, &rank));
    if (rank == 0) {
        ET_MPI(MPI_Info_create(&info));
        ET_MPI(MPI_Info_set(info, "mpix_name", "app://both"));
        ET_MPI(MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, &world, 1, info, &made, &n));
        ET_MPI(MPI_Info_free(&info));
    }
    ET_MPI(MPI_Barrier(comm));
    query_often();
    ET_ERROR(MPIX_Session_rc_test(session, "app://none", &flag), MPI_ERR_ARG, "app://none");
    take_in(comm, rank);
    ET_MPI(MPI_Barrier(comm));
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS session_lookups");
    return 0;
}
