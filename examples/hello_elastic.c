/* A world that grows and shrinks: mpiexec -n 2 --adapt-schedule 2s:4,4s:1 ./hello_elastic */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
static int step, rank, size;    /* step is the state that all processes share */

#ifdef MPI_ADAPT_TRUE           /* with stock MPICH this is an ordinary program */
static void adapt(int joining)
{
    MPI_Comm intercomm, new_world;
    int stays, leaves, joins;
    MPI_Comm_adapt_begin(&intercomm, &new_world, &stays, &leaves, &joins);
    if (joins > 0)              /* rank 0 of the old world sends the joining processes the step */
        MPI_Bcast(&step, 1, MPI_INT, joining ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, intercomm);
    MPI_Comm_adapt_commit();    /* MPI_COMM_WORLD is the new one; leaving processes end here */
}
#endif

int main(int argc, char **argv)
{
#ifdef MPI_ADAPT_TRUE
    int status, pending;
    MPI_Init_adapt(&argc, &argv, &status);
    if (status == MPI_ADAPT_STATUS_JOINING)
        adapt(1);
#else
    MPI_Init(&argc, &argv);
#endif
    while (step < 12) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        printf("step %2d: rank %d of %d\n", ++step, rank, size);
        usleep(500000);         /* the work */
#ifdef MPI_ADAPT_TRUE
        if (MPI_Probe_adapt(&pending, &status, NULL) == MPI_SUCCESS && pending)
            adapt(0);
#endif
    }
    MPI_Finalize();
}
