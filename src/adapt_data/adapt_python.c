/*
 * The part of the Python package elastic_mpi that is in C: MPI's constants and handles are macros
 * of mpi.h, and communicators are integers there (as mpi4py's Comm.py2f and f2py).  Windows: see
 * adapt_fortran.c.
 */

#include "adapt_boxes.h"
#include "adapt_mesh.h"

#include <stdlib.h>
#include <string.h>
#include "agreement.h"
#include "exchange.h"
#include "failure.h"
#include "handover.h"

int adapt_python_init(int *status)
{
    int code = MPI_Init_adapt(NULL, NULL, status);

    /* as in mpi4py, errors become exceptions */
    if (!code)
        code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return code ? code : MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

int adapt_python_finalize(void)
{
    int is_finalized = 0, code = MPI_Finalized(&is_finalized);

    return code || is_finalized ? code : MPI_Finalize();
}

/* [0] joining, [1] staying, [2] leaving */
void adapt_python_statuses(int statuses[3])
{
    statuses[0] = MPI_ADAPT_STATUS_JOINING;
    statuses[1] = MPI_ADAPT_STATUS_STAYING;
    statuses[2] = MPI_ADAPT_STATUS_LEAVING;
}

/* [0] MPI_ERR_ARG, [1] MPI_ERR_IO, [2] MPI_ERR_NO_MEM, [3] MPI_ERR_OTHER: classes of the library's
 * own messages */
void adapt_python_classes(int classes[4])
{
    classes[0] = MPI_ERR_ARG;
    classes[1] = MPI_ERR_IO;
    classes[2] = MPI_ERR_NO_MEM;
    classes[3] = MPI_ERR_OTHER;
}

/* For an MPI that defines it in a header (adapt_stub.h). */
int adapt_python_sizes(const char *rule)
{
    return MPIX_Adapt_sizes(rule);
}

int adapt_python_probe(int *pending, int *status)
{
    int code = MPI_Probe_adapt(pending, status, NULL);

    *pending = *pending == MPI_ADAPT_TRUE;
    return code;
}

int adapt_python_world(int *rank, int *size, MPI_Fint *world)
{
    *world = MPI_Comm_c2f(MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    return MPI_Comm_size(MPI_COMM_WORLD, size);
}

/* An element has `bytes` bytes. */
int adapt_python_add(MPIX_Adapt_data data, const char *name, void **base, int bytes,
                     const MPIX_Adapt_layout *layout, const MPIX_Adapt_memory *memory, int *array)
{
    MPI_Datatype type;
    int code = MPI_Type_contiguous(bytes, MPI_BYTE, &type);

    if (code)
        return code;
    code = MPIX_Adapt_data_add(data, name, base, type, layout, memory, array);
    int free_code = MPI_Type_free(&type);
    return code ? code : free_code;
}

int adapt_python_bcast(void *bytes, int64_t count, int root, MPI_Fint comm)
{
    return MPI_Bcast_c(bytes, count, MPI_BYTE, root, MPI_Comm_f2c(comm));
}

int adapt_python_barrier(MPI_Fint comm)
{
    return MPI_Barrier(MPI_Comm_f2c(comm));
}

/* text: at least MPI_MAX_ERROR_STRING characters.  Returns the class. */
int adapt_python_error(int code, char text[])
{
    int length = 0, error_class = code;

    text[0] = '\0';
    if (MPI_Error_class(code, &error_class) != MPI_SUCCESS)
        return code;
    MPI_Error_string(code, text, &length);
    return error_class;
}

int adapt_python_error_length(void)
{
    return MPI_MAX_ERROR_STRING;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* *owner: the old rank of the leaving process that has the file; -1: there is none. */
int adapt_python_file_owner(const epop_window_t *window, int has_it, int successor, int *owner)
{
    return adapt_file_owner(window, has_it, successor, NULL, "elastic_mpi.Window.file", owner);
}

int adapt_python_file_end(const epop_window_t *window, int failed)
{
    return adapt_file_end(window, failed, "elastic_mpi.Window.file");
}

/* ---- boxes ----------------------------------------------------------------------------------- */

/* One box for each rank, of elements of `bytes` bytes. *part is the new part. */
int adapt_python_box_move(const epop_window_t *window, const char *name, int axes, int bytes,
                          MPIX_Boxes *boxes, const int nodes[], const int ghost[],
                          const MPIX_Adapt_memory *memory, void **part)
{
    MPIX_Field field = {.name = name,.parts = part,.memory = memory };

    int code = MPI_Type_contiguous(bytes, MPI_BYTE, &field.element);
    if (code)
        return code;
    memcpy(field.nodes, nodes, (size_t) axes * sizeof(int));
    memcpy(field.ghost, ghost, (size_t) axes * sizeof(int));
    code = MPIX_Adapt_boxes_move(window, axes, boxes, NULL, 1, &field);
    int free_code = MPI_Type_free(&field.element);
    return code ? code : free_code;
}

/* ---- items ----------------------------------------------------------------------------------- */

/* The items that have arrived: in column c an item has bytes[c] bytes. */
struct arrivals {
    int columns;
    const int *bytes;
    int64_t count;
    char **items;               /* [columns] */
};

static int append(int64_t count, const MPIX_Column columns[], void *state)
{
    struct arrivals *come = state;

    for (int c = 0; c < come->columns; c++) {
        const size_t before = (size_t) come->count * (size_t) come->bytes[c];
        const size_t more = (size_t) count * (size_t) come->bytes[c];
        char *items = realloc(come->items[c], before + more + 1);
        if (!items)
            return 1;
        memcpy(items + before, columns[c].base, more);
        come->items[c] = items;
    }
    come->count += count;
    return 0;
}

/* Frees the types of the first `limit` columns. */
static void free_types(MPIX_Column column[], int limit)
{
    for (int c = 0; c < limit; c++)
        MPI_Type_free(&column[c].element);
}

/* *count: on entry all items, on return the staying ones, which are at the front. *come: the number
 * of arrived items, which are in items[columns]; the caller frees each column with
 * adapt_python_free. */
int adapt_python_items_move(const epop_window_t *window, int64_t *count, const int destination[],
                            int columns, void *const base[], const int bytes[], char *items[],
                            int64_t *come)
{
    struct arrivals arrivals = {.columns = columns,.bytes = bytes,.items = items };
    MPIX_Column *column = calloc((size_t) columns + 1, sizeof(*column));
    int made = 0, code = column ? MPI_SUCCESS : MPI_ERR_NO_MEM;

    while (!code && made < columns) {
        column[made].base = base[made];
        code = MPI_Type_contiguous(bytes[made], MPI_BYTE, &column[made].element);
        made += !code;
    }
    if (!code)
        code =
            MPIX_Adapt_items_move(window, count, destination, columns, column, append, &arrivals);
    free_types(column, made);
    free(column);
    *come = arrivals.count;
    return code;
}

void adapt_python_free(void *items)
{
    free(items);
}

/* ---- rows and cells -------------------------------------------------------------------------- */

/* Their first step: an error of one process (error; NULL: none) is an error of all. */
int adapt_python_agree(const epop_window_t *window, int is_cells, const char *function,
                       const char *error)
{
    const struct adapt_proposal mine = {.kind = is_cells ? ADAPT_CALL_FORTRAN_CELLS
                                        : ADAPT_CALL_ROWS,.function =
            function,.error = error,.error_class = MPI_ERR_ARG,.chunk = adapt_exchange_chunk()
    };
    struct adapt_channel *channel;
    struct adapt_agreed agreed;

    int code = adapt_channel_open(window, &channel);
    return code ? adapt_channel_failed(code, function, error)
        : adapt_agree_on_call(channel, &mine, &agreed);
}

/* ---- ghosts ---------------------------------------------------------------------------------- */

/* Indices of `bytes` bytes, 4 or 8. */
int adapt_python_ghosts_create(MPI_Fint comm, int bytes, int64_t rows, const void *global,
                               int64_t entries, void *entry, MPIX_Ghosts *ghosts)
{
    return MPIX_Ghosts_create(MPI_Comm_f2c(comm), bytes == 4 ? MPI_INT : MPI_INT64_T, rows, global,
                              entries, entry, ghosts);
}

int adapt_python_ghosts_restore(MPIX_Ghosts ghosts, int bytes, int64_t entries, void *entry)
{
    return MPIX_Ghosts_restore(ghosts, bytes == 4 ? MPI_INT : MPI_INT64_T, entries, entry);
}

/* A value has `bytes` bytes. */
int adapt_python_ghosts_update(MPIX_Ghosts ghosts, void *values, int64_t bytes)
{
    MPI_Datatype type = MPIX_Adapt_bytes(bytes);

    return type == MPI_DATATYPE_NULL ? MPI_ERR_NO_MEM : MPIX_Ghosts_update(ghosts, values, type);
}

int64_t adapt_python_ghosts_count(MPIX_Ghosts ghosts)
{
    return ghosts->count;
}

/* [count] each. */
void adapt_python_ghosts_get(MPIX_Ghosts ghosts, int64_t global[], int owner[])
{
    for (int64_t k = 0; k < ghosts->count; k++) {
        global[k] = ghosts->global[k];
        owner[k] = ghosts->owner[k];
    }
}
