/*
 * SR8, SI9: additions that are declined leave nothing behind in the memory of the process that
 * stays: with space for fewer channels than there were additions the last one, which is accepted,
 * has one.  Run by 1 process; --declines N.
 */

#include "session_changes.h"

static void check_channels(unsigned expected)
{
    MPI_T_pvar_session tool;
    MPI_T_pvar_handle channels;
    int provided, index, count;
    unsigned value;

    ET_CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS, "no MPI_T");
    ET_CHECK(MPI_T_pvar_session_create(&tool) == MPI_SUCCESS, "no session of MPI_T");
    ET_CHECK(MPI_T_pvar_get_index("shm_lanes", MPI_T_PVAR_CLASS_LEVEL, &index) == MPI_SUCCESS,
             "no variable");
    ET_CHECK(MPI_T_pvar_handle_alloc(tool, index, NULL, &channels, &count) == MPI_SUCCESS,
             "no handle");
    ET_CHECK(MPI_T_pvar_read(tool, channels, &value) == MPI_SUCCESS, "MPI_T_pvar_read");
    ET_CHECK(value == expected, "%u channels, not %u", value, expected);
}

int main(int argc, char **argv)
{
    int declines = (int) et_number(argc, argv, "declines", 0), rank = 0;
    pset_name set = "mpi://WORLD";
    int stays = 0;

    et_options(&argc, &argv);
    open_session();
    if (!session_value("app_set", set)) {
        stays = 1;
        strcpy(set, "mpi://WORLD");
        MPI_Comm alone = connect_set(set, "alone");
        for (int i = 0; i < declines; i++) {
            struct change change = await_change(set);
            decline_change(&change);
        }
        struct change change = await_change(set);
        set_after(set, &change, set);
        accept_change(&change, "app_set", set);
        ET_MPI(MPI_Comm_free(&alone));
    }
    MPI_Comm comm = connect_set(set, "both");
    check_channels(stays ? 2 : 1); /* to the other one, and where there is no world to itself */
    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS session_declines");
    return 0;
}
