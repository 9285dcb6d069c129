/* Items in a container of the program, and items that are registered for MPIX_Adapt_window
 * (adapt_items.h). */

#include "adapt_items.h"

#include <stdlib.h>
#include "data.h"
#include "failure.h"
#include "items.h"

/* ---- items in a container -------------------------------------------------------------------- */

static const char FUNCTION[] = "MPIX_Adapt_items_exchange";

/* The items of an exchange while it moves. */
struct packed {
    int64_t count;
    char *items;                /* [count] of functions->bytes */
    int *destination;
};

static const char *pack_all(const MPIX_Item_functions *functions, int new_size,
                            struct packed *packed)
{
    packed->count = functions->count(functions->state);
    if (packed->count < 0) {
        packed->count = 0;
        return "count has failed";
    }
    if (functions->bytes < 1 || packed->count > INT64_MAX / functions->bytes - 1)
        return "an item has less than 1 byte, or there are too many";
    packed->items = adapt_reserve(packed->count, (size_t) functions->bytes);
    packed->destination = adapt_reserve(packed->count, sizeof(int));
    if (!packed->items || !packed->destination)
        return ADAPT_NO_MEMORY;
    for (int64_t i = 0; i < packed->count; i++) {
        char *item = packed->items + i * functions->bytes;
        if (functions->pack(i, item, functions->state))
            return "pack has failed";
        packed->destination[i] = functions->owner(item, new_size, functions->state);
    }
    return NULL;
}

static int put_all(const MPIX_Item_functions *functions, const struct packed *packed)
{
    int failed = functions->clear(functions->state);

    for (int64_t i = 0; !failed && i < packed->count; i++)
        failed = functions->put(packed->items + i * functions->bytes, functions->state);
    return failed ? adapt_fail(MPI_ERR_OTHER, "%s: clear or put has failed; items are missing now",
                               FUNCTION) : MPI_SUCCESS;
}

static void clear_packed(struct packed *packed)
{
    free(packed->items);
    free(packed->destination);
    *packed = (struct packed) { 0 };
}

/* packed: all items of the process afterwards; the container is unchanged. */
static int move_packed(const epop_window_t *window, const MPIX_Item_functions *functions,
                       struct packed *packed)
{
    MPIX_Column column = {.base = &packed->items,.element = MPI_BYTE };
    const char *error = NULL;

    if (!window || !window->new_rank_of)
        error = "the window is NULL or not open (MPIX_Adapt_window_open)";
    else if (!functions || !functions->count || !functions->pack || !functions->owner ||
             !functions->clear || !functions->put)
        error = "functions, or one of them, is NULL";
    else if (window->old_rank >= 0)
        error = pack_all(functions, window->new_size, packed);
    int code = functions && functions->bytes > 0 ?
        MPI_Type_contiguous_c(functions->bytes, MPI_BYTE, &column.element) : MPI_SUCCESS;
    if (!code)
        code =
            adapt_items_move(window, FUNCTION, error, &packed->count, packed->destination, 1,
                             &column);
    if (column.element != MPI_BYTE)
        MPI_Type_free(&column.element);
    return code;
}

int MPIX_Adapt_items_exchange(const epop_window_t *window, const MPIX_Item_functions *functions)
{
    struct packed packed = { 0 };

    int code = move_packed(window, functions, &packed);
    if (!code)
        code = put_all(functions, &packed);
    clear_packed(&packed);
    return code;
}

/* ---- registered items ------------------------------------------------------------------------ */

struct registered {
    struct adapt_part part;
    int64_t *count;
    int columns;
    MPIX_Column *column;        /* with datatypes of their own */
    MPIX_Item_owner *owner;
    void *state;
    MPIX_Item_functions functions;      /* of a container */
    struct packed packed;       /* until they are inserted into the container, in the new world */
};

