/*
 * SX6, SI8, SI9: an intercommunicator between processes of the launch and processes that were
 * added, with leaders that are not the first ones, and two of them with the same tag, one after the
 * other.  --ends 1: one of those that were added ends instead, and all others are notified so.  Run
 * by 2 processes, to which 2 are added.
 */

#include "session_changes.h"

static void old_set(pset_name set)
{
    make_set(MPIX_PSETOP_UNION, "mpi://WORLD", "mpi://WORLD", set);
}

/* Rank 0 of the launch takes the change; everybody knows both sets then. */
static int find_sets(MPI_Comm launch, pset_name mine, pset_name others)
{
    pset_name names[2];
    int rank;

    if (is_joining_process(mine)) {
        ET_CHECK(session_value("app_old", others), "SR7: the keys of the accept");
        return 1;
    }
    ET_MPI(MPI_Comm_rank(launch, &rank));
    if (rank == 0) {
        old_set(names[0]);
        struct change change = await_change(NULL);
        strcpy(names[1], change.delta);
        accept_change(&change, "app_old", names[0]);
    }
    ET_MPI(MPI_Bcast(names, sizeof(names), MPI_CHAR, 0, launch));
    strcpy(mine, names[0]);
    strcpy(others, names[1]);
    return 0;
}

static int try_intercomm(const char *mine, const char *others, int joining_rank,
                         MPI_Comm * intercomm)
{
    MPI_Group local, remote;

    *intercomm = MPI_COMM_NULL;
    int error = MPI_Group_from_session_pset(session, mine, &local);
    if (error == MPI_SUCCESS)
        error = MPI_Group_from_session_pset(session, others, &remote);
    if (error != MPI_SUCCESS)
        return error;           /* one of them has ended */
    /* the last process of the launch and the first of the others lead */
    error =
        MPI_Intercomm_create_from_groups(local, joining_rank ? 0 : 1, remote, joining_rank ? 1 : 0,
                                         "both", MPI_INFO_NULL, MPI_ERRORS_RETURN, intercomm);
    ET_MPI(MPI_Group_free(&local));
    ET_MPI(MPI_Group_free(&remote));
    return error;
}

/* Each process sends to that of the same rank who it is; together they are an intracommunicator. */
static void use(MPI_Comm intercomm, int joining_rank)
{
    int rank, size, remote, got = -1, sum, merged_rank;
    MPI_Comm merged;

    ET_MPI(MPI_Comm_rank(intercomm, &rank));
    ET_MPI(MPI_Comm_size(intercomm, &size));
    ET_MPI(MPI_Comm_remote_size(intercomm, &remote));
    ET_CHECK(size == 2 && remote == 2, "%d and %d processes", size, remote);
    int mine = 10 * joining_rank + rank;
    ET_MPI(MPI_Sendrecv(&mine, 1, MPI_INT, rank, 0, &got, 1, MPI_INT, rank, 0, intercomm,
                        MPI_STATUS_IGNORE));
    ET_CHECK(got == 10 * !joining_rank + rank, "process %d is %d", rank, got);
    ET_MPI(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, intercomm));
    ET_CHECK(sum == (joining_rank ? 1 : 21), "the sum of the others is %d", sum);
    ET_MPI(MPI_Intercomm_merge(intercomm, joining_rank, &merged));
    ET_MPI(MPI_Comm_rank(merged, &merged_rank));
    ET_CHECK(merged_rank == 2 * joining_rank + rank, "rank %d of all is %d", rank, merged_rank);
    ET_MPI(MPI_Comm_free(&merged));
}

int main(int argc, char **argv)
{
    int ends = et_number(argc, argv, "ends", 0), rank = -1;
    MPI_Comm launch = MPI_COMM_NULL, first, second;
    pset_name mine, others;

    open_session();
    if (!is_joining_process(mine)) {
        launch = connect_set("mpi://WORLD", "launch");
        ET_MPI(MPI_Comm_rank(launch, &rank));
    }
    int joining_rank = find_sets(launch, mine, others), primary = 0;
    if (joining_rank)
        ET_MPI(MPIX_Session_get_primary_process(session, mine, &primary));
    if (ends && !primary) {
        int class, error = try_intercomm(mine, others, joining_rank, &first);
        ET_MPI(MPI_Error_class(error, &class));
        ET_CHECK(class == MPI_ERR_PROC_ABORTED, "a process has ended: error class %d", class);
    } else if (!ends) {
        ET_MPI(try_intercomm(mine, others, joining_rank, &first));
        ET_MPI(try_intercomm(mine, others, joining_rank, &second));
        use(first, joining_rank);
        use(second, joining_rank);
        ET_MPI(MPI_Comm_free(&first));
        use(second, joining_rank);
        ET_MPI(MPI_Comm_free(&second));
    }
    if (launch != MPI_COMM_NULL)
        ET_MPI(MPI_Comm_free(&launch));
    ET_MPI(MPI_Session_finalize(&session));
    if (rank == 0)
        et_log("PASS session_intercomm");
    return 0;
}
