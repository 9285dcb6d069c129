/*
 * E1: an operation before initialisation (--which probe, begin or commit), after finalisation
 * (after), or a second initialisation (twice), ends the program with a message that states so.
 */

#include "elastic_test.h"

int main(int argc, char **argv)
{
    const char *which = et_argument(argc, argv, "which", "probe");
    int pending = -1, status = -1, a, b, c;
    MPI_Comm inter, next;
    MPI_Info info;

    if (strcmp(which, "probe") == 0)
        MPI_Probe_adapt(&pending, &status, &info);
    else if (strcmp(which, "begin") == 0)
        MPI_Comm_adapt_begin(&inter, &next, &a, &b, &c);
    else if (strcmp(which, "commit") == 0)
        MPI_Comm_adapt_commit();
    else {
        et_init(&argc, &argv);
        if (strcmp(which, "twice") == 0) {
            MPI_Init_adapt(&argc, &argv, &status);
        } else {
            ET_MPI(MPI_Finalize());
            MPI_Probe_adapt(&pending, &status, &info);
        }
    }
    fprintf(stderr, "SURVIVED\n");      /* only an error handler that returns leads here */
    return 3;
}
