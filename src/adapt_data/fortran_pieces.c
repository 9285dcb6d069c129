/* Boxes and items of the module adapt_data: allocatable arrays that move as a whole, in one call
 * each. */

#include "adapt_boxes.h"
#include "adapt_items.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "failure.h"
#include "fortran_array.h"

/* ---- boxes ----------------------------------------------------------------------------------- */

/* One field with a box for each rank, while it moves. */
struct fortran_box {
    int64_t lower[RANK_MAX], upper[RANK_MAX];   /* of the new array */
    void *slot;
};

/* The bounds of the new array, for the module's grow. */
void *adapt_fortran_box_slot(const struct fortran_box *box, int64_t lower[], int64_t upper[])
{
    memcpy(lower, box->lower, sizeof(box->lower));
    memcpy(upper, box->upper, sizeof(box->upper));
    return box->slot;
}

/* Whether the array has the extents of `rank`'s box with its ghost layers; misfit: the reason if
 * not. */
static bool fits(const struct fortran_part *part, const MPIX_Field *field, MPIX_Boxes *boxes,
                 int rank, int size, char misfit[AGREEMENT_TEXT])
{
    int64_t extents[MPIX_BOX_AXES];
    bool is_equal = true;
    MPIX_Box box;

    snprintf(misfit, AGREEMENT_TEXT, "is not allocated");
    if (boxes(rank, size, 1, &box, NULL) != 1 || !part->is_allocated)
        return false;
    (void) MPIX_Field_extents(field, &box, extents);
    snprintf(misfit, AGREEMENT_TEXT, "has the extents (");
    for (int axis = 0; axis < 2 * part->rank; axis++) {
        const size_t length = strlen(misfit);
        snprintf(misfit + length, AGREEMENT_TEXT - length, "%s%" PRId64, axis == part->rank ?
                 "), needed with nodes and ghost layers are (" : axis > 0 ? ", " : "",
                 axis < part->rank ? part->extent[axis] : extents[axis - part->rank]);
        is_equal = is_equal && extents[axis % part->rank] == part->extent[axis % part->rank];
    }
    strcat(misfit, ")");
    return is_equal;
}

/* part->first: the address of the array.  All processes refuse an array that does not fit, like a
 * missing one. */
int adapt_fortran_box_move(const epop_window_t *window, const char *name,
                           const struct fortran_part *part, MPIX_Boxes *boxes, const int nodes[],
                           const int ghost[], void *(*grow) (int64_t, void *),
                           void (*release) (void *, void *), void *slot, int *outcome)
{
    struct fortran_box made = {.slot = slot };
    const MPIX_Adapt_memory memory = {.grow = grow,.release = release,.state = &made };
    MPIX_Field field = {.name = name,.element = adapt_fortran_type(part->kind),
                        .order = MPI_ORDER_FORTRAN,
        .memory = &memory
    };
    MPIX_Box box;
    void *base[1] = { NULL };
    char misfit[AGREEMENT_TEXT];

    memcpy(field.nodes, nodes, (size_t) part->rank * sizeof(int));
    memcpy(field.ghost, ghost, (size_t) part->rank * sizeof(int));
    field.parts = base;
    if (window && window->old_rank >= 0) {
        if (fits(part, &field, boxes, window->old_rank, window->old_size, misfit))
            base[0] = part->first;
        else
            adapt_set_misfit(misfit);
    }
    void *former = base[0];
    if (window && window->new_rank >= 0 &&
        boxes(window->new_rank, window->new_size, 1, &box, NULL) == 1)
        for (int axis = 0; axis < part->rank; axis++) {
            made.lower[axis] = box.low[axis] - ghost[axis];
            made.upper[axis] = box.high[axis] - 1 + nodes[axis] + ghost[axis];
        }
    const char *as = adapt_call_as("adapt_move_box");
    int code = MPIX_Adapt_boxes_move(window, part->rank, boxes, NULL, 1, &field);
    (void) adapt_call_as(as);
    adapt_set_misfit(NULL);
    if (code)
        return code;
    *outcome = window->new_rank < 0 ? OUTCOME_LEAVE : !base[0] ? OUTCOME_EMPTY :
        base[0] == former ? OUTCOME_KEEP : OUTCOME_REPLACE;
    return code;
}

