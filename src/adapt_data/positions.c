/*
 * The order of positions in the next world for which the fewest elements move.  SPEC-epop V4, V6.
 */

#include "distribution.h"

#include <stdlib.h>

/* Assigns positions to ranks of the new world that have none yet: joining ones first, or by
 * rank. */
static void fill_positions(const char *has_position, const char *is_staying, bool joining_first,
                           int size, int *rank_of_position)
{
    int position = 0;

    for (int round = 0; round < (joining_first ? 2 : 1); round++) {
        for (int rank = 0; rank < size; rank++) {
            if (has_position[rank] || (joining_first && is_staying[rank] != round))
                continue;
            while (rank_of_position[position] >= 0)
                position++;
            rank_of_position[position] = rank;
        }
    }
}

/* ---- intervals ------------------------------------------------------------------------------- */

/* An old and a new interval with common elements.  All pairs in increasing order are a staircase:
 * each step advances to the next old interval, the next new one, or both. */
struct pair {
    int old_position, new_position;
    /* elements, if the old interval's process gets the new one */
    int64_t retained;
    /* best sum of a choice among this pair and earlier ones */
    int64_t best;
    int64_t before;             /* the last pair that can be chosen together with this one, or -1 */
    bool chosen;
};

static int list_pairs(const struct adapt_distribution *old, const int *new_rank_of, int new_size,
                      struct pair *pairs)
{
    int count = 0, new_position = 0, old_position = 0;

    while (old_position < old->size && new_position < new_size) {
        int64_t old_end = adapt_block_begin(old->n, old->size, old_position + 1);
        int64_t new_end = adapt_block_begin(old->n, new_size, new_position + 1);
        int64_t low = adapt_block_begin(old->n, old->size, old_position);
        int64_t new_low = adapt_block_begin(old->n, new_size, new_position);
        int64_t end = old_end < new_end ? old_end : new_end;
        int rank = old->rank_of_position ? old->rank_of_position[old_position] : old_position;
        low = low > new_low ? low : new_low;
        if (end > low)
            pairs[count++] = (struct pair) {
                old_position, new_position, new_rank_of[rank] < 0 ? 0 : end - low, 0, -1, false};
        old_position += old_end <= new_end;
        new_position += new_end <= old_end;
    }
    return count;
}

/* Chooses pairs that have no interval in common, so that the retained sum is greatest. */
static void choose_pairs(struct pair *pairs, int count)
{
    int first_of_old = 0, first_of_new = 0;     /* the first pairs with the same interval */

    for (int k = 0; k < count; k++) {
        if (k > 0 && pairs[k].old_position != pairs[k - 1].old_position)
            first_of_old = k;
        if (k > 0 && pairs[k].new_position != pairs[k - 1].new_position)
            first_of_new = k;
        pairs[k].before = (first_of_old < first_of_new ? first_of_old : first_of_new) - 1;
        int64_t with = pairs[k].retained + (pairs[k].before >= 0 ? pairs[pairs[k].before].best : 0);
        int64_t without = k > 0 ? pairs[k - 1].best : 0;
        pairs[k].chosen = pairs[k].retained > 0 && with > without;
        pairs[k].best = pairs[k].chosen ? with : without;
    }
    for (int k = count - 1; k >= 0;) {
        int64_t next = pairs[k].chosen ? pairs[k].before : k - 1;
        for (int64_t between = next + 1; between < k; between++)
            pairs[between].chosen = false;
        k = (int) next;
    }
}

static const char *free_positions(const struct adapt_distribution *old, const int *new_rank_of,
                               int new_size, int *rank_of_position, char *has_position)
{
    struct pair *pairs = adapt_reserve((int64_t) old->size + new_size, sizeof(*pairs));

    if (!pairs)
        return ADAPT_NO_MEMORY;
    int count = list_pairs(old, new_rank_of, new_size, pairs);
    choose_pairs(pairs, count);
    for (int k = 0; k < count; k++) {
        if (!pairs[k].chosen)
            continue;
        int rank =
            old->rank_of_position ? old->rank_of_position[pairs[k].old_position] : pairs[k].
            old_position;
        rank_of_position[pairs[k].new_position] = new_rank_of[rank];
        has_position[new_rank_of[rank]] = 1;
    }
    free(pairs);
    return NULL;
}

/* ---- grid ------------------------------------------------------------------------------------ */

static const char *grid_positions(const struct adapt_distribution *old, const int *new_rank_of,
                               int new_size, int *rank_of_position, char *has_position)
{
    const int side = adapt_grid_side(new_size);

    if (side == 0)
        return "the new number of processes is not a square";
    for (int position = 0; position < old->size; position++) {
        int rank = new_rank_of[old->rank_of_position ? old->rank_of_position[position] : position];
        int down = position / old->side, across = position % old->side;
        if (rank < 0 || down >= side || across >= side)
            continue;
        rank_of_position[down * side + across] = rank;
        has_position[rank] = 1;
    }
    return NULL;
}

const char *adapt_distribution_positions(const struct adapt_distribution *old,
                                         const int *new_rank_of, int new_size,
                                         int *rank_of_position)
{
    const char *error = NULL;
    char *has_position = adapt_reserve(new_size, 1), *is_staying = adapt_reserve(new_size, 1);

    if (has_position && is_staying) {
        for (int position = 0; position < new_size; position++)
            rank_of_position[position] = -1;
        for (int rank = 0; rank < old->size; rank++)
            if (new_rank_of[rank] >= 0)
                is_staying[new_rank_of[rank]] = 1;
        if (old->kind == ADAPT_LAYOUT_GRID)
            error = grid_positions(old, new_rank_of, new_size, rank_of_position, has_position);
        else
            error = free_positions(old, new_rank_of, new_size, rank_of_position, has_position);
        if (!error)
            fill_positions(has_position, is_staying, old->kind == ADAPT_LAYOUT_GRID, new_size,
                        rank_of_position);
    } else {
        error = ADAPT_NO_MEMORY;
    }
    free(has_position);
    free(is_staying);
    return error;
}
