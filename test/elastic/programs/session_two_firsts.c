/*
 * SX5, SX10: the first communicators of a process are made by two threads at once, one over
 * everybody, one over a part of the processes.  All orders of the two must end: nobody depends on
 * what another process does first.
 *   --how threads    all processes have two threads
 *   --how mixed      some have; the others make the one of the part first, then that of everybody
 *   --how init       the first thread calls MPI_Init
 * Each process pauses for a drawn time before each of the two (--seed).
 */

#include "elastic_test.h"
#include <pthread.h>

static MPI_Session session;
static MPI_Group all;           /* from before: who is done with its part may end */
static int rank, size;
static unsigned state;
static double pauses_ms[2];

static void make(const int *ranks, int n, const char *tag)
{
    MPI_Group group = all;
    MPI_Comm comm;
    int value = rank, sum;

    if (ranks)
        ET_MPI(MPI_Group_incl(all, n, ranks, &group));
    ET_MPI(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
    for (int i = 0; i < 10; i++) {
        ET_MPI(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm));
        ET_CHECK(sum == (n - 1) * n / 2, "%s: the sum is %d", tag, sum);
    }
    ET_MPI(MPI_Comm_free(&comm));
    if (ranks)
        ET_MPI(MPI_Group_free(&group));
}

static void *everybody(void *unused)
{
    et_sleep_ms(pauses_ms[0]);
    make(NULL, size, "everybody");
    return unused;
}

/* All but the last. */
static void *part(void *unused)
{
    int ranks[64];

    if (rank == size - 1)
        return unused;
    for (int i = 0; i < size - 1; i++)
        ranks[i] = i;
    et_sleep_ms(pauses_ms[1]);
    make(ranks, size - 1, "part");
    return unused;
}

static void *init(void *unused)
{
    int provided, sum;

    et_sleep_ms(pauses_ms[0]);
    ET_MPI(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
    ET_MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    ET_CHECK(sum == size * (size - 1) / 2, "the sum in the world is %d", sum);
    return unused;
}

static void at_once(void *(*first) (void *), void *(*second) (void *))
{
    pthread_t threads[2];

    ET_CHECK(!pthread_create(&threads[0], NULL, first, NULL) &&
             !pthread_create(&threads[1], NULL, second, NULL), "no thread");
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

int main(int argc, char **argv)
{
    const char *how = et_argument(argc, argv, "how", "threads");
    int is_mixed = strcmp(how, "mixed") == 0, is_init = strcmp(how, "init") == 0;
    MPI_Info info;

    et_options(&argc, &argv);
    ET_MPI(MPI_Info_create(&info));
    ET_MPI(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
    ET_MPI(MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session));
    ET_MPI(MPI_Info_free(&info));
    ET_MPI(MPI_Group_from_session_pset(session, "mpi://WORLD", &all));
    ET_MPI(MPI_Group_rank(all, &rank));
    ET_MPI(MPI_Group_size(all, &size));
    state = et.seed + 7919u * (unsigned) rank;
    for (int i = 0; i < 2; i++)
        pauses_ms[i] = et_random(&state) % 3 * (et_random(&state) % 20);

    if (is_mixed && rank % 3 == 1) {
        part(NULL);
        everybody(NULL);
    } else {
        at_once(is_init ? init : everybody, part);
    }
    if (rank == 0)
        et_log("PASS session_two_firsts\n");
    ET_MPI(MPI_Group_free(&all));
    if (is_init)
        ET_MPI(MPI_Finalize());
    ET_MPI(MPI_Session_finalize(&session));
    return 0;
}
