/*
 * adapt_data.h: one array for each layout, elements of several types, moved in each window.  Every
 * element has array and number, so that after each commit each process finds its own.  The bytes
 * that MPI is given to send (MPI_Isend is wrapped) are those that volume returned, and exactly
 * those whose owner changes: V1, V8.  --split 1: started one by one, computing in between, waited
 * for in another order (X1).  SPEC-epop D1 to D6, V1, V8, X1, F3, F4.
 */

#include "elastic_test.h"
#include "bytes_sent.h"
#include <adapt_data.h>
#include <stddef.h>

enum { BLOCK, FREE, CYCLIC, IRREGULAR, USER, SAME, FEW, NOTHING, MATRIX, GRID, ARRAYS };
static int arrays = GRID;        /* --grid 1: that one, too; every size is a square then */

struct wide {                   /* with gaps */
    char letter;
    double number;
};

static MPIX_Adapt_data data;
static MPIX_Adapt_layout layouts[ARRAYS];
static void *parts[ARRAYS];
static MPI_Datatype row, wide;
static int64_t n, row_length = 5;       /* n is a multiple of 50 */
static int split_starts;
static int64_t grown, released;

/* ---- what the arrays hold ------------------------------------------------------------------- */

static uint64_t value_of(int array, int64_t i, int64_t k)
{
    return ((uint64_t) i * 2654435761u + (uint64_t) array * 97 + (uint64_t) k) % 1000003;
}

static size_t bytes_of(int array)
{
    return array == MATRIX ? (size_t) row_length * 8 : array == FREE ? sizeof(struct wide) : 8;
}

static void set(int array, void *part, int64_t at, int64_t i)
{
    if (array == FREE) {
        ((struct wide *) part)[at].letter = (char) value_of(array, i, 0);
        ((struct wide *) part)[at].number = (double) value_of(array, i, 1);
        return;
    }
    for (int64_t k = 0; k < (int64_t) bytes_of(array) / 8; k++)
        ((uint64_t *) part)[at * ((int64_t) bytes_of(array) / 8) + k] = value_of(array, i, k);
}

static int is_right(int array, const void *part, int64_t at, int64_t i)
{
    struct wide expected[1];
    uint64_t numbers[8];

    if (array == FREE) {
        set(array, expected, 0, i);
        return ((const struct wide *) part)[at].letter == expected->letter &&
            ((const struct wide *) part)[at].number == expected->number;
    }
    set(array, numbers, 0, i);
    return memcmp((const char *) part + (size_t) at * bytes_of(array), numbers, bytes_of(array)) ==
        0;
}

/* ---- layouts -------------------------------------------------------------------------------- */

/* Rank r gets a share that grows with r. */
static int64_t share_begin(int64_t rank, int64_t size)
{
    return n * rank * (rank + 1) / (size * (size + 1));
}

static int split(int old_size, const int64_t *old_lengths, int new_size, int64_t *lengths,
                 void *state)
{
    int64_t sum = 0;

    (void) state;
    for (int r = 0; r < old_size; r++)
        sum += old_lengths[r];
    ET_CHECK(sum == n, "%lld elements before", (long long) sum);
    for (int r = 0; r < new_size; r++)
        lengths[r] = share_begin(r + 1, new_size) - share_begin(r, new_size);
    return 0;
}

static int owner_of_user(int64_t i, int size)
{
    return (int) (i / 3 * 7 % 11 % size);
}

static int64_t pieces(int rank, int size, int64_t max, int64_t *low, int64_t *high, void *state)
{
    int64_t count = 0;

    (void) state;
    for (int64_t i = 0; i < n; i += 3) {
        if (owner_of_user(i, size) != rank)
            continue;
        if (count < max) {
            low[count] = i;
            high[count] = i + 3 < n ? i + 3 : n;
        }
        count++;
    }
    return count;
}

/* Whether element i is this rank's, by the definition of the layout. */
static int is_mine(int array, int64_t i, int rank, int size)
{
    int position = rank;

    if (array == IRREGULAR)
        return i >= share_begin(rank, size) && i < share_begin(rank + 1, size);
    if (array == USER)
        return owner_of_user(i, size) == rank;
    if (array == SAME)
        return 1;
    ET_MPI(MPIX_Adapt_data_position(data, array, rank, &position));
    return MPIX_Layout_owner(&layouts[array], size, i) == position;
}

