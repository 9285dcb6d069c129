/*
 * adapt_data.h: elements that are longer than their extent (columns of a matrix that is stored by
 * rows), that have gaps in which another array lies, and that begin before their address.  Staying
 * elements are moved by the datatype, as messages are: nothing but data is written, also where
 * others' data have arrived already.  SPEC-epop D2, V1.
 */

#include "elastic_test.h"
#include <adapt_data.h>

enum { COLUMNS = 22, ROWS = 5, PAIRS = 101 };

struct pair {
    double first, second;
};

static double *matrix;          /* this process' columns; a row has space for all */
static struct pair *pairs;      /* of two arrays that share memory */
static double *first, *second;  /* where the parts of the two arrays begin */
static double *trailing;          /* its elements lie before their address */
static MPIX_Adapt_data data;

/* The library's: what comes is there before the library copies what stays, if its sender has sent
 * it. */
int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request * request)
{
    const double begin = et_seconds();
    int code = PMPI_Irecv(buffer, count, type, source, tag, comm, request), is_there = 0;

    while (!code && !is_there && et_seconds() - begin < 0.1)
        code = PMPI_Request_get_status(*request, &is_there, MPI_STATUS_IGNORE);
    return code;
}

static int64_t begin_of(int n, int rank, int size)
{
    return (int64_t) n *rank / size;
}

/* ---- two arrays in one ----------------------------------------------------------------------- */

static struct pair *fresh;      /* for the second array, what the first one has got */

static void *grow_first(int64_t count, void *state)
{
    (void) state;
    fresh = malloc((size_t) count * sizeof(*fresh));
    return &fresh->first;
}

static void *grow_second(int64_t count, void *state)
{
    (void) count;
    (void) state;
    return &fresh->second;
}

static void release_first(void *part, void *state)
{
    (void) state;
    free(part);
}

static void release_second(void *part, void *state)
{
    (void) part;
    (void) state;
}

/* ---- before their address -------------------------------------------------------------------- */

static void *grow_trailing(int64_t count, void *state)
{
    (void) state;
    return (double *) malloc((size_t) count * sizeof(double)) + 1;
}

static void release_trailing(void *part, void *state)
{
    (void) state;
    free((double *) part - 1);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void add_arrays(void)
{
    void *heap = NULL;
    const MPIX_Adapt_layout columns = MPIX_Layout_block(COLUMNS), in_pairs =
        MPIX_Layout_block(PAIRS);
    const MPIX_Adapt_memory of_first = { grow_first, release_first, NULL };
    const MPIX_Adapt_memory of_second = { grow_second, release_second, NULL };
    const MPIX_Adapt_memory of_trailing = { grow_trailing, release_trailing, NULL };
    MPI_Datatype vector, column, member, before;

    ET_MPI(MPI_Type_vector(ROWS, 1, COLUMNS, MPI_DOUBLE, &vector));
    ET_MPI(MPI_Type_create_resized(vector, 0, sizeof(double), &column));
    ET_MPI(MPI_Type_create_resized(MPI_DOUBLE, 0, sizeof(struct pair), &member));
    ET_MPI(MPI_Type_create_hindexed_block(1, 1, (MPI_Aint[]) {
                                          -(MPI_Aint) sizeof(double)}, MPI_DOUBLE, &before));
    ET_MPI(MPIX_Adapt_data_create(&data));
    ET_MPI(MPIX_Adapt_data_add(data, "columns", (void **) &matrix, column, &columns, NULL, NULL));
    ET_MPI(MPIX_Adapt_data_add(data, "first", (void **) &first, member, &in_pairs, &of_first,
                               NULL));
    ET_MPI(MPIX_Adapt_data_add(data, "second", (void **) &second, member, &in_pairs, &of_second,
                               NULL));
    ET_MPI(MPIX_Adapt_data_add(data, "after", (void **) &trailing, before, &in_pairs, &of_trailing,
                               NULL));
    ET_CHECK(MPIX_Adapt_data_add(data, "heap", &heap, before, &in_pairs, NULL, NULL) ==
             MPI_ERR_ARG && strstr(MPIX_Adapt_data_message(),
                                   "'heap': an element has data before its"
                                   " address"), "%s", MPIX_Adapt_data_message());
    MPI_Type_free(&vector);
    MPI_Type_free(&column);
    MPI_Type_free(&member);
    MPI_Type_free(&before);
}

static void fill(void)
{
    const int64_t column = begin_of(COLUMNS, et.rank, et.size), pair =
        begin_of(PAIRS, et.rank, et.size);
    const int64_t columns = begin_of(COLUMNS, et.rank + 1, et.size) - column;
    const int64_t count = begin_of(PAIRS, et.rank + 1, et.size) - pair;

    matrix = calloc(ROWS * COLUMNS, sizeof(double));
    for (int64_t k = 0; k < ROWS * columns; k++)
        matrix[k / columns * COLUMNS + k % columns] =
            (double) (1000 * (k / columns) + column + k % columns);
    first = grow_first(count, NULL);
    second = grow_second(count, NULL);
    trailing = grow_trailing(count, NULL);
    pairs = (struct pair *) first;
    for (int64_t k = 0; k < count; k++) {
        pairs[k] = (struct pair) {(double) (pair + k), -(double) (pair + k)};
        trailing[k - 1] = 0.5 + (double) (pair + k);
    }
}

static void check(void)
{
    const int64_t column = begin_of(COLUMNS, et.rank, et.size), pair =
        begin_of(PAIRS, et.rank, et.size);
    const int64_t columns = begin_of(COLUMNS, et.rank + 1, et.size) - column;

    for (int64_t k = 0; k < ROWS * columns; k++) {
        const double value = matrix[k / columns * COLUMNS + k % columns];
        ET_CHECK(value == (double) (1000 * (k / columns) + column + k % columns),
                 "row %lld of column %lld is %g", (long long) (k / columns),
                 (long long) (column + k % columns), value);
    }
    pairs = (struct pair *) first;
    for (int64_t k = 0; k < begin_of(PAIRS, et.rank + 1, et.size) - pair; k++) {
        ET_CHECK(pairs[k].first == (double) (pair + k), "first %lld is %g", (long long) (pair + k),
                 pairs[k].first);
        ET_CHECK(pairs[k].second == -(double) (pair + k), "second %lld is %g",
                 (long long) (pair + k), pairs[k].second);
        ET_CHECK(trailing[k - 1] == 0.5 + (double) (pair + k), "after %lld is %g",
                 (long long) (pair + k), trailing[k - 1]);
    }
}

static void window(void)
{
    epop_window_t window;

    ET_MPI(MPIX_Adapt_window_fill(MPI_COMM_WORLD, et.inter, et.next, et.status, &window));
    ET_MPI(MPIX_Adapt_data_move(data, &window));
    MPIX_Adapt_window_clear(&window);
    if (et.status == MPI_ADAPT_STATUS_LEAVING)
        ET_MPI(MPIX_Adapt_data_free(&data));
}

int main(int argc, char **argv)
{
    et_options(&argc, &argv);
    et_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    add_arrays();
    if (et.status == MPI_ADAPT_STATUS_NEW)
        fill();
    et.window = window;
    et.after = check;
    et_loop();
    free(matrix);
    free(first);
    release_trailing(trailing, NULL);
    ET_MPI(MPIX_Adapt_data_free(&data));
    return et_finish();
}
