/*
 * A tool that wraps both kinds of initialisation, and makes the one that programs know the one that
 * this MPI adds: every call of one comes back through the other.  Each process writes the file
 * tool.PID.
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int inits, adaptive_inits;

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int status;

    if (++inits > 10)
        abort();
    return PMPI_Init_thread_adapt(argc, argv, required, provided, &status);
}

int MPI_Init_adapt(int *argc, char ***argv, int *local_status)
{
    if (++adaptive_inits > 10)
        abort();
    return PMPI_Init_adapt(argc, argv, local_status);
}

int MPI_Init_thread_adapt(int *argc, char ***argv, int required, int *provided, int *local_status)
{
    if (++adaptive_inits > 10)
        abort();
    return PMPI_Init_thread_adapt(argc, argv, required, provided, local_status);
}

int MPI_Finalize(void)
{
    char name[64];
    FILE *report;

    snprintf(name, sizeof(name), "tool.%d", (int) getpid());
    report = fopen(name, "w");
    if (!report || adaptive_inits != 1)
        abort();
    fprintf(report, "%d\n", inits);
    fclose(report);
    return PMPI_Finalize();
}
