/*
 * SI9, DS5: collective operations among processes of one host that were started apart go by flags
 * in shared memory, once there have been some.  The processes of the launch spawn as many, and
 * merge.  --case
 *   used     flags are used, which is seen by their memory, and it is given back with the
 *            communicator
 *   long     long sums and broadcasts go by messages, short ones do not
 *   levels   the same where the launched processes have MPI for one thread, and the spawned ones
 *            for several
 *   unlike   the sides would use them in different ways (their environments differ): messages, and
 *            right results
 *   limited  there is no space for them: messages, and right results
 *   threads  several threads have operations under way, each on a communicator of its own
 *   ended    the only child ends: an operation of the others is an error
 *   awaited  the others wait in an operation already when it ends; all of them get the error
 *   awaited_long  in a long sum, which goes by messages
 *   awaited_root  in a broadcast of its own, short and long
 */

#include "elastic_test.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define MANY 40                 /* operations, more than upstream does before it makes flags */
#define THREADS 3
#define CELL 2048               /* numbers; of a broadcast 32 less */
#define LONG 20000              /* several cells */

static const char *wanted;
static MPI_Comm all;
static int rank, size, is_child;

static int is_case(const char *name)
{
    return !strcmp(wanted, name);
}

/* Segments that upstream makes for flags: with a name that is removed, or without one. */
static int count_memory(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int n = 0;

    ET_CHECK(maps, "no /proc/self/maps");
    while (fgets(line, sizeof(line), maps))
        n += strstr(line, "mpich_shar") || strstr(line, "mpich-shar");
    fclose(maps);
    return n;
}

static void operations(MPI_Comm comm)
{
    static __thread int data[LONG], results[LONG];
    int n, value;

    for (int i = 0; i < MANY; i++) {
        int root = i % size;
        n = i % 7 ? 1 : LONG;
        for (int k = 0; k < n; k++)
            data[k] = rank + k + i;
        ET_MPI(MPI_Allreduce(data, results, n, MPI_INT, MPI_SUM, comm));
        ET_CHECK(results[n - 1] == size * (size - 1) / 2 + size * (n - 1 + i), "sum %d: %d", i,
                 results[n - 1]);
        ET_MPI(MPI_Barrier(comm));
        value = rank == root ? 1000 * i + root : -1;
        ET_MPI(MPI_Bcast(&value, 1, MPI_INT, root, comm));
        ET_CHECK(value == 1000 * i + root, "broadcast %d: %d", i, value);
        ET_MPI(MPI_Reduce(&rank, &value, 1, MPI_INT, MPI_MAX, root, comm));
        ET_CHECK(rank != root || value == size - 1, "maximum %d: %d", i, value);
    }
}

static void by_flags(int expected)
{
    int before = count_memory();
    MPI_Comm comm;

    ET_MPI(MPI_Comm_dup(all, &comm));
    operations(comm);
    int during = count_memory();
    ET_MPI(MPI_Comm_free(&comm));
    int after = count_memory();
    ET_CHECK((during > before) == expected, "%d mappings, then %d", before, during);
    ET_CHECK(after == before, "%d mappings, and %d in the end", before, after);
}

/* ---- messages -------------------------------------------------------------------------------- */

static int data[LONG], results[LONG];

static void sum(MPI_Comm comm, int n)
{
    ET_MPI(MPI_Allreduce(data, results, n, MPI_INT, MPI_SUM, comm));
}

/* By rank 0: another root has a message for it in any case. */
static void broadcast(MPI_Comm comm, int n)
{
    ET_MPI(MPI_Bcast(data, n, MPI_INT, 0, comm));
}

/* Of all processes, on channels, for some operations on so many numbers. */
static unsigned long long count_messages(void (*operate)(MPI_Comm, int), MPI_Comm comm, int n)
{
    unsigned long long before, sent;
    MPI_T_pvar_session tool;
    MPI_T_pvar_handle handle;
    int index, count, provided;

    ET_CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS, "no MPI_T");
    ET_CHECK(MPI_T_pvar_session_create(&tool) == MPI_SUCCESS, "no session of MPI_T");
    ET_CHECK(MPI_T_pvar_get_index("shm_lane_messages", MPI_T_PVAR_CLASS_COUNTER, &index) ==
             MPI_SUCCESS, "no variable");
    ET_CHECK(MPI_T_pvar_handle_alloc(tool, index, NULL, &handle, &count) == MPI_SUCCESS,
             "no handle");
    ET_CHECK(MPI_T_pvar_read(tool, handle, &before) == MPI_SUCCESS, "MPI_T_pvar_read");
    for (int i = 0; i < MANY; i++)
        operate(comm, n);
    ET_CHECK(MPI_T_pvar_read(tool, handle, &sent) == MPI_SUCCESS, "MPI_T_pvar_read");
    sent -= before;
    ET_MPI(MPI_Allreduce(MPI_IN_PLACE, &sent, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, comm));
    MPI_T_pvar_session_free(&tool);
    MPI_T_finalize();
    return sent;
}

