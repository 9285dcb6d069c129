/*
 * Rows, ghosts and items in cells for the module adapt_data (adapt_mesh.h, adapt_items.h).  The
 * arrays belong to Fortran: the module moves rows array by array, with the agreement on the call
 * and the order of rows from this file.  Local numbers begin with 1 in Fortran, with 0 here.
 */

#include "adapt_mesh.h"

#include <inttypes.h>
#include <ISO_Fortran_binding.h>
#include <stdlib.h>
#include <string.h>
#include "agreement.h"
#include "distribution.h"
#include "exchange.h"
#include "failure.h"
#include "items.h"
#include "mesh.h"

/* ---- rows ------------------------------------------------------------------------------------ */

/* The first step of adapt_move_rows.  error: the error of this process; "": none. */
int adapt_fortran_rows_agree(const epop_window_t *window, int bytes, int has_lists,
                             const char *error)
{
    static const char function[] = "adapt_move_rows";
    const struct adapt_proposal mine = {.kind = ADAPT_CALL_ROWS,.function = function,
                                        .error = *error ? error : NULL,
        .error_class = MPI_ERR_ARG,.terms = adapt_mix(bytes, has_lists),
            .chunk = adapt_exchange_chunk()
    };
    struct adapt_channel *channel;
    struct adapt_agreed agreed;
    char text[AGREEMENT_TEXT];

    int code = adapt_channel_open(window, &channel);
    if (code)
        return adapt_channel_failed(code, function, mine.error);
    code = adapt_agree_on_call(channel, &mine, &agreed);
    if (code || !agreed.terms_differ)
        return code;
    snprintf(text, sizeof(text), "integers of %d bytes, first is %s", bytes,
             has_lists ? "present" : "absent");
    return adapt_refuse_difference(channel, function, "their rows", text);
}

struct numbered {
    int64_t number, index;
};

static int compare(const void *a, const void *b)
{
    const struct numbered *one = a, *other = b;

    return one->number < other->number ? -1 : one->number > other->number;
}

/* order[k]: the index, from 1, of the k-th smallest number.  MPI_ERR_NO_MEM. */
int adapt_fortran_order(int64_t count, const int64_t numbers[], int64_t order[])
{
    struct numbered *list = adapt_reserve(count, sizeof(*list));

    if (!list)
        return adapt_fail(MPI_ERR_NO_MEM,
                          "adapt_move_rows: there is no memory; rows are not in order");
    for (int64_t k = 0; k < count; k++)
        list[k] = (struct numbered) {numbers[k], k + 1};
    qsort(list, (size_t) count, sizeof(*list), compare);
    for (int64_t k = 0; k < count; k++)
        order[k] = list[k].index;
    free(list);
    return MPI_SUCCESS;
}

/* ---- ghosts ---------------------------------------------------------------------------------- */

static MPI_Datatype index_of(int bytes)
{
    return bytes == 4 ? MPI_INT : MPI_INT64_T;
}

static void shift(void *entry, int bytes, int64_t entries, int by)
{
    for (int64_t k = 0; k < entries; k++)
        adapt_set_index(entry, bytes, k, adapt_get_index(entry, bytes, k) + by);
}

/* comm NULL: the world. */
int adapt_fortran_ghosts_create(const MPI_Fint *comm, int bytes, int64_t rows, const void *global,
                                int64_t entries, void *entry, MPIX_Ghosts *ghosts)
{
    const char *former = adapt_call_as("adapt_ghosts_create");
    int code =
        MPIX_Ghosts_create(comm ? MPI_Comm_f2c(*comm) : MPI_COMM_WORLD, index_of(bytes), rows,
                           global, entries, entry, ghosts);

    (void) adapt_call_as(former);
    if (!code)
        shift(entry, bytes, entries, 1);
    return code;
}

void adapt_fortran_ghosts_sizes(const MPIX_Ghosts ghosts, int64_t *rows, int64_t *count)
{
    *rows = ghosts->rows;
    *count = ghosts->count;
}

void adapt_fortran_ghosts_get(const MPIX_Ghosts ghosts, int64_t global[], int owner[])
{
    for (int64_t k = 0; k < ghosts->count; k++) {
        global[k] = ghosts->global[k];
        owner[k] = ghosts->owner[k];
    }
}

int adapt_fortran_ghosts_restore(MPIX_Ghosts ghosts, int bytes, int64_t entries, void *entry)
{
    const char *former = adapt_call_as("adapt_ghosts_restore");

    shift(entry, bytes, entries, -1);
    int code = MPIX_Ghosts_restore(ghosts, index_of(bytes), entries, entry);
    (void) adapt_call_as(former);
    if (code)
        shift(entry, bytes, entries, 1);
    return code;
}

int adapt_fortran_ghosts_free(MPIX_Ghosts *ghosts)
{
    return MPIX_Ghosts_free(ghosts);
}

