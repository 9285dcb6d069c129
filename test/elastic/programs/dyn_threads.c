/*
 * Clients and servers under MPI_THREAD_MULTIPLE: in one process several threads serve, in the other
 * as many connect, each over a communicator of its own; blocking, by requests, and under one name
 * (DN2, DN3, DN4, DN6).
 */

#include "elastic_test.h"
#include <pthread.h>

#define THREADS 4
#define ROUNDS 12

static int rank;
static char shared_name[] = "one name for all threads";

struct worker {
    pthread_t thread;
    int number;
    MPI_Comm comm;
    char name[64];
};

static void talk(MPI_Comm inter, int value)
{
    int got = -1;

    ET_MPI(MPI_Allreduce(&value, &got, 1, MPI_INT, MPI_SUM, inter));
    ET_CHECK(got == value, "%d, not %d", got, value);
    ET_MPI(MPI_Comm_disconnect(&inter));
}

static void connect_blocking(struct worker *w, const char *name, int value)
{
    MPI_Comm inter;

    if (rank == 0)
        ET_MPI(MPIX_Server_connect(w->comm, name, &inter));
    else
        ET_MPI(MPIX_Client_connect(w->comm, name, &inter));
    talk(inter, value);
}

static void connect_by_request(struct worker *w, int value)
{
    MPI_Request request;
    MPI_Comm inter;
    int flag = 0;

    if (rank == 0)
        ET_MPI(MPIX_Iaccept(w->comm, w->name, 1, &request));
    else
        ET_MPI(MPIX_Icontact(w->comm, w->name, &request));
    if (value % 2)
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    while (value % 2 == 0 && !flag)
        ET_MPI(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    ET_MPI(MPIX_Remote_attach(w->comm, 1, &request, &inter));
    talk(inter, value);
}

/* Another client's port request is given up meanwhile. */
static void give_up(struct worker *w)
{
    MPI_Request request;
    MPI_Status status;
    char own[96];
    int flag;

    snprintf(own, sizeof(own), "%s, in vain of %d", w->name, rank);
    ET_MPI(MPIX_Iaccept(w->comm, own, 1, &request));
    ET_MPI(MPI_Cancel(&request));
    ET_MPI(MPI_Wait(&request, &status));
    ET_MPI(MPI_Test_cancelled(&status, &flag));
    ET_CHECK(flag, "not cancelled");
    ET_MPI(MPI_Request_free(&request));
}

static void *work(void *argument)
{
    struct worker *w = argument;

    for (int i = 0; i < ROUNDS; i++) {
        connect_blocking(w, w->name, 100 * w->number + i);
        connect_by_request(w, i);
        give_up(w);
        /* whoever comes is served by whichever thread is free: all send the same */
        connect_blocking(w, shared_name, 4711);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct worker workers[THREADS];
    int provided;

    ET_MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    ET_CHECK(provided == MPI_THREAD_MULTIPLE, "level %d", provided);
    ET_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    for (int i = 0; i < THREADS; i++) {
        workers[i].number = i;
        snprintf(workers[i].name, sizeof(workers[i].name), "thread %d of the server", i);
        ET_MPI(MPI_Comm_dup(MPI_COMM_SELF, &workers[i].comm));
    }
    for (int i = 0; i < THREADS; i++)
        ET_CHECK(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        ET_CHECK(pthread_join(workers[i].thread, NULL) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        ET_MPI(MPI_Comm_free(&workers[i].comm));
    ET_MPI(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0)
        et_log("PASS dyn_threads");
    ET_MPI(MPI_Finalize());
    return 0;
}
