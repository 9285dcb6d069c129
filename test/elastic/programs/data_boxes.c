/*
 * adapt_boxes.h: fields of one to three dimensions in both orders, with ghost layers, longer
 * strides, nodes along some axes, elements with gaps, one box for each process or several, moved in
 * one call in each window.  Every value encodes its position; what goes over the wire (MPI_Isend is
 * wrapped) is what no receiver had before.  Wrong use is refused on all processes and moves
 * nothing.  SPEC-epop V1, F1, F3, F4.  --axes 1, 2, 3.  --tiles 1: several boxes for a process.
 */

#include "elastic_test.h"
#include "bytes_sent.h"
#include <adapt_boxes.h>

enum { FIELDS = 4, TILES = 12 };

static int axes, tiles;
static MPIX_Box domain;
static void *parts[FIELDS][TILES];
static MPIX_Field fields[FIELDS];
static int64_t live_parts;
static int fails;

struct gap {
    double value;
    char unused[8];
};

static int boxes(int rank, int size, int max, MPIX_Box found[], void *state)
{
    int count = 0;

    if (!tiles)
        return MPIX_Boxes_even(rank, size, max, found, state);
    for (int tile = 0; tile < TILES; tile++) {
        if ((tile * 7 + size) % 11 % size != rank)
            continue;
        if (count < max)
            (void) MPIX_Boxes_even(tile, TILES, 1, &found[count], state);
        count++;
    }
    return count;
}

/* ---- what a part holds ----------------------------------------------------------------------- */

static size_t bytes_of(int f)
{
    return f == 2 ? sizeof(struct gap) : sizeof(double);
}

static double *at(int f, void *part, const MPIX_Box *box, const int64_t position[3])
{
    int64_t extents[3], offset = 0;

    MPIX_Field_extents(&fields[f], box, extents);
    for (int k = 0; k < axes; k++) {
        const int axis = fields[f].order == MPI_ORDER_FORTRAN ? axes - 1 - k : k;
        offset = offset * extents[axis] + position[axis] - box->low[axis] + fields[f].ghost[axis];
    }
    return (double *) ((char *) part + (size_t) offset * bytes_of(f));
}

static double value_of(int f, const int64_t position[3])
{
    return (double) (f + 1) + 10 * (double) (position[0] + 100) + 1e4 *
        (double) (position[1] + 100) + 1e7 * (double) (position[2] + 100);
}

static int64_t visit(int f, int k, const MPIX_Box *box, void (*what) (int, int, const MPIX_Box *,
                                                                      const int64_t[3]))
{
    int64_t position[3], count = 0;

    if (box->low[0] == box->high[0] || box->low[1] == box->high[1] || box->low[2] == box->high[2])
        return 0;
    for (position[0] = box->low[0]; position[0] < box->high[0] + fields[f].nodes[0]; position[0]++)
        for (position[1] = box->low[1]; position[1] < box->high[1] + fields[f].nodes[1];
             position[1]++)
            for (position[2] = box->low[2]; position[2] < box->high[2] + fields[f].nodes[2];
                 position[2]++) {
                what(f, k, box, position);
                count++;
            }
    return count;
}

static void set_value(int f, int k, const MPIX_Box *box, const int64_t position[3])
{
    *at(f, parts[f][k], box, position) = value_of(f, position);
}

static void check_value(int f, int k, const MPIX_Box *box, const int64_t position[3])
{
    double value = *at(f, parts[f][k], box, position);

    ET_CHECK(value == value_of(f, position), "field %d, box %d, (%lld, %lld, %lld): %g", f, k,
             (long long) position[0], (long long) position[1], (long long) position[2], value);
}

static void *grow(int64_t count, void *state)
{
    (void) state;
    if (fails > 0) {
        fails--;
        return NULL;
    }
    live_parts++;
    return calloc((size_t) count, sizeof(double));
}

static void release(void *part, void *state)
{
    (void) state;
    live_parts--;
    free(part);
}

