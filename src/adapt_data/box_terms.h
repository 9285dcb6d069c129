/*
 * The terms of a move of fields on boxes: the values that must be the same on all processes, and
 * the error if they differ.  Private to adapt_data.
 */

#ifndef BOX_TERMS_H_INCLUDED
#define BOX_TERMS_H_INCLUDED

#include "adapt_boxes.h"
#include "box_schedule.h"
#include "channel.h"

struct adapt_box_terms {
    struct adapt_channel *channel;
    const char *function;       /* the called function */
    int axes, count;
    const MPIX_Field *fields;   /* NULL: not known to be valid */
    const struct adapt_boxes *old, *coming;
};

int64_t adapt_box_terms_hash(const struct adapt_box_terms *terms);
/* The error of processes whose hashes differ.  Collective over the channel. */
int adapt_box_terms_refuse(const struct adapt_box_terms *terms);
/* A box of so many axes: [0, 5) x [2, 3) */
void adapt_write_box(const struct adapt_box *box, int axes, char *text, size_t capacity);

#endif /* BOX_TERMS_H_INCLUDED */
