/*
 * Each operation has its PMPI_ name: a tool inside this program counts the MPI_ calls and passes
 * them on.
 */

#include "elastic_test.h"

static int inits, probes, begins, commits;

int MPI_Init_adapt(int *argc, char ***argv, int *local_status)
{
    inits++;
    return PMPI_Init_adapt(argc, argv, local_status);
}

int MPI_Init_thread_adapt(int *argc, char ***argv, int required, int *provided, int *local_status)
{
    inits++;
    return PMPI_Init_thread_adapt(argc, argv, required, provided, local_status);
}

int MPI_Probe_adapt(int *pending_adaptation, int *local_status, MPI_Info * info)
{
    probes++;
    return PMPI_Probe_adapt(pending_adaptation, local_status, info);
}

int MPI_Comm_adapt_begin(MPI_Comm * intercomm, MPI_Comm * new_comm_world, int *staying_count,
                         int *leaving_count, int *joining_count)
{
    begins++;
    return PMPI_Comm_adapt_begin(intercomm, new_comm_world, staying_count, leaving_count,
                                 joining_count);
}

int MPI_Comm_adapt_commit(void)
{
    commits++;
    return PMPI_Comm_adapt_commit();
}

int main(int argc, char **argv)
{
    if (et_number(argc, argv, "thread", 0))
        et_init_thread(&argc, &argv, MPI_THREAD_FUNNELED);
    else
        et_init(&argc, &argv);
    et_loop();
    ET_CHECK(inits == 1, "%d initialisations were seen", inits);
    ET_CHECK(begins == commits && commits >= 1, "%d begins, %d commits were seen", begins, commits);
    ET_CHECK(probes >= commits - 1, "%d probes were seen", probes);
    return et_finish();
}
