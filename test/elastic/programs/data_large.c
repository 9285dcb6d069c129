/*
 * adapt_data.h, adapt_boxes.h: what exceeds an int.  Elements are far apart in memory of which few
 * pages are used, so that the parts that move between two processes span more than 2^31 bytes; an
 * array of one-byte elements that all lie at one address has more than 2^31 of them.  SPEC-epop V1,
 * V8.
 */

#include "elastic_test.h"
#include <adapt_boxes.h>

enum { SIDE = 70, ELEMENTS = SIDE * SIDE };
#define EXTENT (INT64_C(1) << 20)
#define MANY INT64_C(2200000000)

static char *wide, *cells;      /* ELEMENTS of them */
static unsigned char *many;     /* MANY */
static MPI_Datatype far_apart, overlaid;
static MPIX_Adapt_data data;
static MPIX_Box domain;

static int64_t first_of(int rank, int size)
{
    return (int64_t) ELEMENTS * rank / size;
}

static MPIX_Box own_box(void)
{
    MPIX_Box box;

    ET_CHECK(MPIX_Boxes_even(et.rank, et.size, 1, &box, &domain) == 1, "boxes");
    return box;
}

static double *cell(const MPIX_Box *box, int64_t i, int64_t j)
{
    return (double *) (cells + ((i - box->low[0]) * (box->high[1] - box->low[1]) + j -
                                box->low[1]) * EXTENT);
}

static void add_all(void)
{
    const MPIX_Adapt_layout layout = MPIX_Layout_block(ELEMENTS), longest = MPIX_Layout_block(MANY);

    domain = MPIX_Box_of(2, (int64_t[]) {0, 0}, (int64_t[]) {SIDE, SIDE});
    ET_MPI(MPI_Type_create_resized(MPI_DOUBLE, 0, EXTENT, &far_apart));
    ET_MPI(MPI_Type_create_resized(MPI_BYTE, 0, 0, &overlaid));
    ET_MPI(MPI_Type_commit(&far_apart));
    ET_MPI(MPI_Type_commit(&overlaid));
    const MPIX_Field field = {.name = "cells",.element = far_apart,.parts = (void **) &cells };
    ET_MPI(MPIX_Adapt_data_create(&data));
    ET_MPI(MPIX_Adapt_data_add(data, "wide", (void **) &wide, far_apart, &layout, NULL, NULL));
    ET_MPI(MPIX_Adapt_data_add(data, "many", (void **) &many, overlaid, &longest, NULL, NULL));
    ET_MPI(MPIX_Adapt_data_boxes(data, 2, MPIX_Boxes_even, &domain, 1, &field));
}

static void make_all(void)
{
    const int64_t first = first_of(et.rank, et.size), count =
        first_of(et.rank + 1, et.size) - first;
    const MPIX_Box box = own_box();

    wide = malloc((size_t) (count * EXTENT));
    cells = malloc((size_t) ((box.high[0] - box.low[0]) * (box.high[1] - box.low[1]) * EXTENT));
    many = malloc(1);
    if (!wide || !cells || !many)
        et_skip("there is no address space for two arrays of 5 GB");
    *many = 7;
    for (int64_t i = 0; i < count; i++)
        *(double *) (wide + i * EXTENT) = (double) (first + i);
    for (int64_t i = box.low[0]; i < box.high[0]; i++)
        for (int64_t j = box.low[1]; j < box.high[1]; j++)
            *cell(&box, i, j) = (double) (i * SIDE + j);
}

static void check(void)
{
    const int64_t first = first_of(et.rank, et.size), count =
        first_of(et.rank + 1, et.size) - first;
    const MPIX_Box box = own_box();
    int64_t elements;

    ET_CHECK(*many == 7, "it is %d", *many);
    ET_MPI(MPIX_Adapt_data_count(data, 1, &elements));
    ET_CHECK(elements == MANY * (et.rank + 1) / et.size - MANY * et.rank / et.size, "%lld elements",
             (long long) elements);
    for (int64_t i = 0; i < count; i++)
        ET_CHECK(*(double *) (wide + i * EXTENT) == (double) (first + i), "element %lld",
                 (long long) (first + i));
    for (int64_t i = box.low[0]; i < box.high[0]; i++)
        for (int64_t j = box.low[1]; j < box.high[1]; j++)
            ET_CHECK(*cell(&box, i, j) == (double) (i * SIDE + j), "cell %lld, %lld", (long long) i,
                     (long long) j);
}

static void free_all(void)
{
    ET_MPI(MPIX_Adapt_data_free(&data));
    ET_MPI(MPI_Type_free(&far_apart));
    ET_MPI(MPI_Type_free(&overlaid));
}

static void window(void)
{
    epop_window_t now;

    if (et.status == MPI_ADAPT_STATUS_JOINING)
        add_all();
    ET_MPI(MPIX_Adapt_window_fill(MPI_COMM_WORLD, et.inter, et.next, et.status, &now));
    ET_MPI(MPIX_Adapt_data_move(data, &now));
    MPIX_Adapt_window_clear(&now);
    if (et.status == MPI_ADAPT_STATUS_LEAVING)
        free_all();
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    et_init(&argc, &argv);
    if (et.status == MPI_ADAPT_STATUS_NEW) {
        add_all();
        make_all();
    }
    et.window = window;
    et.after = check;
    et_loop();
    free(wide), free(cells), free(many);
    free_all();
    return et_finish();
}
