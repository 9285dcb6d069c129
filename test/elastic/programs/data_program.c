/*
 * A window in one call: shared variables, an array, boxes of a grid of processes, items in arrays
 * that the library makes longer, items in a list, and a function, registered once.  MPIX_Adapt is
 * one line in the loop; the function that it calls sets up what follows from rank and size.  The
 * size of the domain is input: joining processes have it by the window, before their boxes are
 * read.  SPEC-epop D4, V1, F1.
 */

#include "elastic_test.h"
#include <adapt_boxes.h>
#include <adapt_items.h>

#define HISTORY "data_program.history"

enum { CELLS = 307, EACH = 3, LISTED = 41 };

struct item {
    int64_t number;
    double value;
};

struct listed {
    struct listed *next;
    int64_t number;
};

static MPIX_Adapt_data data;
static MPIX_Grid grid = {.axes = 2,.remainder_first = 1,.first_fastest = 1,.periodic = {1, 0} };
static int64_t rows, columns;   /* of the domain: input */
static double *u;               /* one ghost layer around */
static int64_t *field;
static struct item *items;
static double *weights;         /* side by side with items */
static int64_t item_count;
static struct listed *list;
static double timers[1];        /* the sum over all ranks: the number of windows */
static int windows, done, calls, fails;
static FILE *history;           /* of rank 0: a line for each window */

/* ---- what is registered ---------------------------------------------------------------------- */

static int boxes(int rank, int size, int max, MPIX_Box found[], void *state)
{
    grid.domain = MPIX_Box_of(2, (int64_t[]) {0, 0}, (int64_t[]) {rows, columns});
    return MPIX_Boxes_grid(rank, size, max, found, state);
}

static int owner_of_item(int64_t i, int new_size, void *state)
{
    (void) state;
    return (int) (items[i].number * 7 % new_size);
}

static int64_t count_list(void *state)
{
    int64_t count = 0;

    (void) state;
    for (const struct listed * each = list; each; each = each->next)
        count++;
    return count;
}

static int pack_listed(int64_t i, void *item, void *state)
{
    const struct listed *each = list;

    (void) state;
    while (i-- > 0)
        each = each->next;
    memcpy(item, &each->number, sizeof(each->number));
    return 0;
}

static int owner_of_listed(const void *item, int new_size, void *state)
{
    int64_t number;

    (void) state;
    memcpy(&number, item, sizeof(number));
    return (int) (number % new_size);
}

static int clear_list(void *state)
{
    (void) state;
    while (list) {
        struct listed *next = list->next;
        free(list);
        list = next;
    }
    return 0;
}

static int put_listed(const void *item, void *state)
{
    struct listed *made = malloc(sizeof(*made));

    (void) state;
    memcpy(&made->number, item, sizeof(made->number));
    made->next = list;
    list = made;
    return 0;
}

static int count_calls(const epop_window_t *window, void *state)
{
    (*(int *) state)++;
    return fails && window->old_rank == 0 ? 7 : 0;
}

static int64_t no_pieces(int rank, int size, int64_t max, int64_t *low, int64_t *high, void *state)
{
    (void) rank;
    (void) size;
    (void) max;
    (void) low;
    (void) high;
    (void) state;
    return 0;
}

/* differs: 1: no list; 2: one more function, before anything moves; 3: another layout, which is a
 * function. */
