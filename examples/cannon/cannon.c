/* See cannon.h. */

#include "cannon.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MODULUS = 13 };          /* entries are -6 ... 6 */

/* ---- the grid ------------------------------------------------------------------------------- */

/* Where this process is, in the world of this multiplication. */
struct grid {
    int side, row, column;
    int64_t n;
    MPIX_Adapt_data data;
};

/* Block k of a row or column begins here. */
static int64_t begin_of(const struct grid *grid, int k)
{
    return k * grid->n / grid->side;
}

static int64_t length_of(const struct grid *grid, int k)
{
    return begin_of(grid, k + 1) - begin_of(grid, k);
}

/* Ranks are not positions in the grid: after an adaptation a process keeps its position where it
 * can. */
static int rank_of(const struct grid *grid, int row, int column)
{
    int rank;

    row = (row + grid->side) % grid->side;
    column = (column + grid->side) % grid->side;
    MPIX_Adapt_data_rank(grid->data, 0, row * grid->side + column, &rank);
    return rank;
}

static int find_coords(const struct cannon *cannon, struct grid *grid)
{
    int rank, size, position;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    grid->side = (int) lround(sqrt(size));
    grid->n = cannon->n;
    grid->data = cannon->data;
    if (grid->side * grid->side != size) {
        if (rank == 0)
            fprintf(stderr, "cannon: %d processes are no square grid\n", size);
        return 1;
    }
    MPIX_Adapt_data_position(cannon->data, 0, rank, &position);
    grid->row = position / grid->side;
    grid->column = position % grid->side;
    return 0;
}

/* ---- the matrices --------------------------------------------------------------------------- */

/* Small whole numbers. */
static double entry(int64_t row, int64_t column)
{
    uint64_t mixed = (uint64_t) (row * 1000003 + column * 7919 + 1) * 0x9e3779b97f4a7c15u;

    return (double) ((mixed >> 40) % MODULUS) - 6;
}

static void fill(struct cannon *cannon, const struct grid *grid)
{
    const int64_t rows = length_of(grid, grid->row), columns = length_of(grid, grid->column);

    cannon->a = malloc((size_t) (rows * columns) * sizeof(double) + 1);
    cannon->b = malloc((size_t) (rows * columns) * sizeof(double) + 1);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            int64_t row = begin_of(grid, grid->row) + i, column = begin_of(grid, grid->column) + j;
            cannon->a[i * columns + j] = entry(row, column);
            cannon->b[i * columns + j] = entry(column, row + cannon->n);
        }
}

/* c += a b, of blocks. */
static void multiply_blocks(double *restrict c, const double *a, const double *b, int64_t rows,
                            int64_t inner, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < inner; k++)
            for (int64_t j = 0; j < columns; j++)
                c[i * columns + j] += a[i * inner + k] * b[k * columns + j];
}

/* ---- one multiplication --------------------------------------------------------------------- */

/* A block on its way round: what is here, and space for what comes. */
struct traveller {
    double *here, *next;
};

static int make_traveller(struct traveller *traveller, const struct grid *grid)
{
    size_t longest = (size_t) (grid->n / grid->side + 1);

    traveller->here = malloc(2 * longest * longest * sizeof(double));
    traveller->next = traveller->here ? traveller->here + longest * longest : NULL;
    return !traveller->here;
}

