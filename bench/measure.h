/*
 * Common parts of the measuring programs: clocks, binding to cores, and samples of an operation
 * printed as one JSON line.  Compiles with any MPI.
 *
 * A sample is the mean time of an operation in a batch.  Batches are short (BATCH_US), so that a
 * batch that another process of the machine disturbed is one bad sample among many, and a median
 * does not see it.  The first process of the control communicator decides how large a batch is and
 * how many there are.
 */

#ifndef MEASURE_H_INCLUDED
#define MEASURE_H_INCLUDED

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCH_US 200.0
#define BATCH_MOST 4096         /* operations */
#define SAMPLES_LEAST 5
#define SAMPLES_MOST 400
/* operations before the first sample, if the budget has time for them */
#define WARM_LEAST 512

static inline double clock_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return 1e6 * (double) now.tv_sec + 1e-3 * (double) now.tv_nsec;
}

static inline double now_us(void)
{
    return clock_us(CLOCK_MONOTONIC);
}

/* Of the own thread only: what it computed, and spun, but not what it waited for a core. */
static inline double cpu_us(void)
{
    return clock_us(CLOCK_THREAD_CPUTIME_ID);
}

/* Bind this process to one of the cores that it may run on: worlds that are compared with each
 * other lie on the same cores then, however their processes came to be. */
static inline void bind_to_core(int index)
{
    cpu_set_t allowed, one;
    int cores, core = -1;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return;
    cores = CPU_COUNT(&allowed);
    for (int left = index % cores; left >= 0; left--)
        do
            core++;
        while (!CPU_ISSET(core, &allowed));
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

static inline void print_numbers(const char *name, const double *numbers, int count)
{
    printf(",\"%s\":[", name);
    for (int i = 0; i < count; i++)
        printf("%s%.4g", i > 0 ? "," : "", numbers[i]);
    printf("]");
}

/* One line of samples that the caller has taken. */
static inline void print_us(const char *what, const double *us, int count)
{
    printf("{\"what\":\"%s\"", what);
    print_numbers("us", us, count);
    printf("}\n");
}

/* Runs an operation `count` times; called by all processes of `control` together. */
typedef void (*operation)(const void *what, int count);

static inline double time_batch(operation run, const void *what, int count, MPI_Comm control)
{
    double start, took;

    MPI_Barrier(control);
    start = now_us();
    run(what, count);
    took = now_us() - start;
    MPI_Bcast(&took, 1, MPI_DOUBLE, 0, control);
    return took;
}

/* Operations in a batch, and the time of such a batch: the least of three, because the first ones
 * also set up connections, and another process of the machine may be on the core. */
static inline int size_of_batch(operation run, const void *what, MPI_Comm control, double *took)
{
    for (int count = 1;; count *= 2) {
        *took = time_batch(run, what, count, control);
        for (int i = 1; i < 3; i++) {
            double again = time_batch(run, what, count, control);
            *took = again < *took ? again : *took;
        }
        if (*took >= BATCH_US || count >= BATCH_MOST)
            return count;
    }
}

/* The first operations touch memory for the first time: of the host's segment, say, each of its
 * cells. */
static inline void warm(operation run, const void *what, int count, MPI_Comm control,
                        double budget_us)
{
    for (int done = 0; done < WARM_LEAST && budget_us > 0; done += count)
        budget_us -= time_batch(run, what, count, control);
}

/* Measure for about budget_us and let the first process of `control` print the samples: the time of
 * an operation divided by `parts`. */
static inline void measure(const char *name, operation run, const void *what, int parts,
                           MPI_Comm control, double budget_us)
{
    static double samples[SAMPLES_MOST];
    double took;
    int count = size_of_batch(run, what, control, &took);
    int wanted = took > 0 ? (int) (budget_us / took) : SAMPLES_MOST, rank;

    if (wanted < SAMPLES_LEAST)
        wanted = SAMPLES_LEAST;
    if (wanted > SAMPLES_MOST)
        wanted = SAMPLES_MOST;
    warm(run, what, count, control, budget_us);
    for (int i = 0; i < wanted; i++)
        samples[i] = time_batch(run, what, count, control) / count / parts;
    MPI_Comm_rank(control, &rank);
    if (rank != 0)
        return;
    printf("{\"what\":\"%s\"", name);
    print_numbers("us", samples, wanted);
    printf("}\n");
    fflush(stdout);
}

#endif /* MEASURE_H_INCLUDED */
