/* SC1, SC2: the headers in C++, with their own main. */

#define MPIDYNRES_MAIN
#include <cstdio>

#include <mpidynres_sim.h>

int MPIDYNRES_main(int, char **)
{
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    int size = 0, rank = -1;

    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) ||
        MPI_Group_from_session_pset(session, "mpi://WORLD", &group) ||
        MPI_Comm_create_from_group(group, nullptr, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm))
        return EXIT_FAILURE;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    if (rank == 0)
        std::printf("PASS dynres_cxx size=%d\n", size);
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    MPIDYNRES_exit();
}
