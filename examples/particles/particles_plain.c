/*
 * Particles, elastic by hand:
 *     mpiexec -n 2 --adapt-schedule 4,1 particles_plain --adaptations 2
 */

#include <stddef.h>
#include "particles.h"

static void need(int failed)
{
    if (failed)
        MPI_Abort(MPI_COMM_WORLD, 1);
}

static void adapt(struct simulation *simulation, int status)
{
    epop_window_t window;

    need(MPIX_Adapt_window_open(status, &window, NULL));
    need(particles_move(simulation, &window));
    need(MPIX_Adapt_window_close(&window, NULL));
}

int main(int argc, char **argv)
{
    struct simulation simulation;
    int status, pending;

    MPI_Init_adapt(&argc, &argv, &status);
    int joins = status == MPI_ADAPT_STATUS_JOINING;
    need(particles_setup(&simulation, argc, argv, joins));
    if (joins)
        adapt(&simulation, status);
    do {                        /* a joining process comes from its window */
        if (!joins) {
            MPI_Probe_adapt(&pending, &status, NULL);
            if (pending == MPI_ADAPT_TRUE)
                adapt(&simulation, status);
        }
        joins = 0;
        need(particles_step(&simulation));
    } while (particles_goes_on(&simulation));
    need(particles_result(&simulation));
    particles_free(&simulation);
    MPI_Finalize();
    return 0;
}
