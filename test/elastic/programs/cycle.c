/*
 * The plain elastic program: every communicator of every window and every new world is used.
 * W1-W7, C1, C2, C8 for whatever schedule it is run under.
 */

#include "elastic_test.h"

static void window(void)
{
    int joining_rank = et.status == MPI_ADAPT_STATUS_JOINING;

    et_exercise(MPI_COMM_WORLD, joining_rank ? "the joining world" : "the old world");
    if (et.inter != MPI_COMM_NULL)
        et_exercise_inter(et.inter, !joining_rank, "intercomm");
    if (et.next != MPI_COMM_NULL)
        et_exercise(et.next, "new_comm_world");
}

static void after(void)
{
    MPI_Comm copy;

    et_exercise(MPI_COMM_WORLD, "the new world");
    ET_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    et_exercise(copy, "a copy of the new world");
    if (et.epoch % 2)   /* the other times the commit has to release it (C4) */
        ET_MPI(MPI_Comm_free(&copy));
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    et.window = window;
    et.after = after;
    return et_run();
}
