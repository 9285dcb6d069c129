/*
 * A client of server.c and server_many.c: has its numbers added up. Without numbers it ends the
 * server.
 *
 *     mpiexec -n 1 ./client NAME 1 2 3          mpiexec -n 1 ./client NAME
 *
 * server_many.c wants a key, by which it knows its clients: MPIX_Icontact_keyed instead of
 * MPIX_Client_connect, if this is compiled with -DKEY='"open sesame"'.
 */

#include "connect.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG_END_OF_SERVER 0
#define TAG_END_OF_CLIENT 1
#define TAG_NUMBER 2

static void contact(const char *name, MPI_Comm * server)
{
#if defined(KEY) && defined(MPIX_ANYWHERE)
    MPI_Request request;

    MPIX_Icontact_keyed(MPI_COMM_WORLD, name, KEY, strlen(KEY), &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPIX_Remote_attach(MPI_COMM_WORLD, 1, &request, server);
#else
    MPIX_Client_connect(MPI_COMM_WORLD, name, server);
#endif
}

static void add_up(int n, char **numbers, MPI_Comm server)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        double number = atof(numbers[i]);
        MPI_Send(&number, 1, MPI_DOUBLE, 0, TAG_NUMBER, server);
        MPI_Recv(&sum, 1, MPI_DOUBLE, 0, TAG_NUMBER, server, MPI_STATUS_IGNORE);
    }
    MPI_Send(&sum, 1, MPI_DOUBLE, 0, n > 0 ? TAG_END_OF_CLIENT : TAG_END_OF_SERVER, server);
    if (n > 0)
        printf("sum %g\n", sum);
}

int main(int argc, char **argv)
{
    MPI_Comm server;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    contact(argc > 1 ? argv[1] : "sums", &server);
    if (rank == 0)
        add_up(argc > 2 ? argc - 2 : 0, argv + 2, server);
    MPI_Comm_disconnect(&server);
    MPI_Finalize();
    return 0;
}
