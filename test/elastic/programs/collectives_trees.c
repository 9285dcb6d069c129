/*
 * The tree algorithms of nonblocking collectives, whose messages hold the blocks of whole subtrees:
 * on communicators of 9 processes to all, with trees of 2 and 3 children, from all roots, in place
 * and not.  Smaller trees, which collectives_algorithms tries, have no inner node whose parent is
 * another one than the root.
 */

#include "elastic_test.h"

#define MIN_SIZE 9
#define MAX_SIZE 12

static MPI_Comm comm;
static int rank, size, children;

/* Sets a control variable, by its name. */
static void set_variable(const char *name, int value)
{
    MPI_T_cvar_handle handle;
    int index, n;

    ET_MPI(MPI_T_cvar_get_index(name, &index));
    ET_MPI(MPI_T_cvar_handle_alloc(index, NULL, &handle, &n));
    ET_MPI(MPI_T_cvar_write(handle, &value));
    ET_MPI(MPI_T_cvar_handle_free(&handle));
}

static int block(int sender, int receiver, int i)
{
    return 10000 * sender + 100 * receiver + i;
}

static void check(const char *call, int root, int got, int expected)
{
    ET_CHECK(got == expected, "%s on %d processes, %d children, root %d: rank %d has %d, not %d",
             call, size, children, root, rank, got, expected);
}

static void scatter(int root, int in_place)
{
    int all[2 * MAX_SIZE], own[2] = { -1, -1 };
    MPI_Request request;

    for (int i = 0; i < 2 * size; i++)
        all[i] = rank == root ? block(root, i / 2, i % 2) : -1;
    ET_MPI(MPI_Iscatter(all, 2, MPI_INT, in_place && rank == root ? MPI_IN_PLACE : own, 2, MPI_INT,
                        root, comm, &request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2; i++)
        check("scatter", root, in_place &&
              rank == root ? all[2 * root + i] : own[i], block(root, rank, i));
}

static void gather(int root, int in_place)
{
    int all[2 * MAX_SIZE], own[2] = { block(rank, root, 0), block(rank, root, 1) };
    const void *from = own;
    MPI_Request request;

    memset(all, -1, sizeof(all));
    if (in_place && rank == root) {
        memcpy(all + 2 * root, own, sizeof(own));
        from = MPI_IN_PLACE;
    }
    ET_MPI(MPI_Igather(from, 2, MPI_INT, all, 2, MPI_INT, root, comm, &request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < 2 * size && rank == root; i++)
        check("gather", root, all[i], block(i / 2, root, i % 2));
}

static void reduce(int root)
{
    int own = 1 << rank, all = -1;
    MPI_Request request;

    ET_MPI(MPI_Ireduce(&own, &all, 1, MPI_INT, MPI_SUM, root, comm, &request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (rank == root)
        check("reduce", root, all, (1 << size) - 1);
    all = rank == root ? 77 + root : -1;
    ET_MPI(MPI_Ibcast(&all, 1, MPI_INT, root, comm, &request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check("bcast", root, all, 77 + root);
}

static void try_roots(void)
{
    static const char *const names[] = { "ISCATTER", "IGATHER", "IBCAST", "IREDUCE", "IALLREDUCE" };
    char name[80];

    for (int i = 0; i < 5; i++) {
        snprintf(name, sizeof(name), "MPIR_CVAR_%s_TREE_KVAL", names[i]);
        set_variable(name, children);
    }
    for (int root = 0; root < size; root++) {
        scatter(root, 0);
        scatter(root, 1);
        gather(root, 0);
        gather(root, 1);
        reduce(root);
    }
}

int main(int argc, char **argv)
{
    int provided;

    et_options(&argc, &argv);
    ET_MPI(MPI_Init(&argc, &argv));
    ET_MPI(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    et_world_changed();
    ET_CHECK(et.size >= MIN_SIZE && et.size <= MAX_SIZE, "%d to %d processes", MIN_SIZE, MAX_SIZE);
    for (int members = et.size; members >= MIN_SIZE; members--) {
        ET_MPI(MPI_Comm_split(MPI_COMM_WORLD, et.rank < members ? 0 : MPI_UNDEFINED, et.rank,
                              &comm));
        if (comm == MPI_COMM_NULL)
            continue;
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        for (children = 2; children <= 3; children++)
            try_roots();
        ET_MPI(MPI_Comm_free(&comm));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (et.rank == 0)
        et_log("PASS collectives_trees");
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
