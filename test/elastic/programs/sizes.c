/*
 * MPIX_Adapt_sizes: rules that are none are refused with what is wrong and where; a rule is known
 * to mpiexec, which skips entries of a schedule with its reason.  --rule gives it, or --callback N
 * a function that allows divisors of N.
 */

#include "elastic_test.h"

static int divides(int size, void *extra_state)
{
    int done, number = *(int *) extra_state;

    ET_MPI(MPI_Initialized(&done));     /* the function may call MPI */
    return done && number % size == 0;
}

static int nothing(int size, void *extra_state)
{
    (void) size;
    (void) extra_state;
    return 0;
}

static int odd(int size, void *extra_state)
{
    (void) extra_state;
    return size % 2;
}

static void refused(void)
{
    int number = 12;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    ET_ERROR(MPIX_Adapt_sizes("2-8,primes"), MPI_ERR_ARG, "character 5");
    ET_ERROR(MPIX_Adapt_sizes("4 5"), MPI_ERR_ARG, "character 2");
    ET_ERROR(MPIX_Adapt_sizes(""), MPI_ERR_ARG, "rule");
    ET_ERROR(MPIX_Adapt_sizes("3&4"), MPI_ERR_ARG, "no size at all");
    ET_ERROR(MPIX_Adapt_sizes(NULL), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Adapt_sizes_callback(NULL, NULL, 4), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Adapt_sizes_callback(divides, &number, 0), MPI_ERR_ARG, "largest");
    ET_ERROR(MPIX_Adapt_sizes_callback(nothing, NULL, 100), MPI_ERR_ARG, "no size from 1 to 100");
    ET_ERROR(MPIX_Adapt_sizes_callback(odd, NULL, 100000), MPI_ERR_ARG, "longer");
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    const char *rule = et_argument(argc, argv, "rule", NULL);
    int number = (int) et_number(argc, argv, "callback", 0);

    et_init(&argc, &argv);
    if (rule)
        ET_MPI(MPIX_Adapt_sizes(rule));
    if (number)
        ET_MPI(MPIX_Adapt_sizes_callback(divides, &number, 2 * number));
    refused();                  /* and leaves the rule as it is */
    return et_run();
}
