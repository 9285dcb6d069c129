/*
 * A loop whose processes come and go, in the style of libmpidynres: one set holds all who work, its
 * first process asks for changes in each iteration, and all follow with a new set and communicator.
 *
 *   mpicc dynres_loop.c -o dynres_loop mpiexec -n 1 --adapt-range 1:6 --adapt-policy
 *   increase-decrease --adapt-interval 200ms ./dynres_loop [CHANGES]
 *
 * It integrates 4 / (1 + x * x) with more slices in each iteration, and ends after so many changes
 * (default: 20).
 */

#define MPIDYNRES_MAIN
#include <mpidynres_sim.h>

#define SLICES 20000

static MPI_Session session;
static MPI_Comm comm;           /* of all who work */
static char set[MPI_MAX_PSET_NAME_LEN];
static int rank, size, iteration, changes;

/* The set is another one, or the first. */
static void connect(void)
{
    MPI_Group group;

    MPI_Group_from_session_pset(session, set, &group);
    if (MPI_Comm_create_from_group(group, NULL, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm)) {
        fprintf(stderr, "no communicator for the set %s\n", set);
        exit(EXIT_FAILURE);
    }
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
}

static int has_key(MPI_Info info, const char *key)
{
    int length, flag;

    MPI_Info_get_valuelen(info, key, &length, &flag);
    return flag;
}

static int number_of(MPI_Info info, const char *key)
{
    char text[16] = "0";
    int flag;

    MPI_Info_get(info, key, sizeof(text) - 1, text, &flag);
    return atoi(text);
}

/* The process that accepted the change sends the set and the state to the added processes. */
static void begin(void)
{
    MPI_Info info, sets;
    int flag;

    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Session_get_psets(session, MPI_INFO_NULL, &sets);
    if (has_key(sets, "mpi://WORLD")) {
        strcpy(set, "mpi://WORLD");
    } else {
        MPI_Session_get_info(session, &info);
        MPI_Info_get(info, "app_set", MPI_MAX_PSET_NAME_LEN - 1, set, &flag);
        iteration = number_of(info, "app_iteration");
        changes = number_of(info, "app_changes");
        MPI_Info_free(&info);
    }
    MPI_Info_free(&sets);
    connect();
}

static void work(void)
{
    long slices = (long) SLICES * ++iteration;
    double part = 0, pi;

    for (long i = rank; i < slices; i += size) {
        double x = (i + 0.5) / slices;
        part += 4 / (1 + x * x);
    }
    MPI_Allreduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, comm);
    if (rank == 0)
        printf("%4d: %d processes, %.12f\n", iteration, size, pi / slices);
}

/* The first process sends to all: another set, or "". */
static MPIDYNRES_RC_type query(MPIDYNRES_RC_tag *tag, char next[])
{
    char delta[MPI_MAX_PSET_NAME_LEN];
    int type = MPIDYNRES_RC_NONE;
    MPIDYNRES_RC_type queried;
    MPI_Info info;

    if (rank == 0) {
        MPIDYNRES_RC_get(session, &queried, delta, tag, &info);
        type = queried;
        if (info != MPI_INFO_NULL)
            MPI_Info_free(&info);
        if (queried == MPIDYNRES_RC_ADD)
            MPIDYNRES_pset_create_op(session, MPI_INFO_NULL, set, delta, MPIDYNRES_PSET_UNION,
                                     next);
        else if (queried == MPIDYNRES_RC_SUB)
            MPIDYNRES_pset_create_op(session, MPI_INFO_NULL, set, delta, MPIDYNRES_PSET_DIFFERENCE,
                                     next);
    }
    MPI_Bcast(&type, 1, MPI_INT, 0, comm);
    if (type != MPIDYNRES_RC_NONE)
        MPI_Bcast(next, MPI_MAX_PSET_NAME_LEN, MPI_CHAR, 0, comm);
    return (MPIDYNRES_RC_type) type;
}

static void accept_change(MPIDYNRES_RC_tag tag, const char next[])
{
    char numbers[2][16];
    const char *const state[] = {
        "app_set", next, "app_iteration", numbers[0], "app_changes", numbers[1]
    };
    MPI_Info info;

    snprintf(numbers[0], sizeof(numbers[0]), "%d", iteration);
    snprintf(numbers[1], sizeof(numbers[1]), "%d", changes);
    MPIDYNRES_Info_create_strings(6, state, &info);
    MPIDYNRES_RC_accept(session, tag, info);
    MPI_Info_free(&info);
}

/* Whether this process goes on. */
static int change(void)
{
    MPIDYNRES_RC_tag tag = MPIDYNRES_NO_ORIGIN_RC_TAG;
    char next[MPI_MAX_PSET_NAME_LEN] = "", former[MPI_MAX_PSET_NAME_LEN];
    MPI_Info sets;
    int stays;

    if (query(&tag, next) == MPIDYNRES_RC_NONE)
        return 1;
    changes++;
    if (rank == 0)
        accept_change(tag, next);
    MPI_Session_get_psets(session, MPI_INFO_NULL, &sets);
    stays = has_key(sets, next);
    MPI_Info_free(&sets);
    if (!stays)
        return 0;
    MPI_Comm_free(&comm);
    strcpy(former, set);
    strcpy(set, next);
    connect();
    if (rank == 0 && strcmp(former, "mpi://WORLD"))
        MPIDYNRES_pset_free(session, former);
    return 1;
}

int MPIDYNRES_main(int argc, char **argv)
{
    int last = argc > 1 ? atoi(argv[1]) : 20, goes_on = 1;

    begin();
    while (goes_on && changes < last) {
        work();
        goes_on = change();
    }
    if (goes_on && rank == 0)
        printf("%d changes, %d processes at the end\n", changes, size);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return EXIT_SUCCESS;
}
