/*
 * Layouts: the owners of the elements of a distributed array, for any number of processes.
 * Elements have the numbers 0, 1, ..., n - 1; a process' part holds its elements by increasing
 * number without gaps.
 */

#ifndef ADAPT_LAYOUT_H_INCLUDED
#define ADAPT_LAYOUT_H_INCLUDED

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The lengths of the consecutive parts in the new world.  old_lengths[old_size] are those so far;
 * the sum of new_lengths[new_size] must be theirs.  Called on all processes, it must give the same
 * on all.  Returns 0, or anything else for an error. */
typedef int MPIX_Split(int old_size, const int64_t old_lengths[], int new_size,
                       int64_t new_lengths[], void *state);

/* The elements that rank `rank` of `size` owns, as intervals [low, high) in increasing order.  At
 * most `max` of them are stored; returns how many there are, or a negative number for an error.
 * Called for any rank on any process, it must give the same on all. */
typedef int64_t MPIX_Pieces(int rank, int size, int64_t max, int64_t low[], int64_t high[],
                            void *state);

/* Made by the functions below; read, but not written, by programs. */
typedef struct MPIX_Adapt_layout {
    int kind;
    int64_t n;                  /* elements in all; irregular, user: -1, found by summing up */
    int64_t block, rows, columns, mine;
    MPIX_Split *split;
    MPIX_Pieces *pieces;
    void *state;
} MPIX_Adapt_layout;

/* Rank r of p owns [floor(r n / p), floor((r + 1) n / p)). */
MPIX_Adapt_layout MPIX_Layout_block(int64_t n);
/* The same intervals, given to processes so that the least moves: for neighbours see
 * MPIX_Adapt_data_position and MPIX_Adapt_data_rank. */
MPIX_Adapt_layout MPIX_Layout_block_free(int64_t n);
/* Element i belongs to rank floor(i / block) mod p. */
MPIX_Adapt_layout MPIX_Layout_block_cyclic(int64_t n, int64_t block);
/* The blocks of a matrix, stored by rows, on a grid of q x q positions; p must be q * q.  Position
 * (i, j) is number i q + j.  Element (row, column) has the number row * columns + column. */
MPIX_Adapt_layout MPIX_Layout_grid(int64_t rows, int64_t columns);
/* Consecutive parts of any length, this process' is `mine` (a joining one: 0). */
MPIX_Adapt_layout MPIX_Layout_irregular(int64_t mine, MPIX_Split *split, void *state);
MPIX_Adapt_layout MPIX_Layout_user(MPIX_Pieces *pieces, void *state);
/* Everybody has all of it: joining processes get it. */
MPIX_Adapt_layout MPIX_Layout_same(int64_t n);

/* Of block, block_cyclic and grid layouts, with positions numbered as above; -1: not such a layout,
 * or out of range.  owner: the position that element i is in.  local: where it is in that
 * position's part.  range: how many elements a position has, and *first, the first of them (n:
 * none). */
int MPIX_Layout_owner(const MPIX_Adapt_layout *layout, int size, int64_t i);
int64_t MPIX_Layout_local(const MPIX_Adapt_layout *layout, int size, int64_t i);
int64_t MPIX_Layout_range(const MPIX_Adapt_layout *layout, int position, int size, int64_t *first);

#ifdef __cplusplus
}
#endif

#endif /* ADAPT_LAYOUT_H_INCLUDED */
