/*
 * SX8: MPI_COMM_WORLD is MPI_ERR_COMM before MPI_Init and after MPI_Finalize, also when sessions
 * have made a communicator over the same processes, and the message states what is missing.  In
 * between it is an ordinary world.
 */

#include "elastic_test.h"

static MPI_Session session;

/* An error with no valid object is MPI_COMM_SELF's. */
static void check_missing(const char *word)
{
    int result, size;
    MPI_Request request;

    ET_ERROR(MPI_Comm_size(MPI_COMM_WORLD, &size), MPI_ERR_COMM, word);
    ET_ERROR(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result), MPI_ERR_COMM, word);
    ET_ERROR(MPI_Ibarrier(MPI_COMM_WORLD, &request), MPI_ERR_COMM, word);
}

int main(int argc, char **argv)
{
    MPI_Group group;
    MPI_Comm comm;
    int rank, provided;

    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    check_missing("MPI_Init");
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    ET_MPI(MPI_Comm_create_from_group(group, "world", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    ET_MPI(MPI_Comm_rank(comm, &rank));
    et_exercise(comm, "from the group");
    check_missing("MPI_Init");

    ET_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_SINGLE, &provided));
    et_exercise(MPI_COMM_WORLD, "MPI_COMM_WORLD");
    et_exercise(comm, "from the group");
    ET_MPI(MPI_Finalize());

    check_missing("MPI_Finalize");
    et_exercise(comm, "from the group");
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS session_world");
    return 0;
}
