/*
 * Unstructured meshes and sparse matrices: rows (vertices, cells) with a global number each, values
 * of fixed size and lists of any length, moved to the processes that a partition names; and ghosts,
 * the rows of other processes that the lists name, with local numbers and an exchange of values.
 *
 *     static int64_t rows, *global, *first, *column;      CSR: row i has entries first[i] <= k <
 *                                                         first[i + 1]
 *     static double *value, *x;                           one value for each entry; x: one for each
 *                                                         row
 *     static MPIX_Ghosts ghosts;
 *
 *     MPIX_Column of_row[] = {{&x, MPI_DOUBLE}}, of_entry[] = {{&column, MPI_INT64_T}, {&value,
 *     MPI_DOUBLE}}; MPIX_Rows matrix = {.index = MPI_INT64_T,.count = &rows,.global =
 *     &global,.first = &first,
 *         .columns = 1,.column = of_row,.lists = 2,.list = of_entry,.ghosts = &ghosts};
 *     MPIX_Adapt_data_rows(data, "matrix", &matrix, owner, NULL);
 *
 * Errors are those of adapt_data.h.
 */

#ifndef ADAPT_MESH_H_INCLUDED
#define ADAPT_MESH_H_INCLUDED

#include "adapt_items.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- ghosts ---------------------------------------------------------------------------------- */

/* Read, but not written, by programs. */
typedef struct MPIX_Ghosts_s {
    int64_t rows;               /* of this process: local numbers 0 to rows - 1 */
    int64_t count;              /* of ghosts: local numbers rows to rows + count - 1 */
    int64_t *row_global;        /* [rows] global numbers */
    int64_t *global;            /* [count] of ghosts: by the owner's rank, then by number */
    int *owner;                 /* [count] ranks */
    int neighbours;             /* processes that send values, or receive them */
    int *neighbour;             /* [neighbours] ranks, increasing */
    int64_t *receive_first;     /* [neighbours + 1] in ghosts: received from each */
    int64_t *send_first;        /* [neighbours + 1] in send_row: sent to each */
    int64_t *send_row;          /* local numbers */
    MPI_Comm comm;              /* the library's own */
} *MPIX_Ghosts;

/* Finds the owners of all rows that entry[entries] names, numbers the ghosts among them, and
 * replaces each global number in entry[] by the local one.  index: MPI_INT or MPI_INT64_T, of
 * global[rows] and entry[].  global[]: the rows of this process, in any order.  Collective over
 * comm.  MPI_ERR_ARG, on all processes: an entry refers to a row of no process, or a row belongs
 * to two; then entry[] is unchanged. */
int MPIX_Ghosts_create(MPI_Comm comm, MPI_Datatype index, int64_t rows, const void *global,
                       int64_t entries, void *entry, MPIX_Ghosts *ghosts);
/* values[rows + count] of any type without gaps around its data: ghosts get the values of their
 * owners.  Collective over the neighbours. */
int MPIX_Ghosts_update(MPIX_Ghosts ghosts, void *values, MPI_Datatype element);
/* Replaces each local number in entry[entries] by the global one. */
int MPIX_Ghosts_restore(MPIX_Ghosts ghosts, MPI_Datatype index, int64_t entries, void *entry);
/* Collective over comm, before the commit that ends comm.  *ghosts is NULL afterwards; NULL has no
 * effect. */
int MPIX_Ghosts_free(MPIX_Ghosts *ghosts);

/* ---- rows ------------------------------------------------------------------------------------ */

/* All arrays are from malloc; the library resizes them.  A joining process has the addresses of
 * NULL pointers. */
typedef struct MPIX_Rows {
    MPI_Datatype index;         /* of global and first: MPI_INT or MPI_INT64_T */
    int64_t *count;             /* rows of this process */
    void *global;               /* address of the pointer to [count] global numbers */
    /* of that to [count + 1], from 0: where the entries of each row begin; NULL: no lists */
    void *first;
    int columns, lists;
    /* [columns] one element for each row; base: address of the array's pointer */
    const MPIX_Column *column;
    const MPIX_Column *list;    /* [lists] one element for each entry */
    /* NULL, or: list 0, of type index, has local numbers where *ghosts is not NULL */
    MPIX_Ghosts *ghosts;
    /* NULL, or, without ghosts: list 0 has the program's own local numbers, those of its ghosts
     * follow its rows'; the address of the pointer to the ghosts' global numbers, of type index */
    void *ghost_global;
    const void *ghost_count;    /* with ghost_global: the address of their number, of type index */
    /* NULL, or, where index is MPI_INT and MPIX_Adapt_data_rows has no owner: the rank of a row
     * among `size` */
    int (*partition) (int global, int size);
} MPIX_Rows;

#ifndef __cplusplus
/* The members `columns` and `column`, and `lists` and `list`, for 1 to 8 pointers each:
 * MPIX_Rows matrix = {..., MPIX_ROW_COLUMNS(x, b), MPIX_ROW_LISTS(column, value)}. */
#define MPIX_ROW_COLUMNS(...) .columns = MPIX_COLUMNS_COUNT(__VA_ARGS__), \
    .column = MPIX_COLUMNS_LIST(__VA_ARGS__)
#define MPIX_ROW_LISTS(...) .lists = MPIX_COLUMNS_COUNT(__VA_ARGS__), \
    .list = MPIX_COLUMNS_LIST(__VA_ARGS__)
#endif

/* Moves row i, with its entries, to the process of new rank destination[i] (a partitioner's
 * vector).  Rows are in the order of their global numbers afterwards.  With `ghosts` or
 * `ghost_global` list 0 has global numbers afterwards, and *ghosts is freed: MPIX_Ghosts_create
 * creates it again in the new world.  Collective over all processes of the window. */
int MPIX_Adapt_rows_move(const epop_window_t *window, const MPIX_Rows *rows,
                         const int destination[]);

/* The new rank of a row.  Called for the rows of this process only. */
typedef int MPIX_Row_owner(int64_t global, int new_size, void *state);
/* Registers rows for MPIX_Adapt_window, moved with the items.  owner NULL: rows->partition gives
 * the new rank.  *ghosts is created again from list 0 in the new world, before `after` is called.
 * *rows and its columns and lists are copied; what they point to stays valid as long as `data`. */
int MPIX_Adapt_data_rows(MPIX_Adapt_data data, const char *name, const MPIX_Rows *rows,
                         MPIX_Row_owner *owner, void *state);

#ifdef __cplusplus
}
#endif

#endif /* ADAPT_MESH_H_INCLUDED */
