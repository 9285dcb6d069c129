/*
 * Gaussian elimination, elastic by hand:
 *     mpiexec -n 2 --adapt-schedule 4,1 gauss_plain --adaptations 2
 */

#include <stddef.h>
#include "gauss.h"

static int adapt(struct gauss *gauss, int status)
{
    MPI_Comm intercomm, new_world;
    int staying, leaving, joining;
    epop_window_t window;

    MPI_Comm_adapt_begin(&intercomm, &new_world, &staying, &leaving, &joining);
    MPIX_Adapt_window_fill(MPI_COMM_WORLD, intercomm, new_world, status, &window);
    int failed = gauss_move(gauss, &window);
    MPIX_Adapt_window_clear(&window);
    MPI_Comm_adapt_commit();
    return failed;
}

static void need(int failed)
{
    if (failed)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

/* All columns; a joining process comes from its window. */
static void eliminate(struct gauss *gauss, int joins)
{
    int status, pending;

    do {
        if (!joins) {
            MPI_Probe_adapt(&pending, &status, NULL);
            if (pending == MPI_ADAPT_TRUE)
                need(adapt(gauss, status));
        }
        joins = 0;
        need(gauss_eliminate(gauss));
    } while (gauss_has_columns(gauss));
}

int main(int argc, char **argv)
{
    struct gauss gauss;
    int status;

    MPI_Init_adapt(&argc, &argv, &status);
    int joins = status == MPI_ADAPT_STATUS_JOINING;
    need(gauss_setup(&gauss, argc, argv, joins));
    if (joins)
        need(adapt(&gauss, status));
    do {
        if (!joins)
            need(gauss_refill(&gauss));
        eliminate(&gauss, joins);
        joins = 0;
        do {
            need(gauss_substitute(&gauss));
        } while (gauss_has_rows(&gauss));
    } while (gauss_goes_on(&gauss));
    gauss_free(&gauss);
    MPI_Finalize();
    return 0;
}
