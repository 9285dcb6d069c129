/*
 * Each rank prints something and aborts at once: what the one has stated that ends the job is
 * printed, as under stock MPICH.  --adaptive 1: in a program that could adapt.  --alone 1: the last
 * rank only, right after its initialisation.  I3, C8.
 */

#include "elastic_test.h"

int main(int argc, char **argv)
{
    int status, rank, size;

    if (et_number(argc, argv, "adaptive", 0))
        ET_MPI(MPI_Init_adapt(&argc, &argv, &status));
    else
        ET_MPI(MPI_Init(&argc, &argv));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!et_number(argc, argv, "alone", 0))
        MPI_Barrier(MPI_COMM_WORLD);
    else if (rank < size - 1)
        et_sleep_ms(60000);     /* ended by the other's MPI_Abort */
    fprintf(stderr, "last words of rank %d\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 7);
    return 0;
}
