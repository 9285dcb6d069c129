/*
 * Two elastic phases by hand, in the form that was published: the control structure that EPOP
 * spares (SPEC-epop H1).  epop_double.c is the same program.
 */

#include <mpi.h>
#include "double_phases.h"

static struct double_phases phases;

static void adapt(void)
{
    MPI_Comm intercomm, new;
    int staying_count, leaving_count, joining_count;

    MPI_Comm_adapt_begin(&intercomm, &new, &staying_count, &leaving_count, &joining_count);
    MPI_Comm_adapt_commit();
    double_share(&phases);
}

static void run_phase(int index, int joining)
{
    do {
        int pending = MPI_ADAPT_FALSE, status;
        MPI_Info info;
        if (!joining)
            MPI_Probe_adapt(&pending, &status, &info);
        joining = 0;
        if (pending == MPI_ADAPT_TRUE) {
            MPI_Info_free(&info);
            adapt();
        }
        double_pass(&phases, index);
    } while (double_goes_on(&phases));
}

int main(int argc, char **argv)
{
    int status, joining;

    double_options(&phases, argc, argv);
    MPI_Init_adapt(&argc, &argv, &status);
    joining = status == MPI_ADAPT_STATUS_JOINING;
    if (joining)
        adapt();
    if (phases.index == 0) {
        run_phase(0, joining);
        joining = phases.count = 0;
        phases.index++;
    }
    run_phase(1, joining);
    double_end(&phases);
    MPI_Finalize();
    return 0;
}
