/*
 * W5, communicator creation in the window: dup, idup, split, split_type, create_group, cartesian
 * and graph topologies on the old world, the joining world and new_comm_world; merging, splitting
 * and duplicating intercomm; a second intercommunicator between two halves of new_comm_world.  All
 * of them are used, half of them are freed, the rest is left to the commit (C4).  C9: the same
 * after it.
 */

#include "elastic_test.h"

static void keep_or_free(MPI_Comm * comm)
{
    if (et.epoch % 2 == 0)
        ET_MPI(MPI_Comm_free(comm));
}

static void plain(MPI_Comm comm, const char *name)
{
    MPI_Comm made;
    MPI_Request request;
    MPI_Group all, some;
    int rank, size, range[1][3];

    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    ET_MPI(MPI_Comm_dup(comm, &made));
    et_exercise(made, name);
    keep_or_free(&made);
    ET_MPI(MPI_Comm_idup(comm, &made, &request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    et_exercise(made, name);
    keep_or_free(&made);
    ET_MPI(MPI_Comm_split(comm, rank % 2, size - rank, &made));
    et_exercise(made, name);
    keep_or_free(&made);
    ET_MPI(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
    et_exercise(made, name);
    keep_or_free(&made);

    ET_MPI(MPI_Comm_group(comm, &all));
    range[0][0] = size > 1;     /* without rank 0 where that is possible */
    range[0][1] = size - 1;
    range[0][2] = 1;
    ET_MPI(MPI_Group_range_incl(all, 1, range, &some));
    if (rank >= range[0][0]) {
        ET_MPI(MPI_Comm_create_group(comm, some, 17, &made));
        et_exercise(made, name);
        keep_or_free(&made);
    }
    ET_MPI(MPI_Comm_create(comm, some, &made));
    ET_CHECK((made != MPI_COMM_NULL) == (rank >= range[0][0]), "%s: wrong members", name);
    if (made != MPI_COMM_NULL) {
        et_exercise(made, name);
        keep_or_free(&made);
    }
    ET_MPI(MPI_Group_free(&all));
    ET_MPI(MPI_Group_free(&some));
}

static void topologies(MPI_Comm comm, const char *name)
{
    int rank, size, dims[2] = { 0, 0 }, periods[2] = { 1, 0 }, left, right, got = -1;
    int source, target;
    MPI_Comm made;

    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    ET_MPI(MPI_Dims_create(size, 2, dims));
    ET_MPI(MPI_Cart_create(comm, 2, dims, periods, 0, &made));
    ET_MPI(MPI_Cart_shift(made, 0, 1, &left, &right));
    ET_MPI(MPI_Sendrecv(&rank, 1, MPI_INT, right, 8, &got, 1, MPI_INT, left, 8, made,
                        MPI_STATUS_IGNORE));
    ET_CHECK(got == left, "%s: shift gives %d, not %d", name, got, left);
    et_exercise(made, name);
    keep_or_free(&made);

    source = (rank + size - 1) % size;
    target = (rank + 1) % size;
    ET_MPI(MPI_Dist_graph_create_adjacent(comm, 1, &source, MPI_UNWEIGHTED, 1, &target,
                                          MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made));
    ET_MPI(MPI_Neighbor_allgather(&rank, 1, MPI_INT, &got, 1, MPI_INT, made));
    ET_CHECK(got == source, "%s: the neighbour is %d, not %d", name, got, source);
    keep_or_free(&made);
}

static void halves(MPI_Comm comm, const char *name)
{
    int rank, size, upper;
    MPI_Comm half, made;

    ET_MPI(MPI_Comm_rank(comm, &rank));
    ET_MPI(MPI_Comm_size(comm, &size));
    if (size < 2)
        return;
    upper = rank >= size / 2;
    ET_MPI(MPI_Comm_split(comm, upper, rank, &half));
    ET_MPI(MPI_Intercomm_create(half, 0, comm, upper ? 0 : size / 2, 31, &made));
    et_exercise_inter(made, !upper, name);
    keep_or_free(&made);
    keep_or_free(&half);
}

static void on_intercomm(int joining_rank)
{
    MPI_Comm merged, copy;
    int size, pre = et.staying + et.leaving, rank;

    ET_MPI(MPI_Intercomm_merge(et.inter, joining_rank, &merged));
    ET_MPI(MPI_Comm_size(merged, &size));
    ET_MPI(MPI_Comm_rank(merged, &rank));
    ET_CHECK(size == pre + et.joining, "merged: %d", size);
    ET_CHECK(rank == et.rank + (joining_rank ? pre : 0), "merged: I am %d", rank);
    et_exercise(merged, "merged intercomm");
    keep_or_free(&merged);
    ET_MPI(MPI_Comm_dup(et.inter, &copy));
    et_exercise_inter(copy, !joining_rank, "a copy of intercomm");
    keep_or_free(&copy);
}

static void window(void)
{
    int joining_rank = et.status == MPI_ADAPT_STATUS_JOINING;

    plain(MPI_COMM_WORLD, joining_rank ? "joining world" : "old world");
    topologies(MPI_COMM_WORLD, joining_rank ? "joining world" : "old world");
    if (et.inter != MPI_COMM_NULL)
        on_intercomm(joining_rank);
    if (et.next != MPI_COMM_NULL) {
        plain(et.next, "new_comm_world");
        topologies(et.next, "new_comm_world");
        halves(et.next, "halves of new_comm_world");
    }
}

static void after(void)
{
    plain(MPI_COMM_WORLD, "new world");
    topologies(MPI_COMM_WORLD, "new world");
    halves(MPI_COMM_WORLD, "halves of the new world");
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    et.window = window;
    et.after = after;
    return et_run();
}
