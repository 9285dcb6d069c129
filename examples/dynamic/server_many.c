/*
 * As server.c, but for several clients at once, which have to know a key.
 *
 *     mpiexec -n 2 ./server_many NAME &
 *     mpiexec -n 1 ./client_keyed NAME 1 2 3
 *
 * Rank 0 sees what is next, a client that comes or a number, and notifies the others, because which
 * client is there first need not look the same everywhere.
 */

#include "connect.h"
#include <stdio.h>
#include <string.h>

#define TAG_END_OF_SERVER 0
#define TAG_NUMBER 2
#define CLIENTS 4               /* at once */
#define NOTHING_LEFT (-1)

#ifdef MPIX_ANYWHERE
static char key[] = "open sesame";
static const char *name = "sums";
static MPI_Request requests[2 * CLIENTS];       /* ports, then numbers */
static MPI_Comm clients[CLIENTS];
static double number[CLIENTS], sum[CLIENTS];
static int rank, ending;

static int is_welcome(const void *shown, int bytes, void *wanted)
{
    return bytes == (int) strlen(wanted) && !memcmp(shown, wanted, bytes);
}

static void await_client(int i)
{
    MPIX_Iaccept_keyed(MPI_COMM_WORLD, name, is_welcome, key, 1, &requests[i]);
}

static void await_number(int i)
{
    if (rank == 0)
        MPI_Irecv(&number[i], 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, clients[i],
                  &requests[CLIENTS + i]);
}

static void let_in(int i)
{
    if (rank != 0)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    MPIX_Remote_attach(MPI_COMM_WORLD, 1, &requests[i], &clients[i]);
    sum[i] = 0;
    await_number(i);
}

static void let_out(int i)
{
    if (rank == 0)
        printf("a client's sum is %g\n", sum[i]);
    MPI_Comm_disconnect(&clients[i]);
    if (!ending)
        await_client(i);
}

static void add(int i, int source)
{
    sum[i] += number[i];
    MPI_Send(&sum[i], 1, MPI_DOUBLE, source, TAG_NUMBER, clients[i]);
    await_number(i);
}

/* Nobody is let in any more; who is there stays as long as it likes. */
static void begin_to_end(void)
{
    ending = 1;
    for (int i = 0; i < CLIENTS; i++) {
        if (requests[i] == MPI_REQUEST_NULL)
            continue;
        MPI_Cancel(&requests[i]);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        MPI_Request_free(&requests[i]);
    }
}

/* One event; 0 when there is none left. */
static int serve(void)
{
    int what[3];                /* which request, the tag and the source of a number */
    MPI_Status status;

    if (rank == 0) {
        MPI_Waitany(2 * CLIENTS, requests, &what[0], &status);
        if (what[0] == MPI_UNDEFINED)
            what[0] = NOTHING_LEFT;
        what[1] = status.MPI_TAG;
        what[2] = status.MPI_SOURCE;
    }
    MPI_Bcast(what, 3, MPI_INT, 0, MPI_COMM_WORLD);
    if (what[0] == NOTHING_LEFT)
        return 0;
    int i = what[0] % CLIENTS;
    if (what[0] < CLIENTS) {
        let_in(i);
    } else if (what[1] == TAG_NUMBER) {
        if (rank == 0)
            add(i, what[2]);
    } else {
        if (what[1] == TAG_END_OF_SERVER)
            begin_to_end();
        let_out(i);
    }
    return 1;
}
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
#ifdef MPIX_ANYWHERE
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1)
        name = argv[1];
    for (int i = 0; i < 2 * CLIENTS; i++)
        requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < CLIENTS; i++)
        await_client(i);
    while (serve());
#else
    (void) argv;
    printf("this MPI has no MPIX_Iaccept; server.c works with any\n");
#endif
    MPI_Finalize();
    return 0;
}
