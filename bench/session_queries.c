/*
 * The cost of queries of process sets: mpiexec -n P session_queries
 *
 * Prints {"what":NAME,"ns":[...]} for each kind of query, of each process the median over BATCHES
 * batches: for changes when there is none (rc_test, rc_get), for a text when there is none
 * (bcast_pset_info), at one after the other of SETS sets that were read before (get_pset_info,
 * pset_exists, pset_included, get_primary_process, group).
 */

#include "measure.h"

#ifndef MPIX_RC_NONE

int main(void)
{
    fprintf(stderr, "session_queries: this MPI has no process sets that change\n");
    return 1;
}

#else

#define BATCHES 101
#define QUERIES 2000
#define SETS 100

static MPI_Session session;
static char names[SETS][MPI_MAX_PSET_NAME_LEN];
static const char *const all = "mpi://WORLD";

static void rc_test(int i)
{
    int flag;

    (void) i;
    MPIX_Session_rc_test(session, all, &flag);
}

static void rc_get(int i)
{
    int type, tag;
    char delta[MPI_MAX_PSET_NAME_LEN];
    MPI_Info info;

    (void) i;
    MPIX_Session_rc_get(session, all, &type, delta, &tag, &info);
}

static void bcast_pset_info(int i)
{
    char text[64];

    text[0] = '\0';
    (void) i;
    MPIX_Session_bcast_pset_info(session, all, text, sizeof(text), 0);
}

static void get_pset_info(int i)
{
    MPI_Info info;

    MPI_Session_get_pset_info(session, names[i % SETS], &info);
    MPI_Info_free(&info);
}

static void pset_exists(int i)
{
    int running;

    MPIX_Session_pset_exists(session, names[i % SETS], &running, NULL);
}

static void pset_included(int i)
{
    int included;

    MPIX_Session_pset_included(session, names[i % SETS], &included);
}

static void get_primary_process(int i)
{
    int primary;

    MPIX_Session_get_primary_process(session, names[i % SETS], &primary);
}

static void group(int i)
{
    MPI_Group of_set;

    MPI_Group_from_session_pset(session, names[i % SETS], &of_set);
    MPI_Group_free(&of_set);
}

static const struct {
    const char *name;
    void (*query) (int i);
} kinds[] = {
    {"rc_test", rc_test},
    {"rc_get", rc_get},
    {"bcast_pset_info", bcast_pset_info},
    {"get_pset_info", get_pset_info},
    {"pset_exists", pset_exists},
    {"pset_included", pset_included},
    {"get_primary_process", get_primary_process},
    {"group", group}
};

static int ascending(const void *a, const void *b)
{
    double difference = *(const double *) a - *(const double *) b;
    return (difference > 0) - (difference < 0);
}

static double median_ns(void (*query) (int i))
{
    static double batches[BATCHES];

    for (int i = 0; i < SETS; i++)
        query(i);                /* queries */
    for (int batch = 0; batch < BATCHES; batch++) {
        double start = now_us();
        for (int i = 0; i < QUERIES; i++)
            query(i);
        batches[batch] = 1000 * (now_us() - start) / QUERIES;
    }
    qsort(batches, BATCHES, sizeof(batches[0]), ascending);
    return batches[BATCHES / 2];
}

static void make_sets(int rank)
{
    for (int i = 0; i < SETS; i++) {
        MPI_Info info;
        char made[1][MPI_MAX_PSET_NAME_LEN];
        int n = 1;

        snprintf(names[i], sizeof(names[i]), "app://component/%d", i);
        if (rank > 0)
            continue;
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpix_name", names[i]);
        MPIX_Session_pset_op(session, MPIX_PSETOP_UNION, &all, 1, info, made, &n);
        MPI_Info_free(&info);
    }
}

int main(void)
{
    MPI_Info info;
    MPI_Group world;
    MPI_Comm comm;
    int rank, size;
    double *medians;

    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_SINGLE");
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Info_free(&info);
    MPI_Group_from_session_pset(session, all, &world);
    MPI_Comm_create_from_group(world, "queries", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&world);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    medians = calloc((size_t) size, sizeof(*medians));
    if (!medians)
        MPI_Abort(comm, 1);
    bind_to_core(rank);
    make_sets(rank);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        MPI_Barrier(comm);
        double mine = median_ns(kinds[k].query);
        MPI_Gather(&mine, 1, MPI_DOUBLE, medians, 1, MPI_DOUBLE, 0, comm);
        if (rank == 0) {
            printf("{\"what\":\"%s\"", kinds[k].name);
            print_numbers("ns", medians, size);
            printf("}\n");
        }
    }
    free(medians);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&session);
    return 0;
}

#endif
