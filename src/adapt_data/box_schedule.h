/*
 * The parts of boxes that one process sends, receives and retains.  Pure: no MPI, no state but its
 * own.  SPEC-epop V1.
 *
 * Processes of the window have one number each, as in schedule.h.
 */

#ifndef BOX_SCHEDULE_H_INCLUDED
#define BOX_SCHEDULE_H_INCLUDED

#include <stdint.h>
#include "schedule.h"

#define BOX_AXES 3

struct adapt_box {              /* MPIX_Box */
    int64_t low[BOX_AXES], high[BOX_AXES];
};

/* All boxes of a world: rank r has [first[r], first[r + 1]). */
struct adapt_boxes {
    int size;
    struct adapt_box *boxes;
    int64_t *first;             /* [size + 1] */
};

/* A region that goes from an old box to a new one. */
struct adapt_box_piece {
    int process;                /* the peer; of a retained piece: this process */
    int old_box, new_box;       /* indices of the boxes in their processes */
    struct adapt_box region;    /* values */
};

struct adapt_box_list {
    struct adapt_box_piece *pieces;
    int64_t count, capacity_for;
};

struct adapt_box_schedule {
    struct adapt_box_list send, receive, keep;
};

/* Makes the schedule of a field; nodes as in MPIX_Field.  limit: max values of a piece (or of one
 * layer, if that is more).  Returns the text of an error. */
const char *adapt_box_schedule_make(struct adapt_box_schedule *made, const struct adapt_boxes *old,
                                    const struct adapt_boxes *coming,
                                    const struct adapt_roles *roles, const int nodes[BOX_AXES],
                                    int64_t limit);
void adapt_box_schedule_clear(struct adapt_box_schedule *schedule);

/* Checks that the boxes of `rank` are valid and overlap with no other box. */
const char *adapt_boxes_check(const struct adapt_boxes *boxes, int rank);
int64_t adapt_boxes_cells(const struct adapt_boxes *boxes);
/* Number of values in the box. */
int64_t adapt_box_values(const struct adapt_box *box);

/* The number of parts along each axis for an even cut into `size` parts. */
void adapt_box_parts(const struct adapt_box *domain, int size, int parts[BOX_AXES]);
struct adapt_box adapt_box_even(const struct adapt_box *domain, int size, int rank);

#endif /* BOX_SCHEDULE_H_INCLUDED */
