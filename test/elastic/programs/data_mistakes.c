/*
 * adapt_data.h, adapt_boxes.h, adapt_items.h, adapt_mesh.h: mistakes that would lose or damage data
 * without a message.  One thing registered twice, memory that is shorter than what is registered in
 * it, and what moves twice in a window are refused on all processes; what is registered beside
 * arrays moves with them.  SPEC-epop D2, D3, F1.  --omits 1: an array is registered and never
 * moved; the library prints it, and the program goes on.
 */

#include "elastic_test.h"
#include <adapt_boxes.h>
#include <adapt_items.h>
#include <adapt_mesh.h>

enum { ELEMENTS = 1000, SIDE = 60 };

static int omits;
/* a block, a box with ghost layers, columns of items and rows */
static double *u, *field, *list, *value;
static int *unmoved;
static int64_t items, rows, *global, called;
static MPIX_Adapt_data data;
static epop_window_t now;
static MPIX_Box domain;

static int64_t begin_of(int rank, int size)
{
    return (int64_t) ELEMENTS * rank / size;
}

static int owner_of_item(int64_t i, int new_size, void *state)
{
    (void) state;
    return (int) list[i] % new_size;
}

static int owner_of_row(int64_t row, int new_size, void *state)
{
    (void) state;
    return (int) (row % new_size);
}

static int count_call(const epop_window_t *window, void *state)
{
    (void) window, (void) state;
    called++;
    return 0;
}

static MPIX_Field field_with(int ghost)
{
    return (MPIX_Field) {
    .name = "field",.element = MPI_DOUBLE,.ghost = { ghost, ghost },.parts = (void **) &field};
}

/* ---- refused --------------------------------------------------------------------------------- */

static void refused(int line, int code, const char *word)
{
    ET_CHECK(code == MPI_ERR_ARG &&
             strstr(MPIX_Adapt_data_message(), word), "line %d: %d, no '%s' in '%s'", line, code,
             word, MPIX_Adapt_data_message());
}
#define REFUSED(call, word) refused(__LINE__, call, word)

static void register_twice(void)
{
    const MPIX_Adapt_layout layout = MPIX_Layout_block(ELEMENTS);
    const MPIX_Field one = field_with(1), two[2] = { one, one };
    const MPIX_Column column = { &list, MPI_DOUBLE };
    const MPIX_Rows again = {.index = MPI_INT64_T,.count = &rows,.global = (void *) &global,
                             .columns = 1,
        .column = &column
    };

    REFUSED(MPIX_Adapt_data_add(data, "again", (void **) &u, MPI_DOUBLE, &layout, NULL, NULL),
            "array 'again': its pointer is registered already, as 'u'");
    REFUSED(MPIX_Adapt_data_add(data, "again", (void **) &list, MPI_DOUBLE, &layout, NULL, NULL),
            "as 'items'");
    REFUSED(MPIX_Adapt_data_boxes(data, 2, MPIX_Boxes_even, &domain, 1, &one),
            "already, as 'field'");
    REFUSED(MPIX_Adapt_data_items(data, "again", &items, 1, &column, owner_of_item, NULL),
            "column 0 is registered");
    REFUSED(MPIX_Adapt_data_rows(data, "again", &again, owner_of_row, NULL),
            "is registered already, as 'rows'");
    if (et.status != MPI_ADAPT_STATUS_NEW)
        REFUSED(MPIX_Adapt_boxes_move(&now, 2, MPIX_Boxes_even, &domain, 2, two), "listed twice");
}

/* A set of one array whose memory is another one's. */
static int move_as(void *part, int64_t n, MPI_Datatype type)
{
    const MPIX_Adapt_layout layout = MPIX_Layout_block(n);
    void *base = et.status == MPI_ADAPT_STATUS_JOINING ? NULL : part;
    MPIX_Adapt_data wrong;

    ET_MPI(MPIX_Adapt_data_create(&wrong));
    ET_MPI(MPIX_Adapt_data_add(wrong, "wrong", &base, type, &layout, NULL, NULL));
    const int code = MPIX_Adapt_data_start(wrong, &now, 0);
    ET_MPI(MPIX_Adapt_data_free(&wrong));
    return code;
}

