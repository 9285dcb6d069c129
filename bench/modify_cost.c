/*
 * The cost of MPIX_Comm_modify, beside MPI_Comm_spawn and MPI_Intercomm_merge of as many processes.
 *
 *   mpiexec -n N modify_cost MORE ROUNDS
 *
 * The two take turns.  Prints for each {"what":NAME,"us":[...]}: for each round the time until the
 * call has returned on all of the N processes; what takes the processes out again is not counted.
 */

#include "measure.h"
#include <string.h>
#include <unistd.h>

#ifndef MPI_ADAPT_TRUE

int main(void)
{
    fprintf(stderr, "modify_cost: this MPI has no MPIX_Comm_modify\n");
    return 1;
}

#else

#define PAUSE_US 50000          /* in which processes end that are not wanted any more */

static char *program;
static int rank, more;

/* The longest time of the processes that were there before. */
static double longest(MPI_Comm comm, double took)
{
    double us = 0;

    MPI_Reduce(&took, &us, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
    return us;
}

/* Created processes come here after MPI_Init. */
static void take_out(void)
{
    MPI_Comm comm;

    MPIX_Comm_modify(MPI_COMM_WORLD, -more, &comm);
    if (comm == MPI_COMM_NULL) {
        MPI_Finalize();
        exit(0);
    }
    MPI_Comm_free(&comm);
}

static double modify(void)
{
    double start, took;

    MPI_Barrier(MPI_COMM_WORLD);
    start = now_us();
    MPIX_Comm_modify(MPI_COMM_WORLD, more, NULL);
    took = now_us() - start;
    take_out();
    return longest(MPI_COMM_WORLD, took);
}

static double spawn(void)
{
    MPI_Comm children, all;
    char *arguments[] = { "--child", NULL };
    double start, took;

    MPI_Barrier(MPI_COMM_WORLD);
    start = now_us();
    MPI_Comm_spawn(program, arguments, more, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(children, 0, &all);
    took = now_us() - start;
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&children);
    return longest(MPI_COMM_WORLD, took);
}

static int child(void)
{
    MPI_Comm parent, all;

    MPI_Comm_get_parent(&parent);
    MPI_Intercomm_merge(parent, 1, &all);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    int rounds = argc == 3 ? atoi(argv[2]) : 0;
    double *modified, *spawned;

    MPI_Init(&argc, &argv);
    program = argv[0];
    if (argc == 2 && strcmp(argv[1], "--child") == 0)
        return child();
    more = argc == 3 ? atoi(argv[1]) : 0;
    if (rounds < 1 || more < 1) {
        fprintf(stderr, "usage: modify_cost MORE ROUNDS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (MPIX_COMM_PARENT != MPI_COMM_NULL)
        take_out();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    modified = malloc(sizeof(*modified) * (size_t) rounds);
    spawned = malloc(sizeof(*spawned) * (size_t) rounds);
    for (int i = 0; i < rounds; i++) {
        modified[i] = modify();
        usleep(PAUSE_US);
        spawned[i] = spawn();
        usleep(PAUSE_US);
    }
    if (rank == 0) {
        print_us("modify", modified, rounds);
        print_us("spawn_merge", spawned, rounds);
    }
    free(modified);
    free(spawned);
    MPI_Finalize();
    return 0;
}

#endif
