/*
 * P4, over the network too: a program that calls nothing but MPI_Probe_adapt while it computes.
 * MPI_Init_adapt leaves nothing to be sent that another process' start waits for, because a probe
 * carries no messages on.  With --plain 1 a process calls nothing at all after MPI_Init until the
 * others have left MPI_Init, too.
 */

#include "elastic_test.h"

#include <unistd.h>

static void compute(void)
{
    et_spin_ms(1);
}

/* By files, since MPI would carry messages on. */
static int plain(const char *prefix)
{
    char path[256];

    et_world_changed();
    snprintf(path, sizeof(path), "%s.%d", prefix, et.rank);
    et_make_file(path);
    for (int rank = 0; rank < et.size; rank++) {
        snprintf(path, sizeof(path), "%s.%d", prefix, rank);
        et_await_file(path);
    }
    et_exercise(MPI_COMM_WORLD, "the world");
    if (et.rank == 0)
        et_log("PASS only_probes\n");
    ET_MPI(MPI_Finalize());
    return 0;
}

int main(int argc, char **argv)
{
    if (et_number(argc, argv, "plain", 0)) {
        et_options(&argc, &argv);
        ET_MPI(MPI_Init(&argc, &argv));
        return plain("started");
    }
    et_init(&argc, &argv);
    et.compute = compute;
    return et_run();
}
