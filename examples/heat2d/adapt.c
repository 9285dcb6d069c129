/*
 * Purpose: see adapt.h.
 *
 * libadapt_data moves the rows: each straight from the process that had it to the one that gets it.
 * It does not know what a plate is: which rows a rank has, what is computed anew.
 */

#include "adapt.h"

#include <stdio.h>
#include <stdlib.h>

#ifndef HAVE_ADAPT_DATA

int adapt_init(int *argc, char ***argv, struct plate *plate)
{
    (void) plate;
    MPI_Init(argc, argv);
    return 0;
}

void adapt_if_pending(struct plate *plate)
{
    (void) plate;
}

#else

#include <adapt_boxes.h>

struct times {                  /* probe called, begin returned, rows moved */
    double called, began, moved;
};

/* The common state, from rank 0 of the old world. */
static void send_state(struct plate *plate, int *epoch, const epop_window_t *window, MPI_Comm all)
{
    int state[] = { plate->width, plate->height, plate->iteration, *epoch };
    double age = MPI_Wtime() - plate->start;    /* clocks may differ between hosts */

    MPI_Bcast(state, 4, MPI_INT, 0, all);
    MPI_Bcast(&age, 1, MPI_DOUBLE, 0, all);
    if (window->status == MPI_ADAPT_STATUS_JOINING)
        plate->start = MPI_Wtime() - age;
    plate->width = state[0];
    plate->height = state[1];
    plate->iteration = state[2];
    *epoch = state[3];
}

static int rows_of(int rank, int size, int max, MPIX_Box boxes[], void *state)
{
    const struct plate *plate = state;
    int64_t low[] = { plate_first_row(rank, size, plate->height), 0 };
    int64_t high[] = { plate_first_row(rank + 1, size, plate->height), plate->width };

    if (max > 0)
        boxes[0] = MPIX_Box_of(2, low, high);
    return 1;
}

/* Replaces the block of the old split by that of the new one. */
static void redistribute(struct plate *plate, const epop_window_t *window)
{
    struct plate old = *plate;
    double *temperature = old.temperature, *material = old.material;
    MPIX_Field fields[] = {
        {.name = "temperature",.element = MPI_DOUBLE,.ghost = {1, 1},
         .parts = (void **) &temperature},
        {.name = "material",.element = MPI_DOUBLE,.ghost = {1, 1},.parts = (void **) &material}
    };

    MPIX_Adapt_boxes_move(window, 2, rows_of, plate, 2, fields);
    old.temperature = old.material = NULL;
    plate_free(&old);
    if (window->new_rank < 0)
        return;
    plate_allocate(plate, plate_first_row(window->new_rank, window->new_size, plate->height),
                   plate_first_row(window->new_rank + 1, window->new_size, plate->height));
    plate_put(plate, temperature, material);
}

/* How long the staying processes stood still, the longest of them, by part; after the commit. */
static void report(const struct plate *plate, int epoch, int old_size, const struct times *times,
                   int joined)
{
    double now = MPI_Wtime(), longest[4];
    double mine[] = {
        now - times->called, times->began - times->called, times->moved - times->began,
        now - times->moved
    };
    int rank, size;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (joined)                 /* it did not stand still, it waited to be let in */
        for (int i = 0; i < 4; i++)
            mine[i] = -1;
    MPI_Reduce(mine, longest, 4, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank != 0)
        return;
    printf("adaptation %d: %d -> %d processes after sweep %d: ", epoch, old_size, size,
           plate->iteration);
    if (longest[0] < 0)
        printf("nobody stayed, the whole world moved\n");
    else
        printf("staying processes stood still %.2f ms (begin %.2f, own redistribution %.2f, commit "
               "%.2f)\n", 1e3 * longest[0], 1e3 * longest[1], 1e3 * longest[2], 1e3 * longest[3]);
    fflush(stdout);
}

/* The window; `called` is when this process called the probe that returned TRUE. */
static void adapt(struct plate *plate, int status, int epoch, double called)
{
    struct times times = {.called = called };
    epop_window_t window;
    MPI_Comm all;

    MPIX_Adapt_window_open(status, &window, &all);
    const int old_size = window.old_size;
    times.began = MPI_Wtime();
    send_state(plate, &epoch, &window, all);
    redistribute(plate, &window);
    times.moved = MPI_Wtime();
    MPIX_Adapt_window_close(&window, &all);     /* leaving processes end here */

    report(plate, epoch, old_size, &times, status == MPI_ADAPT_STATUS_JOINING);
    plate_prepare(plate, MPI_COMM_WORLD);
}

int adapt_init(int *argc, char ***argv, struct plate *plate)
{
    int local_status;
    MPI_Init_adapt(argc, argv, &local_status);
    if (local_status != MPI_ADAPT_STATUS_JOINING)
        return 0;
    adapt(plate, local_status, 0, 0.0);
    return 1;
}

void adapt_if_pending(struct plate *plate)
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
    adapt(plate, local_status, atoi(epoch), called);
}

#endif
