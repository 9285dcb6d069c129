/* See gauss.h. */

#include "gauss.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The rows of this process in the present world, but for those that --balance has set aside. */
struct part {
    int rank, size;
    int64_t first, count;
};

static struct part part_of(const struct gauss *gauss)
{
    const int64_t split = gauss->progress->split;
    const MPIX_Adapt_layout blocks = MPIX_Layout_block(gauss->n - split);
    struct part part;

    MPI_Comm_rank(MPI_COMM_WORLD, &part.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &part.size);
    part.count = MPIX_Layout_range(&blocks, part.rank, part.size, &part.first);
    part.first += split;
    return part;
}

static int owner_of(const struct gauss *gauss, const struct part *part, int64_t row)
{
    const int64_t split = gauss->progress->split;
    const MPIX_Adapt_layout blocks = MPIX_Layout_block(gauss->n - split);

    return row < split ? gauss->finished.owner[row] :
        MPIX_Layout_owner(&blocks, part->size, row - split);
}

static int64_t width_of(const struct gauss *gauss)
{
    return gauss->n + 1;
}

static double *row_of(const struct gauss *gauss, const struct part *part, int64_t row)
{
    return row < gauss->progress->split ? gauss_balance_row(gauss, row) :
        gauss->rows + (row - part->first) * width_of(gauss);
}

static int is_mine(const struct part *part, int64_t row)
{
    return row >= part->first && row < part->first + part->count;
}

/* ---- the system ----------------------------------------------------------------------------- */

/* Small whole numbers, other ones in each system. */
static double entry(int64_t system, int64_t row, int64_t column)
{
    uint64_t mixed = (uint64_t) (row * 1000003 + column * 7919 + system * 104729 + 1);

    mixed ^= mixed >> 15;
    mixed *= 0x9e3779b97f4a7c15u;
    mixed ^= mixed >> 29;
    return (double) (mixed % 19) - 9;
}

int gauss_refill(struct gauss *gauss)
{
    gauss->progress->column = 0;
    gauss->progress->row = gauss->n;
    gauss->progress->split = 0;
    const struct part part = part_of(gauss);
    if (gauss->balance && gauss_balance_refill(gauss, part.count))
        return 1;
    if (!gauss->rows)
        gauss->rows = malloc((size_t) (part.count * width_of(gauss)) * sizeof(double) + 1);
    if (!gauss->rows)
        return 1;
    for (int64_t row = part.first; row < part.first + part.count; row++)
        for (int64_t column = 0; column < width_of(gauss); column++)
            row_of(gauss, &part, row)[column] = entry(gauss->progress->solved, row, column);
    return 0;
}

/* ---- elimination ---------------------------------------------------------------------------- */

/* The row with the greatest entry of this column among those that are left, of several the
 * first. */
static int64_t find_pivot(const struct gauss *gauss, const struct part *part, int64_t column)
{
    struct {
        double size;
        int row;
    } mine = { -1, 0 }, best;

    for (int64_t row = part->first; row < part->first + part->count; row++) {
        double size = fabs(row_of(gauss, part, row)[column]);
        if (row >= column && size > mine.size) {
            mine.size = size;
            mine.row = (int) row;
        }
    }
    MPI_Allreduce(&mine, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    return best.size > 0 ? best.row : -1;
}

static void swap_within(double *one, double *other, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        double value = one[k];
        one[k] = other[k];
        other[k] = value;
    }
}

