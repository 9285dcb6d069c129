/*
 * P8: a hang inside the window.  The joining processes broadcast on the intercommunicator, the
 * others do not, until the file "go" exists: the harness makes it when mpiexec has stated who is
 * where.
 */

#include "elastic_test.h"

static void window(void)
{
    int value = 0, joining = et.status == MPI_ADAPT_STATUS_JOINING;

    if (!joining)
        et_await_file("go");
    ET_MPI(MPI_Bcast(&value, 1, MPI_INT, joining ? 0 : et.rank == 0 ? MPI_ROOT : MPI_PROC_NULL,
                     et.inter));
}

int main(int argc, char **argv)
{
    et_init(&argc, &argv);
    et.window = window;
    return et_run();
}
