/*
 * State that a program moves in the adaptation window beside arrays and fields: items with a
 * destination each (particles, tasks), an open output file, and sums of which every process has a
 * part.
 *
 * All functions are collective over all processes of the window.  Errors are those of adapt_data.h.
 */

#ifndef ADAPT_ITEMS_H_INCLUDED
#define ADAPT_ITEMS_H_INCLUDED

#include "adapt_data.h"
#include "adapt_motion.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- items ----------------------------------------------------------------------------------- */

/* Items are stored in one array of structs or in several arrays, one after the other by their
 * extents.  A joining process has the same columns with any base. */
typedef struct MPIX_Column {
    void *base;                 /* without `append`: the address of the array's pointer */
    MPI_Datatype element;       /* its true bounds lie within its extent */
} MPIX_Column;

/* The column of a pointer to any type: MPIX_Column columns[] = { MPIX_COLUMN(position),
 * MPIX_COLUMN(mass) }. */
#define MPIX_COLUMN(pointer) {&(pointer), MPIX_Adapt_bytes((int64_t) sizeof(*(pointer)))}

#ifndef __cplusplus
/* The arguments `columns` and `column` of one call, for 1 to 8 pointers:
 * MPIX_Adapt_data_items(data, "atoms", &count, MPIX_COLUMNS(position, mass), owner, NULL). */
#define MPIX_COLUMNS(...) MPIX_COLUMNS_COUNT(__VA_ARGS__), MPIX_COLUMNS_LIST(__VA_ARGS__)

/* The count and the array of MPIX_COLUMNS each, for members of a struct. */
#define MPIX_COLUMNS_COUNT(...) MPIX_COLUMNS_NTH(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define MPIX_COLUMNS_LIST(...) ((const MPIX_Column[]) { \
    MPIX_COLUMNS_NTH(__VA_ARGS__, MPIX_COLUMNS_8, MPIX_COLUMNS_7, MPIX_COLUMNS_6, MPIX_COLUMNS_5, \
                     MPIX_COLUMNS_4, \
                     MPIX_COLUMNS_3, MPIX_COLUMNS_2, MPIX_COLUMN, 0) (__VA_ARGS__)})
#define MPIX_COLUMNS_NTH(a1, a2, a3, a4, a5, a6, a7, a8, chosen, ...) chosen
#define MPIX_COLUMNS_2(pointer, ...) MPIX_COLUMN(pointer), MPIX_COLUMN(__VA_ARGS__)
#define MPIX_COLUMNS_3(pointer, ...) MPIX_COLUMN(pointer), MPIX_COLUMNS_2(__VA_ARGS__)
#define MPIX_COLUMNS_4(pointer, ...) MPIX_COLUMN(pointer), MPIX_COLUMNS_3(__VA_ARGS__)
#define MPIX_COLUMNS_5(pointer, ...) MPIX_COLUMN(pointer), MPIX_COLUMNS_4(__VA_ARGS__)
#define MPIX_COLUMNS_6(pointer, ...) MPIX_COLUMN(pointer), MPIX_COLUMNS_5(__VA_ARGS__)
#define MPIX_COLUMNS_7(pointer, ...) MPIX_COLUMN(pointer), MPIX_COLUMNS_6(__VA_ARGS__)
#define MPIX_COLUMNS_8(pointer, ...) MPIX_COLUMN(pointer), MPIX_COLUMNS_7(__VA_ARGS__)
#endif

/* Received items: those of column c begin at columns[c].  They are invalid afterwards.
 * Returns 0, or another value for an error. */
typedef int MPIX_Append(int64_t count, const MPIX_Column columns[], void *state);

/* Sends item i of this process' *count to the process with the new rank destination[i], once, and
 * only if that is another one.  Items that stay are moved to the front of their arrays, in their
 * order, and *count is their number; then received items are appended, in an order that depends
 * only on the senders and what they have sent.  Meanwhile memory is needed for the items that
 * leave, and for 8 messages in each direction.  append NULL: the library appends received items
 * itself.  base of each column is then the address of the pointer to an array from malloc (or
 * NULL), which realloc resizes; *count is the number of all items of the process afterwards.
 * MPI_ERR_ARG: a destination is no new rank, or columns differ; nothing has moved. */
int MPIX_Adapt_items_move(const epop_window_t *window, int64_t *count, const int destination[],
                          int columns, const MPIX_Column column[], MPIX_Append *append,
                              void *state);
/* The same in two steps.  After start *count items stay and belong to the program; until
 * MPIX_Adapt_motion_wait returns `append` may be called in any test or wait of this library.  The
 * window and the element types stay as they are until then. */