static void move_too_much(void)
{
    const MPIX_Field wide = field_with(40);
    const MPIX_Column column = { &list, MPI_C_DOUBLE_COMPLEX };
    int64_t many = et.status == MPI_ADAPT_STATUS_JOINING ? 0 : items;
    const MPIX_Column of_row = { &value, MPI_C_DOUBLE_COMPLEX };
    const MPIX_Rows longer = {.index = MPI_INT64_T,.count = &rows,.global = (void *) &global,
                              .columns = 1,
        .column = &of_row
    };
    int *destination = calloc((size_t) (items + rows) + 1, sizeof(int));

    REFUSED(move_as(u, ELEMENTS, MPI_C_DOUBLE_COMPLEX), "'wrong' cannot be moved: its memory has ");
    REFUSED(move_as(u, ELEMENTS + 50, MPI_DOUBLE), "elements of 8 bytes lie in it");
    REFUSED(move_as(u ? u + 1 : NULL, ELEMENTS, MPI_DOUBLE), "was not returned by malloc");
    REFUSED(MPIX_Adapt_boxes_move(&now, 2, MPIX_Boxes_even, &domain, 1, &wide),
            "'field': its memory has ");
    REFUSED(MPIX_Adapt_items_move(&now, &many, destination, 1, &column, NULL, NULL),
            "column 0: its memory has ");
    REFUSED(MPIX_Adapt_rows_move(&now, &longer, destination),
            "column 0 of the rows: its memory has ");
    free(destination);
}

/* All old processes list row 7.  Its new owner finds that when it has got it. */
static void move_a_row_twice(void)
{
    int64_t count = et.status != MPI_ADAPT_STATUS_JOINING, *number = malloc(sizeof(int64_t));
    const MPIX_Rows one = {.index = MPI_INT64_T,.count = &count,.global = (void *) &number };
    const int destination = 0;

    *number = 7;
    const int code = MPIX_Adapt_rows_move(&now, &one, &destination);
    if (now.new_rank == 0 && now.old_size > 1)
        refused(__LINE__, code, "row 7 was received twice");
    else
        ET_CHECK(code == MPI_SUCCESS, "%s", MPIX_Adapt_data_message());
    free(number);
}

static void move_again(void)
{
    const MPIX_Field one = field_with(1);

    REFUSED(MPIX_Adapt_data_start(data, &now, 0),
            "array 'u' cannot be moved: it has moved in this window already");
    /* a leaving process has no part any more, which is as wrong */
    REFUSED(MPIX_Adapt_boxes_move(&now, 2, MPIX_Boxes_even, &domain, 1, &one),
            now.leaving > 0 ? "field 'field': " : "field 'field': it has moved in this window");
}

static int nothing(void *state)
{
    (void) state;
    return 0;
}

static int64_t none(void *state)
{
    (void) state;
    return 0;
}

static int put(const void *item, void *state)
{
    (void) item, (void) state;
    return 0;
}

static int pack(int64_t i, void *item, void *state)
{
    (void) i, (void) item, (void) state;
    return 0;
}

static int owner(const void *item, int new_size, void *state)
{
    (void) item, (void) new_size, (void) state;
    return 0;
}

/* It is put in place in the new world, which this call does not see. */
static void move_container(void)
{
    const MPIX_Item_functions functions = {.bytes = 8,.count = none,.pack = pack,.owner = owner,
                                           .clear = nothing,
        .put = put,.put_after = 1
    };
    MPIX_Adapt_data wrong;

    ET_MPI(MPIX_Adapt_data_create(&wrong));
    ET_MPI(MPIX_Adapt_data_container(wrong, "tree", &functions));
    REFUSED(MPIX_Adapt_data_move(wrong, &now), "'tree' needs the new world, too");
    ET_MPI(MPIX_Adapt_data_free(&wrong));
}

/* ---- the data -------------------------------------------------------------------------------- */

static double *cell(const MPIX_Box *box, int64_t i, int64_t j)
{
    return &field[(i - box->low[0] + 1) * (box->high[1] - box->low[1] + 2) + j - box->low[1] + 1];
}

static MPIX_Box own_box(void)
{
    MPIX_Box box;

    ET_CHECK(MPIX_Boxes_even(et.rank, et.size, 1, &box, &domain) == 1, "boxes");
    return box;
}