/* ---- items ----------------------------------------------------------------------------------- */

/* The slices that arrive at this process. */
struct arrivals {
    char *slices;
    int64_t count;
    size_t slice_bytes;
};

static int append(int64_t count, const MPIX_Column columns[], void *state)
{
    struct arrivals *come = state;
    const size_t before = (size_t) come->count * come->slice_bytes;
    const size_t bytes = (size_t) count * come->slice_bytes;
    char *slices = realloc(come->slices, before + bytes + 1);

    if (!slices)
        return 1;
    memcpy(slices + before, columns[0].base, bytes);
    come->slices = slices;
    come->count += count;
    return 0;
}

/* Makes the new array: staying slices, then arrived ones. */
static int put_together(struct fortran_array *array, const void *part, int64_t stay,
                        const struct arrivals *come, void *(*grow) (int64_t, void *))
{
    const size_t held = (size_t) stay * come->slice_bytes;
    char *fresh = grow(stay + come->count, array);

    if (!fresh)
        return adapt_fail(MPI_ERR_NO_MEM,
                          "adapt_move_items: array '%s': there is no memory; items are missing"
                          " now", array->name);
    if (held > 0)
        memcpy(fresh, part, held);
    if (come->count > 0 && come->slice_bytes > 0)
        memcpy(fresh + held, come->slices, (size_t) come->count * come->slice_bytes);
    return MPI_SUCCESS;
}

static int move_items(struct fortran_array *array, const epop_window_t *window,
                      const struct fortran_part *part, int64_t slices, const int destination[],
                      void *(*grow) (int64_t, void *), int *outcome)
{
    /* slices without elements */
    MPIX_Column column = {.base = part->first ? part->first : array };
    struct arrivals come = { 0 };
    int64_t stay = slices;
    int type_bytes;

    int code = adapt_fortran_slice_type(array, &column.element);
    if (code)
        return code;
    MPI_Type_size(column.element, &type_bytes);
    come.slice_bytes = (size_t) type_bytes;
    const char *as = adapt_call_as("adapt_move_items");
    code = MPIX_Adapt_items_move(window, &stay, destination, 1, &column, append, &come);
    (void) adapt_call_as(as);
    *outcome = window->new_rank < 0 ? OUTCOME_LEAVE : part->is_allocated && stay == slices &&
        come.count == 0 ? OUTCOME_KEEP : OUTCOME_REPLACE;
    if (!code && *outcome == OUTCOME_REPLACE)
        code = put_together(array, part->first, stay, &come, grow);
    free(come.slices);
    int free_code = MPI_Type_free(&column.element);
    return code ? code : free_code;
}

/* part->first: the address of the array.  destinations: their number. */
int adapt_fortran_items_move(const epop_window_t *window, const char *name,
                             const struct fortran_part *part, const int destination[],
                             int64_t destinations, void *(*grow) (int64_t, void *), void *slot,
                             int *outcome)
{
    struct fortran_array array = {.layout = {.kind = ADAPT_LAYOUT_IRREGULAR},.name =(char *) name };
    const int64_t slices = part->is_allocated ? part->extent[part->rank - 1] : 0;

    char why[100];

    snprintf(why, sizeof(why), "there are %" PRId64 " destinations for %" PRId64 " slices",
             destinations, slices);
    int code =
        adapt_fortran_agree(&array, window, part, ADAPT_CALL_FORTRAN_ITEMS, "adapt_move_items",
                            slices == destinations ? NULL : why);
    array.slot = slot;
    return code ? code : move_items(&array, window, part, slices, destination, grow, outcome);
}
