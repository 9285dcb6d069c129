/*
 * Arrays of two sets, boxes and items move at the same time while the program computes, each
 * process waits for them in another order, with more messages than may be under way
 * (MPIX_ADAPT_DATA_CHUNK), and everything arrives.  With --large 1 they are so long that between
 * hosts none is sent before it is received.  Commit refuses the window as long as one is not waited
 * for, and names it.  SPEC-epop X1, X2, F3.
 */

#include "elastic_test.h"
#include <adapt_boxes.h>
#include <adapt_items.h>

enum { KINDS = 4 };

static int64_t number_count = 900, block = 1, side = 40, all_items = 700;

static MPIX_Adapt_data data[2];
static int64_t *numbers[2];
static double *field;
static int64_t *items, item_count;
static MPIX_Box domain;
static MPIX_Field described;

/* ---- what belongs where ---------------------------------------------------------------------- */

static int owner_of(int64_t item, int size)
{
    return (int) (item * 7919 / 3 % size);
}

static MPIX_Box box_of(int rank, int size)
{
    MPIX_Box box;

    ET_CHECK(MPIX_Boxes_even(rank, size, 1, &box, &domain) == 1, "no box");
    return box;
}

/* Calls for each cell of the own box, with the position of its value. */
static void each_cell(void (*visit) (double *value, int64_t i, int64_t j))
{
    const MPIX_Box box = box_of(et.rank, et.size);
    const int64_t width = box.high[1] - box.low[1] + 2;

    for (int64_t i = box.low[0]; i < box.high[0]; i++)
        for (int64_t j = box.low[1]; j < box.high[1]; j++)
            visit(&field[(i - box.low[0] + 1) * width + j - box.low[1] + 1], i, j);
}

static void set_cell(double *value, int64_t i, int64_t j)
{
    *value = (double) (100 * i + j);
}

static void check_cell(double *value, int64_t i, int64_t j)
{
    ET_CHECK(*value == (double) (100 * i + j), "cell %d, %d is %g", (int) i, (int) j, *value);
}

static int64_t count_of(int set)
{
    int64_t count = 0;

    for (int64_t i = 0; i < number_count; i++)
        count += i / (block * (set + 2)) % et.size == et.rank;
    return count;
}

static void fill(void)
{
    int64_t extents[MPIX_BOX_AXES];
    const MPIX_Box box = box_of(et.rank, et.size);

    for (int set = 0; set < 2; set++) {
        numbers[set] = malloc((size_t) count_of(set) * sizeof(int64_t) + 1);
        for (int64_t i = 0, k = 0; i < number_count; i++)
            if (i / (block * (set + 2)) % et.size == et.rank)
                numbers[set][k++] = 10 * i + set;
    }
    field = calloc((size_t) MPIX_Field_extents(&described, &box, extents), sizeof(double));
    each_cell(set_cell);
    items = malloc((size_t) all_items * sizeof(*items));
    for (int64_t item = 0; item < all_items; item++)
        if (owner_of(item, et.size) == et.rank)
            items[item_count++] = item;
}

static void check_all(void)
{
    int64_t expected = 0, sum = 0;

    for (int set = 0; set < 2; set++)
        for (int64_t i = 0, k = 0; i < number_count; i++)
            if (i / (block * (set + 2)) % et.size == et.rank) {
                ET_CHECK(numbers[set][k] == 10 * i + set, "number %d of set %d", (int) i, set);
                k++;
            }
    each_cell(check_cell);
    for (int64_t item = 0; item < all_items; item++)
        expected += owner_of(item, et.size) == et.rank ? item * item % 1000003 + 1 : 0;
    for (int64_t k = 0; k < item_count; k++)
        sum += items[k] * items[k] % 1000003 + 1;
    ET_CHECK(sum == expected, "%d items", (int) item_count);
}

/* ---- the window ------------------------------------------------------------------------------ */

static int append(int64_t count, const MPIX_Column columns[], void *state)
{
    int64_t *come = state;

    ET_CHECK(item_count + *come + count <= all_items, "too many items");
    memcpy(items + item_count + *come, columns[0].base, (size_t) count * sizeof(*items));
    *come += count;
    return 0;
}

static void start_boxes(const epop_window_t *window, MPIX_Adapt_motion *motion)
{
    MPIX_Field copy = described;        /* ended when they are waited for */

    ET_MPI(MPIX_Adapt_boxes_start(window, 2, MPIX_Boxes_even, &domain, 1, &copy, motion));
    memset(&copy, 0, sizeof(copy));
}

