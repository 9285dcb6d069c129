/* See distribution.h. */

#include "distribution.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char ADAPT_NO_MEMORY[] = "there is no memory";

int64_t adapt_block_begin(int64_t n, int size, int position)
{
    int64_t product;

    if (!__builtin_mul_overflow(position, n, &product))
        return product / size;
    return (int64_t) ((__int128) position * n / size);
}

static int block_position(int64_t n, int size, int64_t i)
{
    int64_t product;

    if (!__builtin_mul_overflow(i + 1, (int64_t) size, &product) && product <= INT64_MAX - n)
        return (int) ((product + n - 1) / n) - 1;
    return (int) (((__int128) (i + 1) * size + n - 1) / n) - 1;
}

int adapt_grid_side(int size)
{
    int side = 1;

    while ((int64_t) side * side < size)
        side++;
    return (int64_t) side *side == size ? side : 0;
}

void *adapt_reserve(int64_t count, size_t size)
{
    return calloc(count > 0 ? (size_t) count : 1, size);
}

/* ---- order of positions ---------------------------------------------------------------------- */

static const char *set_positions(struct adapt_distribution *made, const int *rank_of_position)
{
    made->rank_of_position = adapt_reserve(made->size, sizeof(int));
    made->position_of_rank = adapt_reserve(made->size, sizeof(int));
    if (!made->rank_of_position || !made->position_of_rank)
        return ADAPT_NO_MEMORY;
    for (int rank = 0; rank < made->size; rank++)
        made->position_of_rank[rank] = -1;
    for (int position = 0; position < made->size; position++) {
        int rank = rank_of_position[position];
        if (rank < 0 || rank >= made->size || made->position_of_rank[rank] >= 0)
            return "the order of its positions is not a permutation of the ranks";
        made->rank_of_position[position] = rank;
        made->position_of_rank[rank] = position;
    }
    return NULL;
}

static int rank_of(const struct adapt_distribution *distribution, int position)
{
    return distribution->rank_of_position ? distribution->rank_of_position[position] : position;
}

static int position_of(const struct adapt_distribution *distribution, int rank)
{
    return distribution->position_of_rank ? distribution->position_of_rank[rank] : rank;
}

/* ---- layouts whose pieces are listed --------------------------------------------------------- */

static const char *list_irregular(struct adapt_distribution *made, const int64_t *lengths)
{
    made->lengths = adapt_reserve(made->size, sizeof(int64_t));
    made->pieces = adapt_reserve(made->size, sizeof(struct adapt_piece));
    if (!made->lengths || !made->pieces)
        return ADAPT_NO_MEMORY;
    made->n = 0;
    made->count = made->size;
    for (int rank = 0; rank < made->size; rank++) {
        int64_t low = made->n;
        if (lengths[rank] < 0 || __builtin_add_overflow(low, lengths[rank], &made->n))
            return "one of its lengths is negative, or their sum is too large";
        made->lengths[rank] = lengths[rank];
        made->pieces[rank] = (struct adapt_piece) {low, made->n, rank};
    }
    return NULL;
}

