/*
 * SX1: a first session is local.  Even ranks open one, use mpi://SELF and close it; the others
 * never call MPI, and go on until the even ones have ended, which they could not if anybody waited
 * for anybody.  --cycles N: again and again.
 */

#include "elastic_test.h"
#include <unistd.h>

static void use_self(void)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int size, in = 42, out = 0;

    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://SELF", &group));
    ET_MPI(MPI_Comm_create_from_group(group, "alone", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    ET_MPI(MPI_Comm_size(comm, &size));
    ET_CHECK(size == 1, "size %d", size);
    ET_MPI(MPI_Sendrecv(&in, 1, MPI_INT, 0, 0, &out, 1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE));
    ET_CHECK(out == in, "received %d", out);
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
    const char *rank_text = getenv("PMI_RANK");
    int rank = rank_text ? atoi(rank_text) : 0, size = (int) et_number(argc, argv, "size", 1);
    char name[32];

    if (rank % 2 == 0) {
        for (long i = et_number(argc, argv, "cycles", 1); i > 0; i--)
            use_self();
        snprintf(name, sizeof(name), "done.%d", rank);
        et_make_file(name);
        return 0;
    }
    for (int other = 0; other < size; other += 2) {
        snprintf(name, sizeof(name), "done.%d", other);
        while (access(name, F_OK))
            et_sleep_ms(5);
    }
    if (rank == 1)
        et_log("PASS session_alone");
    return 0;
}