/* The bytes of a slice along the last dimension; 0: the array cannot be used. */
static int64_t slice_bytes(const CFI_cdesc_t *array)
{
    int64_t bytes = (int64_t) array->elem_len;

    if (array->rank < 1 || !array->base_addr || !CFI_is_contiguous(array))
        return 0;
    for (int k = 0; k < array->rank - 1; k++)
        bytes *= array->dim[k].extent;
    return bytes;
}

/* A process without rows and ghosts sends nothing, and may have no array. */
int adapt_fortran_ghosts_update(MPIX_Ghosts ghosts, CFI_cdesc_t *values)
{
    static const char function[] = "adapt_ghosts_update";
    const int64_t needed = ghosts ? ghosts->rows + ghosts->count : 0, bytes =
        needed > 0 ? slice_bytes(values) : 1;

    if (!ghosts || bytes < 1 || (needed > 0 && values->dim[values->rank - 1].extent < needed))
        return adapt_fail(MPI_ERR_ARG,
                          "%s: ghosts are not created, or the array is not allocated, not in one "
                          "piece, or"
                          " has fewer slices than the %" PRId64 " rows and ghosts", function,
                          needed);
    const char *former = adapt_call_as(function);
    MPI_Datatype type = MPIX_Adapt_bytes(bytes);
    int code =
        type == MPI_DATATYPE_NULL ? MPI_ERR_NO_MEM : MPIX_Ghosts_update(ghosts, values->base_addr,
                                                                        type);
    (void) adapt_call_as(former);
    return code;
}

/* ---- items in cells -------------------------------------------------------------------------- */

#define COLUMNS_MAX 8

/* An array of cells: its descriptor does not outlive the call that lists it. */
struct in_cells {
    const char *address;        /* NULL: the array cannot be used */
    int64_t slots, cells;       /* its last two extents */
    int64_t bytes;              /* of an item */
};

/* The arrays of a call; afterwards the items of this process. */
struct cells {
    int columns;
    struct in_cells array[COLUMNS_MAX];
    int64_t count;
    int64_t bytes[COLUMNS_MAX]; /* of an item */
    char *items[COLUMNS_MAX];
};

static void clear_items(struct cells *cells)
{
    for (int c = 0; c < COLUMNS_MAX; c++) {
        free(cells->items[c]);
        cells->items[c] = NULL;
    }
    cells->count = 0;
}

/* Begins a call; makes *cells if it is NULL.  NULL on return: out of memory. */
void adapt_fortran_cells_begin(struct cells **cells)
{
    if (!*cells)
        *cells = calloc(1, sizeof(**cells));
    if (!*cells)
        return;
    clear_items(*cells);
    (*cells)->columns = 0;
}

/* Adds the next array. */
void adapt_fortran_cells_column(struct cells **cells, const CFI_cdesc_t *array)
{
    const int others = array->rank - 2;

    if (!*cells || (*cells)->columns == COLUMNS_MAX)
        return;
    struct in_cells *added = &(*cells)->array[(*cells)->columns++];
    *added = (struct in_cells) { 0 };
    if (others < 0 || !array->base_addr || !CFI_is_contiguous(array))
        return;
    added->address = array->base_addr;
    added->slots = array->dim[others].extent;
    added->cells = array->dim[others + 1].extent;
    added->bytes = (int64_t) array->elem_len;
    for (int k = 0; k < others; k++)
        added->bytes *= array->dim[k].extent;
}

void adapt_fortran_cells_free(struct cells **cells)
{
    if (*cells)
        clear_items(*cells);
    free(*cells);
    *cells = NULL;
}

int64_t adapt_fortran_cells_count(struct cells **cells)
{
    return *cells ? (*cells)->count : 0;
}

static const char *check_column(struct cells *it, int c, int64_t slots, int64_t cells)
{
    const struct in_cells *array = &it->array[c];

    if (!array->address)
        return "an array is not allocated, not in one piece, or has less than two dimensions";
    if (array->slots != slots || array->cells != cells)
        return "the last two extents of an array are not those of destination: slots and cells, "
               "with a count for each"
            " cell";
    it->bytes[c] = array->bytes;
    return array->bytes > 0 ? NULL : "an item has no bytes";
}

/* Packs items without gaps, and their destinations; the caller frees *to. */
static const char *pack(struct cells *it, int64_t cells, const int count[], int64_t slots,
                        const int destination[], int **to)
{
    int64_t all = 0;

    for (int c = 0; c < it->columns; c++) {
        const char *error = check_column(it, c, slots, cells);
        if (error)
            return error;
    }
    for (int64_t cell = 0; cell < cells; cell++) {
        if (count[cell] < 0 || count[cell] > slots)
            return "a cell has a negative number of items, or more than slots";
        all += count[cell];
    }
    *to = adapt_reserve(all, sizeof(int));
    for (int c = 0; c < it->columns; c++) {
        it->items[c] = *to ? malloc((size_t) (all * it->bytes[c]) + 1) : NULL;
        if (!it->items[c])
            return ADAPT_NO_MEMORY;
    }
    for (int64_t cell = 0; cell < cells; cell++)
        for (int64_t i = cell * slots; i < cell * slots + count[cell]; i++) {
            if (destination[i] < 0)     /* a copy of another process' item */
                continue;
            for (int c = 0; c < it->columns; c++)
                memcpy(it->items[c] + it->count * it->bytes[c],
                       it->array[c].address + i * it->bytes[c], (size_t) it->bytes[c]);
            (*to)[it->count++] = destination[i];
        }
    return NULL;
}

