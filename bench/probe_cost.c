/*
 * The cost of a probe when nothing is pending: mpiexec -n P probe_cost
 *
 * Prints {"what":"probe","processes":P,"ns":[...]}: for each process the median over BATCHES
 * batches of PROBES probes, all processes probing at the same time.
 */

#include "measure.h"

#ifndef MPI_ADAPT_TRUE

int main(void)
{
    fprintf(stderr, "probe_cost: this MPI has no adaptation operations\n");
    return 1;
}

#else

#define BATCHES 201
#define PROBES 2000

static double batch_ns(void)
{
    int pending, local_status;
    double start = now_us();

    for (int i = 0; i < PROBES; i++)
        MPI_Probe_adapt(&pending, &local_status, NULL);
    return 1000 * (now_us() - start) / PROBES;
}

static int ascending(const void *a, const void *b)
{
    double difference = *(const double *) a - *(const double *) b;
    return (difference > 0) - (difference < 0);
}

int main(int argc, char **argv)
{
    static double batches[BATCHES];
    int local_status, rank, size;
    double *medians;

    MPI_Init_adapt(&argc, &argv, &local_status);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    medians = calloc((size_t) size, sizeof(*medians));
    if (!medians)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < BATCHES; i++)
        batches[i] = batch_ns();
    qsort(batches, BATCHES, sizeof(batches[0]), ascending);
    MPI_Gather(&batches[BATCHES / 2], 1, MPI_DOUBLE, medians, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("{\"what\":\"probe\",\"processes\":%d", size);
        print_numbers("ns", medians, size);
        printf("}\n");
    }
    free(medians);
    MPI_Finalize();
    return 0;
}

#endif
