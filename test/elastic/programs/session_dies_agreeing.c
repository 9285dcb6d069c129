/*
 * SI8, SL3: a process that may end in any way, because its leaving is accepted, is killed at any
 * moment in which it makes a communicator with the others: they get that communicator, or
 * MPI_ERR_PROC_ABORTED, never wait for ever, and make one without it.  Each change removes the last
 * process; --seed S draws the moments.  --grows 1: the first change adds those who will be removed,
 * and all have met before.
 */

#include "session_changes.h"
#include <sys/time.h>
#include <unistd.h>

#define LATEST_US 4000

static void leave(const char *set, unsigned seed)
{
    struct itimerval moment = {.it_value = {0, 1 + (int) (et_random(&seed) % LATEST_US)} };
    MPI_Comm comm;

    ET_CHECK(!setitimer(ITIMER_REAL, &moment, NULL), "no timer");
    try_connect(set, "all of them", &comm);
    for (;;)
        pause();
}

static void go_on(const char *set)
{
    MPI_Comm comm;
    int error = try_connect(set, "all of them", &comm), class = MPI_SUCCESS;

    if (error)
        ET_MPI(MPI_Error_class(error, &class));
    ET_CHECK(class == MPI_SUCCESS || class == MPI_ERR_PROC_ABORTED, "SI8: class %d", class);
    if (comm != MPI_COMM_NULL)
        ET_MPI(MPI_Comm_free(&comm));
}

/* The set of all, with those who are added. */
static void grow(pset_name set)
{
    if (session_value("app_set", set))
        return;
    strcpy(set, "mpi://WORLD");
    struct change change = await_change(set);
    set_after(set, &change, set);
    accept_change(&change, "app_set", set);
}

int main(int argc, char **argv)
{
    unsigned seed = (unsigned) et_number(argc, argv, "seed", 1);
    int rank, size;
    struct {
        pset_name delta, rest;
    } news;
    pset_name set = "mpi://WORLD";

    open_session();
    if (et_number(argc, argv, "grows", 0))
        grow(set);
    MPI_Comm comm = connect_set(set, "launch");
    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    for (; size > 1; size--) {
        if (rank == 0) {
            struct change change = await_change(set);
            strcpy(news.delta, change.delta);
            set_after(set, &change, news.rest);
            accept_change(&change, NULL, NULL);
        }
        ET_MPI(MPI_Bcast(&news, sizeof(news), MPI_BYTE, 0, comm));
        if (rank == size - 1)
            leave(set, seed + (unsigned) size);
        go_on(set);
        ET_MPI(MPI_Comm_free(&comm));
        strcpy(set, news.rest);
        comm = connect_set(set, "the rest");
    }
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Session_finalize(&session));
    et_log("PASS session_dies_agreeing");
    return 0;
}