static int64_t length_of(int array)
{
    return array == FEW ? 2 : array == NOTHING ? 0 : n;
}

/* ---- memory --------------------------------------------------------------------------------- */

static void *grow(int64_t count, void *state)
{
    ET_CHECK(state == &grown, "another state");
    grown++;
    return malloc((size_t) count * 8);
}

static void release(void *part, void *state)
{
    ET_CHECK(state == &grown && part, "another state, or nothing");
    released++;
    free(part);
}

/* ---- the program ---------------------------------------------------------------------------- */

static void check_parts(void)
{
    for (int array = 0; array < arrays; array++) {
        int64_t at = 0, count;
        for (int64_t i = 0; i < length_of(array); i++) {
            if (!is_mine(array, i, et.rank, et.size))
                continue;
            ET_CHECK(parts[array] && is_right(array, parts[array], at, i),
                     "array %d, element %lld at %lld", array, (long long) i, (long long) at);
            at++;
        }
        ET_MPI(MPIX_Adapt_data_count(data, array, &count));
        ET_CHECK(count == at, "array %d: %lld elements, %lld expected", array, (long long) count,
                 (long long) at);
    }
}

static void fill_parts(void)
{
    for (int array = 0; array < arrays; array++) {
        int64_t at = 0;
        for (int64_t i = 0; i < length_of(array); i++)
            at += is_mine(array, i, et.rank, et.size);
        parts[array] = at == 0 ? NULL : malloc((size_t) at * bytes_of(array));
        at = 0;
        for (int64_t i = 0; i < length_of(array); i++)
            if (is_mine(array, i, et.rank, et.size))
                set(array, parts[array], at++, i);
    }
    grown += parts[CYCLIC] != NULL;
}

static void add_arrays(void)
{
    static const char *names[] = { "block", "free", "cyclic", "irregular", "user", "same", "few",
        "nothing", "matrix", "grid"
    };
    const MPIX_Adapt_memory memory = { grow, release, &grown };
    const MPI_Datatype types[] = { MPI_UINT64_T, wide, MPI_UINT64_T, MPI_UINT64_T, MPI_UINT64_T,
        MPI_UINT64_T, MPI_UINT64_T, MPI_UINT64_T, row, MPI_UINT64_T
    };
    int64_t mine = 0;

    if (et.status == MPI_ADAPT_STATUS_NEW)
        mine = share_begin(et.rank + 1, et.size) - share_begin(et.rank, et.size);
    layouts[BLOCK] = MPIX_Layout_block(n);
    layouts[FREE] = MPIX_Layout_block_free(n);
    layouts[CYCLIC] = MPIX_Layout_block_cyclic(n, 4);
    layouts[IRREGULAR] = MPIX_Layout_irregular(mine, split, NULL);
    layouts[USER] = MPIX_Layout_user(pieces, NULL);
    layouts[SAME] = MPIX_Layout_same(n);
    layouts[FEW] = MPIX_Layout_block(2);
    layouts[NOTHING] = MPIX_Layout_block(0);
    layouts[MATRIX] = MPIX_Layout_block(n);
    layouts[GRID] = MPIX_Layout_grid(n / 50, 50);
    ET_MPI(MPIX_Adapt_data_create(&data));
    for (int array = 0; array < arrays; array++) {
        int number;
        ET_MPI(MPIX_Adapt_data_add(data, names[array], &parts[array], types[array],
                                   &layouts[array], array == CYCLIC ? &memory : NULL, &number));
        ET_CHECK(number == array, "number %d", number);
    }
}

#define WRONG(call, word) \
    do { \
        ET_CHECK((call) == MPI_ERR_ARG, "must fail"); \
        ET_CHECK(strstr(MPIX_Adapt_data_message(), word), "'%s'", MPIX_Adapt_data_message()); \
    } while (0)

