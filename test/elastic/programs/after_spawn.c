/*
 * C9, process creation: MPI_Comm_spawn in every new world (all processes take part, the children
 * are rigid, compute with their parents and are disconnected), and from MPI_COMM_SELF of the last
 * rank.
 */

#include "elastic_test.h"

static char *program;

static int child(MPI_Comm parent)
{
    int remote, value = -1, sum;

    ET_MPI(MPI_Comm_remote_size(parent, &remote));
    et_world_changed();
    et_exercise(MPI_COMM_WORLD, "the children's world");
    ET_MPI(MPI_Bcast(&value, 1, MPI_INT, 0, parent));
    ET_CHECK(value == 100 + remote, "my parents sent %d", value);
    ET_MPI(MPI_Allreduce(&et.rank, &sum, 1, MPI_INT, MPI_SUM, parent));
    ET_CHECK(sum == remote * (remote - 1) / 2, "my parents' sum is %d", sum);
    ET_MPI(MPI_Comm_disconnect(&parent));
    ET_MPI(MPI_Finalize());
    return 0;
}

static void spawn(MPI_Comm comm, int children, const char *name)
{
    MPI_Comm inter;
    int rank, size, value, sum, errors[4] = { 0 };
    char *arguments[] = { "--child", NULL };

    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    ET_MPI(MPI_Comm_spawn(program, arguments, children, MPI_INFO_NULL, 0, comm, &inter, errors));
    for (int i = 0; i < children; i++)
        ET_CHECK(errors[i] == MPI_SUCCESS, "%s: child %d was not created", name, i);
    value = 100 + size;
    ET_MPI(MPI_Bcast(&value, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter));
    ET_MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter));
    ET_CHECK(sum == children * (children - 1) / 2, "%s: the children's sum is %d", name, sum);
    ET_MPI(MPI_Comm_disconnect(&inter));
}

static void after(void)
{
    spawn(MPI_COMM_WORLD, 2, "spawn of the world");
    if (et.rank == et.size - 1)
        spawn(MPI_COMM_SELF, 1, "spawn of the last rank");
    et_exercise(MPI_COMM_WORLD, "the world after spawning");
}

int main(int argc, char **argv)
{
    MPI_Comm parent;

    program = argv[0];
    if (et_argument(argc, argv, "child", NULL)) {
        ET_MPI(MPI_Init(&argc, &argv));
        ET_MPI(MPI_Comm_get_parent(&parent));
        ET_CHECK(parent != MPI_COMM_NULL, "a child without parents");
        return child(parent);
    }
    et_init(&argc, &argv);
    ET_MPI(MPI_Comm_get_parent(&parent));
    ET_CHECK(parent == MPI_COMM_NULL, "a joining process has no parent");
    et.after = after;
    return et_run();
}
