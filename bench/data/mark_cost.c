/*
 * The cost of a mark in a program of phases: mpiexec -n P mark_cost
 *
 * Prints {"what":"mark","processes":P,"ns":[...]}: for each process the median over BATCHES batches
 * of MARKS iterations of one elastic phase, all processes at the same time.
 */

#include "../measure.h"
#include <mpi_epop.h>

#define BATCHES 201
#define MARKS 20000

static double batch_ns(int64_t first)
{
    double start = now_us();

    for (int64_t i = first; i < first + MARKS; i++)
        MPIX_T_EPOP_iteration(0, i, BATCHES * MARKS);
    return 1000 * (now_us() - start) / MARKS;
}

static int ascending(const void *a, const void *b)
{
    double difference = *(const double *) a - *(const double *) b;
    return (difference > 0) - (difference < 0);
}

int main(int argc, char **argv)
{
    static const MPIX_T_EPOP_loop loop = {.id = 1,.kind = MPIX_T_EPOP_ELASTIC,.element = 1,
                                          .name = "solve" };
    static double batches[BATCHES];
    int local_status, rank, size;

    MPI_T_enable_EPOP_mode();
    MPIX_T_EPOP_loops(1, &loop);
    MPI_Init_adapt(&argc, &argv, &local_status);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double *medians = calloc((size_t) size, sizeof(*medians));
    if (!medians)
        MPI_Abort(MPI_COMM_WORLD, 1);
    bind_to_core(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int64_t i = 0; i < BATCHES; i++)
        batches[i] = batch_ns(i * MARKS);
    qsort(batches, BATCHES, sizeof(batches[0]), ascending);
    MPI_Gather(&batches[BATCHES / 2], 1, MPI_DOUBLE, medians, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("{\"what\":\"mark\",\"processes\":%d", size);
        print_numbers("ns", medians, size);
        printf("}\n");
    }
    free(medians);
    MPI_Finalize();
    return 0;
}
