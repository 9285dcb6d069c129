/*
 * Rows with lists (adapt_mesh.h).  They are items of two kinds: rows, each with the length of its
 * lists, and entries, which follow their rows.  Items from one process keep their order, and both
 * kinds have the same order of processes, so entries are in the order of the rows.  In the end both
 * are sorted by global numbers.
 */

#include "adapt_mesh.h"

#include <stdlib.h>
#include <string.h>
#include "agreement.h"
#include "allocated.h"
#include "data.h"
#include "failure.h"
#include "mesh.h"

/* ---- indices of 4 or 8 bytes ----------------------------------------------------------------- */

bool adapt_index_bytes(MPI_Datatype index, int *bytes)
{
    return index != MPI_DATATYPE_NULL && MPI_Type_size(index, bytes) == MPI_SUCCESS &&
        (*bytes == 4 || *bytes == 8);
}

int64_t adapt_get_index(const void *array, int bytes, int64_t k)
{
    return bytes == 4 ? ((const int32_t *) array)[k] : ((const int64_t *) array)[k];
}

void adapt_set_index(void *array, int bytes, int64_t k, int64_t value)
{
    if (bytes == 4)
        ((int32_t *) array)[k] = (int32_t) value;
    else
        ((int64_t *) array)[k] = value;
}

/* ---- one move -------------------------------------------------------------------------------- */

struct call {
    const MPIX_Rows *rows;
    int bytes;                  /* of an index */
    int64_t count, entries;
    int64_t *length;            /* [count] entries of each row */
    int *to;                    /* [entries] destinations */
    char error[340];            /* for a formatted text */
};

static const char *check_lists(struct call *call, const void *first, const int destination[])
{
    if (!first || adapt_get_index(first, call->bytes, 0) != 0)
        return "first of the rows is NULL, or does not begin with 0";
    for (int64_t i = 0; i < call->count; i++)
        if (adapt_get_index(first, call->bytes, i + 1) < adapt_get_index(first, call->bytes, i))
            return "first of the rows decreases";
    call->entries = adapt_get_index(first, call->bytes, call->count);
    call->to = adapt_reserve(call->entries, sizeof(int));
    if (!call->to)
        return ADAPT_NO_MEMORY;
    for (int64_t i = 0; i < call->count; i++) {
        const int64_t begin = adapt_get_index(first, call->bytes, i);
        call->length[i] = adapt_get_index(first, call->bytes, i + 1) - begin;
        for (int64_t k = 0; k < call->length[i]; k++)
            call->to[begin + k] = destination[i];
    }
    return NULL;
}

/* Checks local numbers in list 0 if the program numbers ghosts itself: each must be that of a row
 * or a ghost. */
static const char *check_local(const struct call *call)
{
    const void *entry = call->rows->lists > 0 ? *(void **) call->rows->list[0].base : NULL;
    const int64_t ghosts = adapt_get_index(call->rows->ghost_count, call->bytes, 0);

    if (call->entries > 0 && !entry)
        return "there are entries, but list 0 of the rows is NULL";
    if (ghosts < 0 || (ghosts > 0 && !*(void **) call->rows->ghost_global))
        return "the number of ghosts is negative, or the array of ghost_global is NULL";
    for (int64_t k = 0; k < call->entries; k++) {
        const int64_t local = adapt_get_index(entry, call->bytes, k);
        if (local < 0 || local >= call->count + ghosts)
            return "an entry of list 0 is no local number: it is negative, or not less than the "
                   "number of rows and"
                " ghosts (ghost_count)";
    }
    return NULL;
}

static void make_global(const struct call *call)
{
    const void *own = *(void **) call->rows->global, *ghosts = *(void **) call->rows->ghost_global;
    void *entry = *(void **) call->rows->list[0].base;

    for (int64_t k = 0; k < call->entries; k++) {
        const int64_t local = adapt_get_index(entry, call->bytes, k);
        adapt_set_index(entry, call->bytes, k,
                        local < call->count ? adapt_get_index(own, call->bytes, local) :
                        adapt_get_index(ghosts, call->bytes, local - call->count));
    }
}

/* Checks that columns have an element for each row, lists one for each entry. */
static const char *check_memory(struct call *call)
{
    const MPIX_Rows *rows = call->rows;

    for (int c = 0; c < rows->columns + rows->lists; c++) {
        const bool is_list = c >= rows->columns;
        const MPIX_Column *column = is_list ? &rows->list[c - rows->columns] : &rows->column[c];
        const char *error =
            column->base ? adapt_allocated(*(void **) column->base,
                                           is_list ? call->entries : call->count,
                                           column->element) : NULL;
        if (!error)
            continue;
        snprintf(call->error, sizeof(call->error), "%s %d of the rows: %s",
                 is_list ? "list" : "column", is_list ? c - rows->columns : c, error);
        return call->error;
    }
    return NULL;
}

