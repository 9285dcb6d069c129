/*
 * SW1, SW2: in a program with windows changes through process sets are refused, with a message that
 * states why; sets themselves work, and so do windows afterwards.
 */

#include "elastic_test.h"

#define REFUSED(call) ET_ERROR(call, MPI_ERR_UNSUPPORTED_OPERATION, "MPI_Init_adapt")

static void check_refusals(void)
{
    MPI_Session session, dynamic;
    MPI_Info info, change;
    const char *world = "mpi://WORLD";
    char delta[MPI_MAX_PSET_NAME_LEN], made[1][MPI_MAX_PSET_NAME_LEN];
    int type, tag, flag, n = 1;

    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, "mpix_dynamic", "true"));
    ET_MPI(MPI_Info_set(info, "mpi_num_procs_add", "1"));
    REFUSED(MPI_Session_init(info, MPI_ERRORS_RETURN, &dynamic));
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    REFUSED(MPIX_Session_rc_test(session, NULL, &flag));
    REFUSED(MPIX_Session_rc_get(session, NULL, &type, delta, &tag, &change));
    ET_MPI(MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, &world, 1, MPI_INFO_NULL, made, &n));
    const char *bound = made[0];
    char added[3][MPI_MAX_PSET_NAME_LEN];
    ET_MPI(MPI_Info_set(info, "mpi_num_procs_sub", "1"));
    for (int op = MPIX_PSETOP_ADD; op <= MPIX_PSETOP_SHRINK; op++) {
        n = 3;
        REFUSED(MPIX_Session_pset_op(session, op, &bound, 1, info, added, &n));
    }
    REFUSED(MPIX_Session_rc_accept(session, 1, MPI_INFO_NULL));
    REFUSED(MPIX_Session_rc_decline(session, 1));
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPI_Session_finalize(&session));
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    if (et.status == MPI_ADAPT_STATUS_NEW)
        check_refusals();
    et.after = check_refusals;
    return et_run();
}
