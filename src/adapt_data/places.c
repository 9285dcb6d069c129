/*
 * The order of places in the coming world, so that the least moves.  SPEC-epop V4, V6.
 */

#include "distribution.h"

#include <stdlib.h>

/* Ranks of the new world that have no place yet: joining ones first, or by their numbers. */
static void fill_places(const char *has_place, const char *is_staying, bool joining_first, int size,
                        int *rank_of_place)
{
    int place = 0;

    for (int round = 0; round < (joining_first ? 2 : 1); round++) {
        for (int rank = 0; rank < size; rank++) {
            if (has_place[rank] || (joining_first && is_staying[rank] != round))
                continue;
            while (rank_of_place[place] >= 0)
                place++;
            rank_of_place[place] = rank;
        }
    }
}

/* ---- intervals -------------------------------------------------------------------------------- */

/* An old and a new interval with elements in common.  All pairs in increasing order are a staircase:
 * from one to the next the old, the new, or both intervals are the next. */
struct pair {
    int old_place, new_place;
    int64_t kept;               /* elements, if the new interval is given to the old one's process */
    int64_t best;               /* of a choice among this pair and those before, this one chosen or not */
    int64_t before;             /* the last pair that can be chosen together with this one, or -1 */
    bool chosen;
};

static int list_pairs(const struct adapt_distribution *old, const int *new_rank_of, int new_size,
                      struct pair *pairs)
{
    int count = 0, new_place = 0, old_place = 0;

    while (old_place < old->size && new_place < new_size) {
        int64_t old_end = adapt_block_begin(old->n, old->size, old_place + 1);
        int64_t new_end = adapt_block_begin(old->n, new_size, new_place + 1);
        int64_t low = adapt_block_begin(old->n, old->size, old_place);
        int64_t new_low = adapt_block_begin(old->n, new_size, new_place);
        int64_t end = old_end < new_end ? old_end : new_end;
        int rank = old->rank_of_place ? old->rank_of_place[old_place] : old_place;
        low = low > new_low ? low : new_low;
        if (end > low)
            pairs[count++] = (struct pair) {
                old_place, new_place, new_rank_of[rank] < 0 ? 0 : end - low, 0, -1, false};
        old_place += old_end <= new_end;
        new_place += new_end <= old_end;
    }
    return count;
}

/* Chooses pairs that have no interval in common, so that the kept sum is greatest. */
static void choose_pairs(struct pair *pairs, int count)
{
    int first_of_old = 0, first_of_new = 0;     /* the first pairs with the same interval */

    for (int k = 0; k < count; k++) {
        if (k > 0 && pairs[k].old_place != pairs[k - 1].old_place)
            first_of_old = k;
        if (k > 0 && pairs[k].new_place != pairs[k - 1].new_place)
            first_of_new = k;
        pairs[k].before = (first_of_old < first_of_new ? first_of_old : first_of_new) - 1;
        int64_t with = pairs[k].kept + (pairs[k].before >= 0 ? pairs[pairs[k].before].best : 0);
        int64_t without = k > 0 ? pairs[k - 1].best : 0;
        pairs[k].chosen = pairs[k].kept > 0 && with > without;
        pairs[k].best = pairs[k].chosen ? with : without;
    }
    for (int k = count - 1; k >= 0;) {
        int64_t next = pairs[k].chosen ? pairs[k].before : k - 1;
        for (int64_t between = next + 1; between < k; between++)
            pairs[between].chosen = false;
        k = (int) next;
    }
}

static const char *free_places(const struct adapt_distribution *old, const int *new_rank_of,
                               int new_size, int *rank_of_place, char *has_place)
{
    struct pair *pairs = adapt_reserve((int64_t) old->size + new_size, sizeof(*pairs));

    if (!pairs)
        return ADAPT_NO_MEMORY;
    int count = list_pairs(old, new_rank_of, new_size, pairs);
    choose_pairs(pairs, count);
    for (int k = 0; k < count; k++) {
        if (!pairs[k].chosen)
            continue;
        int rank = old->rank_of_place ? old->rank_of_place[pairs[k].old_place] : pairs[k].old_place;
        rank_of_place[pairs[k].new_place] = new_rank_of[rank];
        has_place[new_rank_of[rank]] = 1;
    }
    free(pairs);
    return NULL;
}

/* ---- grid ------------------------------------------------------------------------------------- */

static const char *grid_places(const struct adapt_distribution *old, const int *new_rank_of,
                               int new_size, int *rank_of_place, char *has_place)
{
    const int side = adapt_grid_side(new_size);

    if (side == 0)
        return "the new number of processes is not a square";
    for (int place = 0; place < old->size; place++) {
        int rank = new_rank_of[old->rank_of_place ? old->rank_of_place[place] : place];
        int down = place / old->side, across = place % old->side;
        if (rank < 0 || down >= side || across >= side)
            continue;
        rank_of_place[down * side + across] = rank;
        has_place[rank] = 1;
    }
    return NULL;
}

const char *adapt_distribution_places(const struct adapt_distribution *old, const int *new_rank_of,
                                      int new_size, int *rank_of_place)
{
    const char *error = NULL;
    char *has_place = adapt_reserve(new_size, 1), *is_staying = adapt_reserve(new_size, 1);

    if (has_place && is_staying) {
        for (int place = 0; place < new_size; place++)
            rank_of_place[place] = -1;
        for (int rank = 0; rank < old->size; rank++)
            if (new_rank_of[rank] >= 0)
                is_staying[new_rank_of[rank]] = 1;
        if (old->kind == ADAPT_LAYOUT_GRID)
            error = grid_places(old, new_rank_of, new_size, rank_of_place, has_place);
        else
            error = free_places(old, new_rank_of, new_size, rank_of_place, has_place);
        if (!error)
            fill_places(has_place, is_staying, old->kind == ADAPT_LAYOUT_GRID, new_size,
                        rank_of_place);
    } else {
        error = ADAPT_NO_MEMORY;
    }
    free(has_place);
    free(is_staying);
    return error;
}
