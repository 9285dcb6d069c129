/*
 * A program that chooses its own size: rank 0 reads a number, so many processes are created, all
 * compute pi; if a second number is negative so many are taken out again, and pi is computed once
 * more.
 *
 *     mpiexec -n 1 ./dynsize 3 -2          mpiexec -n 3 ./dynsize <<< '1 -1'
 *
 * After Gropp and Lusk. With an MPI whose world cannot be changed the size stays what it is.
 */

#include <mpi.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define INTERVALS 1000000

/* Of the arguments, else of standard input, else 0. */
static void read_numbers(int argc, char **argv, int numbers[2])
{
    for (int i = 0; i < 2; i++) {
        numbers[i] = 0;
        if (argc > 1 + i)
            numbers[i] = atoi(argv[1 + i]);
        else if (argc == 1 && scanf("%d", &numbers[i]) != 1)
            numbers[i] = 0;
    }
}

static void compute(void)
{
    int rank, size;
    double sum = 0, pi;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = rank; i < INTERVALS; i += size) {
        double x = (i + 0.5) / INTERVALS;
        sum += 4 / (1 + x * x);
    }
    MPI_Reduce(&sum, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("pi is about %.10f, by %d processes (error %.1e)\n", pi / INTERVALS, size,
               fabs(pi / INTERVALS - acos(-1)));
    fflush(stdout);
}

#ifdef MPIX_COMM_PARENT
/* Whether this process is still in the common world. */
static int change_size(int count)
{
    MPI_Comm newcomm;
    int rank, error;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    error = MPIX_Comm_modify(MPI_COMM_WORLD, count, &newcomm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    if (error != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING];
        int length;
        MPI_Error_string(error, text, &length);
        if (rank == 0)
            fprintf(stderr, "the size stays: %s\n", text);
        return 1;
    }
    if (newcomm == MPI_COMM_NULL)
        return 0;
    MPI_Comm_free(&newcomm);
    return 1;
}

static int is_created(void)
{
    return MPIX_COMM_PARENT != MPI_COMM_NULL;
}
#else
static int change_size(int count)
{
    (void) count;
    return 1;
}

static int is_created(void)
{
    return 0;
}
#endif

int main(int argc, char **argv)
{
    int numbers[2] = { 0, 0 }, rank, is_here = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* those that are created come out of MPI_Init when this is over */
    if (!is_created()) {
        if (rank == 0)
            read_numbers(argc, argv, numbers);
        MPI_Bcast(numbers, 2, MPI_INT, 0, MPI_COMM_WORLD);
        is_here = change_size(numbers[0]);
    }
    if (is_here) {
        compute();
        MPI_Bcast(numbers, 2, MPI_INT, 0, MPI_COMM_WORLD);
        if (numbers[1] < 0 && change_size(numbers[1]))
            compute();
    }
    MPI_Finalize();
    return 0;
}