static void check(void)
{
    const MPIX_Box box = own_box();
    const int64_t first = begin_of(et.rank, et.size);
    int64_t mine[2] = { items, rows }, all[2];

    for (int64_t i = first; i < begin_of(et.rank + 1, et.size); i++)
        ET_CHECK(u[i - first] == (double) i, "element %lld", (long long) i);
    for (int64_t i = box.low[0]; i < box.high[0]; i++)
        for (int64_t j = box.low[1]; j < box.high[1]; j++)
            ET_CHECK(*cell(&box, i, j) == (double) (i * SIDE + j), "cell %lld, %lld", (long long) i,
                     (long long) j);
    for (int64_t i = 0; i < items; i++)
        ET_CHECK((int) list[i] % et.size == et.rank, "item %g", list[i]);
    for (int64_t i = 0; i < rows; i++)
        ET_CHECK(global[i] % et.size == et.rank &&
                 value[i] == (double) global[i], "row %lld", (long long) global[i]);
    ET_MPI(MPI_Allreduce(mine, all, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    ET_CHECK(all[0] == ELEMENTS &&
             all[1] == ELEMENTS, "%lld items, %lld rows", (long long) all[0], (long long) all[1]);
    ET_CHECK(called == et.epoch ||
             et.status == MPI_ADAPT_STATUS_NEW, "a registered function was called %lld times",
             (long long) called);
}

static void add_all(void)
{
    const MPIX_Adapt_layout layout = MPIX_Layout_block(ELEMENTS);
    const MPIX_Field fields = field_with(1);
    const MPIX_Column column = { &list, MPI_DOUBLE }, of_row = { &value, MPI_DOUBLE };
    const MPIX_Rows matrix = {.index = MPI_INT64_T,.count = &rows,.global = (void *) &global,
                              .columns = 1,
        .column = &of_row
    };

    domain = MPIX_Box_of(2, (int64_t[]) {0, 0}, (int64_t[]) {SIDE, SIDE});
    ET_MPI(MPIX_Adapt_data_create(&data));
    ET_MPI(MPIX_Adapt_data_add(data, "u", (void **) &u, MPI_DOUBLE, &layout, NULL, NULL));
    ET_MPI(MPIX_Adapt_data_share(data, "called", &called, 1, MPI_INT64_T, NULL));
    ET_MPI(MPIX_Adapt_data_boxes(data, 2, MPIX_Boxes_even, &domain, 1, &fields));
    ET_MPI(MPIX_Adapt_data_items(data, "items", &items, 1, &column, owner_of_item, NULL));
    ET_MPI(MPIX_Adapt_data_rows(data, "rows", &matrix, owner_of_row, NULL));
    ET_MPI(MPIX_Adapt_data_call(data, "count", count_call, NULL));
}

static void make_all(void)
{
    const MPIX_Box box = own_box();
    const int64_t first = begin_of(et.rank, et.size), count =
        begin_of(et.rank + 1, et.size) - first;

    u = malloc((size_t) count * sizeof(double));
    for (int64_t i = 0; i < count; i++)
        u[i] = (double) (first + i);
    field =
        calloc((size_t) ((box.high[0] - box.low[0] + 2) * (box.high[1] - box.low[1] + 2)),
               sizeof(double));
    for (int64_t i = box.low[0]; i < box.high[0]; i++)
        for (int64_t j = box.low[1]; j < box.high[1]; j++)
            *cell(&box, i, j) = (double) (i * SIDE + j);
    list = malloc(ELEMENTS * sizeof(double));
    value = malloc(ELEMENTS * sizeof(double));
    global = malloc(ELEMENTS * sizeof(int64_t));
    for (int i = et.rank; i < ELEMENTS; i += et.size) {
        list[items++] = i;
        value[rows] = i;
        global[rows++] = i;
    }
    list = realloc(list, (size_t) items * sizeof(double));
    value = realloc(value, (size_t) rows * sizeof(double));
}

static void window(void)
{
    const int joins = et.status == MPI_ADAPT_STATUS_JOINING;

    if (joins)
        add_all();
    ET_MPI(MPIX_Adapt_window_fill(MPI_COMM_WORLD, et.inter, et.next, et.status, &now));
    register_twice();
    move_too_much();
    move_container();
    move_a_row_twice();
    ET_MPI(MPIX_Adapt_data_move(data, &now));
    move_again();
    if (et.status == MPI_ADAPT_STATUS_LEAVING)
        ET_MPI(MPIX_Adapt_data_free(&data));
    MPIX_Adapt_window_clear(&now);
}

static void add_unmoved(void)
{
    const MPIX_Adapt_layout layout = MPIX_Layout_block(ELEMENTS);

    ET_MPI(MPIX_Adapt_data_create(&data));
    ET_MPI(MPIX_Adapt_data_add(data, "unmoved", (void **) &unmoved, MPI_INT, &layout, NULL, NULL));
}

/* The call that moves `data` is missing on all processes. */
static void window_without_move(void)
{
    if (et.status == MPI_ADAPT_STATUS_JOINING)
        add_unmoved();
    ET_MPI(MPIX_Adapt_window_fill(MPI_COMM_WORLD, et.inter, et.next, et.status, &now));
    MPIX_Adapt_window_clear(&now);
    if (et.status == MPI_ADAPT_STATUS_LEAVING)
        ET_MPI(MPIX_Adapt_data_free(&data));
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    omits = (int) et_number(argc, argv, "omits", 0);
    et_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (et.status == MPI_ADAPT_STATUS_NEW && omits) {
        add_unmoved();
        unmoved = calloc(ELEMENTS, sizeof(int));
    } else if (et.status == MPI_ADAPT_STATUS_NEW) {
        add_all();
        make_all();
        register_twice();
    }
    et.window = omits ? window_without_move : window;
    et.after = omits ? NULL : check;
    et_loop();
    free(u), free(field), free(list), free(value), free(global), free(unmoved);
    ET_MPI(MPIX_Adapt_data_free(&data));
    return et_finish();
}