static void check_all(void)
{
    MPIX_Box mine[TILES];
    const int count = boxes(et.rank, et.size, TILES, mine, &domain);
    int64_t counted = 0;

    for (int f = 0; f < FIELDS; f++)
        for (int k = 0; k < count; k++)
            visit(f, k, &mine[k], check_value);
    for (int k = 0; k < TILES; k++)
        counted += parts[1][k] != NULL;
    ET_CHECK(counted == live_parts, "%lld parts, %lld are live", (long long) counted,
             (long long) live_parts);
}

static void fill(void)
{
    MPIX_Box mine[TILES];
    int64_t extents[3];
    const int count = boxes(et.rank, et.size, TILES, mine, &domain);

    for (int f = 0; f < FIELDS; f++)
        for (int k = 0; k < count; k++) {
            int64_t capacity = MPIX_Field_extents(&fields[f], &mine[k], extents);
            if (capacity == 0)
                continue;
            parts[f][k] = f == 1 ? grow(capacity, NULL) : malloc((size_t) capacity * bytes_of(f));
            visit(f, k, &mine[k], set_value);
        }
}

/* ---- volume ---------------------------------------------------------------------------------- */

static int64_t wanted_of(int f, const epop_window_t *window)
{
    MPIX_Box before[TILES], coming[TILES];
    int64_t wanted = 0, position[3];
    int old = 0, fresh = 0;

    if (window->new_rank < 0)
        return 0;
    if (window->old_rank >= 0)
        old = boxes(window->old_rank, window->old_size, TILES, before, &domain);
    fresh = boxes(window->new_rank, window->new_size, TILES, coming, &domain);
    for (int k = 0; k < fresh; k++) {
        const int *nodes = fields[f].nodes;
        int empty = 0;
        for (int axis = 0; axis < 3; axis++)
            empty |= coming[k].low[axis] == coming[k].high[axis];
        for (position[0] = coming[k].low[0]; !empty && position[0] < coming[k].high[0] + nodes[0];
             position[0]++)
            for (position[1] = coming[k].low[1]; position[1] < coming[k].high[1] + nodes[1];
                 position[1]++)
                for (position[2] = coming[k].low[2]; position[2] < coming[k].high[2] + nodes[2];
                     position[2]++) {
                    int has = 0;
                    for (int b = 0; b < old; b++) {
                        int in = 1;
                        for (int axis = 0; axis < 3; axis++)
                            in &= position[axis] >= before[b].low[axis] &&
                                position[axis] < before[b].high[axis] + nodes[axis] &&
                                before[b].low[axis] < before[b].high[axis];
                        has |= in;
                    }
                    wanted += !has;
                }
    }
    return wanted;
}

static void check_volume(const epop_window_t *window)
{
    int64_t mine[2] = { bytes_sent / 8, 0 }, sums[2];
    MPI_Comm all;

    for (int f = 0; f < FIELDS; f++)
        mine[1] += wanted_of(f, window);
    ET_MPI(MPIX_Adapt_window_all(window, &all));
    ET_MPI(MPI_Allreduce(mine, sums, 2, MPI_INT64_T, MPI_SUM, all));
    ET_CHECK(sums[0] == sums[1], "%lld values sent, %lld wanted", (long long) sums[0],
             (long long) sums[1]);
    ET_MPI(MPI_Comm_free(&all));
}

/* ---- the program ----------------------------------------------------------------------------- */

static int overlapping(int rank, int size, int max, MPIX_Box found[], void *state)
{
    (void) rank;
    (void) size;
    return MPIX_Boxes_even(0, 1, max, found, state);
}

/* As of a domain whose size a program has not read yet. */
static int without_cells(int rank, int size, int max, MPIX_Box found[], void *state)
{
    (void) rank, (void) size, (void) state;
    if (max > 0)
        found[0] = MPIX_Box_of(axes, (int64_t[]) {0, 0, 0}, (int64_t[]) {0, 0, 0});
    return 1;
}

static void refuse(int code, const char *word)
{
    ET_CHECK(code == MPI_ERR_ARG &&
             strstr(MPIX_Adapt_data_message(), word), "%d, '%s' in: %s", code, word,
             MPIX_Adapt_data_message());
}

