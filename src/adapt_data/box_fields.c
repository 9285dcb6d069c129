/* Boxes and fields: registration for MPIX_Adapt_window (adapt_boxes.h), lists, checks and memory
 * (box_fields.h). */

#include "box_fields.h"

#include <stdlib.h>
#include <string.h>
#include "data.h"
#include "failure.h"

/* ---- registered fields ----------------------------------------------------------------------- */

struct registered {
    struct adapt_part part;
    int axes, count;
    MPIX_Boxes *boxes;
    void *state;
    MPIX_Field *fields;
};

static int move_registered(struct adapt_part *part, const epop_window_t *window)
{
    struct registered *it = (struct registered *) part;

    return MPIX_Adapt_boxes_move(window, it->axes, it->boxes, it->state, it->count, it->fields);
}

static bool has_address(const struct adapt_part *part, const void *address)
{
    const struct registered *it = (const struct registered *) part;

    for (int f = 0; f < it->count; f++)
        if (it->fields[f].parts == address)
            return true;
    return false;
}

static void release_registered(struct adapt_part *part)
{
    free(((struct registered *) part)->fields);
    free(part);
}

int MPIX_Adapt_data_boxes(MPIX_Adapt_data data, int axes, MPIX_Boxes *boxes, void *state, int count,
                          const MPIX_Field fields[])
{
    static const char function[] = "MPIX_Adapt_data_boxes";

    if (!boxes || count < 1 || !fields || axes < 1 || axes > BOX_AXES)
        return adapt_fail(MPI_ERR_ARG,
                          "%s: boxes or fields is NULL, there is no field, or the number of axes"
                          " is not 1, 2 or 3", function);
    for (int f = 0; f < count; f++)
        if (fields[f].parts && adapt_data_registered(data, fields[f].parts))
            return adapt_fail(MPI_ERR_ARG,
                              "%s: field '%s': its parts are registered already, as '%s'", function,
                              fields[f].name ? fields[f].name : "NULL",
                                  adapt_data_registered(data, fields[f].parts));
    struct registered *made = calloc(1, sizeof(*made));
    MPIX_Field *copies = malloc((size_t) count * sizeof(*copies));
    if (!made || !copies) {
        free(made);
        free(copies);
        return adapt_data_take(data, NULL, "", function);
    }
    memcpy(copies, fields, (size_t) count * sizeof(*copies));
    *made = (struct registered) {.part = {.kind = ADAPT_PART_BOXES,.move = move_registered,
                                          .has = has_address,
                 .release = release_registered},.axes = axes,.count = count,.boxes = boxes,
                     .state = state,
        .fields = copies
    };
    return adapt_data_take(data, &made->part, fields[0].name, function);
}

/* ---- functions for a move -------------------------------------------------------------------- */

const char *adapt_list_boxes(struct adapt_boxes *listed, int size, MPIX_Boxes *boxes, void *state)
{
    *listed = (struct adapt_boxes) {.size = size,.first = adapt_reserve((int64_t) size + 1,
                                                                   sizeof(int64_t))
    };
    if (!listed->first)
        return ADAPT_NO_MEMORY;
    for (int rank = 0; rank < size; rank++) {
        int count = boxes(rank, size, 0, NULL, state);
        if (count < 0)
            return "the function of boxes has returned an error";
        listed->first[rank + 1] = listed->first[rank] + count;
    }
    listed->boxes = adapt_reserve(listed->first[size], sizeof(*listed->boxes));
    if (!listed->boxes)
        return ADAPT_NO_MEMORY;
    for (int rank = 0; rank < size; rank++) {
        int count = (int) (listed->first[rank + 1] - listed->first[rank]);
        if (boxes(rank, size, count, (MPIX_Box *) & listed->boxes[listed->first[rank]], state) !=
            count)
            return "the function of boxes returns a different result in its second call";
    }
    return NULL;
}

const char *adapt_field_check(const MPIX_Field *field, int axes)
{
    MPI_Aint lb, extent, true_lb, true_extent;

    if (!field->name || !field->parts || field->element == MPI_DATATYPE_NULL)
        return "name, parts or element is NULL";
    if (field->order != 0 && field->order != MPI_ORDER_C && field->order != MPI_ORDER_FORTRAN)
        return "its order is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN";
    if (field->memory && (!field->memory->grow || !field->memory->release))
        return "its memory needs both grow and release";
    for (int axis = 0; axis < BOX_AXES; axis++) {
        if (field->nodes[axis] < 0 || field->nodes[axis] > 1)
            return "nodes is neither 0 nor 1 along an axis";
        if (field->ghost[axis] < 0 || field->extra[axis] < 0)
            return "ghost or extra is negative along an axis";
        if (axis >= axes && (field->ghost[axis] || field->extra[axis] || field->nodes[axis]))
            return "nodes, ghost or extra is set along an axis that the boxes do not have";
    }
    MPI_Type_get_extent(field->element, &lb, &extent);
    MPI_Type_get_true_extent(field->element, &true_lb, &true_extent);
    if (!field->memory && (true_lb < 0 || extent < 0))
        return "an element has data before its address, or a negative extent: give own memory "
               "functions (MPIX_Adapt_memory), or a resized datatype";
    return NULL;
}

void *adapt_field_grow(const MPIX_Field *field, int64_t count)
{
    MPI_Aint lb, extent, true_lb, true_extent;

    if (field->memory)
        return field->memory->grow(count, field->memory->state);
    MPI_Type_get_extent(field->element, &lb, &extent);
    MPI_Type_get_true_extent(field->element, &true_lb, &true_extent);
    extent = extent < true_lb + true_extent ? true_lb + true_extent : extent;
    return calloc((size_t) count, extent > 0 ? (size_t) extent : 1);
}

void adapt_field_release(const MPIX_Field *field, void *part)
{
    if (part && field->memory)
        field->memory->release(part, field->memory->state);
    else
        free(part);
}