static const char *check_call(struct call *call, const epop_window_t *window,
                              const int destination[])
{
    const MPIX_Rows *rows = call->rows;

    if (!window || !window->new_rank_of)
        return "the window is NULL or not open (MPIX_Adapt_window_open)";
    if (!rows || !rows->count || !rows->global || rows->columns < 0 || rows->lists < 0)
        return "rows, its count or its global is NULL, or a number of columns is negative";
    if ((rows->columns > 0 && !rows->column) || (rows->lists > 0 && (!rows->list || !rows->first)))
        return "columns of the rows, or their lists or first, are NULL";
    if (!adapt_index_bytes(rows->index, &call->bytes))
        return "index of the rows is not MPI_INT or MPI_INT64_T";
    if ((rows->ghosts || rows->ghost_global) && rows->lists < 1)
        return "rows with ghosts need a list of the rows that they refer to";
    if (rows->ghosts && rows->ghost_global)
        return "ghosts and ghost_global exclude each other: one of them must be NULL";
    if (rows->ghost_global && !rows->ghost_count)
        return "ghost_global needs the number of ghosts, ghost_count";
    call->count = window->old_rank < 0 ? 0 : *rows->count;
    if (call->count < 0 || (call->count > 0 && (!*(void **) rows->global || !destination)))
        return "the number of rows is negative, or their global numbers or destinations are NULL";
    for (int64_t i = 0; i < call->count; i++)
        if (destination[i] < 0 || destination[i] >= window->new_size)
            return "the destination of a row is no rank of the new world";
    call->length = adapt_reserve(call->count, sizeof(int64_t));
    if (!call->length)
        return ADAPT_NO_MEMORY;
    const char *error = rows->lists > 0 && call->count > 0 ?
        check_lists(call, *(void **) rows->first, destination) : NULL;
    if (!error && rows->ghost_global && window->old_rank >= 0)
        error = check_local(call);
    return error ? error : check_memory(call);
}

static int agree(const struct call *call, const epop_window_t *window, const char *error)
{
    static const char function[] = "MPIX_Adapt_rows_move";
    const MPIX_Rows *rows = call->rows;
    struct adapt_proposal mine = {.kind = ADAPT_CALL_ROWS,.function = function,.error = error,
        .error_class = error == ADAPT_NO_MEMORY ? MPI_ERR_NO_MEM : MPI_ERR_ARG,
            .chunk = adapt_exchange_chunk()
    };
    struct adapt_channel *channel;
    struct adapt_agreed agreed;
    char text[AGREEMENT_TEXT];

    if (!error)
        mine.terms = adapt_mix(adapt_mix(adapt_mix(call->bytes, rows->columns), rows->lists),
                               rows->ghosts ? 1 : rows->ghost_global ? 2 : 0);
    int code = adapt_channel_open(window, &channel);
    if (code)
        return adapt_channel_failed(code, function, error);
    code = adapt_agree_on_call(channel, &mine, &agreed);
    if (code || !agreed.terms_differ)
        return code;
    snprintf(text, sizeof(text), "%d columns and %d lists, indices of %d bytes, %s,", rows->columns,
             rows->lists, call->bytes,
             rows->ghosts ? "ghosts" : rows->ghost_global ? "ghost_global" : "no ghosts");
    return adapt_refuse_difference(channel, function, "their rows", text);
}

/* Joins columns of the library and of the program, in this order. */
static MPIX_Column *join_columns(int own, const MPIX_Column mine[], int count,
                                 const MPIX_Column theirs[])
{
    MPIX_Column *all = malloc((size_t) (own + count) * sizeof(*all));

    if (all) {
        memcpy(all, mine, (size_t) own * sizeof(*all));
        if (count > 0)
            memcpy(all + own, theirs, (size_t) count * sizeof(*all));
    }
    return all;
}

/* ---- order ----------------------------------------------------------------------------------- */

struct numbered_row {
    int64_t global, row;
};

static int compare(const void *a, const void *b)
{
    const struct numbered_row *one = a, *other = b;

    return one->global < other->global ? -1 : one->global > other->global;
}

/* Reorders the element lists of an array: for each row length[row] elements from begin[row]. */
static int permute(const MPIX_Column *column, const struct call *call,
                   const struct numbered_row order[], const int64_t begin[], const int64_t length[])
{
    char *old = *(char **) column->base, *fresh, *to;
    MPI_Aint lb, extent;
    int64_t elements = call->count;

    MPI_Type_get_extent(column->element, &lb, &extent);
    for (int64_t i = 0; length && i < call->count; i++)
        elements += length[i] - 1;
    fresh = to = malloc((size_t) (elements * extent) + 1);
    if (!fresh)
        return MPI_ERR_NO_MEM;
    for (int64_t i = 0; i < call->count; i++) {
        const int64_t row = order[i].row, many = length ? length[row] : 1;
        if (many > 0)
            memcpy(to, old + (begin ? begin[row] : row) * extent, (size_t) (many * extent));
        to += many * extent;
    }
    free(old);
    *(char **) column->base = fresh;
    return MPI_SUCCESS;
}

