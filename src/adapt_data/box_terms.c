/* See box_terms.h. */

#include "box_terms.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "agreement.h"
#include "failure.h"

void adapt_write_box(const struct adapt_box *box, int axes, char *text, size_t capacity)
{
    *text = '\0';
    for (int axis = 0; axis < axes; axis++) {
        const size_t length = strlen(text);
        snprintf(text + length, capacity - length, "%s[%" PRId64 ", %" PRId64 ")",
                 axis ? " x " : "", box->low[axis], box->high[axis]);
    }
}

#define FIELD_NUMBERS (2 + 2 * BOX_AXES)

/* The terms of a field, which must be the same on all processes. */
static void list_field(const MPIX_Field *field, int64_t numbers[FIELD_NUMBERS])
{
    int size = 0;

    if (field->element != MPI_DATATYPE_NULL)
        MPI_Type_size(field->element, &size);
    numbers[0] = field->name ? adapt_mix_text(0, field->name) : 0;
    numbers[1] = size;
    for (int axis = 0; axis < BOX_AXES; axis++) {
        numbers[2 + axis] = field->nodes[axis];
        numbers[2 + BOX_AXES + axis] = field->ghost[axis];
    }
}

static int64_t mix_boxes(int64_t hash, const struct adapt_boxes *boxes)
{
    if (!boxes->boxes)
        return hash;
    hash = adapt_mix_all(hash, boxes->first, (int64_t) boxes->size + 1);
    return adapt_mix_all(hash, (const int64_t *) boxes->boxes,
                         boxes->first[boxes->size] * (int64_t) (2 * BOX_AXES));
}

int64_t adapt_box_terms_hash(const struct adapt_box_terms *terms)
{
    int64_t hash = adapt_mix(terms->count, terms->axes), numbers[FIELD_NUMBERS];

    for (int f = 0; terms->fields && f < terms->count; f++) {
        list_field(&terms->fields[f], numbers);
        hash = adapt_mix_all(hash, numbers, FIELD_NUMBERS);
    }
    return mix_boxes(mix_boxes(hash, terms->old), terms->coming);
}

/* Fails if fields differ; *found: whether they differ. */
static int refuse_fields(const struct adapt_box_terms *terms, bool *found)
{
    const int64_t counts[] = { terms->count, terms->axes };
    int64_t numbers[FIELD_NUMBERS], index;
    char text[AGREEMENT_TEXT], what[40];

    int code = adapt_find_difference(terms->channel, counts, 2, &index);
    *found = !code && index >= 0;
    if (*found) {
        snprintf(text, sizeof(text), "%d on %d axes", terms->count, terms->axes);
        return adapt_refuse_difference(terms->channel, terms->function, "the number of fields",
                                       text);
    }
    for (int f = 0; !code && !*found && f < terms->count; f++) {
        const MPIX_Field *field = &terms->fields[f];
        list_field(field, numbers);
        code = adapt_find_difference(terms->channel, numbers, FIELD_NUMBERS, &index);
        *found = !code && index >= 0;
        if (!*found)
            continue;
        snprintf(text, sizeof(text), "'%.100s' of %d bytes, nodes {%d, %d, %d}, ghost {%d, %d, %d}",
                 field->name, (int) numbers[1], field->nodes[0], field->nodes[1], field->nodes[2],
                 field->ghost[0], field->ghost[1], field->ghost[2]);
        snprintf(what, sizeof(what), "field %d", f);
        code = adapt_refuse_difference(terms->channel, terms->function, what, text);
    }
    return code;
}

/* Fails if the boxes of one world differ; *found: whether they differ. */
static int refuse_boxes(const struct adapt_box_terms *terms, const struct adapt_boxes *boxes,
                        bool *found)
{
    struct adapt_channel *channel = terms->channel;
    char text[AGREEMENT_TEXT], box[200];
    int64_t index;
    int rank = 0;

    int code = adapt_find_difference(channel, boxes->first, (int64_t) boxes->size + 1, &index);
    *found = !code && index >= 0;
    if (*found) {
        rank = (int) index - 1;
        snprintf(text, sizeof(text), "rank %d of %d has %" PRId64 " boxes", rank, boxes->size,
                 boxes->first[rank + 1] - boxes->first[rank]);
        return adapt_refuse_difference(channel, terms->function, "the boxes", text);
    }
    if (!code)
        code = adapt_find_difference(channel, (const int64_t *) boxes->boxes,
                                     boxes->first[boxes->size] * (2 * BOX_AXES), &index);
    *found = !code && index >= 0;
    if (!*found)
        return code;
    index /= 2 * BOX_AXES;
    while (boxes->first[rank + 1] <= index)
        rank++;
    adapt_write_box(&boxes->boxes[index], terms->axes, box, sizeof(box));
    snprintf(text, sizeof(text), "rank %d of %d has %s", rank, boxes->size, box);
    return adapt_refuse_difference(channel, terms->function, "the boxes", text);
}

int adapt_box_terms_refuse(const struct adapt_box_terms *terms)
{
    bool found;
    int code = refuse_fields(terms, &found);

    if (!code && !found)
        code = refuse_boxes(terms, terms->old, &found);
    if (!code && !found)
        code = refuse_boxes(terms, terms->coming, &found);
    return code || found ? code : adapt_fail(MPI_ERR_ARG,
                                  "%s: processes differ in the boxes; nothing has" " moved",
                                  terms->function);
}
