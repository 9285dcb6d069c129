/*
 * Cannon's algorithm, elastic by hand:
 *     mpiexec -n 4 --adapt-schedule 9,1 cannon_plain --adaptations 2
 */

#include <stddef.h>
#include "cannon.h"

static int adapt(struct cannon *cannon, int status)
{
    MPI_Comm intercomm, new_world;
    int staying, leaving, joining;
    epop_window_t window;

    MPI_Comm_adapt_begin(&intercomm, &new_world, &staying, &leaving, &joining);
    MPIX_Adapt_window_fill(MPI_COMM_WORLD, intercomm, new_world, status, &window);
    int failed = cannon_move(cannon, &window);
    MPIX_Adapt_window_clear(&window);
    MPI_Comm_adapt_commit();
    return failed;
}

int main(int argc, char **argv)
{
    struct cannon cannon;
    int status, pending, failed;

    MPI_Init_adapt(&argc, &argv, &status);
    int joins = status == MPI_ADAPT_STATUS_JOINING;
    failed = cannon_setup(&cannon, argc, argv, joins);
    if (!failed && joins)
        failed = adapt(&cannon, status);
    do {
        if (!failed && !joins) {
            MPI_Probe_adapt(&pending, &status, NULL);
            if (pending == MPI_ADAPT_TRUE)
                failed = adapt(&cannon, status);
        }
        joins = 0;
        if (failed || cannon_multiply(&cannon))
            MPI_Abort(MPI_COMM_WORLD, 1);
    } while (cannon_goes_on(&cannon));
    cannon_report(&cannon);
    cannon_free(&cannon);
    MPI_Finalize();
    return 0;
}
