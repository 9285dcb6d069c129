/*
 * Purpose: see adapt.h.
 *
 * In the window the rows go straight from each old owner to each new owner.  Messages among the old
 * processes (staying or leaving) use the old MPI_COMM_WORLD, those to joining processes use
 * `intercomm`.  So a receiver only has to know the old split, and a sender who the new ranks are: the
 * first `staying` ones are old processes in their old order, the others are the joining ones in the
 * order of their own world.
 */

#include "adapt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MPI_ADAPT_TRUE

int adapt_init(int *argc, char ***argv, struct plate *plate)
{
    (void) plate;
    MPI_Init(argc, argv);
    return 0;
}

void adapt_if_asked(struct plate *plate)
{
    (void) plate;
}

#else

enum { TAG_TEMPERATURE = 11, TAG_MATERIAL };

struct window {
    int joining_here;           /* this process is a joining one */
    int joining, staying, leaving;      /* counts */
    int old_rank, new_rank;     /* -1: not a member */
    int epoch;
    MPI_Comm old_world, intercomm, new_world;
    double called, began, moved;        /* times: probe called, begin returned, rows in place */
};

static int old_size(const struct window *window)
{
    return window->staying + window->leaving;
}

static int new_size(const struct window *window)
{
    return window->staying + window->joining;
}

/* What everybody knows, from rank 0 of the old world to the joining processes. */
static void tell_joining(struct plate *plate, struct window *window)
{
    int state[] = { plate->width, plate->height, plate->iteration, window->epoch };
    int root = window->joining_here ? 0 : window->old_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    double age = MPI_Wtime() - plate->start;    /* clocks may differ between hosts */

    if (window->joining == 0)
        return;
    MPI_Bcast(state, 4, MPI_INT, root, window->intercomm);
    MPI_Bcast(&age, 1, MPI_DOUBLE, root, window->intercomm);
    if (window->joining_here)
        plate->start = MPI_Wtime() - age;
    plate->width = state[0];
    plate->height = state[1];
    plate->iteration = state[2];
    window->epoch = state[3];
}

/* The old ranks of the staying processes, by new rank (malloc'ed); NULL on a joining process. */
static int *staying_ranks(const struct window *window)
{
    if (window->joining_here)
        return NULL;
    int size = old_size(window);
    int *new_ranks = malloc(2 * (size_t) size * sizeof(int)), *old_ranks = new_ranks + size;
    if (!new_ranks)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Allgather(&window->new_rank, 1, MPI_INT, new_ranks, 1, MPI_INT, window->old_world);
    for (int r = 0; r < size; r++)
        if (new_ranks[r] >= 0)
            old_ranks[new_ranks[r]] = r;
    memmove(new_ranks, old_ranks, (size_t) window->staying * sizeof(int));
    return new_ranks;
}

struct rows {
    int first, end;
};

static struct rows rows_of(int rank, int size, const struct plate *plate)
{
    return (struct rows) {
        plate_first_row(rank, size, plate->height), plate_first_row(rank + 1, size, plate->height)
    };
}

static struct rows common(struct rows a, struct rows b)
{
    return (struct rows) { a.first > b.first ? a.first : b.first, a.end < b.end ? a.end : b.end };
}

/* All rows of one array, from the old owners to the new ones; adds its requests to the list. */
static int move_rows(const struct window *window, const int *staying, int tag, MPI_Datatype row,
                     const struct plate *from, const double *source,
                     const struct plate *to, double *target, MPI_Request requests[], int count)
{
    size_t stride = plate_stride(to);
    MPI_Comm from_old = window->joining_here ? window->intercomm : window->old_world;

    for (int r = 0; r < old_size(window) && window->new_rank >= 0; r++) {
        struct rows part = common(rows_of(r, old_size(window), to),
                                  (struct rows) { to->first, to->end });
        if (part.first < part.end)
            MPI_Irecv(target + (size_t) (part.first - to->first + 1) * stride,
                      part.end - part.first, row, r, tag, from_old, &requests[count++]);
    }
    for (int r = 0; r < new_size(window) && !window->joining_here; r++) {
        struct rows part = common(rows_of(r, new_size(window), to),
                                  (struct rows) { from->first, from->end });
        int stays = r < window->staying;
        if (part.first < part.end)
            MPI_Isend(source + (size_t) (part.first - from->first + 1) * stride,
                      part.end - part.first, row, stays ? staying[r] : r - window->staying, tag,
                      stays ? window->old_world : window->intercomm, &requests[count++]);
    }
    return count;
}

