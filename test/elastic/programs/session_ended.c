/*
 * SX3, SE1: functions of a session that was finalized, when nothing else of MPI is open in the
 * process, return MPI_ERR_SESSION, and the process goes on.  A later session works.
 */

#include "elastic_test.h"

static MPI_Session open_session(void)
{
    MPI_Session session;

    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    return session;
}

static void use_ended(MPI_Session ended)
{
    MPI_Group group;
    MPI_Info info;
    int n, flag;

    ET_ERROR(MPI_Session_get_num_psets(ended, MPI_INFO_NULL, &n), MPI_ERR_SESSION, "finalized");
    ET_ERROR(MPI_Session_get_info(ended, &info), MPI_ERR_SESSION, "finalized");
    ET_ERROR(MPI_Group_from_session_pset(ended, "mpi://SELF", &group), MPI_ERR_SESSION,
             "finalized");
    ET_ERROR(MPIX_Session_rc_test(ended, NULL, &flag), MPI_ERR_SESSION, "finalized");
    ET_ERROR(MPIX_Session_pset_free(ended, "app://one"), MPI_ERR_SESSION, "finalized");
    ET_ERROR(MPI_Session_finalize(&ended), MPI_ERR_SESSION, "finalized");
}

int main(int argc, char **argv)
{
    MPI_Session session, ended;
    int n;

    et_options(&argc, &argv);
    for (int i = 0; i < 3; i++) {
        session = ended = open_session();
        ET_MPI(MPI_Session_finalize(&session));
        use_ended(ended);
    }
    session = open_session();
    ET_MPI(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
    ET_MPI(MPI_Session_finalize(&session));
    et_log("PASS session_ended");
    return 0;
}