int MPIX_Adapt_items_start(const epop_window_t *window, int64_t *count, const int destination[],
                           int columns, const MPIX_Column column[], MPIX_Append *append,
                               void *state, MPIX_Adapt_motion *motion);

/* Registers items for MPIX_Adapt_window.  owner: the new rank of item i.  *count and the pointers
 * are as with append NULL.  column[] is copied. */
typedef int MPIX_Item_owner(int64_t i, int new_size, void *state);
int MPIX_Adapt_data_items(MPIX_Adapt_data data, const char *name, int64_t *count, int columns,
                          const MPIX_Column column[], MPIX_Item_owner *owner, void *state);

/* Items in any container (list, tree, cells): functions in place of arrays.  An item is packed into
 * `bytes` bytes.  All items are packed, the container is cleared, and staying and received items
 * are put into it. */
typedef struct MPIX_Item_functions {
    int64_t bytes;
    int64_t (*count) (void *state);
    /* 0 <= i < count, in this order; 0, or an error */
    int (*pack) (int64_t i, void *item, void *state);
    int (*owner) (const void *item, int new_size, void *state);
    int (*clear) (void *state); /* removes all items; 0, or an error */
    int (*put) (const void *item, void *state); /* 0, or an error */
    void *state;
    /* registered only: 1: clear and put are called in the new world, after `after` */
    int put_after;
} MPIX_Item_functions;

int MPIX_Adapt_items_exchange(const epop_window_t *window, const MPIX_Item_functions *functions);
/* Registers them for MPIX_Adapt_window. */
int MPIX_Adapt_data_container(MPIX_Adapt_data data, const char *name,
                              const MPIX_Item_functions *functions);

/* Items in cells: item j of cell c is element c * slots + j of each column.  All are read when a
 * window opens. */
typedef struct MPIX_Cells {
    const int *cells;           /* number of cells */
    int **count;                /* address of the pointer to [cells]: the items of each */
    int slots;                  /* of a cell */
} MPIX_Cells;

/* Inserts a received or staying item: values[c] is its element of column c.  0, or an error. */
typedef int MPIX_Item_put(const void *const values[], void *state);
/* Registers items in cells for MPIX_Adapt_window.  base of a column: the address of the array's
 * pointer.  owner: the new rank of element i; MPI_PROC_NULL: it is a copy of another process' item,
 * and is dropped.  In the new world, after `after`, which may have made other cells, `put` inserts
 * all items; count[] is 0 before `after`.  *cells and column[] are copied; what they point to stays
 * valid as long as `data`.  On a joining process *cells->cells is 0, or its counts are. */
int MPIX_Adapt_data_cells(MPIX_Adapt_data data, const char *name, const MPIX_Cells *cells,
                          int columns,
                          const MPIX_Column column[], MPIX_Item_owner *owner, MPIX_Item_put *put,
                              void *state);

/* ---- files ----------------------------------------------------------------------------------- */

/* If the one old process with *file != NULL leaves, it closes the file, and the process of new rank
 * `successor` opens it and continues where the other one has stopped.  All others have NULL there.
 * path: the name for the successor, given by the process with the file.  MPI_ERR_IO: it cannot be
 * closed or opened, on all processes; MPI_ERR_ARG: several processes have one.  *file is NULL then
 * where it is closed. */
int MPIX_Adapt_file(const epop_window_t *window, int successor, const char *path, FILE **file);
/* Registers a file for MPIX_Adapt_window, with new rank 0 as successor.  path is copied. */
int MPIX_Adapt_data_file(MPIX_Adapt_data data, const char *path, FILE **file);

/* ---- shared variables ------------------------------------------------------------------------ */

/* Joining processes get the bytes that old rank 0 has at its address.  For variables that are
 * registered see MPIX_Adapt_data_share. */
int MPIX_Adapt_share(const epop_window_t *window, void *address, int64_t bytes);

/* ---- sums ------------------------------------------------------------------------------------ */

/* values[count] are parts of sums over all processes (timers, counters).  The values of leaving
 * processes are added to new rank 0's; joining ones begin with 0: the sums stay what they were. */
int MPIX_Adapt_sums(const epop_window_t *window, int count, double values[]);
/* Registers such values for MPIX_Adapt_window. */
int MPIX_Adapt_data_sums(MPIX_Adapt_data data, const char *name, int count, double values[]);

#ifdef __cplusplus
}
#endif

#endif /* ADAPT_ITEMS_H_INCLUDED */
