/*
 * A server: adds up the numbers of each client, one client after the other.
 *
 *     mpiexec -n 2 ./server NAME &
 *     mpiexec -n 3 ./client NAME 1 2 3      and so on; ./client NAME ends the server
 *
 * After Gropp and Lusk. A message with tag 1 ends a connection, one with tag 0 the server.
 */

#include "connect.h"
#include <stdio.h>

#define TAG_END_OF_SERVER 0
#define TAG_END_OF_CLIENT 1
#define TAG_NUMBER 2

/* Until the client has had enough; whether it wants the server to end. */
static int serve(MPI_Comm client)
{
    double sum = 0, number;
    MPI_Status status;

    do {
        MPI_Recv(&number, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, client, &status);
        if (status.MPI_TAG == TAG_NUMBER) {
            sum += number;
            MPI_Send(&sum, 1, MPI_DOUBLE, status.MPI_SOURCE, TAG_NUMBER, client);
        }
    } while (status.MPI_TAG == TAG_NUMBER);
    printf("a client's sum is %g\n", sum);
    fflush(stdout);
    return status.MPI_TAG == TAG_END_OF_SERVER;
}

int main(int argc, char **argv)
{
    MPI_Comm client;
    int rank, end = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while (!end) {
        MPIX_Server_connect(MPI_COMM_WORLD, argc > 1 ? argv[1] : "sums", &client);
        if (rank == 0)
            end = serve(client);
        MPI_Bcast(&end, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Comm_disconnect(&client);
    }
    MPI_Finalize();
    return 0;
}
