/*
 * How much moves: what all processes together are notified before the move is what the formulas
 * give, and what MPI is given to send (MPI_Isend is wrapped).  The highest ranks leave.  SPEC-epop
 * V1 to V6.
 *   --grid 1: sizes are squares, and the grid is there, too.
 */

#include "elastic_test.h"
#include "bytes_sent.h"
#include <adapt_data.h>

enum { BLOCK, FREE, CYCLIC, GRID, ARRAYS };

/* every size up to 6 divides ELEMENTS / UNIT */
enum { SIDE = 120, ELEMENTS = SIDE * SIDE, UNIT = 10 };

static int arrays = GRID;
static double *parts[ARRAYS];
static MPIX_Adapt_data data;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* V2, of n. */
static int64_t stays_of_block(int64_t n, int from, int to)
{
    const int64_t a = smaller(from, to), b = from + to - a;

    if (a == b)
        return n;
    const int64_t k = smaller(a, (b - 1) / (b - a));    /* a / (b - a), rounded up */
    return n * k * (k + 1) / (2 * b) - n * k * (k - 1) / (2 * a);
}

static int64_t common_multiple(int64_t a, int64_t b)
{
    int64_t multiple = a;

    while (multiple % b != 0)
        multiple += a;
    return multiple;
}

static int side_of(int size)
{
    int side = 1;

    while (side * side < size)
        side++;
    return side;
}

static void check_staying_volume(int array, int from, int to, int64_t saved)
{
    const int64_t n = ELEMENTS, along = stays_of_block(SIDE, side_of(from), side_of(to));

    ET_CHECK(n - saved >= n - n * smaller(from, to) / (from > to ? from : to),
             "V3: array %d keeps %lld", array, (long long) saved);
    if (array == BLOCK)
        ET_CHECK(saved == stays_of_block(n, from, to), "V2: %lld", (long long) saved);
    if (array == FREE)
        ET_CHECK(saved >= stays_of_block(n, from, to) && (from * 2 != to || saved == n / 2),
                 "V4: %lld", (long long) saved);
    if (array == CYCLIC)
        ET_CHECK(saved == n * smaller(from, to) / common_multiple(from, to), "V5: %lld",
                 (long long) saved);
    if (array == GRID && from < to)
        ET_CHECK(saved == along * along, "V6: %lld", (long long) saved);
}

static void add_arrays(void)
{
    const MPIX_Adapt_layout layouts[] =
        { MPIX_Layout_block(ELEMENTS), MPIX_Layout_block_free(ELEMENTS),
        MPIX_Layout_block_cyclic(ELEMENTS, UNIT), MPIX_Layout_grid(SIDE, SIDE)
    };
    const char *names[] = { "block", "free", "cyclic", "grid" };

    ET_MPI(MPIX_Adapt_data_create(&data));
    for (int array = 0; array < arrays; array++) {
        int64_t count;
        ET_MPI(MPIX_Adapt_data_add(data, names[array], (void **) &parts[array], MPI_DOUBLE,
                                   &layouts[array], NULL, NULL));
        if (et.status == MPI_ADAPT_STATUS_JOINING)
            continue;
        ET_MPI(MPIX_Adapt_data_count(data, array, &count));
        parts[array] = calloc((size_t) count + 1, sizeof(double));
    }
}

static void window(void)
{
    epop_window_t window;
    int64_t mine[3], sums[3];
    MPI_Comm all;

    if (et.status == MPI_ADAPT_STATUS_JOINING)
        add_arrays();
    ET_MPI(MPIX_Adapt_window_fill(MPI_COMM_WORLD, et.inter, et.next, et.status, &window));
    ET_MPI(MPIX_Adapt_window_all(&window, &all));
    for (int array = 0; array < arrays; array++) {
        ET_MPI(MPIX_Adapt_data_volume(data, array, &window, &mine[0], &mine[1], &mine[2]));
        MPI_Allreduce(mine, sums, 3, MPI_INT64_T, MPI_SUM, all);
        ET_CHECK(sums[0] + sums[1] == ELEMENTS &&
                 sums[1] == sums[2], "array %d: %lld stay, %lld go, %lld come", array,
                 (long long) sums[0], (long long) sums[1], (long long) sums[2]);
        check_staying_volume(array, window.old_size, window.new_size, sums[0]);
        bytes_sent = 0;
        ET_MPI(MPIX_Adapt_data_start(data, &window, array));
        ET_MPI(MPIX_Adapt_data_wait(data, array));
        ET_CHECK(bytes_sent == mine[1] * (int64_t) sizeof(double), "V1: array %d: %lld bytes",
                 array, (long long) bytes_sent);
    }
    MPI_Comm_free(&all);
    MPIX_Adapt_window_clear(&window);
    if (et.status == MPI_ADAPT_STATUS_LEAVING)
        ET_MPI(MPIX_Adapt_data_free(&data));
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    arrays = et_number(argc, argv, "grid", 0) ? ARRAYS : GRID;
    et_init(&argc, &argv);
    if (et.status == MPI_ADAPT_STATUS_NEW)
        add_arrays();
    et.window = window;
    et_loop();
    for (int array = 0; array < arrays; array++)
        free(parts[array]);
    ET_MPI(MPIX_Adapt_data_free(&data));
    return et_finish();
}
