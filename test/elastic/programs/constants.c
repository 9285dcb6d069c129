/* Names and values: the binary contract of the interface. */

#include "elastic_test.h"

#define IS(name, value) _Static_assert(name == value, #name " is not " #value)
IS(MPI_ADAPT_FALSE, 0);
IS(MPI_ADAPT_TRUE, 1);
IS(MPI_ADAPT_STATUS_NEW, 2);
IS(MPI_ADAPT_STATUS_JOINING, 3);
IS(MPI_ADAPT_STATUS_STAYING, 4);
IS(MPI_ADAPT_STATUS_LEAVING, 5);
IS(MPI_ADAPT_FAULT, 6);
IS(MPIX_ADAPT_REQUEST_OPEN, 0);
IS(MPIX_ADAPT_REQUEST_GRANTED, 1);
IS(MPIX_ADAPT_REQUEST_REFUSED, 2);
IS(MPIX_ADAPT_REQUEST_WITHDRAWN, 3);

int main(int argc, char **argv)
{
    int (*init) (int *, char ***, int *) = MPI_Init_adapt;
    int (*init_thread) (int *, char ***, int, int *, int *) = MPI_Init_thread_adapt;
    int (*probe) (int *, int *, MPI_Info *) = MPI_Probe_adapt;
    int (*begin) (MPI_Comm *, MPI_Comm *, int *, int *, int *) = MPI_Comm_adapt_begin;
    int (*commit) (void) = MPI_Comm_adapt_commit;

    et_init(&argc, &argv);
    ET_CHECK(init && init_thread && probe && begin && commit, "a function is missing");
    if (et.rank == 0)
        et_log("PASS constants");
    ET_MPI(MPI_Finalize());
    return 0;
}
