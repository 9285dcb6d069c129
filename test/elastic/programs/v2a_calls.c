/*
 * SC5, SC6: every routine of v2a, by the processes of a launch of 2 with --adapt-range 1:4; and
 * what joins runs this, too: an addition, a growth, a replacement and removals, some of them while
 * the program goes on.
 */

#include "elastic_test.h"
#include <mpi_session_dyn.h>

typedef char pset_name[MPI_MAX_PSET_NAME_LEN];

static MPI_Session session;
static MPI_Comm comm;
static pset_name set = "mpi://WORLD";
static int rank, size;
static char *key[] = { "app_next" };

static void free_names(char **names, int n)
{
    while (n > 0)
        free(names[--n]);
    free(names);
}

static int is_true(const char *name, const char *wanted)
{
    char value[8] = "";
    MPI_Info info;
    int flag;

    ET_MPI(MPI_Session_get_pset_info(session, name, &info));
    ET_MPI(MPI_Info_get(info, wanted, sizeof(value) - 1, value, &flag));
    ET_MPI(MPI_Info_free(&info));
    return flag && !strcmp(value, "True");
}

static void connect(void)
{
    MPI_Group group;

    ET_MPI(MPI_Group_from_session_pset(session, set, &group));
    ET_MPI(MPI_Comm_create_from_group(group, set, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
    ET_MPI(MPI_Group_free(&group));
    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    et_exercise(comm, set);
}

static MPI_Info numbers(const char *add, const char *remove)
{
    MPI_Info info;

    ET_MPI(MPI_Info_create(&info));
    if (add)
        ET_MPI(MPI_Info_set(info, "mpi_num_procs_add", add));
    if (remove)
        ET_MPI(MPI_Info_set(info, "mpi_num_procs_sub", remove));
    return info;
}

/* Blocking, or as a request; how many names there are. */
static int operate(int nb, int *op, int ninput, char **inputs, MPI_Info info, char ***outputs)
{
    MPI_Request request;
    int n = 7;

    if (nb) {
        ET_MPI(MPI_Session_dyn_v2a_psetop_nb(session, op, inputs, ninput, outputs, &n, info,
                                             &request));
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        ET_MPI(MPI_Session_dyn_v2a_psetop(session, op, inputs, ninput, outputs, &n, info));
    }
    if (info != MPI_INFO_NULL)
        ET_MPI(MPI_Info_free(&info));
    return n;
}

static int query(int nb, char *coll, int *op, char ***outputs)
{
    MPI_Request request;
    int n = 7;

    if (nb) {
        ET_MPI(MPI_Session_dyn_v2a_query_psetop_nb(session, coll, set, op, outputs, &n, &request));
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        ET_MPI(MPI_Session_dyn_v2a_query_psetop(session, coll, set, op, outputs, &n));
    }
    return n;
}

static void write_next(const char *where, const char *next)
{
    MPI_Info data;

    ET_MPI(MPI_Info_create(&data));
    ET_MPI(MPI_Info_set(data, key[0], next));
    ET_MPI(MPI_Session_set_pset_data(session, where, data));
    ET_MPI(MPI_Info_free(&data));
}

static void read_next(int nb, char *readers, char *where)
{
    MPI_Request request;
    MPI_Info data;
    int flag;

    if (nb) {
        ET_MPI(MPI_Session_get_pset_data_nb(session, readers, where, key, 1, 1, &data, &request));
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    } else {
        ET_MPI(MPI_Session_get_pset_data(session, readers, where, key, 1, 1, &data));
    }
    ET_MPI(MPI_Info_get(data, key[0], sizeof(set) - 1, set, &flag));
    ET_CHECK(flag, "there is no next set");
    ET_MPI(MPI_Info_free(&data));
}

/* SC6: operations that only make sets are as ever, and nothing is open. */
static void check_sets(void)
{
    char *inputs[] = { "mpi://WORLD", "mpi://SELF" }, **outputs;
    int op = MPI_PSETOP_NULL, n;

    ET_CHECK(MPI_PSETOP_ADD == 1 && MPI_PSETOP_MALLEABLE == 4 && MPI_PSETOP_SHRINK == 6, "SC5");
    ET_CHECK(MPI_PSETOP_UNION == 7 && MPI_PSETOP_SPLIT == 10, "SC5");
    for (int nb = 0; nb < 2; nb++) {
        op = MPI_PSETOP_DIFFERENCE;
        n = operate(nb, &op, 2, inputs, MPI_INFO_NULL, &outputs);
        ET_CHECK(op == MPI_PSETOP_DIFFERENCE && n == 1 &&
                 !is_true(outputs[0], "mpi_included"), "SC6: %d names", n);
        free_names(outputs, n);
        MPI_Info sizes;
        ET_MPI(MPI_Info_create(&sizes));
        ET_MPI(MPI_Info_set(sizes, "mpi_part_sizes", "1,0,1"));
        op = MPI_PSETOP_SPLIT;
        n = operate(nb, &op, 1, inputs, sizes, &outputs);
        ET_CHECK(n == 3 && !outputs[1][0] &&
                 is_true(outputs[rank ? 2 : 0], "mpi_included"), "SC6: %d parts", n);
        free_names(outputs, n);
        n = query(nb, set, &op, &outputs);
        ET_CHECK(op == MPI_PSETOP_NULL && n == 0 && !outputs, "SC6: an operation is open");
    }
}

/* SC6: what cannot be is not done; what is wrong is an error. */
static void check_not_granted(void)
{
    char *inputs[] = { set }, **outputs;
    int op = MPI_PSETOP_ADD, n;

    n = operate(0, &op, 1, inputs, numbers("9", NULL), &outputs);
    ET_CHECK(op == MPI_PSETOP_NULL && n == 0 && !outputs, "SC6: nine processes more");
    op = MPI_PSETOP_MALLEABLE;
    n = operate(1, &op, 1, inputs, MPI_INFO_NULL, &outputs);
    ET_CHECK(op == MPI_PSETOP_NULL && n == 0, "SC6: nobody wants a change");
    op = MPI_PSETOP_SUB;
    ET_ERROR(MPI_Session_dyn_v2a_psetop(session, &op, inputs, 1, &outputs, &n, MPI_INFO_NULL),
             MPI_ERR_INFO_NOKEY, "mpi_num_procs_sub");
    MPI_Info wrong = numbers("one", NULL);
    op = MPI_PSETOP_GROW;
    ET_ERROR(MPI_Session_dyn_v2a_psetop(session, &op, inputs, 1, &outputs, &n, wrong),
             MPI_ERR_INFO_VALUE, "one");
    ET_MPI(MPI_Info_free(&wrong));
}

/* The first process requests it; all follow.  Whether this process goes on. */
static int change(int step)
{
    static const struct {
        int op, n, size;
        const char *add, *remove;
    } steps[] = {
        {MPI_PSETOP_GROW, 2, 3, "1", NULL},
        {MPI_PSETOP_REPLACE, 3, 3, "1", "1"},
        {MPI_PSETOP_ADD, 1, 4, "1", NULL},
        {MPI_PSETOP_SUB, 1, 3, NULL, "1"},
        {MPI_PSETOP_SHRINK, 2, 1, NULL, "2"}
    };
    int op = steps[step].op, n, nb = step % 2;
    char *inputs[2] = { set }, **outputs, **made;
    pset_name former;

    if (rank == 0) {
        n = operate(nb, &op, 1, inputs, numbers(steps[step].add, steps[step].remove), &outputs);
        ET_CHECK(op == steps[step].op &&
                 n == steps[step].n, "SC6: step %d: %d with %d names", step, op, n);
        if (n == 1) {   /* the next set is made by the program */
            int alone = op == MPI_PSETOP_ADD ? MPI_PSETOP_UNION : MPI_PSETOP_DIFFERENCE;
            inputs[1] = outputs[0];
            int one = operate(!nb, &alone, 2, inputs, MPI_INFO_NULL, &made);
            ET_CHECK(one == 1, "%d names", one);
            write_next(outputs[0], made[0]);
            free_names(made, one);
        } else {
            for (int i = 0; i + 1 < n; i++)
                write_next(outputs[i], outputs[n - 1]);
        }
        free_names(outputs, n);
    }
    n = query(!nb, set, &op, &outputs);
    ET_CHECK(op == steps[step].op &&
             n == steps[step].n, "SC6: step %d: %d with %d names is open", step, op, n);
    int removes = steps[step].remove != NULL, stays = !removes ||
        !is_true(outputs[0], "mpi_included");
    strcpy(former, set);
    read_next(nb, former, outputs[0]);
    free_names(outputs, n);
    ET_MPI(MPI_Comm_free(&comm));
    if (!stays)
        return 0;
    connect();
    ET_CHECK(size == steps[step].size, "SC6: %d processes after step %d", size, step);
    if (rank == 0) {
        ET_MPI(MPI_Session_dyn_finalize_psetop(session, step % 2 ? former : set));
        ET_MPI(MPI_Session_dyn_v2a_query_psetop(session, "mpi://SELF", former, &op, &outputs, &n));
        ET_CHECK(op == MPI_PSETOP_NULL && n == 0, "SC6: the operation is open yet");
    }
    return 1;
}

int main(int argc, char **argv)
{
    int step = 0, steps = 5;

    (void) argc, (void) argv;
    ET_MPI(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    int joins = is_true(set, "mpi_dyn");
    if (joins)
        read_next(0, set, set);
    connect();
    if (!joins) {
        check_sets();
        if (rank == 0)
            check_not_granted();
        ET_MPI(MPI_Barrier(comm));
    }
    /* who joins does not know how often that was */
    ET_MPI(MPI_Bcast(&step, 1, MPI_INT, 0, comm));
    for (; step < steps; step++) {
        if (!change(step)) {
            ET_MPI(MPI_Session_finalize(&session));
            return 0;
        }
        int next = step + 1;
        ET_MPI(MPI_Bcast(&next, 1, MPI_INT, 0, comm));
    }
    ET_MPI(MPI_Comm_free(&comm));
    ET_MPI(MPI_Session_finalize(&session));
    et_log("PASS v2a_calls");
    return 0;
}
