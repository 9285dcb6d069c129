/*
 * Items in cells with gaps (adapt_items.h).  In the window they are copied, without the gaps,
 * column by column, and moved.  In the new world, after the program's function, they are put into
 * the cells that exist then.
 */

#include "adapt_items.h"

#include <stdlib.h>
#include <string.h>
#include "data.h"
#include "failure.h"
#include "items.h"

struct registered {
    struct adapt_part part;
    MPIX_Cells cells;
    MPIX_Item_owner *owner;
    MPIX_Item_put *put;
    void *state;
    int columns;
    MPIX_Column *column;        /* [columns] with datatypes of their own */
    int64_t count;              /* of the copies, from window to put */
    char **copies;              /* [columns] */
    const void **values;        /* [columns] addresses of one item's values */
};

static int64_t extent_of(const struct registered *it, int c)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(it->column[c].element, &lb, &extent);
    return extent;
}

static void clear_copies(struct registered *it)
{
    for (int c = 0; c < it->columns; c++) {
        free(it->copies[c]);
        it->copies[c] = NULL;
    }
    it->count = 0;
}

/* ---- in the window --------------------------------------------------------------------------- */

static const char *count_items(struct registered *it)
{
    const int cells = *it->cells.cells, *count = *it->cells.count;

    it->count = 0;
    if (cells < 0 || (cells > 0 && !count))
        return "the number of cells is negative, or their counts are NULL";
    for (int cell = 0; cell < cells; cell++) {
        if (count[cell] < 0 || count[cell] > it->cells.slots)
            return "a cell has a negative number of items, or more than slots";
        it->count += count[cell];
    }
    for (int c = 0; it->count > 0 && c < it->columns; c++)
        if (!*(void **) it->column[c].base)
            return "there are items, but a column's array is NULL";
    return NULL;
}

/* Copies a column without its gaps, and without items that have no destination. */
static void copy_column(const struct registered *it, int c, const int destination[])
{
    const int64_t extent = extent_of(it, c);
    const char *from = *(char **) it->column[c].base;
    char *to = it->copies[c];
    int64_t k = 0;

    for (int64_t cell = 0; cell < *it->cells.cells; cell++)
        for (int64_t i = cell * it->cells.slots;
             i < cell * it->cells.slots + (*it->cells.count)[cell]; i++)
            if (destination[k++] != MPI_PROC_NULL) {
                memcpy(to, from + i * extent, (size_t) extent);
                to += extent;
            }
}

/* Moves the destinations of items that have one to the front; *count: their number. */
static void close_gaps(int destination[], int64_t *count)
{
    int64_t left = 0;

    for (int64_t k = 0; k < *count; k++)
        if (destination[k] != MPI_PROC_NULL)
            destination[left++] = destination[k];
    *count = left;
}

static const char *copy_items(struct registered *it, int new_size, int **destination)
{
    const char *error = count_items(it);
    int64_t k = 0;

    if (error)
        return error;
    *destination = adapt_reserve(it->count, sizeof(int));
    if (!*destination)
        return ADAPT_NO_MEMORY;
    for (int cell = 0; cell < *it->cells.cells; cell++)
        for (int j = 0; j < (*it->cells.count)[cell]; j++)
            (*destination)[k++] =
                it->owner((int64_t) cell * it->cells.slots + j, new_size, it->state);
    for (int c = 0; c < it->columns; c++) {
        it->copies[c] = malloc((size_t) (it->count * extent_of(it, c)) + 1);
        if (!it->copies[c])
            return ADAPT_NO_MEMORY;
        copy_column(it, c, *destination);
    }
    close_gaps(*destination, &it->count);
    return NULL;
}

