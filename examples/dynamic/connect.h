/*
 * Names of servers with any MPI: where the library has no MPIX_Server_connect, by MPI's ports and
 * published names, which lead from one job to another only if the process manager's name service
 * does.
 */

#ifndef CONNECT_H_INCLUDED
#define CONNECT_H_INCLUDED

#include <mpi.h>

#ifndef MPIX_ANYWHERE
static char port[MPI_MAX_PORT_NAME];

static inline int MPIX_Server_connect(MPI_Comm comm, const char *name, MPI_Comm * client)
{
    int rank;

    MPI_Comm_rank(comm, &rank);
    if (rank == 0 && !port[0]) {        /* the name is the server's until the end */
        MPI_Open_port(MPI_INFO_NULL, port);
        MPI_Publish_name(name, MPI_INFO_NULL, port);
    }
    return MPI_Comm_accept(port, MPI_INFO_NULL, 0, comm, client);
}

static inline int MPIX_Client_connect(MPI_Comm comm, const char *name, MPI_Comm * server)
{
    int rank;

    MPI_Comm_rank(comm, &rank);
    if (rank == 0)
        MPI_Lookup_name(name, MPI_INFO_NULL, port);
    return MPI_Comm_connect(port, MPI_INFO_NULL, 0, comm, server);
}
#endif

#endif /* CONNECT_H_INCLUDED */
