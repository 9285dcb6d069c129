/*
 * A loop whose processes come and go, in the style of the interface "v2a": the first process wishes
 * for more or fewer, and all query together which operation is open: what it has got, or what a
 * resource manager wants.  Joining processes find the next set in the dictionary of theirs.
 *
 *   mpicc v2a_loop.c -o v2a_loop
 *   mpiexec -n 1 --adapt-range 1:6 ./v2a_loop [CHANGES]
 *
 * It integrates 4 / (1 + x * x) with more slices in each iteration, and ends after so many changes
 * (default: 20): one more process each time up to six, then one fewer down to one, and the other
 * way round if that is not granted.
 */

#include <mpi_session_dyn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 6
#define SLICES 20000

static MPI_Session session;
static MPI_Comm comm;           /* of all who work */
static char set[MPI_MAX_PSET_NAME_LEN] = "mpi://WORLD";
static char *next_key[] = { "app_set" };

static int rank, size;
static struct {
    int iteration, changes, grows;
} state = { 0, 0, 1 };          /* those of the first process are sent to all later ones */

static void free_names(char **names, int n)
{
    while (n > 0)
        free(names[--n]);
    free(names);
}

static void follow(void)
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

/* The name of the set to work in, for those who join. */
static void write_next(char *delta)
{
    MPI_Info data;

    MPI_Info_create(&data);
    MPI_Info_set(data, next_key[0], set);
    MPI_Session_set_pset_data(session, delta, data);
    MPI_Info_free(&data);
}

static void read_next(void)
{
    MPI_Info data;
    int flag;

    MPI_Session_get_pset_data(session, set, set, next_key, 1, 1, &data);
    MPI_Info_get(data, next_key[0], MPI_MAX_PSET_NAME_LEN - 1, set, &flag);
    MPI_Info_free(&data);
}

static int is_true(char *name, const char *key)
{
    char value[8] = "";
    MPI_Info info;
    int flag;

    MPI_Session_get_pset_info(session, name, &info);
    MPI_Info_get(info, key, sizeof(value) - 1, value, &flag);
    MPI_Info_free(&info);
    return !strcmp(value, "True");
}

static void begin(void)
{
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    if (is_true(set, "mpi_dyn"))
        read_next();
    follow();
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

/* The primary process alone; it may not get what it wishes for. */
static void request_size(void)
{
    int op = state.grows ? MPI_PSETOP_GROW : MPI_PSETOP_SHRINK, n = 0;
    char *inputs[] = { set }, **outputs;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, state.grows ? "mpi_num_procs_add" : "mpi_num_procs_sub", "1");
    MPI_Session_dyn_v2a_psetop(session, &op, inputs, 1, &outputs, &n, info);
    MPI_Info_free(&info);
    if (op != MPI_PSETOP_NULL)
        free_names(outputs, n);
    else
        state.grows = !state.grows;
}

/* Whether this process goes on. */
static int change(void)
{
    int op, n, leaves;
    char **outputs;             /* who joins or leaves, and the next set */

    state.grows = size == MOST ? 0 : size == 1 ? 1 : state.grows;
    if (rank == 0)
        request_size();
    MPI_Session_dyn_v2a_query_psetop(session, set, set, &op, &outputs, &n);
    if (op == MPI_PSETOP_NULL)
        return 1;
    state.changes++;
    leaves = op == MPI_PSETOP_SHRINK && is_true(outputs[0], "mpi_included");
    strcpy(set, outputs[1]);
    if (rank == 0 && op == MPI_PSETOP_GROW)
        write_next(outputs[0]);
    free_names(outputs, n);
    MPI_Comm_free(&comm);
    if (leaves)
        return 0;
    follow();
    if (rank == 0)
        MPI_Session_dyn_finalize_psetop(session, set);
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
