/*
 * SC6: a change that is not granted states why, under the key mpix_reason of the info object that
 * it was requested with; one that is granted leaves no reason.  Rank 0 requests, the other one
 * leaves.  --range 1: mpiexec has --adapt-range 1:2.
 */

#include "elastic_test.h"

static MPI_Session session;

static int query(int op, const char *key, const char *number, MPI_Info info)
{
    const char *world[] = { "mpi://WORLD" };
    char output[3][MPI_MAX_PSET_NAME_LEN];
    int n = 3;

    ET_MPI(MPI_Info_set(info, key, number));
    ET_MPI(MPIX_Session_pset_op(session, op, world, 1, info, output, &n));
    ET_MPI(MPI_Info_delete(info, key));
    return n;
}

static void expect_reason(MPI_Info info, const char *words)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int found;

    ET_MPI(MPI_Info_get(info, "mpix_reason", MPI_MAX_INFO_VAL, value, &found));
    ET_CHECK(found == (words != NULL), "mpix_reason: '%s'", value);
    ET_CHECK(!words || strstr(value, words), "the reason is '%s', not '%s'", value, words);
}

static void query_all_reasons(int range)
{
    MPI_Info info;

    ET_MPI(MPI_Info_create(&info));
    ET_CHECK(query(MPIX_PSETOP_SUB, "mpi_num_procs_sub", "3", info) == 0, "three have left");
    expect_reason(info, "the set has 2 running processes");
    ET_CHECK(query(MPIX_PSETOP_ADD, "mpi_num_procs_add", "3", info) == 0, "three have been added");
    expect_reason(info, range ? "outside of --adapt-range 1:2" : "without --adapt-range");
    if (range) {
        ET_CHECK(query(MPIX_PSETOP_SUB, "mpi_num_procs_sub", "1", info) == 1, "none is to leave");
        expect_reason(info, NULL);
    }
    ET_ERROR(MPIX_Session_pset_move(session, "mpi://WORLD", "app://world"), MPI_ERR_ARG,
             "mpi://... cannot be renamed");
    ET_MPI(MPI_Info_free(&info));
}

int main(int argc, char **argv)
{
    int range = (int) et_number(argc, argv, "range", 0), rank;
    MPI_Group group;

    et_options(&argc, &argv);
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
    ET_MPI(MPI_Group_rank(group, &rank));
    ET_MPI(MPI_Group_free(&group));
    if (rank == 0) {
        query_all_reasons(range);
        et_make_file("requested");
        et_log("PASS session_reasons\n");
    } else {
        et_await_file("requested");
    }
    ET_MPI(MPI_Session_finalize(&session));
    return 0;
}