static int move_cells(struct adapt_part *part, const epop_window_t *window)
{
    struct registered *it = (struct registered *) part;
    int *destination = NULL;
    const char *error = NULL;

    MPIX_Column *columns = adapt_reserve(it->columns, sizeof(*columns));
    for (int c = 0; columns && c < it->columns; c++)
        columns[c] = (MPIX_Column) {&it->copies[c], it->column[c].element};
    if (!columns)
        error = ADAPT_NO_MEMORY;
    else if (window->old_rank >= 0)
        error = copy_items(it, window->new_size, &destination);
    int code =
        adapt_items_move(window, "MPIX_Adapt_window", error, &it->count, destination, it->columns,
                         columns);
    free(destination);
    free(columns);
    if (code || window->new_rank < 0)
        clear_copies(it);
    else if (*it->cells.cells > 0 && *it->cells.count)
        memset(*it->cells.count, 0, (size_t) *it->cells.cells * sizeof(int));
    return code;
}

/* ---- in the new world ------------------------------------------------------------------------ */

static int put_items(struct adapt_part *part)
{
    struct registered *it = (struct registered *) part;
    int failed = 0;

    for (int64_t i = 0; !failed && i < it->count; i++) {
        for (int c = 0; c < it->columns; c++)
            it->values[c] = it->copies[c] + i * extent_of(it, c);
        failed = it->put(it->values, it->state);
    }
    clear_copies(it);
    return failed ? adapt_fail(MPI_ERR_OTHER,
                               "MPIX_Adapt_window: put of '%s' has failed; items are missing now",
                               part->name) : MPI_SUCCESS;
}

/* ---- registration ---------------------------------------------------------------------------- */

static void release_cells(struct adapt_part *part)
{
    struct registered *it = (struct registered *) part;

    for (int c = 0; it->column && c < it->columns; c++)
        if (it->column[c].element != MPI_DATATYPE_NULL)
            MPI_Type_free(&it->column[c].element);
    if (it->copies)
        clear_copies(it);
    free(it->column);
    free(it->copies);
    free(it->values);
    free(it);
}

static struct registered *make(int columns)
{
    struct registered *made = calloc(1, sizeof(*made));

    if (!made)
        return NULL;
    made->columns = columns;
    made->column = calloc((size_t) columns, sizeof(*made->column));
    made->copies = calloc((size_t) columns, sizeof(*made->copies));
    made->values = calloc((size_t) columns, sizeof(*made->values));
    for (int c = 0; made->column && c < columns; c++)
        made->column[c].element = MPI_DATATYPE_NULL;
    if (made->column && made->copies && made->values)
        return made;
    release_cells(&made->part);
    return NULL;
}

int MPIX_Adapt_data_cells(MPIX_Adapt_data data, const char *name, const MPIX_Cells *cells,
                          int columns, const MPIX_Column column[], MPIX_Item_owner *owner,
                          MPIX_Item_put *put, void *state)
{
    static const char function[] = "MPIX_Adapt_data_cells";
    int code = MPI_SUCCESS;

    if (!cells || !cells->cells || !cells->count || cells->slots < 1 || columns < 1 || !column ||
        !owner || !put)
        return adapt_fail(MPI_ERR_ARG,
                          "%s: cells, column, owner or put is NULL, or there is no column or slot",
                          function);
    struct registered *made = make(columns);
    if (!made)
        return adapt_data_take(data, NULL, name, function);
    made->part.kind = ADAPT_PART_ITEMS;
    made->part.move = move_cells;
    made->part.put = put_items;
    made->part.release = release_cells;
    made->cells = *cells;
    made->owner = owner;
    made->put = put;
    made->state = state;
    for (int c = 0; !code && c < columns; c++) {
        made->column[c].base = column[c].base;
        if (!column[c].base || column[c].element == MPI_DATATYPE_NULL)
            code = adapt_fail(MPI_ERR_ARG, "%s: base or element of a column is NULL", function);
        else
            code = MPI_Type_dup(column[c].element, &made->column[c].element);
    }
    if (code) {
        release_cells(&made->part);
        return code;
    }
    return adapt_data_take(data, &made->part, name, function);
}
