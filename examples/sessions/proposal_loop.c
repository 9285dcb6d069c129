/*
 * A loop whose processes come and go, in the style of the MPI Sessions working group's proposal:
 * the set app://main is always those who work, its primary process receives changes, and notifies
 * all others in a call that waits for nobody.
 *
 *   mpicc proposal_loop.c -o proposal_loop mpiexec -n 1 --pset app://main --adapt-range 1:6
 *   --adapt-policy increase-decrease --adapt-interval 200ms \
 *       ./proposal_loop [CHANGES]
 *
 * It integrates 4 / (1 + x * x) with more slices in each iteration, and ends after so many changes
 * (default: 20).
 */

#include <mpi_session_dyn.h>
#include <stdio.h>
#include <stdlib.h>

#define MAIN "app://main"
#define SLICES 20000

static MPI_Session session;
static MPI_Comm comm;           /* of those in the set */
static int rank, size, primary;
static int notified;                /* of the primary process: all are being notified of a change */
static struct {
    int iteration, changes;
} state;                        /* the same in all processes */

static void follow(const char *set)
{
    MPI_Group group;

    MPI_Group_from_session_pset(session, set, &group);
    MPI_Comm_create_from_group(group, set, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    /* what those who have just begun do not know */
    MPI_Bcast(&state, sizeof(state), MPI_BYTE, 0, comm);
}

/* Once all have a communicator of it, the new set becomes app://main. */
static void rename_set(const char *set)
{
    if (rank == 0)
        MPI_Session_Dyn_pset_move(set, MAIN);
    MPI_Barrier(comm);
    MPI_Session_get_primary_process(MAIN, &primary);
}

/* An added process finds the new set in the dictionary of its own. */
static void begin(void)
{
    char set[MPI_MAX_PSET_NAME_LEN];
    int dynamic, flag;
    MPI_Info info;

    MPI_Session_create(&session);
    MPI_Session_get_default_pset(set, &dynamic);
    if (dynamic) {
        MPI_Session_Get_PSet_Info(session, set, &info);
        MPI_Info_get(info, "app_set", MPI_MAX_PSET_NAME_LEN - 1, set, &flag);
        MPI_Info_free(&info);
        follow(set);
        rename_set(set);
    } else {
        follow(MAIN);
        MPI_Session_get_primary_process(MAIN, &primary);
    }
}

static void work(void)
{
    long slices = (long) SLICES * ++state.iteration;
    double part = 0, pi;

    for (long i = rank; i < slices; i += size) {
        double x = (i + 0.5) / slices;
        part += 4 / (1 + x * x);
    }
    MPI_Allreduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, comm);
    if (rank == 0)
        printf("%4d: %d processes, %.12f\n", state.iteration, size, pi / slices);
}

/* The name of the new set, or "". */
static void receive_change(char *next)
{
    char delta[MPI_MAX_PSET_NAME_LEN];
    const char *const operands[] = { MAIN, delta, NULL };
    int flag, type, status;
    MPI_Info info;

    MPI_Session_Dyn_Test_res_change(session, MAIN, &flag);
    if (!flag)
        return;
    MPI_Session_Dyn_Recv_res_change(session, MAIN, &type, delta, &status);
    if (type == MPI_RC_ADD) {
        MPI_Session_Dyn_pset_create_op(session, MPI_PSET_OP_UNION, operands, next);
        MPI_Info_create(&info);
        MPI_Info_set(info, "app_set", next);
        MPI_Session_Set_PSet_Info(session, delta, info);
        MPI_Info_free(&info);
    } else if (type == MPI_RC_SUB) {
        MPI_Session_Dyn_pset_create_op(session, MPI_PSET_OP_DIFFERENCE, operands, next);
    }
}

/* Whether this process goes on. */
static int change(void)
{
    char next[MPI_MAX_PSET_NAME_LEN] = "";

    if (primary && !notified) {
        receive_change(next);
        notified = next[0] != '\0';
    }
    MPI_Session_bcast_PSet_info(MAIN, next, primary);
    if (!next[0])
        return 1;
    int stays = MPI_Session_Pset_IsProcessIncluded(next);
    /* names get other meanings then: all have asked */
    MPI_Barrier(comm);
    notified = 0;
    state.changes++;
    MPI_Comm_free(&comm);
    if (!stays)
        return 0;
    follow(next);
    rename_set(next);
    return 1;
}

int main(int argc, char **argv)
{
    int last = argc > 1 ? atoi(argv[1]) : 20, goes_on = 1;

    begin();
    while (goes_on && state.changes < last) {
        work();
        goes_on = change();
    }
    if (goes_on && rank == 0)
        printf("%d changes, %d processes at the end\n", state.changes, size);
    if (goes_on)
        MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return 0;
}