static void check_length(void (*operate)(MPI_Comm, int), MPI_Comm comm, int most)
{
    unsigned long long few = count_messages(operate, comm, most), many =
        count_messages(operate, comm, most + 1);

    ET_CHECK(few == 0 &&
             many >= MANY, "%llu messages of %d numbers, %llu of one more", few, most, many);
}

static void by_length(void)
{
    MPI_Comm comm;

    ET_MPI(MPI_Comm_dup(all, &comm));
    operations(comm);
    check_length(sum, comm, 2 * CELL);
    check_length(broadcast, comm, size == 2 ? CELL - 32 : 2 * (CELL - 32));
    ET_MPI(MPI_Comm_free(&comm));
}

/* ---- threads --------------------------------------------------------------------------------- */

static void *run_thread(void *comm)
{
    for (int i = 0; i < 5; i++)
        operations(*(MPI_Comm *) comm);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    MPI_Comm comm[THREADS];

    for (int i = 0; i < THREADS; i++)
        ET_MPI(MPI_Comm_dup(all, &comm[i]));
    for (int i = 0; i < THREADS; i++)
        ET_CHECK(pthread_create(&thread[i], NULL, run_thread, &comm[i]) == 0, "no thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        ET_MPI(MPI_Comm_free(&comm[i]));
}

/* ---- ends ------------------------------------------------------------------------------------ */

static int last_pid(void)
{
    int pid = (int) getpid();

    ET_MPI(MPI_Bcast(&pid, 1, MPI_INT, size - 1, all));
    return pid;
}

/* A short one goes to rank 0, who notifies the others by flags that there is an error, but not
 * which. */
static void root_ends(void)
{
    for (int i = 0; i < 2; i++)
        ET_ERROR(MPI_Bcast(data, LONG, MPI_INT, size - 1, all), MPIX_ERR_PROC_FAILED, "");
    int error = MPI_Bcast(data, 1, MPI_INT, size - 1, all);
    if (rank == 0)
        ET_ERROR(error, MPIX_ERR_PROC_FAILED, "");
    ET_CHECK(error != MPI_SUCCESS, "a broadcast by who has ended");
}

static int child_ends(void)
{
    int pid = last_pid();

    operations(all);
    if (rank == size - 1) {
        if (!is_case("ended"))
            et_sleep_ms(300);
        ET_MPI(MPI_Finalize());
        return 1;
    }
    while (is_case("ended") && (kill(pid, 0) == 0 || errno != ESRCH))
        et_sleep_ms(1);
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    if (is_case("awaited_long"))
        ET_ERROR(MPI_Allreduce(data, results, LONG, MPI_INT, MPI_SUM, all), MPIX_ERR_PROC_FAILED,
                 "");
    if (is_case("awaited_root"))
        root_ends();
    for (int i = 0; i < 3; i++)         /* whoever comes later gets it as well */
        ET_ERROR(MPI_Barrier(all), MPIX_ERR_PROC_FAILED, "has ended");
    ET_ERROR(MPI_Allreduce(data, results, 1, MPI_INT, MPI_SUM, all), MPIX_ERR_PROC_FAILED,
             "has ended");
    ET_ERROR(MPI_Allreduce(data, results, LONG, MPI_INT, MPI_SUM, all), MPIX_ERR_PROC_FAILED, "");
    return 0;
}

/* ---- who they are ---------------------------------------------------------------------------- */

static int ends(void)
{
    return is_case("ended") || is_case("awaited") || is_case("awaited_long") ||
        is_case("awaited_root");
}

static void merge(char **argv)
{
    char *with_levels[] = { "--case", "levels", "--level", "multiple", NULL };
    MPI_Comm parent, inter;
    int n;

    ET_MPI(MPI_Comm_get_parent(&parent));
    is_child = parent != MPI_COMM_NULL;
    inter = parent;
    ET_MPI(MPI_Comm_size(MPI_COMM_WORLD, &n));
    if (ends())
        n = 1;                  /* which finalises without waiting for another one */
    if (!is_child)
        ET_MPI(MPI_Comm_spawn(argv[0], is_case("levels") ? with_levels : argv + 1, n, MPI_INFO_NULL,
                              0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    ET_MPI(MPI_Intercomm_merge(inter, is_child, &all));
    ET_MPI(MPI_Comm_disconnect(&inter));
    ET_MPI(MPI_Comm_rank(all, &rank));
    ET_MPI(MPI_Comm_size(all, &size));
}

int main(int argc, char **argv)
{
    int level, provided, has_ended = 0;

    wanted = et_argument(argc, argv, "case", "used");
    level = strcmp(et_argument(argc, argv, "level", ""), "multiple") ? MPI_THREAD_SINGLE
        : MPI_THREAD_MULTIPLE;
    ET_MPI(MPI_Init_thread(&argc, &argv, is_case("threads") ? MPI_THREAD_MULTIPLE : level,
                           &provided));
    merge(argv);
    if (is_case("threads"))
        threads();
    else if (ends())
        has_ended = child_ends();
    else if (is_case("long") || is_case("levels"))
        by_length();
    else
        by_flags(is_case("used"));
    if (has_ended)
        return 0;
    ET_MPI(MPI_Comm_free(&all));
    ET_MPI(MPI_Finalize());
    if (!is_child && rank == 0)
        et_log("PASS flags_apart");
    return 0;
}
