/*
 * A profiling tool that knows nothing of adaptations: it keeps rank and size from MPI_Init, and in
 * MPI_Finalize rank 0 collects from as many processes as there were then, over MPI_COMM_WORLD and
 * over a duplicate of it.  The process that collects writes the file tool.PID.
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TAG 9821

static int rank = -1, size;
static long calls;
static MPI_Comm copy;

static void start(void)
{
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Comm_dup(MPI_COMM_WORLD, &copy);
}

static void count(void)
{
    if (rank < 0) {
        fprintf(stderr, "FAIL tool: was not started\n");
        abort();
    }
    calls++;
}

int MPI_Init(int *argc, char ***argv)
{
    int error = PMPI_Init(argc, argv);
    start();
    return error;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int error = PMPI_Init_thread(argc, argv, required, provided);
    start();
    return error;
}

int MPI_Barrier(MPI_Comm comm)
{
    count();
    return PMPI_Barrier(comm);
}

int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    count();
    return PMPI_Allreduce(from, to, n, type, op, comm);
}

int MPI_Sendrecv(const void *from, int n, MPI_Datatype type, int dest, int tag, void *to, int to_n,
                 MPI_Datatype to_type, int source, int to_tag, MPI_Comm comm, MPI_Status * status)
{
    count();
    return PMPI_Sendrecv(from, n, type, dest, tag, to, to_n, to_type, source, to_tag, comm, status);
}

static void collect(long all)
{
    char name[64];
    long sum = calls, one;
    FILE *report;

    for (int i = 1; i < size; i++) {
        PMPI_Recv(&one, 1, MPI_LONG, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += one;
    }
    if (sum != all) {
        fprintf(stderr, "FAIL tool: %ld calls by messages, %ld by reduction\n", sum, all);
        abort();
    }
    snprintf(name, sizeof(name), "tool.%d", (int) getpid());
    report = fopen(name, "w");
    if (!report)
        abort();
    fprintf(report, "%d processes, %ld calls\n", size, sum);
    fclose(report);
}

int MPI_Finalize(void)
{
    long all = 0;

    count();
    PMPI_Reduce(&calls, &all, 1, MPI_LONG, MPI_SUM, 0, copy);
    PMPI_Comm_free(&copy);
    if (rank == 0)
        collect(all);
    else
        PMPI_Send(&calls, 1, MPI_LONG, 0, TAG, MPI_COMM_WORLD);
    PMPI_Barrier(MPI_COMM_WORLD);
    return PMPI_Finalize();
}