/* Replaces the block of the old split by that of the new one. */
static void redistribute(struct plate *plate, const struct window *window)
{
    struct plate old = *plate;
    struct rows mine = { 0, 0 };
    int *staying = staying_ranks(window), count = 0;
    MPI_Request *requests = malloc(2 * sizeof(MPI_Request)
                                   * (size_t) (old_size(window) + new_size(window)));
    MPI_Datatype row;

    if (!requests)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (window->new_rank >= 0)
        mine = rows_of(window->new_rank, new_size(window), plate);
    plate_allocate(plate, mine.first, mine.end);

    MPI_Type_contiguous((int) plate_stride(plate), MPI_DOUBLE, &row);
    MPI_Type_commit(&row);
    count = move_rows(window, staying, TAG_TEMPERATURE, row, &old, old.temperature,
                      plate, plate->temperature, requests, count);
    count = move_rows(window, staying, TAG_MATERIAL, row, &old, old.material,
                      plate, plate->material, requests, count);
    for (int i = 0; i < count; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    MPI_Type_free(&row);
    free(requests);
    free(staying);
    if (!window->joining_here)
        plate_free(&old);
}

/* How long the survivors stood still, the longest of them, by part; after the commit. */
static void report(const struct plate *plate, const struct window *window)
{
    double now = MPI_Wtime(), longest[4];
    double mine[] = {
        now - window->called, window->began - window->called,
        window->moved - window->began, now - window->moved
    };
    if (window->joining_here)   /* it did not stand still, it waited to be let in */
        for (int i = 0; i < 4; i++)
            mine[i] = -1;
    MPI_Reduce(mine, longest, 4, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (window->new_rank != 0)
        return;
    printf("adaptation %d: %d -> %d processes after sweep %d: ", window->epoch,
           old_size(window), new_size(window), plate->iteration);
    if (longest[0] < 0)
        printf("nobody stayed, the whole world moved\n");
    else
        printf("survivors stood still %.2f ms (begin %.2f, own redistribution %.2f, commit %.2f)\n",
               1e3 * longest[0], 1e3 * longest[1], 1e3 * longest[2], 1e3 * longest[3]);
    fflush(stdout);
}

/* The window; `called` is when this process called the probe that said TRUE. */
static void adapt(struct plate *plate, int joining_here, int epoch, double called)
{
    struct window window = {.joining_here = joining_here,.epoch = epoch,.called = called };
    window.old_world = joining_here ? MPI_COMM_NULL : MPI_COMM_WORLD;
    window.old_rank = window.new_rank = -1;

    MPI_Comm_adapt_begin(&window.intercomm, &window.new_world,
                         &window.staying, &window.leaving, &window.joining);
    window.began = MPI_Wtime();
    if (!joining_here)
        MPI_Comm_rank(window.old_world, &window.old_rank);
    if (window.new_world != MPI_COMM_NULL)
        MPI_Comm_rank(window.new_world, &window.new_rank);
    tell_joining(plate, &window);
    redistribute(plate, &window);
    window.moved = MPI_Wtime();
    MPI_Comm_adapt_commit();    /* leaving processes end here */

    report(plate, &window);
    plate_prepare(plate, MPI_COMM_WORLD);
}

int adapt_init(int *argc, char ***argv, struct plate *plate)
{
    int local_status;
    MPI_Init_adapt(argc, argv, &local_status);
    if (local_status != MPI_ADAPT_STATUS_JOINING)
        return 0;
    adapt(plate, 1, 0, 0.0);
    return 1;
}

void adapt_if_asked(struct plate *plate)
{
    int pending, local_status, found;
    MPI_Info info;
    char epoch[32] = "0";
    double called = MPI_Wtime();

    MPI_Probe_adapt(&pending, &local_status, &info);
    if (pending != MPI_ADAPT_TRUE)
        return;
    MPI_Info_get(info, "epoch", sizeof(epoch) - 1, epoch, &found);
    MPI_Info_free(&info);
    adapt(plate, 0, atoi(epoch), called);
}

#endif
