/* Boxes and fields of a move: the boxes of all ranks, checks and memory of fields.  Private to
 * adapt_data. */

#ifndef BOX_FIELDS_H_INCLUDED
#define BOX_FIELDS_H_INCLUDED

#include "adapt_boxes.h"
#include "box_schedule.h"

/* Lists the boxes of all ranks of a world, from the program's function.  Returns the text of an
 * error; NULL: none. */
const char *adapt_list_boxes(struct adapt_boxes *list, int size, MPIX_Boxes *boxes, void *state);
/* Checks a field for boxes of so many axes.  Returns the text of an error; NULL: none. */
const char *adapt_field_check(const MPIX_Field *field, int axes);
/* The memory of one part. */
void *adapt_field_grow(const MPIX_Field *field, int64_t count);
void adapt_field_release(const MPIX_Field *field, void *part);
/* MPIX_Adapt_boxes_move with one state of `boxes` for the old world and one for the new one. */
int adapt_boxes_move(const epop_window_t *window, int axes, MPIX_Boxes *boxes, void *old_state,
                     void *new_state, int count, const MPIX_Field fields[]);

#endif /* BOX_FIELDS_H_INCLUDED */
