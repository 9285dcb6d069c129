/*
 * The same growth by the standard's own means: MPI_Comm_spawn and MPI_Intercomm_merge, with any
 * MPI.
 *
 *   mpiexec -n P spawn_merge CHILDREN ROUNDS
 *
 * Prints {"what":"spawn","us":[...]}: for each round the time from the call of MPI_Comm_spawn to
 * the return of MPI_Intercomm_merge, of the process that it took longest; and
 * {"what":"spawn_alone",...}, to the return of MPI_Comm_spawn.  Freeing and disconnecting
 * afterwards are not counted; neither is waiting for the children's end, before the next round.
 */

#include "measure.h"
#include <string.h>
#include <unistd.h>

#define PAUSE_US 50000          /* in which the children of a round end */

static int child(void)
{
    MPI_Comm parents, merged;

    MPI_Init(NULL, NULL);
    MPI_Comm_get_parent(&parents);
    MPI_Intercomm_merge(parents, 1, &merged);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&parents);
    MPI_Finalize();
    return 0;
}

static void spawn(char *program, int children, double *spawned_us, double *merged_us)
{
    char *arguments[] = { "--child", NULL };
    MPI_Comm intercomm, merged;
    double start, took[2], longest[2] = { 0, 0 };

    MPI_Barrier(MPI_COMM_WORLD);
    start = now_us();
    MPI_Comm_spawn(program, arguments, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &intercomm,
                   MPI_ERRCODES_IGNORE);
    took[0] = now_us() - start;
    MPI_Intercomm_merge(intercomm, 0, &merged);
    took[1] = now_us() - start;
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&intercomm);
    MPI_Reduce(took, longest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    usleep(PAUSE_US);
    *spawned_us = longest[0];
    *merged_us = longest[1];
}

int main(int argc, char **argv)
{
    int rank, rounds;
    double *times;

    if (argc == 2 && strcmp(argv[1], "--child") == 0)
        return child();
    rounds = argc == 3 ? atoi(argv[2]) : 0;
    times = calloc(2 * (size_t) (rounds > 0 ? rounds : 1), sizeof(*times));
    if (rounds < 1 || atoi(argv[1]) < 1 || !times) {
        fprintf(stderr, "usage: spawn_merge CHILDREN ROUNDS\n");
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < rounds; i++)
        spawn(argv[0], atoi(argv[1]), &times[rounds + i], &times[i]);
    if (rank == 0) {
        print_us("spawn", times, rounds);
        print_us("spawn_alone", times + rounds, rounds);
    }
    MPI_Finalize();
    free(times);
    return 0;
}
