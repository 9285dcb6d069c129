/*
 * An unstructured graph with an irregular partition that depends on the number of processes, moved
 * in each window with its lists and renumbered ghosts, and items in cells with gaps.  Each process
 * also computes the whole problem alone and compares.  --index 4: indices are int.  --local 0: the
 * program makes ghosts, and restores global numbers before the window; 2: it does not, and has a
 * list of its ghosts' numbers.  SPEC-epop D4, V1.
 */

#include "elastic_test.h"
#include <adapt_mesh.h>

enum { ROWS = 150, MOST = 9, SLOTS = 7, ATOMS = 60, COPY = -2 };

/* ---- the graph, whole: what every process can compute ---------------------------------------- */

static unsigned mixed(unsigned number)
{
    number = (number ^ number >> 16) * 0x45d9f3bu;
    number = (number ^ number >> 16) * 0x45d9f3bu;
    return number ^ number >> 16;
}

/* Row 5 has no neighbours; global numbers are not 0 to ROWS - 1. */
static int neighbours_of(int row, int64_t list[MOST])
{
    const int count = row == 5 ? 0 : 1 + (int) (mixed((unsigned) row) % (MOST - 1));

    for (int k = 0; k < count; k++)
        list[k] = 3 * (int64_t) (mixed((unsigned) (row * MOST + k)) % ROWS) + 7;
    return count;
}

static int partition(int64_t global, int size, void *state)
{
    (void) state;
    return (int) (mixed((unsigned) (global +1000 * size)) %
                  (unsigned) (size > 3 ? size - 1 : size));
}

static double whole[ROWS];

static double weight(int64_t row, int k)
{
    return 0.25 + 0.001 * (double) row + 0.01 * k;
}

static void step_whole(void)
{
    double next[ROWS];
    int64_t list[MOST];

    for (int row = 0; row < ROWS; row++) {
        const int count = neighbours_of(row, list);
        next[row] = 0.125 * whole[row];
        for (int k = 0; k < count; k++)
            next[row] += weight(3 * row + 7, k) * 0.1 * whole[(list[k] - 7) / 3];
    }
    memcpy(whole, next, sizeof(next));
}

/* ---- this process' part ---------------------------------------------------------------------- */

static MPIX_Adapt_data data;
static int64_t rows;
static void *global, *first, *column;   /* indices of `bytes` bytes */
static double *x, *value;
static MPIX_Ghosts ghosts;
static void *ghost_global;      /* the program's own list, where is_local is 2 */
static int64_t ghost_count;     /* for index 4: its first half */
static int bytes = 8, is_local = 1, windows, steps;
static long long launched[2] = { 3, 5 };

static int64_t get(const void *array, int64_t k)
{
    return bytes == 4 ? ((const int *) array)[k] : ((const int64_t *) array)[k];
}

static void set(void *array, int64_t k, int64_t number)
{
    if (bytes == 4)
        ((int *) array)[k] = (int) number;
    else
        ((int64_t *) array)[k] = number;
}

static MPI_Datatype index_type(void)
{
    return bytes == 4 ? MPI_INT : MPI_INT64_T;
}

static void make_rows(void)
{
    int64_t list[MOST], entries = 0;

    global = malloc(ROWS * (size_t) bytes);
    first = calloc(ROWS + 1, (size_t) bytes);
    column = malloc(ROWS * MOST * (size_t) bytes);
    value = malloc(ROWS * MOST * sizeof(double));
    x = malloc(ROWS * sizeof(double));
    for (int row = ROWS - 1; row >= 0; row--) { /* not in the order of numbers */
        const int64_t number = 3 * row + 7;
        if (partition(number, et.size, NULL) != et.rank)
            continue;
        const int count = neighbours_of(row, list);
        for (int k = 0; k < count; k++) {
            set(column, entries, list[k]);
            value[entries++] = weight(number, k);
        }
        set(global, rows, number);
        x[rows++] = whole[row];
        set(first, rows, entries);
    }
}

static void make_ghosts(void)
{
    ET_MPI(MPIX_Ghosts_create(MPI_COMM_WORLD, index_type(), rows, global, get(first, rows), column,
                              &ghosts));
}

