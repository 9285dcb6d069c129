/*
 * C9, Sessions: a session opened before the first adaptation and one opened in each new world give
 * mpi://SELF and mpi://WORLD as they are now; communicators made from them work; C5: what was made
 * from mpi://SELF alone survives.
 */

#include "elastic_test.h"

static MPI_Session first;
static MPI_Comm alone;
static int leave_open;

static void use(MPI_Session session, const char *name)
{
    MPI_Group group;
    MPI_Comm comm;
    int n = 0, size, found = 0;

    ET_MPI(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
    for (int i = 0; i < n; i++) {
        char set[256];
        int length = sizeof(set);
        ET_MPI(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, set));
        found += strcmp(set, "mpi://WORLD") == 0 || strcmp(set, "mpi://SELF") == 0;
    }
    ET_CHECK(found == 2, "%s: the process sets lack WORLD or SELF", name);
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    ET_MPI(MPI_Group_size(group, &size));
    ET_CHECK(size == et.size, "%s: mpi://WORLD has %d of %d", name, size, et.size);
    ET_MPI(MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    et_exercise(comm, name);
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Group_free(&group));
}

static void end_session(void)
{
    ET_MPI(MPI_Comm_free(&alone));
    ET_MPI(MPI_Session_finalize(&first));
}

/* C3: with --leave-open a leaving process leaves that to the commit, which finalises MPI. */
static void window(void)
{
    if (et.status == MPI_ADAPT_STATUS_LEAVING && !leave_open)
        end_session();
}

static void after(void)
{
    MPI_Session session;

    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
    use(session, "a new session");
    use(first, "the first session");
    ET_MPI(MPI_Session_finalize(&session));
    et_exercise(alone, "a communicator of mpi://SELF");
}

int main(int argc, char **argv)
{
    MPI_Group group;

    et_init(&argc, &argv);
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &first));
    ET_MPI(MPI_Group_from_session_pset(first, "mpi://SELF", &group));
    ET_MPI(MPI_Comm_create_from_group(group, "alone", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &alone));
    ET_MPI(MPI_Group_free(&group));
    leave_open = et_argument(argc, argv, "leave-open", NULL) != NULL;
    et.window = window;
    et.after = after;
    et_loop();
    end_session();
    return et_finish();
}
