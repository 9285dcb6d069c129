/*
 * A communicator of processes that were started one after the other: those that mpiexec has
 * launched come first, as many others follow.  Spawned processes work with any MPI, processes that
 * join through process sets with this one.
 */

#ifndef STARTED_APART_H_INCLUDED
#define STARTED_APART_H_INCLUDED

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* After MPI_Init; argv is this program's. */
static inline MPI_Comm spawn_as_many(char **argv)
{
    MPI_Comm parent, inter, merged;
    int size;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    inter = parent;
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(argv[0], argv + 1, size, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                       MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(inter, parent != MPI_COMM_NULL, &merged);
    MPI_Comm_disconnect(&inter);
    return merged;
}

#ifdef MPIX_RC_ADD

/* The set of all, made of the first growth that somebody requests (--adapt-schedule 2, of one). */
static inline void await_growth(MPI_Session session, char set[MPI_MAX_PSET_NAME_LEN])
{
    char delta[MPI_MAX_PSET_NAME_LEN];
    const char *operands[] = { "mpi://WORLD", delta };
    int flag = 0, type, tag, outputs = 1;
    MPI_Info info;

    while (!flag)
        MPIX_Session_rc_test(session, "mpi://WORLD", &flag);
    MPIX_Session_rc_get(session, "mpi://WORLD", &type, delta, &tag, &info);
    MPI_Info_free(&info);
    MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, operands, 2, MPI_INFO_NULL,
                         (char (*)[MPI_MAX_PSET_NAME_LEN]) set, &outputs);
    MPI_Info_create(&info);
    MPI_Info_set(info, "app_set", set);
    MPIX_Session_rc_accept(session, tag, info);
    MPI_Info_free(&info);
}

static inline MPI_Comm connect_set(MPI_Session session, const char *set)
{
    MPI_Group group;
    MPI_Comm comm;

    MPI_Group_from_session_pset(session, set, &group);
    MPI_Comm_create_from_group(group, "bench", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

/* The processes of the launch; the first one is notified. */
static inline void learn_set(MPI_Session session, char set[MPI_MAX_PSET_NAME_LEN])
{
    MPI_Comm launched = connect_set(session, "mpi://WORLD");
    int rank;

    MPI_Comm_rank(launched, &rank);
    if (rank == 0)
        await_growth(session, set);
    MPI_Bcast(set, MPI_MAX_PSET_NAME_LEN, MPI_CHAR, 0, launched);
    MPI_Comm_free(&launched);
}

/* `level`: of the session, "MPI_THREAD_SINGLE" as after MPI_Init, or "MPI_THREAD_MULTIPLE", which
 * it has without. */
static inline MPI_Comm join_others(MPI_Session * session, const char *level)
{
    char set[MPI_MAX_PSET_NAME_LEN];
    int joins, found;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "mpix_dynamic", "true");
    MPI_Info_set(info, "thread_level", level);
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, session);
    MPI_Info_free(&info);
    MPIX_Session_get_default_pset(*session, set, &joins);
    if (joins) {
        MPI_Session_get_info(*session, &info);
        MPI_Info_get(info, "app_set", MPI_MAX_PSET_NAME_LEN - 1, set, &found);
        MPI_Info_free(&info);
    } else {
        learn_set(*session, set);
    }
    return connect_set(*session, set);
}

#else

static inline MPI_Comm join_others(MPI_Session * session, const char *level)
{
    (void) session, (void) level;
    fprintf(stderr, "world_speed: this MPI has no changes through process sets\n");
    exit(2);
}

#endif

#endif /* STARTED_APART_H_INCLUDED */