/* Wrong use has no effect. */
static void try_errors(const epop_window_t *window)
{
    int done;
    int64_t count;

    WRONG(MPIX_Adapt_data_wait(data, BLOCK), "not been started");
    WRONG(MPIX_Adapt_data_test(data, BLOCK, &done), "not been started");
    WRONG(MPIX_Adapt_data_start(data, window, ARRAYS), "no such array");
    WRONG(MPIX_Adapt_data_start(data, NULL, BLOCK), "NULL");
    WRONG(MPIX_Adapt_data_set_count(data, BLOCK, 3), "irregular");
    WRONG(MPIX_Adapt_data_count(data, -1, &count), "no such array");
    ET_MPI(MPIX_Adapt_data_start(data, window, BLOCK));
    WRONG(MPIX_Adapt_data_start(data, window, BLOCK), "already");
    WRONG(MPIX_Adapt_data_free(&data), "not waited for");
    WRONG(MPIX_Adapt_data_add(data, "late", &parts[BLOCK], MPI_INT, &layouts[BLOCK], NULL, NULL),
          "moved");
    ET_MPI(MPIX_Adapt_data_wait(data, BLOCK));
}

static void move_one_by_one(const epop_window_t *window)
{
    for (int array = FREE; array < arrays; array++) {
        int done;
        ET_MPI(MPIX_Adapt_data_start(data, window, array));
        et_spin_ms(0.1);
        ET_MPI(MPIX_Adapt_data_test(data, array, &done));
    }
    for (int k = 0; k < arrays - 1; k++)        /* each waits in an order of its own */
        ET_MPI(MPIX_Adapt_data_wait(data, FREE + (k + et.rank) % (arrays - 1)));
}

static void window(void)
{
    epop_window_t window;
    int64_t stay, sent, received, bytes = 0;

    if (et.status == MPI_ADAPT_STATUS_JOINING)
        add_arrays();
    ET_MPI(MPIX_Adapt_window_fill(MPI_COMM_WORLD, et.inter, et.next, et.status, &window));
    ET_CHECK(window.staying == et.staying && window.leaving == et.leaving &&
             window.joining == et.joining && window.new_size == et.staying + et.joining, "counts");
    for (int array = 0; array < arrays; array++) {
        ET_MPI(MPIX_Adapt_data_volume(data, array, &window, &stay, &sent, &received));
        bytes += sent * (int64_t) (array == MATRIX ? row_length * 8 : array == FREE ? 9 : 8);
    }
    bytes_sent = 0;
    if (split_starts) {
        try_errors(&window);
        move_one_by_one(&window);
    } else {
        ET_MPI(MPIX_Adapt_data_move(data, &window));
    }
    ET_CHECK(bytes_sent == bytes, "%lld bytes sent, %lld expected", (long long) bytes_sent,
             (long long) bytes);
    if (et.status == MPI_ADAPT_STATUS_LEAVING) {
        for (int array = 0; array < arrays; array++)
            ET_CHECK(!parts[array], "array %d of a leaving process", array);
        ET_CHECK(grown == released, "%lld parts, %lld given back", (long long) grown,
                 (long long) released);
        ET_MPI(MPIX_Adapt_data_free(&data));
    }
    MPIX_Adapt_window_clear(&window);
    WRONG(MPIX_Adapt_data_move(data, &window), "NULL");
}

static void after(void)
{
    check_parts();
    ET_CHECK(grown - released == (parts[CYCLIC] != NULL), "%lld parts, %lld given back",
             (long long) grown, (long long) released);
}

int main(int argc, char **argv)
{
    const int lengths[] = { 1, 1 };
    const MPI_Aint positions[] = { offsetof(struct wide, letter), offsetof(struct wide, number) };
    const MPI_Datatype types[] = { MPI_CHAR, MPI_DOUBLE };

    et_options(&argc, &argv);
    n = et_number(argc, argv, "elements", 1000);
    arrays += (int) et_number(argc, argv, "grid", 0);
    split_starts = (int) et_number(argc, argv, "split", 0);
    et_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_contiguous((int) row_length, MPI_UINT64_T, &row);
    MPI_Type_commit(&row);
    MPI_Type_create_struct(2, lengths, positions, types, &wide);
    MPI_Type_commit(&wide);
    if (et.status == MPI_ADAPT_STATUS_NEW) {
        add_arrays();
        fill_parts();
        check_parts();
    }
    et.window = window;
    et.after = after;
    et_loop();
    for (int array = 0; array < arrays; array++)
        free(parts[array]);
    ET_MPI(MPIX_Adapt_data_free(&data));
    MPI_Type_free(&row);
    MPI_Type_free(&wide);
    return et_finish();
}
