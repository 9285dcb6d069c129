/*
 * C4: communicators of the old world and of the window, used after the commit: using them is
 * MPI_ERR_COMM with a message that names the adaptation, freeing them is allowed.  Many of them
 * are left alone: the commit has to release them.
 */

#include "elastic_test.h"

static MPI_Comm copy = MPI_COMM_NULL, half, inter, next, in_window;

static void make(void)
{
    ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    ET_MPI(MPI_Comm_split(copy, et.rank % 2, 0, &half));
}

static void window(void)
{
    inter = et.inter;
    next = et.next;
    in_window = MPI_COMM_NULL;
    if (next != MPI_COMM_NULL)
        ET_MPI(MPI_Comm_dup(next, &in_window));
}

static void is_stale(MPI_Comm comm)
{
    int value = 1, got;

    if (comm == MPI_COMM_NULL)
        return;
    ET_ERROR(MPI_Comm_size(comm, &value), MPI_ERR_COMM, "adapt");
    ET_ERROR(MPI_Send(&value, 1, MPI_INT, 0, 0, comm), MPI_ERR_COMM, "adapt");
    ET_ERROR(MPI_Barrier(comm), MPI_ERR_COMM, "adapt");
    ET_ERROR(MPI_Allreduce(&value, &got, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_COMM, "adapt");
    ET_MPI(MPI_Comm_free(&comm));
    ET_CHECK(comm == MPI_COMM_NULL, "freeing left a handle");
}

static void after(void)
{
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    is_stale(copy);
    is_stale(half);
    is_stale(inter);
    is_stale(next);
    is_stale(in_window);
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    make();
    et_exercise(copy, "a copy of the new world");
    et_exercise(half, "half of the new world");
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    half = MPI_COMM_NULL;
    if (et.status == MPI_ADAPT_STATUS_NEW)
        make();
    et.window = window;
    et.after = after;
    return et_run();
}