static void start_items(const epop_window_t *window, int64_t *come, MPIX_Adapt_motion *motion)
{
    int *destination = malloc((size_t) item_count * sizeof(int) + 1);
    MPIX_Column column = { items, MPI_INT64_T };

    for (int64_t k = 0; k < item_count; k++)
        destination[k] = owner_of(items[k], window->new_size);
    ET_MPI(MPIX_Adapt_items_start(window, &item_count, destination, 1, &column, append, come,
                                  motion));
    memset(&column, 0, sizeof(column));
    free(destination);
    for (int64_t k = 0; k < item_count; k++)
        ET_CHECK(owner_of(items[k], window->new_size) == window->new_rank, "item %d stays",
                 (int) items[k]);
}

static void wait_for(int kind, MPIX_Adapt_motion motions[2])
{
    if (kind < 2) {
        ET_MPI(MPIX_Adapt_data_wait(data[kind], 0));
        return;
    }
    ET_MPI(MPIX_Adapt_motion_wait(&motions[kind - 2]));
    ET_CHECK(!motions[kind - 2], "it is waited for");
}

static void one_after_the_other(const epop_window_t *window, MPIX_Adapt_motion motions[2],
                                int64_t *come)
{
    start_boxes(window, &motions[0]);
    ET_ERROR(MPI_Comm_adapt_commit(), MPI_ERR_PENDING, "boxes 'field' (not waited for)");
    wait_for(2, motions);
    start_items(window, come, &motions[1]);
    ET_ERROR(MPI_Comm_adapt_commit(), MPI_ERR_PENDING, "items '' (not waited for)");
    wait_for(3, motions);
    for (int set = 0; set < 2; set++)
        ET_MPI(MPIX_Adapt_data_move(data[set], window));
}

static void all_at_once(const epop_window_t *window, MPIX_Adapt_motion motions[2], int64_t *come)
{
    int done, order =
        window->old_rank >= 0 ? window->old_rank : window->old_size + window->new_rank;

    ET_MPI(MPIX_Adapt_data_start(data[0], window, 0));
    start_boxes(window, &motions[0]);
    start_items(window, come, &motions[1]);
    ET_MPI(MPIX_Adapt_data_start(data[1], window, 0));
    for (int k = 0; k < 2; k++)
        ET_MPI(MPIX_Adapt_motion_test(motions[k], &done));
    ET_ERROR(MPI_Comm_adapt_commit(), MPI_ERR_PENDING, "not waited for");
    for (int k = 0; k < KINDS; k++)
        wait_for((order + k) % KINDS, motions);
}

static void window(void)
{
    epop_window_t window;
    MPIX_Adapt_motion motions[2] = { NULL, NULL };
    int64_t come = 0;
    int done;

    ET_MPI(MPIX_Adapt_window_fill(MPI_COMM_WORLD, et.inter, et.next, et.status, &window));
    ET_ERROR(MPIX_Adapt_motion_wait(&motions[0]), MPI_ERR_ARG, NULL);
    ET_ERROR(MPIX_Adapt_motion_test(NULL, &done), MPI_ERR_ARG, NULL);
    (et.epoch % 2 ? one_after_the_other : all_at_once) (&window, motions, &come);
    item_count += come;
    ET_CHECK(et.status != MPI_ADAPT_STATUS_LEAVING ||
             (!field && item_count == 0), "something is left");
    MPIX_Adapt_window_clear(&window);
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    if (et_number(argc, argv, "large", 0)) {
        number_count = all_items = 1000000;
        block = side = 1000;
    }
    et_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    domain = MPIX_Box_of(2, (int64_t[]) {0, 0}, (int64_t[]) {side, side});
    described = (MPIX_Field) {.name = "field",.element = MPI_DOUBLE,.ghost = {1, 1},
        .parts = (void **) &field
    };
    for (int set = 0; set < 2; set++) {
        const MPIX_Adapt_layout layout = MPIX_Layout_block_cyclic(number_count, block * (set + 2));
        ET_MPI(MPIX_Adapt_data_create(&data[set]));
        ET_MPI(MPIX_Adapt_data_add(data[set], "numbers", (void **) &numbers[set], MPI_INT64_T,
                                   &layout, NULL, NULL));
    }
    if (et.status == MPI_ADAPT_STATUS_NEW)
        fill();
    else
        items = malloc((size_t) all_items * sizeof(*items));
    et.window = window;
    et.after = check_all;
    et_loop();
    for (int set = 0; set < 2; set++) {
        free(numbers[set]);
        ET_MPI(MPIX_Adapt_data_free(&data[set]));
    }
    free(field);
    free(items);
    return et_finish();
}
