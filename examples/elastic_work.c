/*
 * Work that takes a given time, and a result that can be checked: for trying resource managers.
 *
 *   elastic_work [CELLS [STEPS [MILLISECONDS]]]
 *
 * Each step changes every cell once, and every cell costs its owner so many milliseconds.  That
 * time is slept, so that the program scales perfectly and nodes may be simulated by a machine with
 * fewer cores.  The cells are spread over the world in blocks; at an adaptation everybody gets all
 * of them (they are few) and keeps those of its new block.  At the end rank 0 compares their sum
 * with a calculation of its own: any lost, doubled or stale cell shows.
 */

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int cells = 240, steps = 50;
static double cell_ms = 5;
static uint64_t *cell;          /* all of them; those of the own block are up to date */
static int step, rank, size;    /* step: how many are done, the same everywhere */

static int first_cell(int r)
{
    return (int) ((int64_t) cells * r / size);
}

static uint64_t changed(uint64_t value)
{
    return value * 6364136223846793005u + 1442695040888963407u;
}

static void check_world(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

#ifdef MPI_ADAPT_TRUE
/* All cells to all processes of the old world. */
static void share_cells(void)
{
    int *counts = malloc(2 * (size_t) size * sizeof(int)), *firsts = counts + size;
    if (!counts)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int r = 0; r < size; r++) {
        firsts[r] = first_cell(r);
        counts[r] = first_cell(r + 1) - first_cell(r);
    }
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, cell, counts, firsts, MPI_UINT64_T,
                   MPI_COMM_WORLD);
    free(counts);
}

static void adapt(int joining_here)
{
    MPI_Comm intercomm, new_world;
    int staying, leaving, joining, old_size = size;
    MPI_Comm_adapt_begin(&intercomm, &new_world, &staying, &leaving, &joining);
    if (!joining_here)
        share_cells();
    if (joining > 0) {
        int root = joining_here ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
        MPI_Bcast(&step, 1, MPI_INT, root, intercomm);
        MPI_Bcast(cell, cells, MPI_UINT64_T, root, intercomm);
    }
    MPI_Comm_adapt_commit();
    check_world();
    if (rank == 0) {
        printf("elastic_work: from %d to %d processes after step %d\n", joining_here ? 0 : old_size,
               size, step);
        fflush(stdout);
    }
}
#endif

static void compute(void)
{
    int here = first_cell(rank + 1) - first_cell(rank);
    int64_t ns = (int64_t) (here * cell_ms * 1e6);
    struct timespec pause = { ns / 1000000000, ns % 1000000000 };
    for (int i = first_cell(rank); i < first_cell(rank + 1); i++)
        cell[i] = changed(cell[i]);
    nanosleep(&pause, NULL);
}

/* Nobody runs ahead by more than a step, as in programs that exchange data.  Waits without using a
 * core. */
static void synchronize(void)
{
    struct timespec pause = { 0, 200000 };
    MPI_Request request;
    int all_here = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Test(&request, &all_here, MPI_STATUS_IGNORE);
    while (!all_here) {
        nanosleep(&pause, NULL);
        MPI_Test(&request, &all_here, MPI_STATUS_IGNORE);
    }
}

/* Returns whether the sum over all cells is right (on rank 0; true elsewhere). */
static int check(void)
{
    uint64_t mine = 0, sum = 0, right = 0;
    for (int i = first_cell(rank); i < first_cell(rank + 1); i++)
        mine += cell[i];
    MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return 1;
    for (int i = 0; i < cells; i++) {
        uint64_t value = (uint64_t) i;
        for (int s = 0; s < steps; s++)
            value = changed(value);
        right += value;
    }
    printf("elastic_work: %d cells, %d steps, sum %016llx, which is %s\n", cells, steps,
           (unsigned long long) sum, sum == right ? "right" : "WRONG");
    return sum == right;
}

int main(int argc, char **argv)
{
#ifdef MPI_ADAPT_TRUE
    int status, pending;
    MPI_Init_adapt(&argc, &argv, &status);
#else
    MPI_Init(&argc, &argv);
#endif
    cells = argc > 1 ? atoi(argv[1]) : cells;
    steps = argc > 2 ? atoi(argv[2]) : steps;
    cell_ms = argc > 3 ? atof(argv[3]) : cell_ms;
    cell = cells > 0 && steps >= 0 && cell_ms >= 0 ? malloc((size_t) cells * sizeof(*cell)) : NULL;
    if (!cell) {
        fprintf(stderr, "usage: elastic_work [CELLS [STEPS [MILLISECONDS]]]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 0; i < cells; i++)
        cell[i] = (uint64_t) i;
    check_world();
#ifdef MPI_ADAPT_TRUE
    if (status == MPI_ADAPT_STATUS_JOINING)
        adapt(1);
#endif
    while (step < steps) {
        compute();
        synchronize();
        step++;
#ifdef MPI_ADAPT_TRUE
        if (step < steps && MPI_Probe_adapt(&pending, &status, NULL) == MPI_SUCCESS && pending)
            adapt(0);
#endif
    }
    int right = check();
    free(cell);
    MPI_Finalize();
    return right ? 0 : 1;
}
