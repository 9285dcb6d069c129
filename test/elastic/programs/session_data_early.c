/*
 * SD1, SD3: before an addition is accepted, a process that is none of its members writes data of
 * its delta; each joining process finds them as soon as its session is there.
 */

#include "session_changes.h"

#define KEY "app_step"
#define STEP "4711"

static void join(const char *delta)
{
    static const char *const keys[] = { KEY };
    pset_name step;
    MPI_Info data;
    int rank;

    ET_MPI(MPIX_Session_get_pset_data(session, "mpi://SELF", delta, keys, 1, 0, &data));
    ET_CHECK(value_of(data, KEY, step) && !strcmp(step, STEP), "SD3: %s is %s", KEY, step);
    ET_MPI(MPI_Info_free(&data));
    MPI_Comm comm = connect_set(delta, "joined");
    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_free(&comm));
    if (rank == 0)
        et_log("PASS session_data_early");
}

static void notify(void)
{
    struct change change = await_change("mpi://WORLD");
    int is_member;
    MPI_Info data;

    ET_MPI(MPIX_Session_pset_included(session, change.delta, &is_member));
    ET_CHECK(!is_member, "%s has its teller", change.delta);
    check_state(change.delta, "proposed");
    ET_MPI(MPI_Info_create(&data));
    ET_MPI(MPI_Info_set(data, KEY, STEP));
    ET_MPI(MPIX_Session_set_pset_data(session, change.delta, data));
    ET_MPI(MPI_Info_free(&data));
    accept_change(&change, NULL, NULL);
}

int main(int argc, char **argv)
{
    pset_name delta;

    et_options(&argc, &argv);
    open_session();
    if (is_joining_process(delta))
        join(delta);
    else
        notify();
    ET_MPI(MPI_Session_finalize(&session));
    return 0;
}
