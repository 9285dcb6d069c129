/*
 * Fields on blocks of one to three dimensions (boxes), moved to the processes that have them in the
 * new world, whatever array each is stored in.
 *
 * A box is a block of cells.  Boxes of all processes of a world cover the domain without overlap; a
 * process has any number of them (tiles).  A field has a value for each cell or, along the axes
 * where `nodes` is 1, for each side of a cell: neighbouring boxes both have the values on the edge
 * between them.  A process that had a value keeps it; it gets every other one once, straight from
 * one that had it.  Ghost layers do not move.  SPEC-epop V1.
 *
 *     static double *u;                               a box for each process, one ghost layer
 *                                                     around
 *     MPIX_Box domain = MPIX_Box_of(2, (int64_t[]) {0, 0}, (int64_t[]) {rows, columns});
 *     MPIX_Field field = {.name = "u",.element = MPI_DOUBLE,.ghost = {1, 1},.parts = (void **) &u};
 *     MPIX_Adapt_boxes_move(&window, 2, MPIX_Boxes_even, &domain, 1, &field);
 *
 * Errors are those of adapt_data.h.
 */

#ifndef ADAPT_BOXES_H_INCLUDED
#define ADAPT_BOXES_H_INCLUDED

#include "adapt_data.h"
#include "adapt_motion.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers in an array with one for each axis, also of boxes with fewer axes. */
#define MPIX_BOX_AXES 3

/* Cells low[a] <= i < high[a] of each axis, any numbers; [0, 1) along the axes that are not
 * used. */
typedef struct MPIX_Box {
    int64_t low[MPIX_BOX_AXES], high[MPIX_BOX_AXES];
} MPIX_Box;

/* From low[axes] to before high[axes].  closed: to last[axes], as Fortran counts. */
MPIX_Box MPIX_Box_of(int axes, const int64_t low[], const int64_t high[]);
MPIX_Box MPIX_Box_closed(int axes, const int64_t first[], const int64_t last[]);

/* The boxes of rank `rank` of `size`; at most `max` of them are stored.  Returns how many there
 * are, or a negative number for an error.  Called for any rank on any process, it must give the
 * same on all. */
typedef int MPIX_Boxes(int rank, int size, int max, MPIX_Box boxes[], void *state);

/* Such a function: one box for each rank, of the domain `state` (const MPIX_Box *) cut evenly along
 * its axes, along the longer ones into more parts, so that boxes are near to cubes. */
int MPIX_Boxes_even(int rank, int size, int max, MPIX_Box boxes[], void *state);
/* parts[axes]: how often it cuts along each; rank is ((i0 * parts[1]) + i1) * parts[2] + i2. */
void MPIX_Boxes_even_parts(const MPIX_Box *domain, int size, int parts[MPIX_BOX_AXES]);

/* A grid of processes over the domain: one box for each rank, for programs with other cuts than
 * MPIX_Boxes_even. */
typedef struct MPIX_Grid {
    int axes;
    MPIX_Box domain;
    int parts[MPIX_BOX_AXES];   /* processes along each axis; 0: as MPI_Dims_create chooses */
    /* 1: the first parts have one cell more; 0: part i begins at floor(i n / parts) */
    int remainder_first;
    /* 1: ranks run along the first axis fastest; 0: along the last one (MPI_Cart) */
    int first_fastest;
    int periodic[MPIX_BOX_AXES];        /* for MPIX_Boxes_grid_neighbour */
} MPIX_Grid;

/* A function of boxes for a grid, which is `state` (const MPIX_Grid *).  An error where `parts`
 * does not divide the number of processes. */
int MPIX_Boxes_grid(int rank, int size, int max, MPIX_Box boxes[], void *state);
/* Processes along each axis, and the coordinates of a rank among them.  0, or -1 for an error. */
int MPIX_Boxes_grid_coordinates(const MPIX_Grid *grid, int rank, int size, int parts[MPIX_BOX_AXES],
                                int coordinates[MPIX_BOX_AXES]);
/* The rank that is `steps` further along an axis; MPI_PROC_NULL: none. */
int MPIX_Boxes_grid_neighbour(const MPIX_Grid *grid, int rank, int size, int axis, int steps);

typedef struct MPIX_Field {
    const char *name;
    MPI_Datatype element;
    /* MPI_ORDER_C (or 0): the last axis runs fastest; MPI_ORDER_FORTRAN */
    int order;
    int nodes[MPIX_BOX_AXES];   /* 1: a value at high[a], too */
    int ghost[MPIX_BOX_AXES];   /* layers that are stored around a box on both sides */
    int extra[MPIX_BOX_AXES];   /* more of them at the end, for the strides' sake */
    /* this process' boxes in order, NULL: a joining process' and empty ones; memory for as many as
     * it has before and afterwards */
    void **parts;
    const MPIX_Adapt_memory *memory;    /* of elements; NULL: calloc and free */
    /* NULL, or: the program itself has arrays for the new boxes, in order; parts[] stay as they are
     * then, and are its own to release */
    void **new_parts;
} MPIX_Field;

/* Elements that a box is stored in: [a] along each axis; returns their product. */
int64_t MPIX_Field_extents(const MPIX_Field *field, const MPIX_Box *box,
                           int64_t extents[MPIX_BOX_AXES]);

/* Moves fields[count].  Collective over all processes of the window.  parts[] are the new boxes
 * then; the old ones are released, or are the new ones where nothing has changed for this process.
 * Errors are those of MPIX_Adapt_data_start. */
int MPIX_Adapt_boxes_move(const epop_window_t *window, int axes, MPIX_Boxes *boxes, void *state,
                          int count, const MPIX_Field fields[]);
/* The same in two steps: between start and MPIX_Adapt_motion_wait the program may compute on
 * anything but these fields.  The window, parts[], memory and element types stay as they are until
 * then. */
int MPIX_Adapt_boxes_start(const epop_window_t *window, int axes, MPIX_Boxes *boxes, void *state,
                           int count, const MPIX_Field fields[], MPIX_Adapt_motion *motion);

/* Registers fields for MPIX_Adapt_window, moved as by MPIX_Adapt_boxes_move.  fields[] is copied;
 * what they point to, and `state`, stay valid as long as `data`. */
int MPIX_Adapt_data_boxes(MPIX_Adapt_data data, int axes, MPIX_Boxes *boxes, void *state, int count,
                          const MPIX_Field fields[]);

#ifdef __cplusplus
}
#endif

#endif /* ADAPT_BOXES_H_INCLUDED */