static void try_errors(const epop_window_t *window)
{
    MPIX_Field other = fields[0];

    refuse(MPIX_Adapt_boxes_move(window, 4, boxes, &domain, FIELDS, fields), "axes");
    if (window->old_size > 1 && window->new_size > 1)
        refuse(MPIX_Adapt_boxes_move(window, axes, overlapping, &domain, FIELDS, fields),
               "overlap");
    refuse(MPIX_Adapt_boxes_move(window, axes, without_cells, NULL, 1, fields),
           "none of them has a cell");
    other.ghost[0] = -1;
    refuse(MPIX_Adapt_boxes_move(window, axes, boxes, &domain, 1, &other), "ghost");
    other = fields[0];
    other.nodes[0] = et.status == MPI_ADAPT_STATUS_LEAVING || et.status == MPI_ADAPT_STATUS_JOINING;
    refuse(MPIX_Adapt_boxes_move(window, axes, boxes, &domain, 1, &other), "differ");
    fails = window->new_rank == window->new_size - 1;
    int code = MPIX_Adapt_boxes_move(window, axes, boxes, &domain, FIELDS, fields);
    ET_CHECK(code == MPI_ERR_NO_MEM && fails == 0, "%d: %s", code, MPIX_Adapt_data_message());
}

static void window(void)
{
    epop_window_t window;

    ET_MPI(MPIX_Adapt_window_fill(MPI_COMM_WORLD, et.inter, et.next, et.status, &window));
    if (et.staying > 0 && et.leaving != et.joining)
        try_errors(&window);
    if (et.status != MPI_ADAPT_STATUS_JOINING)
        check_all();
    bytes_sent = 0;
    ET_MPI(MPIX_Adapt_boxes_move(&window, axes, boxes, &domain, FIELDS, fields));
    check_volume(&window);
    for (int f = 0; et.status == MPI_ADAPT_STATUS_LEAVING && f < FIELDS; f++)
        for (int k = 0; k < TILES; k++)
            ET_CHECK(!parts[f][k], "field %d, box %d of a leaving process", f, k);
    ET_CHECK(et.status != MPI_ADAPT_STATUS_LEAVING || live_parts == 0, "%lld parts are left",
             (long long) live_parts);
    MPIX_Adapt_window_clear(&window);
}

static void set_fields(void)
{
    static const MPIX_Adapt_memory memory = { grow, release, NULL };
    static const char *names[FIELDS] = { "cells", "nodes", "gaps", "faces" };

    for (int f = 0; f < FIELDS; f++) {
        fields[f] = (MPIX_Field) {.name = names[f],.element = MPI_DOUBLE,.parts = parts[f] };
        for (int axis = 0; axis < axes; axis++) {
            fields[f].ghost[axis] = f == 2 ? 0 : f + axis;
            fields[f].nodes[axis] = f == 1 || (f == 3 && axis == axes - 1);
            fields[f].extra[axis] = f == 3 ? 3 : 0;
        }
        fields[f].order = f % 2 ? MPI_ORDER_FORTRAN : f ? MPI_ORDER_C : 0;
    }
    fields[1].memory = &memory;
    ET_MPI(MPI_Type_create_resized(MPI_DOUBLE, 0, sizeof(struct gap), &fields[2].element));
    ET_MPI(MPI_Type_commit(&fields[2].element));
}

int main(int argc, char **argv)
{
    const int64_t low[] = { 1, -3, 5 };
    const int64_t high[] = { 24, 14, 12 };
    const int64_t last[] = { 23, 13, 11 };

    et_options(&argc, &argv);
    axes = (int) et_number(argc, argv, "--axes", 2);
    tiles = (int) et_number(argc, argv, "--tiles", 0);
    et_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    domain = MPIX_Box_of(axes, low, high);
    const MPIX_Box closed = MPIX_Box_closed(axes, low, last);
    ET_CHECK(memcmp(&domain, &closed, sizeof(closed)) == 0, "closed bounds");
    set_fields();
    if (et.status == MPI_ADAPT_STATUS_NEW) {
        fill();
        check_all();
    }
    et.window = window;
    et.after = check_all;
    et_loop();
    for (int f = 0; f < FIELDS; f++)
        for (int k = 0; k < TILES; k++)
            free(parts[f][k]);
    ET_MPI(MPI_Type_free(&fields[2].element));
    return et_finish();
}
