/*
 * W8: on a leaving process new_comm_world is MPI_COMM_NULL; using it is MPI_ERR_COMM, and the
 * message states that the process is leaving.  (On a staying process with nobody joining, intercomm
 * is MPI_COMM_NULL as well: the usual error.)
 */

#include "elastic_test.h"

static void window(void)
{
    int value = 1, sum;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    if (et.status == MPI_ADAPT_STATUS_LEAVING) {
        ET_ERROR(MPI_Comm_size(et.next, &value), MPI_ERR_COMM, "leaving");
        ET_ERROR(MPI_Barrier(et.next), MPI_ERR_COMM, "leaving");
        ET_ERROR(MPI_Send(&value, 1, MPI_INT, 0, 0, et.next), MPI_ERR_COMM, "leaving");
        ET_ERROR(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, et.next), MPI_ERR_COMM,
                 "leaving");
    } else if (et.inter == MPI_COMM_NULL) {
        ET_ERROR(MPI_Comm_size(et.inter, &value), MPI_ERR_COMM, NULL);
    }
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    et_exercise(MPI_COMM_WORLD, "the old world after the errors");
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    et.window = window;
    return et_run();
}