/* Joining processes receive the number of arrays and the bytes of their items, because they may
 * have no array allocated. */
static int agree_on_columns(struct cells *it, const epop_window_t *window, const char *error)
{
    /* the bytes of each column, and the number of columns */
    enum { COLUMNS = COLUMNS_MAX, NUMBERS };
    static const char function[] = "adapt_move_cells";
    const struct adapt_proposal mine = {.kind = ADAPT_CALL_FORTRAN_CELLS,.function = function,
                                        .error = error,
        .error_class = error == ADAPT_NO_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_ARG,
            .chunk = adapt_exchange_chunk()
    };
    int64_t both[2 * NUMBERS];  /* the max, and the negated min */
    struct adapt_channel *channel;
    struct adapt_agreed agreed;
    char text[AGREEMENT_TEXT] = "";
    bool is_equal = true;

    int code = adapt_channel_open(window, &channel);
    if (code)
        return adapt_channel_failed(code, function, error);
    code = adapt_agree_on_call(channel, &mine, &agreed);
    for (int k = 0; !code && k < NUMBERS; k++) {
        both[k] =
            window->old_rank < 0 ? INT64_MIN : k == COLUMNS ? it->columns : k <
            it->columns ? it->bytes[k] : 0;
        both[NUMBERS + k] = window->old_rank < 0 ? INT64_MIN : -both[k];
    }
    if (!code)
        code = MPI_Allreduce(MPI_IN_PLACE, both, 2 * NUMBERS, MPI_INT64_T, MPI_MAX, channel->all);
    if (code)
        return code;
    for (int k = 0; k < NUMBERS; k++)
        is_equal = is_equal && both[k] == -both[NUMBERS + k];
    if (window->old_rank < 0) {
        it->columns = (int) both[COLUMNS];
        memcpy(it->bytes, both, sizeof(it->bytes));
    }
    for (int c = 0; !is_equal && c < it->columns; c++) {
        const size_t length = strlen(text);
        snprintf(text + length, sizeof(text) - length, "%s%" PRId64 " bytes", c > 0 ? ", " : "",
                 it->bytes[c]);
    }
    return is_equal ? code : adapt_refuse_difference(channel, function, "the arrays of an item",
                                                     text);
}

/* cells: their number; count[cells], destination[cells * slots]. */
int adapt_fortran_cells_move(struct cells **handle, const epop_window_t *window, int64_t cells,
                             const int count[], int64_t slots, const int destination[])
{
    struct cells *it = *handle;
    MPIX_Column columns[COLUMNS_MAX];
    int *to = NULL;
    const char *error = !it ? ADAPT_NO_MEMORY : NULL;

    if (!error && (!window || !window->new_rank_of))
        error = "the window is not open (adapt_window_open)";
    else if (!error && window->old_rank >= 0)
        error = it->columns < 1 ? "there is no array, or none is allocated" :
            pack(it, cells, count, slots, destination, &to);
    int code = agree_on_columns(it, window, error);
    for (int c = 0; !code && c < it->columns; c++) {
        columns[c] = (MPIX_Column) {&it->items[c], MPIX_Adapt_bytes(it->bytes[c])};
        error = columns[c].element == MPI_DATATYPE_NULL ? ADAPT_NO_MEMORY : error;
    }
    if (!code)
        code =
            adapt_items_move(window, "adapt_move_cells", error, &it->count, to, it->columns,
                             columns);
    if (it && (code || window->new_rank < 0))
        clear_items(it);
    free(to);
    return code;
}

/* Column c, from 0, of item i, from 1. */
int adapt_fortran_cells_get(struct cells **cells, int64_t i, int c, CFI_cdesc_t *variable)
{
    int64_t bytes = (int64_t) variable->elem_len;

    for (int k = 0; k < variable->rank; k++)
        bytes *= variable->dim[k].extent;
    if (!*cells || i < 1 || i > (*cells)->count || c >= (*cells)->columns ||
        bytes != (*cells)->bytes[c] || !variable->base_addr || (variable->rank > 0 &&
                                                                !CFI_is_contiguous(variable)))
        return adapt_fail(MPI_ERR_ARG,
                          "adapt_cells_get: there is no item %" PRId64 ", or its array %d has other"
                          " bytes than the variable, which has %" PRId64, i, c + 1, bytes);
    memcpy(variable->base_addr, (*cells)->items[c] + (i - 1) * bytes, (size_t) bytes);
    return MPI_SUCCESS;
}