static void grow_x(void)
{
    x = realloc(x, (size_t) (rows + ghosts->count + 1) * sizeof(double));
}

static void step(void)
{
    double *next = malloc((size_t) (rows + ghosts->count + 1) * sizeof(double));

    ET_MPI(MPIX_Ghosts_update(ghosts, x, MPI_DOUBLE));
    for (int64_t i = 0; i < rows; i++) {
        next[i] = 0.125 * x[i];
        for (int64_t k = get(first, i); k < get(first, i + 1); k++)
            next[i] += value[k] * 0.1 * x[get(column, k)];
    }
    free(x);
    x = next;
    step_whole();
    steps++;
}

static void check_rows(void)
{
    int64_t list[MOST], sum = rows;

    for (int64_t i = 0; i < rows; i++) {
        const int64_t number = get(global, i), row = (number - 7) / 3, begin = get(first, i);
        ET_CHECK(partition(number, et.size, NULL) == et.rank, "row %lld is elsewhere",
                 (long long) number);
        ET_CHECK(windows == 0 || i == 0 ||
                 get(global, i - 1) < number, "row %lld is out of order", (long long) number);
        ET_CHECK(x[i] == whole[row], "row %lld is %a, not %a", (long long) number, x[i],
                 whole[row]);
        const int count = neighbours_of((int) row, list);
        ET_CHECK(get(first, i + 1) - begin == count, "row %lld has %lld entries",
                 (long long) number, (long long) (get(first, i + 1) - begin));
        for (int k = 0; k < count; k++) {
            const int64_t local = get(column, begin + k);
            ET_CHECK(local < rows + ghosts->count && list[k] == (local < rows ? get(global, local) :
                                                                 ghosts->global[local - rows]),
                     "column %lld", (long long) local);
            ET_CHECK(value[begin + k] == weight(number, k), "value of row %lld",
                     (long long) number);
        }
    }
    for (int64_t k = 0; k < ghosts->count; k++)
        ET_CHECK(ghosts->owner[k] == partition(ghosts->global[k], et.size, NULL),
                 "owner of a ghost");
    ET_MPI(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    ET_CHECK(sum == ROWS, "%lld rows", (long long) sum);
}

/* ---- items in cells -------------------------------------------------------------------------- */

static int cells, *in_cell;
static int64_t *atom;
static double (*points)[3];

/* As many cells as follow from rank and size. */
static void make_cells(void)
{
    free(in_cell);
    free(atom);
    free(points);
    cells = 20 + et.rank;
    in_cell = calloc((size_t) cells, sizeof(int));
    atom = malloc((size_t) (cells * SLOTS) * sizeof(*atom));
    points = malloc((size_t) (cells * SLOTS) * sizeof(*points));
}

static int put_atom(const void *const values[], void *state)
{
    int64_t number;

    (void) state;
    memcpy(&number, values[0], sizeof(number));
    int cell = (int) (number % cells);
    while (in_cell[cell] == SLOTS)
        cell = (cell + 1) % cells;
    atom[cell * SLOTS + in_cell[cell]] = number;
    memcpy(points[cell * SLOTS + in_cell[cell]++], values[1], sizeof(*points));
    return 0;
}

static int owner_of_atom(int64_t i, int size, void *state)
{
    (void) state;
    return points[i][2] == COPY ? MPI_PROC_NULL : (int) (points[i][1] + atom[i]) % size;
}

static void make_atoms(void)
{
    for (int64_t number = 0; number < ATOMS; number++) {
        const double here[3] = { 0.5 * (double) number, (double) (number % 4), -1 };
        const void *const values[] = { &number, here };
        if ((number % 4 + number) % et.size == et.rank)
            put_atom(values, NULL);
    }
}

/* As a layer of neighbours' cells around would have them. */
static void add_copies(void)
{
    for (int64_t copy = 0; copy < 5; copy++) {
        const double here[3] = { 0, 0, COPY };
        const void *const values[] = { &copy, here };
        put_atom(values, NULL);
    }
}

static void check_atoms(void)
{
    int64_t sums[2] = { 0, 0 };

    for (int cell = 0; cell < cells; cell++)
        for (int i = cell * SLOTS; i < cell * SLOTS + in_cell[cell]; i++) {
            ET_CHECK(points[i][0] == 0.5 * (double) atom[i] &&
                     points[i][2] == -1, "atom %lld", (long long) atom[i]);
            ET_CHECK(owner_of_atom(i, et.size, NULL) == et.rank, "atom %lld is elsewhere",
                     (long long) atom[i]);
            sums[0]++;
            sums[1] += atom[i];
        }
    ET_MPI(MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD));
    ET_CHECK(sums[0] == ATOMS &&
             sums[1] == ATOMS * (ATOMS - 1) / 2, "%lld atoms", (long long) sums[0]);
}

