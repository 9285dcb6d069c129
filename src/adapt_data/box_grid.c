/* Boxes and their cuts (adapt_boxes.h): even cuts, and grids of processes.  No state of its own. */

#include "adapt_boxes.h"

#include <string.h>
#include "box_schedule.h"
#include "distribution.h"

/* ---- boxes ----------------------------------------------------------------------------------- */

static MPIX_Box box_of(int axes, const int64_t low[], const int64_t high[], int64_t more)
{
    MPIX_Box box;

    for (int axis = 0; axis < BOX_AXES; axis++) {
        box.low[axis] = axis < axes ? low[axis] : 0;
        box.high[axis] = axis < axes ? high[axis] + more : 1;
    }
    return box;
}

MPIX_Box MPIX_Box_of(int axes, const int64_t low[], const int64_t high[])
{
    return box_of(axes, low, high, 0);
}

MPIX_Box MPIX_Box_closed(int axes, const int64_t first[], const int64_t last[])
{
    return box_of(axes, first, last, 1);
}

void MPIX_Boxes_even_parts(const MPIX_Box *domain, int size, int parts[MPIX_BOX_AXES])
{
    adapt_box_parts((const struct adapt_box *) domain, size, parts);
}

int MPIX_Boxes_even(int rank, int size, int max, MPIX_Box boxes[], void *state)
{
    if (max > 0) {
        struct adapt_box box = adapt_box_even(state, size, rank);
        memcpy(&boxes[0], &box, sizeof(box));
    }
    return 1;
}

/* ---- grids ----------------------------------------------------------------------------------- */

int MPIX_Boxes_grid_coordinates(const MPIX_Grid *grid, int rank, int size, int parts[MPIX_BOX_AXES],
                                int coordinates[MPIX_BOX_AXES])
{
    int product = 1, rest = rank;

    if (grid->axes < 1 || grid->axes > BOX_AXES || rank < 0 || rank >= size)
        return -1;
    for (int axis = 0; axis < BOX_AXES; axis++) {
        parts[axis] = axis < grid->axes ? grid->parts[axis] : 1;
        coordinates[axis] = 0;
        if (parts[axis] < 0)
            return -1;
        product *= parts[axis] > 0 ? parts[axis] : 1;
    }
    if (size % product != 0)
        return -1;
    if (MPI_Dims_create(size, grid->axes, parts) != MPI_SUCCESS)
        return -1;
    for (int k = 0; k < grid->axes; k++) {
        const int axis = grid->first_fastest ? k : grid->axes - 1 - k;
        coordinates[axis] = rest % parts[axis];
        rest /= parts[axis];
    }
    return rest == 0 ? 0 : -1;
}

/* The first cell of part `index` of `parts`. */
static int64_t begin_in(const MPIX_Grid *grid, int axis, int parts, int index)
{
    const int64_t cells = grid->domain.high[axis] - grid->domain.low[axis], rest = cells % parts;

    return grid->domain.low[axis] +
        (!grid->remainder_first ? adapt_block_begin(cells, parts, index) : index * (cells / parts) +
         (index < rest ? index : rest));
}

int MPIX_Boxes_grid(int rank, int size, int max, MPIX_Box boxes[], void *state)
{
    const MPIX_Grid *grid = state;
    int parts[BOX_AXES], coordinates[BOX_AXES];

    if (MPIX_Boxes_grid_coordinates(grid, rank, size, parts, coordinates))
        return -1;
    for (int axis = 0; max > 0 && axis < BOX_AXES; axis++) {
        boxes[0].low[axis] =
            axis < grid->axes ? begin_in(grid, axis, parts[axis], coordinates[axis]) : 0;
        boxes[0].high[axis] =
            axis < grid->axes ? begin_in(grid, axis, parts[axis], coordinates[axis] + 1) : 1;
    }
    return 1;
}

int MPIX_Boxes_grid_neighbour(const MPIX_Grid *grid, int rank, int size, int axis, int steps)
{
    int parts[BOX_AXES], coordinates[BOX_AXES], found = 0;

    if (axis < 0 || axis >= grid->axes ||
        MPIX_Boxes_grid_coordinates(grid, rank, size, parts, coordinates))
        return MPI_PROC_NULL;
    int64_t at = (int64_t) coordinates[axis] + steps;
    if (!grid->periodic[axis] && (at < 0 || at >= parts[axis]))
        return MPI_PROC_NULL;
    coordinates[axis] = (int) ((at % parts[axis] + parts[axis]) % parts[axis]);
    for (int k = 0; k < grid->axes; k++) {
        const int of = grid->first_fastest ? grid->axes - 1 - k : k;
        found = found * parts[of] + coordinates[of];
    }
    return found;
}

/* ---- fields ---------------------------------------------------------------------------------- */

int64_t MPIX_Field_extents(const MPIX_Field *field, const MPIX_Box *box,
                           int64_t extents[MPIX_BOX_AXES])
{
    const bool is_empty = adapt_box_values((const struct adapt_box *) box) == 0;
    int64_t product = 1;

    for (int axis = 0; axis < BOX_AXES; axis++) {
        extents[axis] = is_empty ? 0 : box->high[axis] - box->low[axis] + field->nodes[axis] +
            2 * (int64_t) field->ghost[axis] + field->extra[axis];
        product *= extents[axis];
    }
    return product;
}
