/*
 * Each rank says something and aborts at once: what the one has said that ends the job is printed,
 * as under stock MPICH.  --adaptive 1: in a program that could adapt.  I3, C8.
 */

#include "elastic_test.h"

int main(int argc, char **argv)
{
    int status, rank;

    if (et_number(argc, argv, "--adaptive", 0))
        ET_MPI(MPI_Init_adapt(&argc, &argv, &status));
    else
        ET_MPI(MPI_Init(&argc, &argv));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    fprintf(stderr, "last words of rank %d\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 7);
    return 0;
}