/* Sends so many elements of `block` and receives others into `buffer`. */
static void pass(const double *block, int64_t sent, int to, double *buffer, int64_t received,
                 int from)
{
    MPI_Sendrecv(block, (int) sent, MPI_DOUBLE, to, 0, buffer, (int) received, MPI_DOUBLE, from, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void swap(struct traveller *traveller)
{
    double *here = traveller->here;

    traveller->here = traveller->next;
    traveller->next = here;
}

/* The travellers hold A(row, k) and B(k, column); k = row + column at first, then one more each
 * time. */
static void skew(const struct cannon *cannon, const struct grid *grid, struct traveller *a,
                 struct traveller *b)
{
    const int row = grid->row, column = grid->column, k = (row + column) % grid->side;
    const int64_t own = length_of(grid, row) * length_of(grid, column);

    pass(cannon->a, own, rank_of(grid, row, column - row), a->here,
         length_of(grid, row) * length_of(grid, k), rank_of(grid, row, k));
    pass(cannon->b, own, rank_of(grid, row - column, column), b->here,
         length_of(grid, k) * length_of(grid, column), rank_of(grid, k, column));
}

static void shift(const struct grid *grid, int k, struct traveller *a, struct traveller *b)
{
    const int row = grid->row, column = grid->column, next = (k + 1) % grid->side;
    const int64_t rows = length_of(grid, row), columns = length_of(grid, column);

    pass(a->here, rows * length_of(grid, k), rank_of(grid, row, column - 1), a->next,
         rows * length_of(grid, next), rank_of(grid, row, column + 1));
    pass(b->here, length_of(grid, k) * columns, rank_of(grid, row - 1, column), b->next,
         length_of(grid, next) * columns, rank_of(grid, row + 1, column));
    swap(a);
    swap(b);
}

static void rest(double ms)
{
    const int64_t ns = (int64_t) (ms * 1e6);
    const struct timespec pause = { ns / 1000000000, ns % 1000000000 };

    if (ns > 0)
        nanosleep(&pause, NULL);
}

static void report_size(struct cannon *cannon, const struct grid *grid)
{
    const int size = grid->side * grid->side;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && size != cannon->size) {
        printf("cannon: %d x %d processes after %" PRId64 " multiplications\n", grid->side,
               grid->side, cannon->progress->multiplications);
        fflush(stdout);
    }
    cannon->size = size;
}

int cannon_multiply(struct cannon *cannon)
{
    struct traveller a, b;
    struct grid grid;

    if (find_coords(cannon, &grid))
        return 1;
    report_size(cannon, &grid);
    const int64_t rows = length_of(&grid, grid.row), columns = length_of(&grid, grid.column);
    double *first_a, *first_b;

    free(cannon->c);
    cannon->c = calloc((size_t) (rows * columns) + 1, sizeof(double));
    if (!cannon->c || make_traveller(&a, &grid))
        return 1;
    first_a = a.here;
    if (make_traveller(&b, &grid))
        return 1;
    first_b = b.here;
    skew(cannon, &grid, &a, &b);
    for (int step = 0; step < grid.side; step++) {
        int k = (grid.row + grid.column + step) % grid.side;
        multiply_blocks(cannon->c, a.here, b.here, rows, length_of(&grid, k), columns);
        rest(cannon->sleep_ms / (grid.side * grid.side * grid.side));
        if (step + 1 < grid.side)
            shift(&grid, k, &a, &b);
    }
    free(first_a);
    free(first_b);
    for (int64_t i = 0; i < rows * columns; i++)
        cannon->a[i] = fmod(cannon->c[i], MODULUS);
    cannon->progress->multiplications++;
    return 0;
}

int cannon_goes_on(const struct cannon *cannon)
{
    return cannon->progress->multiplications < cannon->multiplications ||
        cannon->progress->adaptations < cannon->adaptations;
}

/* ---- the window ----------------------------------------------------------------------------- */

int cannon_move(struct cannon *cannon, const epop_window_t *window)
{
    if (MPIX_Adapt_data_move(cannon->data, window) != MPI_SUCCESS)
        return 1;
    if (cannon->progress)       /* NULL on leaving processes */
        cannon->progress->adaptations++;
    return 0;
}

/* ---- begin and end -------------------------------------------------------------------------- */

static int read_options(struct cannon *cannon, int argc, char **argv)
{
    cannon->n = 120;
    cannon->multiplications = 10;
    for (int i = 1; i < argc; i += 2) {
        const double value = i + 1 < argc ? atof(argv[i + 1]) : -1;
        if (strcmp(argv[i], "--size") == 0 && value >= 1)
            cannon->n = (int64_t) value;
        else if (strcmp(argv[i], "--multiplications") == 0 && value >= 1)
            cannon->multiplications = (int64_t) value;
        else if (strcmp(argv[i], "--adaptations") == 0 && value >= 0)
            cannon->adaptations = (int64_t) value;
        else if (strcmp(argv[i], "--sleep") == 0 && value >= 0)
            cannon->sleep_ms = value;
        else {
            fprintf(stderr,
                    "usage: cannon [--size ROWS] [--multiplications AT_LEAST] [--adaptations "
                    "AT_LEAST] "
                    "[--sleep MILLISECONDS]\n");
            return 1;
        }
    }
    return 0;
}

int cannon_setup(struct cannon *cannon, int argc, char **argv, int joins)
{
    struct grid grid;
    memset(cannon, 0, sizeof(*cannon));
    if (read_options(cannon, argc, argv))
        return 1;
    MPIX_Adapt_sizes("square");
    cannon->blocks = MPIX_Layout_grid(cannon->n, cannon->n);
    cannon->everywhere = MPIX_Layout_same(1);
    MPI_Type_contiguous(2, MPI_INT64_T, &cannon->progress_type);
    MPI_Type_commit(&cannon->progress_type);
    MPIX_Adapt_data_create(&cannon->data);
    MPIX_Adapt_data_add(cannon->data, "A", (void **) &cannon->a, MPI_DOUBLE, &cannon->blocks, NULL,
                        NULL);
    MPIX_Adapt_data_add(cannon->data, "B", (void **) &cannon->b, MPI_DOUBLE, &cannon->blocks, NULL,
                        NULL);
    MPIX_Adapt_data_add(cannon->data, "progress", (void **) &cannon->progress,
                        cannon->progress_type, &cannon->everywhere, NULL, NULL);
    if (joins)
        return 0;
    cannon->progress = calloc(1, sizeof(*cannon->progress));
    if (!cannon->progress || find_coords(cannon, &grid))
        return 1;
    fill(cannon, &grid);
    return !cannon->a || !cannon->b;
}

/* Place and bits of each element: the sum does not depend on who adds it. */
static uint64_t sum_of(const struct cannon *cannon, const struct grid *grid)
{
    const int64_t rows = length_of(grid, grid->row), columns = length_of(grid, grid->column);
    uint64_t sum = 0;

    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            uint64_t bits, index = (uint64_t) ((begin_of(grid, grid->row) + i) * grid->n +
                                               begin_of(grid, grid->column) + j);
            memcpy(&bits, &cannon->c[i * columns + j], sizeof(bits));
            bits ^= bits >> 32 ^ (index + 1) * 0x9e3779b97f4a7c15u;
            bits *= 0xbf58476d1ce4e5b9u;
            sum += bits ^ bits >> 31;
        }
    return sum;
}

int cannon_report(struct cannon *cannon)
{
    struct grid grid;
    uint64_t mine, sum;
    int rank;

    if (find_coords(cannon, &grid))
        return 1;
    mine = sum_of(cannon, &grid);
    MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("cannon: %" PRId64 " adaptations\ncannon: after %" PRId64
               " multiplications C is %016" PRIx64 "\n", cannon->progress->adaptations,
               cannon->progress->multiplications, sum);
    return 0;
}

void cannon_free(struct cannon *cannon)
{
    MPIX_Adapt_data_free(&cannon->data);
    MPI_Type_free(&cannon->progress_type);
    free(cannon->a);
    free(cannon->b);
    free(cannon->c);
    free(cannon->progress);
}
