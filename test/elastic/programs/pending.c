/*
 * C6: a request still pending on the old world at commit is reported, not a hang.  --how says which
 * and what then:
 *   return  receives are pending on all; commit returns the error; without them it succeeds
 *   one     only rank 0 has one; all are told, and a second commit succeeds
 *   fatal   under the default error handler the job ends with the report
 *   coll    the pending request is a nonblocking barrier that one process never entered
 */

#include "elastic_test.h"

static void return_errors(MPI_Errhandler handler)
{
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, handler));
}

static void pend_and_return(void)
{
    int got;
    MPI_Request request;

    return_errors(MPI_ERRORS_RETURN);
    ET_MPI(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 61, MPI_COMM_WORLD, &request));
    ET_ERROR(MPI_Comm_adapt_commit(), MPI_ERR_LASTCODE, "pending");
    ET_MPI(MPI_Cancel(&request));
    ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    return_errors(MPI_ERRORS_ARE_FATAL);
    et_exercise(MPI_COMM_WORLD, "the old world after the error");
}

static void pend_on_one(void)
{
    int got, mine = et.status != MPI_ADAPT_STATUS_JOINING && et.rank == 0;
    MPI_Request request;

    return_errors(MPI_ERRORS_RETURN);
    if (mine)
        ET_MPI(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 61, MPI_COMM_WORLD, &request));
    ET_ERROR(MPI_Comm_adapt_commit(), MPI_ERR_LASTCODE, mine ? "pending" : "rocess 0 of the window");
    if (mine) {
        ET_MPI(MPI_Cancel(&request));
        ET_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    return_errors(MPI_ERRORS_ARE_FATAL);
    et_exercise(MPI_COMM_WORLD, "the old world after the error");
}

static void pend(void)
{
    static int got;
    MPI_Request request;

    ET_MPI(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 61, MPI_COMM_WORLD, &request));
}

static void pend_collective(void)
{
    MPI_Request request;

    if (et.status != MPI_ADAPT_STATUS_JOINING && et.rank == 0)
        ET_MPI(MPI_Ibarrier(MPI_COMM_WORLD, &request));
}

int main(int argc, char **argv)
{
    const char *how = et_argument(argc, argv, "how", "return");

    et_init(&argc, &argv);
    et.window = strcmp(how, "return") == 0 ? pend_and_return :
        strcmp(how, "one") == 0 ? pend_on_one :
        strcmp(how, "coll") == 0 ? pend_collective : pend;
    return et_run();
}