static int move_registered(struct adapt_part *part, const epop_window_t *window)
{
    const struct registered *it = (struct registered *) part;
    const int64_t count = window->old_rank < 0 ? 0 : *it->count;

    int *destination = adapt_reserve(count, sizeof(int));
    for (int64_t i = 0; destination && i < count; i++)
        destination[i] = it->owner(i, window->new_size, it->state);
    int code =
        adapt_items_move(window, "MPIX_Adapt_window", destination ? NULL : ADAPT_NO_MEMORY,
                         it->count, destination, it->columns, it->column);
    free(destination);
    return code;
}

static int move_container(struct adapt_part *part, const epop_window_t *window)
{
    struct registered *it = (struct registered *) part;

    if (!it->functions.put_after)
        return MPIX_Adapt_items_exchange(window, &it->functions);
    int code = move_packed(window, &it->functions, &it->packed);
    if (code || window->new_rank < 0)
        clear_packed(&it->packed);
    return code;
}

static int put_packed(struct adapt_part *part)
{
    struct registered *it = (struct registered *) part;

    int code = put_all(&it->functions, &it->packed);
    clear_packed(&it->packed);
    return code;
}

static bool has_address(const struct adapt_part *part, const void *address)
{
    const struct registered *it = (const struct registered *) part;

    for (int c = 0; it->column && c < it->columns; c++)
        if (it->column[c].base == address)
            return true;
    return false;
}

static void release_registered(struct adapt_part *part)
{
    struct registered *it = (struct registered *) part;

    for (int c = 0; it->column && c < it->columns; c++)
        if (it->column[c].element != MPI_DATATYPE_NULL)
            MPI_Type_free(&it->column[c].element);
    free(it->column);
    clear_packed(&it->packed);
    free(it);
}

int MPIX_Adapt_data_items(MPIX_Adapt_data data, const char *name, int64_t *count, int columns,
                          const MPIX_Column column[], MPIX_Item_owner *owner, void *state)
{
    static const char function[] = "MPIX_Adapt_data_items";
    int code = MPI_SUCCESS;

    if (!count || columns < 1 || !column || !owner)
        return adapt_fail(MPI_ERR_ARG, "%s: count, column or owner is NULL, or there is no column",
                          function);
    for (int c = 0; c < columns; c++)
        if (adapt_data_registered(data, column[c].base))
            return adapt_fail(MPI_ERR_ARG,
                              "%s: items '%s': the array of column %d is registered already, as "
                              "'%s'", function, name ? name : "NULL", c,
                                  adapt_data_registered(data, column[c].base));
    struct registered *made = calloc(1, sizeof(*made));
    if (made)
        made->column = calloc((size_t) columns, sizeof(*made->column));
    if (!made || !made->column) {
        free(made);
        return adapt_data_take(data, NULL, "", function);
    }
    made->part = (struct adapt_part) {.kind = ADAPT_PART_ITEMS,.move = move_registered,
                                      .has = has_address,
        .release = release_registered
    };
    made->count = count;
    made->columns = columns;
    made->owner = owner;
    made->state = state;
    for (int c = 0; c < columns; c++) {
        made->column[c] = (MPIX_Column) {column[c].base, MPI_DATATYPE_NULL};
        if (!code && column[c].element != MPI_DATATYPE_NULL)
            code = MPI_Type_dup(column[c].element, &made->column[c].element);
    }
    if (code) {
        release_registered(&made->part);
        return code;
    }
    return adapt_data_take(data, &made->part, name, function);
}

int MPIX_Adapt_data_container(MPIX_Adapt_data data, const char *name,
                              const MPIX_Item_functions *functions)
{
    static const char function[] = "MPIX_Adapt_data_container";

    if (!functions)
        return adapt_fail(MPI_ERR_ARG, "%s: functions is NULL", function);
    struct registered *made = calloc(1, sizeof(*made));
    if (made) {
        made->part = (struct adapt_part) {.kind = ADAPT_PART_ITEMS,.move = move_container,.put =
                functions->put_after ? put_packed : NULL,.release = release_registered
        };
        made->functions = *functions;
    }
    return adapt_data_take(data, made ? &made->part : NULL, name, function);
}