static int by_low(const void *a, const void *b)
{
    const struct adapt_piece *x = a, *y = b;

    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Adds the pieces of one rank to the list. */
static const char *query_pieces(struct adapt_distribution *made, const MPIX_Adapt_layout *layout,
                              int rank, int64_t *capacity_for)
{
    int64_t count = layout->pieces(rank, made->size, 0, NULL, NULL, layout->state);
    if (count < 0 || count > INT64_MAX / (int64_t) sizeof(struct adapt_piece) - made->count)
        return "its function of pieces has returned an error";
    if (made->count + count > *capacity_for) {
        *capacity_for = 2 * (made->count + count);
        void *more = realloc(made->pieces, (size_t) *capacity_for * sizeof(struct adapt_piece));
        if (!more)
            return ADAPT_NO_MEMORY;
        made->pieces = more;
    }
    int64_t *low = adapt_reserve(count, sizeof(int64_t)), *high =
        adapt_reserve(count, sizeof(int64_t));
    const char *error = low && high ? NULL : ADAPT_NO_MEMORY;
    if (!error && layout->pieces(rank, made->size, count, low, high, layout->state) != count)
        error = "its function of pieces returns a different result in its second call";
    for (int64_t k = 0; !error && k < count; k++) {
        if (low[k] < 0 || high[k] < low[k] || (k > 0 && low[k] < high[k - 1]))
            error = "the pieces of a rank are not in increasing order";
        else if (high[k] > low[k])
            made->pieces[made->count++] = (struct adapt_piece) {low[k], high[k], rank};
    }
    free(low);
    free(high);
    return error;
}

#define MISFITS_MAX 5          /* max number that is reported */
#define MISFIT_LENGTH 100

/* Finds elements without an owner, and elements with two owners, in pieces sorted by number.  NULL:
 * none; *end is the number of elements. */
static const char *find_misfits(const struct adapt_piece *pieces, int64_t count, int64_t *end)
{
    static _Thread_local char text[(MISFITS_MAX + 1) * MISFIT_LENGTH];
    int misfits = 0, owner = -1;
    char *to = text;

    *end = 0;
    for (int64_t k = 0; k < count && misfits <= MISFITS_MAX; k++) {
        const struct adapt_piece *piece = &pieces[k];
        const char *between = misfits > 0 ? "; " : "";
        if (piece->low != *end && misfits++ == MISFITS_MAX)
            to += sprintf(to, "; and more");
        else if (piece->low > *end)
            to +=
                sprintf(to, "%sno process owns its elements [%" PRId64 ", %" PRId64 ")", between,
                        *end, piece->low);
        else if (piece->low < *end)
            to +=
                sprintf(to, "%sranks %d and %d both own its elements [%" PRId64 ", %" PRId64 ")",
                        between, owner, piece->rank, piece->low,
                        piece->high < *end ? piece->high : *end);
        if (piece->high > *end) {
            *end = piece->high;
            owner = piece->rank;
        }
    }
    return misfits > 0 ? text : NULL;
}

static const char *list_user(struct adapt_distribution *made, const MPIX_Adapt_layout *layout)
{
    const char *error = NULL;
    int64_t capacity_for = 0;

    made->first_own = adapt_reserve((int64_t) made->size + 1, sizeof(int64_t));
    if (!made->first_own)
        return ADAPT_NO_MEMORY;
    for (int rank = 0; rank < made->size && !error; rank++) {
        error = query_pieces(made, layout, rank, &capacity_for);
        made->first_own[rank + 1] = made->count;
    }
    if (error)
        return error;
    if (made->count > 0)
        qsort(made->pieces, (size_t) made->count, sizeof(*made->pieces), by_low);
    error = find_misfits(made->pieces, made->count, &made->n);
    if (error)
        return error;
    made->own = adapt_reserve(made->count, sizeof(int64_t));
    int64_t *next = adapt_reserve(made->size, sizeof(int64_t));
    if (!made->own || !next) {
        free(next);
        return ADAPT_NO_MEMORY;
    }
    memcpy(next, made->first_own, (size_t) made->size * sizeof(int64_t));
    for (int64_t k = 0; k < made->count; k++)
        made->own[next[made->pieces[k].rank]++] = k;
    free(next);
    return NULL;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static const char *check(const MPIX_Adapt_layout *layout, int size)
{
    switch (layout->kind) {
        case ADAPT_LAYOUT_BLOCK:
        case ADAPT_LAYOUT_BLOCK_FREE:
        case ADAPT_LAYOUT_SAME:
        case ADAPT_LAYOUT_SHARED:
            return layout->n >= 0 ? NULL : "its number of elements is negative";
        case ADAPT_LAYOUT_BLOCK_CYCLIC:
            return layout->n >= 0 && layout->block > 0 ? NULL :
                "its number of elements is negative, or its block is not positive";
        case ADAPT_LAYOUT_GRID:
            if (layout->n < 0)
                return "its rows and columns are not those of a matrix";
            return adapt_grid_side(size) ? NULL : "the number of processes is not a square";
        case ADAPT_LAYOUT_IRREGULAR:
            return layout->split &&
                layout->mine >= 0 ? NULL : "its length is negative, or split is NULL";
        case ADAPT_LAYOUT_USER:
            return layout->pieces ? NULL : "its function of pieces is NULL";
        default:
            return "its layout is none of MPIX_Layout_...";
    }
}

const char *adapt_distribution_make(struct adapt_distribution *made,
                                    const MPIX_Adapt_layout *layout, int size,
                                    const int *positions, const int64_t *lengths)
{
    *made = (struct adapt_distribution) {.kind = layout->kind,.size = size,.n = layout->n,.block =
            layout->block,.rows = layout->rows,.columns = layout->columns
    };
    const char *error = size > 0 ? check(layout, size) : "there are no processes";
    if (!error && layout->kind == ADAPT_LAYOUT_GRID)
        made->side = adapt_grid_side(size);
    if (!error && layout->kind == ADAPT_LAYOUT_IRREGULAR)
        error = list_irregular(made, lengths);
    if (!error && layout->kind == ADAPT_LAYOUT_USER)
        error = list_user(made, layout);
    if (!error && positions)
        error = set_positions(made, positions);
    if (error)
        adapt_distribution_clear(made);
    return error;
}

void adapt_distribution_clear(struct adapt_distribution *distribution)
{
    free(distribution->rank_of_position);
    free(distribution->position_of_rank);
    free(distribution->lengths);
    free(distribution->pieces);
    free(distribution->own);
    free(distribution->first_own);
    *distribution = (struct adapt_distribution) {.kind = distribution->kind,.size = 0 };
}

/* ---- owner of an element --------------------------------------------------------------------- */

static int64_t piece_of(const struct adapt_distribution *distribution, int64_t i)
{
    int64_t low = 0, high = distribution->count;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (distribution->pieces[middle].high <= i)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int grid_owner(const struct adapt_distribution *distribution, int64_t i, int64_t *end)
{
    const int side = distribution->side;
    const int64_t row = i / distribution->columns, column = i % distribution->columns;
    const int across = block_position(distribution->columns, side, column);
    const int down = block_position(distribution->rows, side, row);

    if (side == 1)
        *end = distribution->n;
    else
        *end =
            row * distribution->columns + adapt_block_begin(distribution->columns, side,
                                                            across + 1);
    return down * side + across;
}

int adapt_distribution_owner(const struct adapt_distribution *distribution, int64_t i, int64_t *end)
{
    const int64_t n = distribution->n;
    int position;

    switch (distribution->kind) {
        case ADAPT_LAYOUT_BLOCK_CYCLIC:
            *end = distribution->size == 1 || n - i <= distribution->block ? n :
                (i / distribution->block + 1) * distribution->block;
            return (int) (i / distribution->block % distribution->size);
        case ADAPT_LAYOUT_GRID:
            return rank_of(distribution, grid_owner(distribution, i, end));
        case ADAPT_LAYOUT_IRREGULAR:
        case ADAPT_LAYOUT_USER:{
                const struct adapt_piece *piece =
                    &distribution->pieces[piece_of(distribution, i)];
                *end = piece->high;
                return piece->rank;
            }
        default:
            position = block_position(n, distribution->size, i);
            *end = adapt_block_begin(n, distribution->size, position + 1);
            return rank_of(distribution, position);
    }
}

/* ---- elements of a rank ---------------------------------------------------------------------- */

static bool next_of_grid(const struct adapt_distribution *distribution, int position, int64_t from,
                         int64_t *low, int64_t *high)
{
    const int side = distribution->side, down = position / side, across = position % side;
    const int64_t columns = distribution->columns;
    const int64_t first_row = adapt_block_begin(distribution->rows, side, down);
    const int64_t end_row = adapt_block_begin(distribution->rows, side, down + 1);
    const int64_t first = adapt_block_begin(columns, side, across);
    const int64_t end = adapt_block_begin(columns, side, across + 1);

    if (first == end || first_row == end_row)
        return false;
    int64_t row = from / columns + (from % columns >= end);
    row = row < first_row ? first_row : row;
    if (row >= end_row)
        return false;
    *low = row * columns + first;
    *high = side == 1 ? distribution->n : row * columns + end;
    *low = *low < from ? from : *low;
    return true;
}

static bool next_of_cyclic(const struct adapt_distribution *distribution, int rank, int64_t from,
                           int64_t *low, int64_t *high)
{
    const int64_t n = distribution->n, block = distribution->block;
    const int size = distribution->size;
    int64_t number = from / block;

    number += (rank - number % size + size) % size;
    if (number > (n - 1) / block)
        return false;
    *low = number * block < from ? from : number * block;
    *high = size == 1 || n - number * block <= block ? n : (number + 1) * block;
    return true;
}

static bool next_of_list(const struct adapt_distribution *distribution, int rank, int64_t from,
                         int64_t *low, int64_t *high)
{
    int64_t first = rank, end = (int64_t) rank + 1;     /* irregular: one piece for each rank */

    if (distribution->kind == ADAPT_LAYOUT_USER) {
        first = distribution->first_own[rank];
        end = distribution->first_own[rank + 1];
    }
    for (int64_t high = end; first < high;) {
        int64_t middle = first + (high - first) / 2;
        int64_t index = distribution->own ? distribution->own[middle] : middle;
        if (distribution->pieces[index].high <= from)
            first = middle + 1;
        else
            high = middle;
    }
    if (first == end)
        return false;
    const struct adapt_piece *piece =
        &distribution->pieces[distribution->own ? distribution->own[first] : first];
    *low = piece->low < from ? from : piece->low;
    *high = piece->high;
    return *low < *high;
}

bool adapt_distribution_next(const struct adapt_distribution *distribution, int rank, int64_t from,
                             int64_t *low, int64_t *high)
{
    const int position = position_of(distribution, rank);

    if (from >= distribution->n)
        return false;
    switch (distribution->kind) {
        case ADAPT_LAYOUT_BLOCK_CYCLIC:
            return next_of_cyclic(distribution, rank, from, low, high);
        case ADAPT_LAYOUT_GRID:
            return next_of_grid(distribution, position, from, low, high);
        case ADAPT_LAYOUT_IRREGULAR:
        case ADAPT_LAYOUT_USER:
            return next_of_list(distribution, rank, from, low, high);
        case ADAPT_LAYOUT_SAME:
        case ADAPT_LAYOUT_SHARED:
            *low = from;
            *high = distribution->n;
            return true;
        default:
            *low = adapt_block_begin(distribution->n, distribution->size, position);
            *high = adapt_block_begin(distribution->n, distribution->size, position + 1);
            *low = *low < from ? from : *low;
            return *low < *high;
    }
}

static int64_t part_of_grid(const struct adapt_distribution *distribution, int position)
{
    const int side = distribution->side, down = position / side, across = position % side;

    return (adapt_block_begin(distribution->rows, side, down + 1) -
            adapt_block_begin(distribution->rows, side, down)) *
        (adapt_block_begin(distribution->columns, side, across + 1) -
         adapt_block_begin(distribution->columns, side, across));
}

static int64_t part_of_cyclic(const struct adapt_distribution *distribution, int rank)
{
    const int64_t block = distribution->block, whole = distribution->n / block;
    const int size = distribution->size;
    int64_t part = (whole / size + (whole % size > rank)) * block;

    return whole % size == rank ? part + distribution->n % block : part;
}

int64_t adapt_distribution_part(const struct adapt_distribution *distribution, int rank)
{
    int64_t part = 0, low, high;

    switch (distribution->kind) {
        case ADAPT_LAYOUT_GRID:
            return part_of_grid(distribution, position_of(distribution, rank));
        case ADAPT_LAYOUT_BLOCK_CYCLIC:
            return part_of_cyclic(distribution, rank);
        default:
            for (int64_t from = 0; adapt_distribution_next(distribution, rank, from, &low, &high);
                 from = high)
                part += high - low;
            return part;
    }
}
