/*
 * The owners of all elements in one world: the layout, the number of processes, and values that the
 * layout does not state (order of positions, lengths of parts).  Pure: no MPI, no state but its
 * own.  SPEC-epop D1, D6, V4, V6.
 */

#ifndef DISTRIBUTION_H_INCLUDED
#define DISTRIBUTION_H_INCLUDED

#include <stdbool.h>
#include <stddef.h>
#include "adapt_layout.h"

enum adapt_layout_kind {
    ADAPT_LAYOUT_BLOCK = 1,
    ADAPT_LAYOUT_BLOCK_FREE,
    ADAPT_LAYOUT_BLOCK_CYCLIC,
    ADAPT_LAYOUT_GRID,
    ADAPT_LAYOUT_IRREGULAR,
    ADAPT_LAYOUT_USER,
    ADAPT_LAYOUT_SAME,
    ADAPT_LAYOUT_SHARED         /* as SAME, but all from old rank 0 */
};

/* [low, high) of the elements, owned by a rank. */
struct adapt_piece {
    int64_t low, high;
    int rank;
};

struct adapt_distribution {
    int kind, size;
    int64_t n, block, rows, columns;
    int side;                   /* grid: size = side * side */
    int *rank_of_position, *position_of_rank; /* [size]; NULL: the same numbers */
    int64_t *lengths;           /* irregular: [size] */
    struct adapt_piece *pieces; /* irregular, user: all, by number */
    int64_t count;
    int64_t *own;               /* user: indices in pieces, rank by rank, by number */
    int64_t *first_own;         /* [size + 1] in own */
};

/* These functions return the text of an error, NULL: none.  ADAPT_NO_MEMORY: out of memory. */
extern const char ADAPT_NO_MEMORY[];

/* positions: rank_of_position of `size` processes, copied; NULL: the same numbers.
 * lengths (irregular): of `size` parts, copied. */
const char *adapt_distribution_make(struct adapt_distribution *made,
                                    const MPIX_Adapt_layout *layout, int size,
                                    const int *positions, const int64_t *lengths);
void adapt_distribution_clear(struct adapt_distribution *distribution);

/* The owner of element i; *end: the first element after i that may have another owner. */
int adapt_distribution_owner(const struct adapt_distribution *distribution, int64_t i,
                             int64_t *end);
/* The rank's first contiguous elements at or after `from`: [*low, *high); false: there are none. */
bool adapt_distribution_next(const struct adapt_distribution *distribution, int rank, int64_t from,
                             int64_t *low, int64_t *high);
/* The number of the rank's elements. */
int64_t adapt_distribution_part(const struct adapt_distribution *distribution, int rank);

/* Chooses the positions in the new world so that the fewest elements move (block_free, grid:
 * positions.c).  new_rank_of: by old rank, -1: leaving; rank_of_position: [new_size], set by the
 * call. */
const char *adapt_distribution_positions(const struct adapt_distribution *old,
                                         const int *new_rank_of, int new_size,
                                         int *rank_of_position);

/* floor(position * n / size): the first element of a position in a block layout. */
int64_t adapt_block_begin(int64_t n, int size, int position);
/* The side of a grid of `size` positions; 0: it is not a square. */
int adapt_grid_side(int size);
/* Zeroed memory for `count` items of `size` bytes; NULL only if there is no memory. */
void *adapt_reserve(int64_t count, size_t size);

#endif /* DISTRIBUTION_H_INCLUDED */
