/*
 * I3: a program that calls MPI_Init, MPI_Init_thread or only opens a session is rigid: the schedule
 * that it is launched under never reaches it.  E1: the adaptive operations are errors in it.
 */

#include "elastic_test.h"

static void adaptive_calls_fail(void)
{
    MPI_Comm inter, next;
    MPI_Info info;
    int pending, status, a, b, c;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    ET_ERROR(MPI_Probe_adapt(&pending, &status, &info), MPI_ERR_LASTCODE, NULL);
    ET_ERROR(MPI_Comm_adapt_begin(&inter, &next, &a, &b, &c), MPI_ERR_LASTCODE, NULL);
    ET_ERROR(MPI_Comm_adapt_commit(), MPI_ERR_LASTCODE, NULL);
}

static void work(MPI_Comm comm, double seconds)
{
    double end = et_seconds() + seconds;
    int more = 1;

    while (more) {
        et_exercise(comm, "the rigid world");
        more = et_seconds() < end;
        ET_MPI(MPI_Bcast(&more, 1, MPI_INT, 0, comm));
        et_sleep_ms(5);
    }
}

static int with_session(double seconds)
{
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    int rank, size;

    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    ET_MPI(MPI_Comm_create_from_group(group, "rigid", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    work(comm, seconds);
    if (rank == 0)
        et_log("PASS rigid size=%d", size);
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Session_finalize(&session));
    return 0;
}

int main(int argc, char **argv)
{
    const char *how = et_argument(argc, argv, "how", "init");
    double seconds = (double) et_number(argc, argv, "work-ms", 1500) / 1000;
    int provided;

    et_options(&argc, &argv);
    if (strcmp(how, "session") == 0)
        return with_session(seconds);
    if (strcmp(how, "thread") == 0)
        ET_MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    else
        ET_MPI(MPI_Init(&argc, &argv));
    et_world_changed();
    adaptive_calls_fail();
    work(MPI_COMM_WORLD, seconds);
    if (et.rank == 0)
        et_log("PASS rigid size=%d", et.size);
    ET_MPI(MPI_Finalize());
    return 0;
}
