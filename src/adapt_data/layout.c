/* The layouts of adapt_layout.h, and queries about them. */

#include "distribution.h"

MPIX_Adapt_layout MPIX_Layout_block(int64_t n)
{
    return (MPIX_Adapt_layout) {.kind = ADAPT_LAYOUT_BLOCK,.n = n };
}

MPIX_Adapt_layout MPIX_Layout_block_free(int64_t n)
{
    return (MPIX_Adapt_layout) {.kind = ADAPT_LAYOUT_BLOCK_FREE,.n = n };
}

MPIX_Adapt_layout MPIX_Layout_block_cyclic(int64_t n, int64_t block)
{
    return (MPIX_Adapt_layout) {.kind = ADAPT_LAYOUT_BLOCK_CYCLIC,.n = n,.block = block };
}

MPIX_Adapt_layout MPIX_Layout_grid(int64_t rows, int64_t columns)
{
    int64_t n = -1;

    if (rows < 0 || columns < 0 || __builtin_mul_overflow(rows, columns, &n))
        n = -1;                 /* an error at its first use */
    return (MPIX_Adapt_layout) {.kind = ADAPT_LAYOUT_GRID,.n = n,.rows = rows,.columns = columns };
}

MPIX_Adapt_layout MPIX_Layout_irregular(int64_t mine, MPIX_Split *split, void *state)
{
    return (MPIX_Adapt_layout) {.kind = ADAPT_LAYOUT_IRREGULAR,.n = -1,.mine = mine,.split = split,
        .state = state
    };
}

MPIX_Adapt_layout MPIX_Layout_user(MPIX_Pieces *pieces, void *state)
{
    return (MPIX_Adapt_layout) {.kind = ADAPT_LAYOUT_USER,.n = -1,.pieces = pieces,.state = state };
}

MPIX_Adapt_layout MPIX_Layout_same(int64_t n)
{
    return (MPIX_Adapt_layout) {.kind = ADAPT_LAYOUT_SAME,.n = n };
}

static bool is_formula(const MPIX_Adapt_layout *layout)
{
    return layout->kind == ADAPT_LAYOUT_BLOCK || layout->kind == ADAPT_LAYOUT_BLOCK_FREE ||
        layout->kind == ADAPT_LAYOUT_BLOCK_CYCLIC || layout->kind == ADAPT_LAYOUT_GRID;
}

int MPIX_Layout_owner(const MPIX_Adapt_layout *layout, int size, int64_t i)
{
    struct adapt_distribution by_position;
    int64_t end;

    if (!is_formula(layout) || i < 0 || i >= layout->n ||
        adapt_distribution_make(&by_position, layout, size, NULL, NULL))
        return -1;
    return adapt_distribution_owner(&by_position, i, &end);
}

int64_t MPIX_Layout_local(const MPIX_Adapt_layout *layout, int size, int64_t i)
{
    struct adapt_distribution by_position;
    int64_t end, low, high;

    if (!is_formula(layout) || i < 0 || i >= layout->n ||
        adapt_distribution_make(&by_position, layout, size, NULL, NULL))
        return -1;
    int position = adapt_distribution_owner(&by_position, i, &end);
    if (layout->kind == ADAPT_LAYOUT_BLOCK_CYCLIC)
        return i / layout->block / size * layout->block + i % layout->block;
    (void) adapt_distribution_next(&by_position, position, 0, &low, &high);
    if (layout->kind == ADAPT_LAYOUT_GRID && by_position.side > 1)
        return (i / layout->columns - low / layout->columns) * (high - low) +
            (i - low) % layout->columns;
    return i - low;
}

int64_t MPIX_Layout_range(const MPIX_Adapt_layout *layout, int position, int size, int64_t *first)
{
    struct adapt_distribution by_position;
    int64_t high;

    if (!is_formula(layout) || position < 0 || position >= size ||
        adapt_distribution_make(&by_position, layout, size, NULL, NULL))
        return -1;
    if (!adapt_distribution_next(&by_position, position, 0, first, &high))
        *first = layout->n;
    return adapt_distribution_part(&by_position, position);
}
