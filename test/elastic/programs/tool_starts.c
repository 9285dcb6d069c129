/*
 * A profiling tool as most are: it starts in MPI_Init or MPI_Init_thread, whatever the program
 * calls, and aborts if anything else comes first.  It knows of adaptations: it requests rank and
 * size again after a commit, and in MPI_Finalize, which leaving processes reach from within their
 * commit.  Each process writes what it has seen into the file tool.PID.
 */

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int starts, commits, rank, size;
static long calls;
static MPI_Comm private_comm = MPI_COMM_NULL;

static void tool_check(int condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "FAIL tool: %s\n", what);
    abort();
}

static void learn(void)
{
    if (private_comm != MPI_COMM_NULL)
        PMPI_Comm_free(&private_comm);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Comm_dup(MPI_COMM_WORLD, &private_comm);
}

/* MPI works in full here. */
static void start(void)
{
    int sum = -1;

    starts++;
    learn();
    PMPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, private_comm);
    tool_check(sum == size * (size - 1) / 2, "MPI does not work after MPI_Init");
}

static void count(MPI_Comm comm)
{
    int now_rank, now_size;

    tool_check(starts == 1, starts ? "was started twice" : "was not started");
    calls++;
    if (comm != MPI_COMM_WORLD)
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &now_rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &now_size);
    tool_check(now_rank == rank && now_size == size, "was not notified of a new world");
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

int MPI_Comm_adapt_commit(void)
{
    int error = PMPI_Comm_adapt_commit();
    learn();
    commits++;
    return error;
}

int MPI_Barrier(MPI_Comm comm)
{
    count(comm);
    return PMPI_Barrier(comm);
}

int MPI_Allreduce(const void *from, void *to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    count(comm);
    return PMPI_Allreduce(from, to, n, type, op, comm);
}

int MPI_Sendrecv(const void *from, int n, MPI_Datatype type, int dest, int tag, void *to, int to_n,
                 MPI_Datatype to_type, int source, int to_tag, MPI_Comm comm, MPI_Status * status)
{
    count(comm);
    return PMPI_Sendrecv(from, n, type, dest, tag, to, to_n, to_type, source, to_tag, comm, status);
}

int MPI_Finalize(void)
{
    char name[64];
    FILE *report;
    long all = 0;

    count(MPI_COMM_NULL);
    learn();
    PMPI_Reduce(&calls, &all, 1, MPI_LONG, MPI_SUM, 0, private_comm);
    PMPI_Comm_free(&private_comm);
    snprintf(name, sizeof(name), "tool.%d", (int) getpid());
    report = fopen(name, "w");
    tool_check(report != NULL, "cannot write its report");
    fprintf(report, "rank %d of %d, %ld calls, %d commits\n", rank, size, calls, commits);
    fclose(report);
    return PMPI_Finalize();
}
