/*
 * A loop whose processes come and go, with the calls of this library (MPIX_Session_...): the first
 * process of the set receives a change, makes the new set, and accepts; a message notifies the
 * others.
 *
 *   mpicc native_loop.c -o native_loop mpiexec -n 1 --adapt-range 1:6 --adapt-policy
 *   increase-decrease --adapt-interval 200ms ./native_loop [CHANGES]
 *
 * It integrates 4 / (1 + x * x) with more slices in each iteration, and ends after so many changes
 * (default: 20).
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define SLICES 20000

typedef char set_name[MPI_MAX_PSET_NAME_LEN];

static MPI_Session session;
static MPI_Comm comm;           /* of the set */
static set_name set;            /* of those that work */
static int rank, size;
static struct {
    int iteration, changes;
} state;                        /* the same in all processes */

/* All members of the set. */
static void connect_set(void)
{
    MPI_Group group;

    MPI_Group_from_session_pset(session, set, &group);
    MPI_Comm_create_from_group(group, set, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    /* joining processes do not know it */
    MPI_Bcast(&state, sizeof(state), MPI_BYTE, 0, comm);
}

/* A joining process finds the new set among the keys of the accept. */
static void begin(void)
{
    int joins, flag;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "mpix_dynamic", "true");
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Info_free(&info);
    MPIX_Session_get_default_pset(session, set, &joins);
    if (joins) {
        MPI_Session_get_info(session, &info);
        MPI_Info_get(info, "app_set", MPI_MAX_PSET_NAME_LEN - 1, set, &flag);
        MPI_Info_free(&info);
    }
    connect_set();
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

/* Rule 1: accept first.  The names of the delta and of the new set, or "". */
static void receive_change(set_name delta, set_name next)
{
    const char *operands[] = { set, delta };
    int type, tag, one = 1;
    set_name made;
    MPI_Info info, keys;

    MPIX_Session_rc_get(session, set, &type, delta, &tag, &info);
    next[0] = '\0';
    if (type == MPIX_RC_NONE)
        return;
    MPI_Info_free(&info);
    MPIX_Session_pset_op(session, type == MPIX_RC_ADD ? MPIX_PSETOP_UNION : MPIX_PSETOP_DIFFERENCE,
                         operands, 2, MPI_INFO_NULL, &made, &one);
    snprintf(next, MPI_MAX_PSET_NAME_LEN, "%s", made);
    MPI_Info_create(&keys);
    MPI_Info_set(keys, "app_set", next);
    MPIX_Session_rc_accept(session, tag, keys);
    MPI_Info_free(&keys);
}

/* Whether this process goes on. */
static int change(void)
{
    set_name names[2] = { "", "" };     /* delta, next */
    int stays;

    if (rank == 0)
        receive_change(names[0], names[1]);
    MPI_Bcast(names, sizeof(names), MPI_BYTE, 0, comm);
    if (!names[1][0])
        return 1;
    state.changes++;
    MPIX_Session_pset_included(session, names[1], &stays);
    MPI_Comm_free(&comm);
    if (!stays)
        return 0;
    snprintf(set, sizeof(set), "%s", names[1]);
    connect_set();              /* rule 2: all members of the new set */
    if (rank == 0)
        MPIX_Session_pset_free(session, names[0]);      /* rule 3: the delta last */
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