static void register_all(int differs)
{
    const MPIX_Adapt_layout layout = differs == 3 ? MPIX_Layout_user(no_pieces, NULL)
        : MPIX_Layout_block(CELLS);
    const MPIX_Field fields[] = { {.name = "u",.element = MPI_DOUBLE,.ghost = {1, 1},
                                   .parts = (void **) &u} };
    const MPIX_Item_functions functions = { sizeof(int64_t), count_list, pack_listed,
                                            owner_of_listed,
        clear_list, put_listed, NULL
    };
    const MPIX_Column columns_of_items[] = { MPIX_COLUMN(items), {&weights, MPI_DOUBLE} };

    ET_CHECK(MPIX_Adapt_bytes(sizeof(struct item)) == columns_of_items[0].element,
             "another datatype");
    ET_MPI(MPIX_Adapt_data_create(&data));
    ET_MPI(MPIX_Adapt_data_call(data, "calls", count_calls, &calls));
    ET_MPI(MPIX_Adapt_data_sums(data, "timers", 1, timers));
    ET_MPI(MPIX_Adapt_data_file(data, HISTORY, &history));
    ET_MPI(MPIX_Adapt_data_items(data, "items", &item_count, 2, columns_of_items, owner_of_item,
                                 NULL));
    if (differs == 2)
        ET_MPI(MPIX_Adapt_data_before(data, "prepares", count_calls, &calls));
    if (differs != 1)
        ET_MPI(MPIX_Adapt_data_container(data, "list", &functions));
    ET_MPI(MPIX_Adapt_data_boxes(data, 2, boxes, &grid, 1, fields));
    ET_MPI(MPIX_Adapt_data_add(data, "field", (void **) &field, MPI_INT64_T, &layout, NULL, NULL));
    ET_MPI(MPIX_Adapt_data_share(data, "rows", &rows, 1, MPI_INT64_T, NULL));
    ET_MPI(MPIX_Adapt_data_share(data, "columns", &columns, 1, MPI_INT64_T, NULL));
    ET_MPI(MPIX_Adapt_data_share(data, "windows", &windows, 1, MPI_INT, NULL));
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Sets them, or compares. */
static void each_value(int sets)
{
    const int64_t first = (int64_t) CELLS * et.rank / et.size;
    int64_t extents[3];
    MPIX_Box box;
    const MPIX_Field shape = {.ghost = {1, 1} };

    ET_CHECK(boxes(et.rank, et.size, 1, &box, &grid) == 1, "no box");
    MPIX_Field_extents(&shape, &box, extents);
    if (sets)
        u = calloc((size_t) (extents[0] * extents[1]), sizeof(double));
    for (int64_t i = box.low[0]; i < box.high[0]; i++)
        for (int64_t j = box.low[1]; j < box.high[1]; j++) {
            double *value = &u[(i - box.low[0] + 1) * extents[1] + j - box.low[1] + 1];
            *value = sets ? (double) (1000 * i + j) : *value;
            ET_CHECK(*value == (double) (1000 * i + j), "u(%lld, %lld) is %g", (long long) i,
                     (long long) j, *value);
        }
    if (sets)
        field = malloc(CELLS * sizeof(*field));
    for (int64_t i = first; i < (int64_t) CELLS * (et.rank + 1) / et.size; i++) {
        field[i - first] = sets ? i : field[i - first];
        ET_CHECK(field[i - first] == i, "field %lld", (long long) i);
    }
}

static void make_items(void)
{
    for (int64_t number = et.rank; number < EACH * et.size; number += et.size) {
        items = realloc(items, (size_t) (item_count + 1) * sizeof(*items));
        weights = realloc(weights, (size_t) (item_count + 1) * sizeof(*weights));
        items[item_count] = (struct item) {number, 0.5 * (double) number};
        weights[item_count++] = -(double) number;
    }
    for (int64_t number = et.rank; number < LISTED; number += et.size)
        put_listed(&number, NULL);
}

/* Each is with its owner, all are there; expected: what their numbers sum up to. */
static void check_items(int64_t expected)
{
    int64_t sums[4] = { 0, 0, 0, 0 };
    double windows_seen;

    for (int64_t k = 0; k < item_count; k++) {
        ET_CHECK(items[k].value == 0.5 * (double) items[k].number &&
                 weights[k] == -(double) items[k].number, "item %lld", (long long) items[k].number);
        ET_CHECK(owner_of_item(k, et.size, NULL) == et.rank, "item %lld is elsewhere",
                 (long long) items[k].number);
        sums[0]++;
        sums[1] += items[k].number;
    }
    for (const struct listed * each = list; each; each = each->next) {
        ET_CHECK(each->number % et.size == et.rank, "listed %lld is elsewhere",
                 (long long) each->number);
        sums[2]++;
        sums[3] += each->number;
    }
    ET_MPI(MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    ET_CHECK(sums[1] == expected && sums[2] == LISTED && sums[3] == LISTED * (LISTED - 1) / 2,
             "%lld items, %lld listed", (long long) sums[0], (long long) sums[2]);
    ET_MPI(MPI_Allreduce(timers, &windows_seen, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    ET_CHECK(windows_seen == (double) (windows - 1), "timers %g after %d windows", windows_seen,
             windows);
    if (et.rank == et.size - 1)
        timers[0]++;
}

static int after(int new_rank, int new_size, void *state)
{
    const int launched = *(const int *) state;

    et_world_changed();
    ET_CHECK(new_rank == et.rank && new_size == et.size, "%d of %d", new_rank, new_size);
    windows++;
    done++;
    ET_CHECK(calls == done, "%d calls of the function", calls);
    ET_CHECK(!history == (et.rank > 0), "a file of rank %d", et.rank);
    if (history)
        fprintf(history, "%d\n", windows);
    et.epoch = windows;
    each_value(0);
    check_items((int64_t) EACH * launched * (EACH * launched - 1) / 2);
    return 0;
}

/* ---- grids ----------------------------------------------------------------------------------- */

static void check_grid(void)
{
    MPIX_Grid six = {.axes = 2,.parts = {3, 2},.domain = {{0, 0, 0}, {11, 5, 1}} };
    int parts[3], position[3];
    MPIX_Box box;

    ET_CHECK(MPIX_Boxes_grid_coordinates(&six, 4, 6, parts, position) == 0 && position[0] == 2 &&
             position[1] == 0, "C order");
    ET_CHECK(MPIX_Boxes_grid(4, 6, 1, &box, &six) == 1 && box.low[0] == 7 && box.high[0] == 11 &&
             box.low[1] == 0 && box.high[1] == 2, "floor: %lld", (long long) box.low[0]);
    six.remainder_first = six.first_fastest = 1;
    ET_CHECK(MPIX_Boxes_grid_coordinates(&six, 4, 6, parts, position) == 0 && position[0] == 1 &&
             position[1] == 1, "first fastest");
    ET_CHECK(MPIX_Boxes_grid(4, 6, 1, &box, &six) == 1 && box.low[0] == 4 && box.high[0] == 8 &&
             box.low[1] == 3 && box.high[1] == 5, "remainder first: %lld", (long long) box.low[0]);
    ET_CHECK(MPIX_Boxes_grid_neighbour(&six, 4, 6, 0, 1) == 5 &&
             MPIX_Boxes_grid_neighbour(&six, 4, 6, 1, -1) == 1 &&
             MPIX_Boxes_grid_neighbour(&six, 5, 6, 0, 1) == MPI_PROC_NULL, "neighbours");
    six.periodic[0] = 1;
    ET_CHECK(MPIX_Boxes_grid_neighbour(&six, 5, 6, 0, 1) == 3 &&
             MPIX_Boxes_grid_neighbour(&six, 3, 6, 0, -1) == 5, "periodic neighbours");
    ET_CHECK(MPIX_Boxes_grid(0, 8, 0, NULL, &six) == -1, "3 x 2 of 8 processes");
}

/* A line for each window, also where its writer has left. */
static void check_history(void)
{
    int line, lines = 0;

    if (!history)
        return;
    fclose(history);
    history = fopen(HISTORY, "r");
    while (fscanf(history, "%d", &line) == 1)
        ET_CHECK(line == ++lines, "line %d is %d", lines, line);
    ET_CHECK(lines == windows, "%d lines after %d windows", lines, windows);
    fclose(history);
    remove(HISTORY);
}

int main(int argc, char **argv)
{
    int launched, epochs;

    et_options(&argc, &argv);
    et_init(&argc, &argv);
    launched = (int) et_number(argc, argv, "launched", 2);
    const int differs =
        et.status == MPI_ADAPT_STATUS_JOINING ? (int) et_number(argc, argv, "differs", 0) : 0;
    epochs = et.epochs;
    fails = (int) et_number(argc, argv, "fails", 0);
    check_grid();
    register_all(differs);
    if (et.status == MPI_ADAPT_STATUS_JOINING) {
        ET_MPI(MPIX_Adapt_window(data, et.status, after, &launched));
    } else {
        rows = 23;
        columns = 17;
        each_value(1);
        make_items();
        windows = 0;
        history = et.rank == 0 ? fopen(HISTORY, "w") : NULL;
    }
    const double begin = et_seconds();
    while (windows < epochs) {
        ET_CHECK(et_seconds() - begin < et.patience_s * (epochs + 1), "no adaptation");
        et_idle();
        const int before = done, changed = MPIX_Adapt(data, after, &launched);
        ET_CHECK(changed == done - before, "MPIX_Adapt returned %d", changed);
    }
    check_history();
    ET_MPI(MPIX_Adapt_data_free(&data));
    clear_list(NULL);
    free(u);
    free(field);
    free(items);
    free(weights);
    return et_finish();
}