/* The same as `partition`, for a registration without an owner. */
static int partition_of(int row, int size)
{
    return partition(row, size, NULL);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* A local number beyond the list of ghosts is an error of all processes, and nothing has moved. */
static void refuse_short_list(const epop_window_t *window)
{
    const MPIX_Column of_entry = { &column, index_type() };
    int64_t fewer = 0;
    const MPIX_Rows matrix = {.index = index_type(),.count = &rows,.global = &global,
                              .first = &first,.lists = 1,
        .list = &of_entry,.ghost_global = &ghost_global,.ghost_count = &fewer
    };
    int *destination = calloc((size_t) rows + 1, sizeof(int));

    if (window->old_rank >= 0)
        set(&fewer, 0, get(&ghost_count, 0) - 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int code = MPIX_Adapt_rows_move(window, &matrix, destination);
    ET_CHECK(code == MPI_ERR_ARG &&
             strstr(MPIX_Adapt_data_message(), "number of rows and ghosts (ghost_count)"), "%d: %s",
             code, MPIX_Adapt_data_message());
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    free(destination);
}

static int undo(const epop_window_t *window, void *state)
{
    if (is_local == 2)
        refuse_short_list(window);
    ET_CHECK((window->old_rank < 0) == (cells == 0), "rank %d has %d cells", window->old_rank,
             cells);
    if (window->old_rank >= 0)
        add_copies();
    return *(const int *) state;
}

static void register_all(void)
{
    static int no_error;
    const MPIX_Column of_row[] = { {&x, MPI_DOUBLE} };
    const MPIX_Column of_entry[] = { {&column, index_type()}, {&value, MPI_DOUBLE} };
    const MPIX_Rows matrix = {.index = index_type(),.count = &rows,.global = &global,
                              .first = &first,
        .columns = 1,.column = of_row,.lists = 2,.list = of_entry,
            .ghosts = is_local == 1 ? &ghosts : NULL,
        .ghost_global = is_local == 2 ? &ghost_global : NULL,.ghost_count = &ghost_count,
        .partition = bytes == 4 ? partition_of : NULL
    };
    const MPIX_Cells in_cells = {.cells = &cells,.count = &in_cell,.slots = SLOTS };
    MPI_Datatype point;

    ET_MPI(MPI_Type_contiguous(3, MPI_DOUBLE, &point));
    const MPIX_Column of_atom[] = { {&atom, MPI_INT64_T}, {&points, point} };
    ET_MPI(MPIX_Adapt_data_create(&data));
    ET_MPI(MPIX_Adapt_data_before(data, "undo", undo, &no_error));
    ET_MPI(MPIX_Adapt_data_rows(data, "graph", &matrix, bytes == 4 ? NULL : partition, NULL));
    ET_MPI(MPIX_Adapt_data_cells(data, "atoms", &in_cells, 2, of_atom, owner_of_atom, put_atom,
                                 NULL));
    ET_MPI(MPIX_ADAPT_SHARE(data, windows, steps, whole, launched));
    ET_MPI(MPI_Type_free(&point));
}

static int after(int rank, int size, void *state)
{
    (void) state;
    et_world_changed();
    ET_CHECK(rank == et.rank && size == et.size, "%d of %d", rank, size);
    et.epoch = windows;
    make_cells();
    return 0;
}

static void check_all(void)
{
    if (is_local != 1)
        make_ghosts();
    grow_x();
    check_rows();
    check_atoms();
    ET_CHECK(launched[0] == 3 && launched[1] == 5, "an array that is shared");
    if (windows == et.epochs)
        return;
    for (int k = 0; k < 3; k++)
        step();
    check_rows();
    windows++;          /* shared: by then there has been another one */
    if (is_local == 2) {
        ghost_global = realloc(ghost_global, (size_t) (ghosts->count + 1) * (size_t) bytes);
        for (int64_t k = 0; k < ghosts->count; k++)
            set(ghost_global, k, ghosts->global[k]);
        set(&ghost_count, 0, ghosts->count);
    }
    if (is_local == 0)
        ET_MPI(MPIX_Ghosts_restore(ghosts, index_type(), get(first, rows), column));
    if (is_local != 1)
        ET_MPI(MPIX_Ghosts_free(&ghosts));
}

/* Without an owner rows need a partition, and numbers that are int. */
static void check_owners(void)
{
    MPIX_Rows matrix = {.index = MPI_INT,.count = &rows,.global = &global };

    ET_ERROR(MPIX_Adapt_data_rows(data, "none", &matrix, NULL, NULL), MPI_ERR_ARG, NULL);
    matrix.partition = partition_of;
    ET_ERROR(MPIX_Adapt_data_rows(data, "both", &matrix, partition, NULL), MPI_ERR_ARG, NULL);
    ET_CHECK(strstr(MPIX_Adapt_data_message(), "one of owner and partition"), "%s",
             MPIX_Adapt_data_message());
    matrix.index = MPI_INT64_T;
    ET_ERROR(MPIX_Adapt_data_rows(data, "long", &matrix, NULL, NULL), MPI_ERR_ARG, NULL);
    ET_CHECK(strstr(MPIX_Adapt_data_message(), "index is MPI_INT"), "%s",
             MPIX_Adapt_data_message());
}

static void check_errors(void)
{
    int64_t mine[1] = { et.rank }, twice[1] = { 9 }, names[2] = { 0, 77 };
    int64_t both[2] = { 0, et.rank };
    MPIX_Ghosts made = NULL;

    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    ET_ERROR(MPIX_Ghosts_create(MPI_COMM_WORLD, MPI_INT64_T, 1, mine, 2, names, &made), MPI_ERR_ARG,
             NULL);
    ET_CHECK(strstr(MPIX_Adapt_data_message(), "refers to row 77") && names[1] == 77 && !made, "%s",
             MPIX_Adapt_data_message());
    ET_ERROR(MPIX_Ghosts_create(MPI_COMM_WORLD, MPI_INT64_T, 1, twice, 0, NULL, &made), MPI_ERR_ARG,
             NULL);
    ET_CHECK(strstr(MPIX_Adapt_data_message(), "row 9 exists twice"), "%s",
             MPIX_Adapt_data_message());
    ET_MPI(MPIX_Ghosts_create(MPI_COMM_WORLD, MPI_INT64_T, 1, mine, 2, both, &made));
    ET_ERROR(MPIX_Ghosts_restore(made, MPI_INT64_T, 2, names), MPI_ERR_ARG, NULL);
    ET_MPI(MPIX_Ghosts_free(&made));
    check_owners();
    ET_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    et_init(&argc, &argv);
    bytes = (int) et_number(argc, argv, "index", 8);
    is_local = (int) et_number(argc, argv, "local", 1);
    for (int row = 0; row < ROWS; row++)
        whole[row] = 1 + 0.01 * row;
    register_all();
    if (MPIX_Adapt_enter(data, et.status, after, NULL) == 0) {
        check_errors();
        make_rows();
        make_atoms();
        if (is_local == 1)
            make_ghosts();
    }
    check_all();
    const double begin = et_seconds();
    while (et.epoch < et.epochs) {
        ET_CHECK(et_seconds() - begin < et.patience_s * (et.epochs + 1), "no adaptation");
        et_idle();
        if (MPIX_Adapt(data, after, NULL) == 1)
            check_all();
    }
    ET_MPI(MPIX_Ghosts_free(&ghosts));
    ET_MPI(MPIX_Adapt_data_free(&data));
    free(ghost_global);
    free(global);
    free(first);
    free(column);
    free(value);
    free(x);
    free(in_cell);
    free(atom);
    free(points);
    return et_finish();
}
