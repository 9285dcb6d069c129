/*
 * The computation that plain_double.c and epop_double.c share.  A pass adds the ranks' shares of a
 * sum, which does not depend on their number.  The second pass of each phase does not count before
 * half, and all, of the adaptations have been seen, so that they happen in both phases and what is
 * printed depends on the schedule alone.
 */

#ifndef DOUBLE_PHASES_H_INCLUDED
#define DOUBLE_PHASES_H_INCLUDED

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { PASSES = 3 };

struct double_phases {
    int epochs;                 /* adaptations to be seen */
    int index, count, epoch;    /* the phase, its passes, adaptations seen */
    long sum;
};

static inline void double_options(struct double_phases *phases, int argc, char **argv)
{
    phases->epochs = argc > 1 ? atoi(argv[1]) : 0;
}

static inline int double_pass(struct double_phases *phases, int index)
{
    const int needed = index == 0 ? phases->epochs / 2 : phases->epochs;
    int rank, size;
    long share = 0, sum;

    if (phases->index != index)
        phases->count = 0;
    phases->index = index;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (long i = rank; i < 1000; i += size)
        share += (i + 1) * (index + 1);
    MPI_Allreduce(&share, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    usleep(1000);
    if (phases->count == 1 && phases->epoch < needed)
        return 0;
    phases->count++;
    phases->sum += sum * phases->count;
    if (rank == 0)
        printf("phase %d, pass %d: %ld\n", index, phases->count, phases->sum);
    return 0;
}

static inline int double_goes_on(const struct double_phases *phases)
{
    return phases->count < PASSES;
}

/* After commit: the joining processes learn what the others know; rank 0 is none of them. */
static inline void double_share(struct double_phases *phases)
{
    phases->epoch++;
    MPI_Bcast(phases, sizeof(*phases), MPI_BYTE, 0, MPI_COMM_WORLD);
}

static inline void double_end(const struct double_phases *phases)
{
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        printf("PASS epoch=%d size=%d\n", phases->epoch, size);
}

#endif /* DOUBLE_PHASES_H_INCLUDED */