static void swap_rows(const struct gauss *gauss, const struct part *part, int64_t one,
                      int64_t other)
{
    const int64_t mine = is_mine(part, one) ? one : other, theirs = one + other - mine;
    const int peer = owner_of(gauss, part, theirs);

    if (one == other || (!is_mine(part, one) && !is_mine(part, other)))
        return;
    if (is_mine(part, theirs))
        swap_within(row_of(gauss, part, mine), row_of(gauss, part, theirs), width_of(gauss));
    else
        MPI_Sendrecv_replace(row_of(gauss, part, mine), (int) width_of(gauss), MPI_DOUBLE, peer, 0,
                             peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void rest(double ms)
{
    const int64_t ns = (int64_t) (ms * 1e6);
    const struct timespec pause = { ns / 1000000000, ns % 1000000000 };

    if (ns > 0)
        nanosleep(&pause, NULL);
}

/* In the first column of a world, and which part of the work its slowest process has. */
static void report_size(struct gauss *gauss, const struct part *part)
{
    const int64_t column = gauss->progress->column, before = column - part->first;
    int64_t left = part->count - (before < 0 ? 0 : before < part->count ? before : part->count);

    if (gauss->reported == gauss->progress->adaptations)
        return;
    gauss->reported = gauss->progress->adaptations;
    MPI_Reduce(part->rank == 0 ? MPI_IN_PLACE : &left, &left, 1, MPI_INT64_T, MPI_MAX, 0,
               MPI_COMM_WORLD);
    if (part->rank == 0) {
        printf("gauss: %d processes from column %" PRId64 " of system %" PRId64 " on, with up to %"
               PRId64 " rows each\n", part->size, column, gauss->progress->solved + 1, left);
        fflush(stdout);
    }
}

int gauss_eliminate(struct gauss *gauss)
{
    const struct part part = part_of(gauss);
    const int64_t k = gauss->progress->column, length = width_of(gauss) - k;
    const int64_t pivot_row = find_pivot(gauss, &part, k);
    double *pivot = malloc((size_t) length * sizeof(double));

    report_size(gauss, &part);
    if (pivot_row < 0 || !pivot) {
        fprintf(stderr, "gauss: %s\n", pivot ? "the system has no solution" : "no memory");
        return 1;
    }
    swap_rows(gauss, &part, k, pivot_row);
    if (is_mine(&part, k))
        memcpy(pivot, row_of(gauss, &part, k) + k, (size_t) length * sizeof(double));
    MPI_Bcast(pivot, (int) length, MPI_DOUBLE, owner_of(gauss, &part, k), MPI_COMM_WORLD);
    for (int64_t row = k + 1 > part.first ? k + 1 : part.first; row < part.first + part.count;
         row++) {
        double *entries = row_of(gauss, &part, row) + k, factor = entries[0] / pivot[0];
        for (int64_t j = 0; j < length; j++)
            entries[j] -= factor * pivot[j];
    }
    free(pivot);
    rest(gauss->sleep_ms / part.size);
    gauss->progress->column++;
    return 0;
}

int gauss_has_columns(const struct gauss *gauss)
{
    return gauss->progress->column < gauss->n;
}

/* ---- back substitution ---------------------------------------------------------------------- */

/* The greatest residual of all equations, in what their terms add up to. */
static double residual(const struct gauss *gauss, const struct part *part)
{
    double worst = 0, result;
    int64_t first, count = MPIX_Layout_range(&gauss->blocks, part->rank, part->size, &first);

    for (int64_t row = first; row < first + count; row++) {
        double sum = -entry(gauss->progress->solved, row, gauss->n), scale = fabs(sum);
        for (int64_t column = 0; column < gauss->n; column++) {
            double term = entry(gauss->progress->solved, row, column) * gauss->x[column];
            sum += term;
            scale += fabs(term);
        }
        worst = fmax(worst, fabs(sum) / fmax(scale, 1));
    }
    MPI_Allreduce(&worst, &result, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return result;
}

/* With all bits of x. */
static uint64_t add_bits(uint64_t sum, const double *x, int64_t n)
{
    uint64_t bits;

    for (int64_t i = 0; i < n; i++) {
        memcpy(&bits, &x[i], sizeof(bits));
        sum = (sum ^ bits ^ bits >> 32) * 1099511628211u;
    }
    return sum;
}

static int check_solution(struct gauss *gauss, const struct part *part)
{
    const double worst = residual(gauss, part);

    gauss->progress->solved++;
    gauss->progress->sum = add_bits(gauss->progress->sum, gauss->x, gauss->n);
    if (part->rank == 0 && !gauss_goes_on(gauss))
        printf("gauss: %" PRId64 " adaptations, %" PRId64 " rows moved\ngauss: after %" PRId64
               " systems the solutions are %016" PRIx64 "\n", gauss->progress->adaptations,
               gauss->progress->moved, gauss->progress->solved, gauss->progress->sum);
    free(gauss->x);
    gauss->x = NULL;
    free(gauss->finished.owner);
    gauss->finished.owner = NULL;
    if (worst < 1e-8)
        return 0;
    fprintf(stderr, "gauss: x is wrong, the residual is %g\n", worst);
    return 1;
}

int gauss_substitute(struct gauss *gauss)
{
    const struct part part = part_of(gauss);

    if (gauss->progress->row == gauss->n && gauss->balance && gauss_balance_find_owners(gauss))
        return 1;
    if (!gauss->x)
        gauss->x = calloc((size_t) gauss->n, sizeof(double));
    if (!gauss->x)
        return 1;
    const int64_t i = --gauss->progress->row;
    const int owner = owner_of(gauss, &part, i);
    if (owner == part.rank) {
        const double *row = row_of(gauss, &part, i);
        double sum = row[gauss->n];
        for (int64_t j = i + 1; j < gauss->n; j++)
            sum -= row[j] * gauss->x[j];
        gauss->x[i] = sum / row[i];
    }
    MPI_Bcast(&gauss->x[i], 1, MPI_DOUBLE, owner, MPI_COMM_WORLD);
    return i == 0 ? check_solution(gauss, &part) : 0;
}

int gauss_has_rows(const struct gauss *gauss)
{
    return gauss->progress->row > 0;
}

int gauss_goes_on(const struct gauss *gauss)
{
    return gauss->progress->solved < gauss->systems ||
        gauss->progress->adaptations < gauss->adaptations;
}

/* ---- the window ----------------------------------------------------------------------------- */

/* How many rows this process sends; by the library, which reports it before. */
static int64_t rows_to_send(const struct gauss *gauss, const epop_window_t *window)
{
    int64_t stay, sent, received, finished = 0;

    if (MPIX_Adapt_data_volume(gauss->data, gauss->rows_array, window, &stay, &sent, &received) ||
        (gauss->balance && MPIX_Adapt_data_volume(gauss->data, gauss->finished.array, window, &stay,
                                                  &finished, &received)))
        return -1;
    return sent + finished;
}

static int set_aside(struct gauss *gauss)
{
    const struct part part = part_of(gauss);

    return gauss_balance_set_aside(gauss, part.first, part.count);
}

static int move_all(struct gauss *gauss, const epop_window_t *window)
{
    if (MPIX_Adapt_data_move(gauss->data, window) != MPI_SUCCESS)
        return 1;
    return gauss->balance && MPIX_Adapt_data_count(gauss->data, gauss->finished.array,
                                                   &gauss->finished.count);
}

int gauss_move(struct gauss *gauss, const epop_window_t *window)
{
    int64_t mine, all;

    gauss->window = window;
    if (gauss->balance && gauss->progress && set_aside(gauss))
        return 1;
    mine = gauss->by_root ? gauss_move_by_root(gauss, window) : rows_to_send(gauss, window);
    if (mine < 0)
        return 1;
    if (gauss->progress) {      /* not yet on joining processes, which send nothing */
        MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, window->old_world);
        gauss->progress->moved += all;
        gauss->progress->adaptations++;
    }
    return move_all(gauss, window);
}

/* ---- begin and end -------------------------------------------------------------------------- */

static int read_options(struct gauss *gauss, int argc, char **argv)
{
    gauss->n = 100;
    gauss->systems = 1;
    for (int i = 1; i < argc; i += 2) {
        const double value = i + 1 < argc ? atof(argv[i + 1]) : -1;
        if (strcmp(argv[i], "--root") == 0)
            gauss->by_root = 1, i--;    /* it has no value */
        else if (strcmp(argv[i], "--balance") == 0)
            gauss->balance = 1, i--;
        else if (strcmp(argv[i], "--size") == 0 && value >= 1)
            gauss->n = (int64_t) value;
        else if (strcmp(argv[i], "--systems") == 0 && value >= 1)
            gauss->systems = (int64_t) value;
        else if (strcmp(argv[i], "--adaptations") == 0 && value >= 0)
            gauss->adaptations = (int64_t) value;
        else if (strcmp(argv[i], "--sleep") == 0 && value >= 0)
            gauss->sleep_ms = value;
        else
            return 1;
    }
    return gauss->by_root && gauss->balance;
}

static int add_arrays(struct gauss *gauss)
{
    if (MPIX_Adapt_data_add(gauss->data, "progress", (void **) &gauss->progress,
                            gauss->progress_type, &gauss->everywhere, NULL, NULL))
        return 1;
    if (gauss->balance)
        return gauss_balance_setup(gauss);
    return !gauss->by_root && MPIX_Adapt_data_add(gauss->data, "rows", (void **) &gauss->rows,
                                                  gauss->row_type, &gauss->blocks, NULL,
                                                  &gauss->rows_array);
}

int gauss_setup(struct gauss *gauss, int argc, char **argv, int joins)
{
    memset(gauss, 0, sizeof(*gauss));
    if (read_options(gauss, argc, argv)) {
        fprintf(stderr,
                "usage: gauss [--size EQUATIONS] [--systems AT_LEAST] [--adaptations AT_LEAST] "
                "[--sleep MILLISECONDS] [--root | --balance]\n");
        return 1;
    }
    gauss->reported = -1;
    gauss->blocks = MPIX_Layout_block(gauss->n);
    gauss->everywhere = MPIX_Layout_same(1);
    MPI_Type_contiguous((int) width_of(gauss), MPI_DOUBLE, &gauss->row_type);
    MPI_Type_commit(&gauss->row_type);
    MPI_Type_contiguous(sizeof(struct gauss_progress) / sizeof(int64_t), MPI_INT64_T,
                        &gauss->progress_type);
    MPI_Type_commit(&gauss->progress_type);
    MPIX_Adapt_data_create(&gauss->data);
    if (add_arrays(gauss))
        return 1;
    if (joins)
        return 0;
    gauss->progress = calloc(1, sizeof(*gauss->progress));
    return !gauss->progress;
}

void gauss_free(struct gauss *gauss)
{
    MPIX_Adapt_data_free(&gauss->data);
    MPI_Type_free(&gauss->row_type);
    MPI_Type_free(&gauss->progress_type);
    free(gauss->rows);
    free(gauss->finished.rows);
    free(gauss->finished.numbers);
    free(gauss->progress);
}
