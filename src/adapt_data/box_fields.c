/* Fields on boxes that are registered for MPIX_Adapt_window (adapt_boxes.h). */

#include "adapt_boxes.h"

#include <stdlib.h>
#include <string.h>
#include "box_schedule.h"
#include "data.h"
#include "failure.h"

/* ---- registered fields ------------------------------------------------------------------------ */

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
        return adapt_fail(MPI_ERR_ARG, "%s: boxes or fields is NULL, there is no field, or the number of axes"
                          " is not 1, 2 or 3", function);
    struct registered *made = calloc(1, sizeof(*made));
    MPIX_Field *copies = malloc((size_t) count * sizeof(*copies));
    if (!made || !copies) {
        free(made);
        free(copies);
        return adapt_data_take(data, NULL, "", function);
    }
    memcpy(copies, fields, (size_t) count * sizeof(*copies));
    *made = (struct registered) {.part = {.kind = ADAPT_PART_BOXES,.move = move_registered,.release =
            release_registered},.axes = axes,.count = count,.boxes = boxes,.state = state,.fields = copies
    };
    return adapt_data_take(data, &made->part, fields[0].name, function);
}