/* Sorts all arrays by global numbers; sets `first`. */
static int put_in_order(struct call *call, int columns, const MPIX_Column column[])
{
    const MPIX_Rows *rows = call->rows;
    struct numbered_row *order = adapt_reserve(call->count, sizeof(*order));
    int64_t *begin = adapt_reserve(call->count + 1, sizeof(int64_t));
    int code = order && begin ? MPI_SUCCESS : MPI_ERR_NO_MEM;

    for (int64_t i = 0; !code && i < call->count; i++) {
        order[i] =
            (struct numbered_row) { adapt_get_index(*(void **) rows->global, call->bytes, i), i };
        begin[i + 1] = begin[i] + call->length[i];
    }
    if (!code)
        qsort(order, (size_t) call->count, sizeof(*order), compare);
    for (int64_t i = 1; !code && i < call->count; i++)
        if (order[i].global == order[i - 1].global)
            code =
                adapt_fail(MPI_ERR_ARG,
                           "MPIX_Adapt_rows_move: row %lld was received twice: each row must be "
                           "listed by one process; the rows have moved",
                           (long long) order[i].global);
    for (int l = 0; !code && l < rows->lists; l++)
        code = permute(&rows->list[l], call, order, begin, call->length);
    for (int c = 0; !code && c < columns; c++)
        code = permute(&column[c], call, order, NULL, NULL);
    free(order);
    free(begin);
    return code;
}

static int set_first(struct call *call)
{
    void *first =
        realloc(*(void **) call->rows->first, (size_t) (call->count + 1) * (size_t) call->bytes);
    int64_t sum = 0;

    if (!first)
        return MPI_ERR_NO_MEM;
    *(void **) call->rows->first = first;
    adapt_set_index(first, call->bytes, 0, 0);
    for (int64_t i = 0; i < call->count; i++) {
        sum += call->length[i];
        adapt_set_index(first, call->bytes, i + 1, sum);
    }
    return call->bytes == 4 && sum > INT32_MAX ? MPI_ERR_COUNT : MPI_SUCCESS;
}

static int move(struct call *call, const epop_window_t *window, const int destination[])
{
    const MPIX_Rows *rows = call->rows;
    const MPIX_Column own[] = { {rows->global, rows->index}, {&call->length, MPI_INT64_T} };
    MPIX_Column *columns = join_columns(2, own, rows->columns, rows->column);
    int code =
        columns ? MPI_SUCCESS : adapt_fail(MPI_ERR_NO_MEM,
                                           "MPIX_Adapt_rows_move: there is no memory");

    if (!code)
        code =
            MPIX_Adapt_items_move(window, &call->count, destination, 2 + rows->columns, columns,
                                  NULL, NULL);
    if (!code && rows->lists > 0)
        code =
            MPIX_Adapt_items_move(window, &call->entries, call->to, rows->lists, rows->list, NULL,
                                  NULL);
    if (!code) {
        *rows->count = call->count;
        code = put_in_order(call, 2 + rows->columns, columns);
        if (!code && rows->lists > 0)
            code = set_first(call);
        if (code && code != MPI_ERR_ARG)
            code =
                adapt_fail(code,
                           "MPIX_Adapt_rows_move: there is no memory to put rows in order, or "
                           "first, of"
                           " 4 bytes, is too short for their entries; rows are missing now");
    }
    free(columns);
    return code;
}

int MPIX_Adapt_rows_move(const epop_window_t *window, const MPIX_Rows *rows,
                         const int destination[])
{
    struct call call = {.rows = rows };

    int code = agree(&call, window, check_call(&call, window, destination));
    const char *former = adapt_call_as(adapt_called("MPIX_Adapt_rows_move"));
    if (!code && rows->ghosts && *rows->ghosts) {
        code =
            MPIX_Ghosts_restore(*rows->ghosts, rows->index, call.entries,
                                *(void **) rows->list[0].base);
        if (!code)
            code = MPIX_Ghosts_free(rows->ghosts);
    }
    if (!code && rows->ghost_global && call.entries > 0)
        make_global(&call);
    if (!code)
        code = move(&call, window, destination);
    (void) adapt_call_as(former);
    free(call.length);
    free(call.to);
    return code;
}

/* ---- registered rows ------------------------------------------------------------------------- */

struct registered {
    struct adapt_part part;
    MPIX_Rows rows;
    MPIX_Row_owner *owner;
    void *state;
    MPIX_Column columns[];      /* those of rows, then the lists */
};

