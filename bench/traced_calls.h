/*
 * A trace of the MPI calls of a program's elastic loop, for a program all of whose files are
 * compiled with -include of this one: the calls stay where they are, and how long each takes is
 * measured around it.  The library's figures of the same run are to agree (harness/scaling.py).
 * Calls that are not named below are not counted.
 *
 * Each process counts from its first probe to its last one, as the library does; probes are no part
 * of it.  Rank 0 prints one line of JSON in MPI_Finalize: the seconds of all processes in the loop,
 * and those of these in MPI.
 */

#ifndef TRACED_CALLS_H_INCLUDED
#define TRACED_CALLS_H_INCLUDED

#include <mpi.h>
#include <stdio.h>
#include <time.h>

/* One for all files. */
__attribute__((weak)) struct traced {
    double first_s;             /* the end of the first probe; 0: there was none */
    double last_s;              /* the beginning of the last one, */
    double mpi_s, probes_s;     /* and what has been spent since the first one before it, */
    double mpi_now_s, probes_now_s;     /* or up to now */
} traced;

static inline double traced_now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double) now.tv_sec + 1e-9 * (double) now.tv_nsec;
}

static inline int traced_call(double began_s, int status)
{
    if (traced.first_s > 0)
        traced.mpi_now_s += traced_now_s() - began_s;
    return status;
}

static inline int traced_probe(double began_s, int status)
{
    if (traced.first_s == 0) {
        traced.first_s = traced_now_s();
        return status;
    }
    traced.last_s = began_s;
    traced.mpi_s = traced.mpi_now_s;
    traced.probes_s = traced.probes_now_s;
    traced.probes_now_s += traced_now_s() - began_s;
    return status;
}

static inline int traced_finalize(void)
{
    double mine[2] = { traced.last_s - traced.first_s - traced.probes_s, traced.mpi_s }, all[2];
    int rank;

    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("{\"loop_s\": %.9f, \"mpi_s\": %.9f}\n", all[0], all[1]);
    return PMPI_Finalize();
}

/* The time is taken before the call is made: both are arguments, so that it is held in between. */
#define TRACED(call) \
    ({ double traced_began_s = traced_now_s(); traced_call(traced_began_s, call); })
#define MPI_Allreduce(...) TRACED(MPI_Allreduce(__VA_ARGS__))
#define MPI_Bcast(...) TRACED(MPI_Bcast(__VA_ARGS__))
#define MPI_Reduce(...) TRACED(MPI_Reduce(__VA_ARGS__))
#define MPI_Sendrecv(...) TRACED(MPI_Sendrecv(__VA_ARGS__))
#define MPI_Sendrecv_replace(...) TRACED(MPI_Sendrecv_replace(__VA_ARGS__))
#define MPI_Probe_adapt(...) \
    ({ double traced_began_s = traced_now_s(); \
       traced_probe(traced_began_s, MPI_Probe_adapt(__VA_ARGS__)); })
#define MPI_Finalize traced_finalize

#endif /* TRACED_CALLS_H_INCLUDED */