static int owner_of(const struct registered *it, int64_t global, int new_size)
{
    return it->owner ? it->owner(global, new_size, it->state)
        : it->rows.partition((int) global, new_size);
}

static int move_registered(struct adapt_part *part, const epop_window_t *window)
{
    const struct registered *it = (struct registered *) part;
    const int64_t count = window->old_rank < 0 ? 0 : *it->rows.count;
    int bytes = 8;

    (void) adapt_index_bytes(it->rows.index, &bytes);
    int *destination = adapt_reserve(count, sizeof(int));
    for (int64_t i = 0; destination && i < count && *(void **) it->rows.global; i++)
        destination[i] =
            owner_of(it, adapt_get_index(*(void **) it->rows.global, bytes, i), window->new_size);
    int code = MPIX_Adapt_rows_move(window, &it->rows, destination);
    free(destination);
    return code;
}

/* Called in the new world. */
static int number_ghosts(struct adapt_part *part)
{
    const struct registered *it = (struct registered *) part;
    const int64_t count = *it->rows.count;
    int bytes = 8;

    if (!it->rows.ghosts)
        return MPI_SUCCESS;
    (void) adapt_index_bytes(it->rows.index, &bytes);
    return MPIX_Ghosts_create(MPI_COMM_WORLD, it->rows.index, count, *(void **) it->rows.global,
                              adapt_get_index(*(void **) it->rows.first, bytes, count),
                              *(void **) it->rows.list[0].base, it->rows.ghosts);
}

static bool has_address(const struct adapt_part *part, const void *address)
{
    const struct registered *it = (const struct registered *) part;

    for (int c = 0; c < it->rows.columns + it->rows.lists; c++)
        if (it->columns[c].base == address)
            return true;
    return it->rows.global == address || it->rows.first == address;
}

static void release_registered(struct adapt_part *part)
{
    free(part);
}

static const char *already_registered(MPIX_Adapt_data data, const MPIX_Rows *rows)
{
    const char *other = adapt_data_registered(data, rows->global);

    for (int c = 0; !other && c < rows->columns; c++)
        other = adapt_data_registered(data, rows->column[c].base);
    for (int l = 0; !other && l < rows->lists; l++)
        other = adapt_data_registered(data, rows->list[l].base);
    return other;
}

int MPIX_Adapt_data_rows(MPIX_Adapt_data data, const char *name, const MPIX_Rows *rows,
                         MPIX_Row_owner *owner, void *state)
{
    static const char function[] = "MPIX_Adapt_data_rows";
    int bytes;

    if (!rows || !rows->count || !rows->global || rows->columns < 0 || rows->lists < 0 ||
        (rows->columns > 0 && !rows->column) || (rows->lists > 0 && (!rows->list || !rows->first)))
        return adapt_fail(MPI_ERR_ARG, "%s: rows, or what rows names is NULL", function);
    if (!adapt_index_bytes(rows->index, &bytes))
        return adapt_fail(MPI_ERR_ARG, "%s: index of the rows is not MPI_INT or MPI_INT64_T",
                          function);
    if (!owner == !rows->partition)
        return adapt_fail(MPI_ERR_ARG,
                          "%s: one of owner and partition of the rows is given, the other NULL",
                          function);
    if (rows->partition && bytes != (int) sizeof(int))
        return adapt_fail(MPI_ERR_ARG,
                          "%s: partition needs rows whose index is MPI_INT; give an owner",
                          function);
    if ((rows->ghosts || rows->ghost_global) && rows->lists < 1)
        return adapt_fail(MPI_ERR_ARG,
                          "%s: rows with ghosts need a list of the rows that they refer to",
                          function);
    const char *other = already_registered(data, rows);
    if (other)
        return adapt_fail(MPI_ERR_ARG,
                          "%s: rows '%s': an array of theirs is registered already, as '%s'",
                          function, name ? name : "NULL", other);
    const size_t columns = (size_t) rows->columns, lists = (size_t) rows->lists;
    struct registered *made = calloc(1, sizeof(*made) + (columns + lists) * sizeof(MPIX_Column));
    if (made) {
        made->part = (struct adapt_part) {.kind = ADAPT_PART_ITEMS,.move = move_registered,.renew =
                rows->ghosts ? number_ghosts : NULL,.has = has_address,.release = release_registered
        };
        made->owner = owner;
        made->state = state;
        if (columns)
            memcpy(made->columns, rows->column, columns * sizeof(MPIX_Column));
        if (lists)
            memcpy(made->columns + columns, rows->list, lists * sizeof(MPIX_Column));
        made->rows = *rows;
        made->rows.column = made->columns;
        made->rows.list = made->columns + columns;
    }
    return adapt_data_take(data, made ? &made->part : NULL, name, function);
}
