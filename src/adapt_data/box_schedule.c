/* See box_schedule.h. */

#include "box_schedule.h"

#include <stdlib.h>
#include <string.h>

/* ---- boxes ----------------------------------------------------------------------------------- */

int64_t adapt_box_values(const struct adapt_box *box)
{
    int64_t values = 1;

    for (int axis = 0; axis < BOX_AXES; axis++) {
        if (box->high[axis] <= box->low[axis])
            return 0;
        values *= box->high[axis] - box->low[axis];
    }
    return values;
}

static struct adapt_box common(const struct adapt_box *a, const struct adapt_box *b)
{
    struct adapt_box both;

    for (int axis = 0; axis < BOX_AXES; axis++) {
        both.low[axis] = a->low[axis] > b->low[axis] ? a->low[axis] : b->low[axis];
        both.high[axis] = a->high[axis] < b->high[axis] ? a->high[axis] : b->high[axis];
    }
    return both;
}

/* The values of a box of cells; none of a box without cells. */
static struct adapt_box values_of(const struct adapt_box *box, const int nodes[BOX_AXES])
{
    struct adapt_box values = *box;

    if (adapt_box_values(box) > 0)
        for (int axis = 0; axis < BOX_AXES; axis++)
            values.high[axis] += nodes[axis];
    return values;
}

int64_t adapt_boxes_cells(const struct adapt_boxes *boxes)
{
    int64_t cells = 0;

    for (int64_t k = 0; k < boxes->first[boxes->size]; k++)
        cells += adapt_box_values(&boxes->boxes[k]);
    return cells;
}

const char *adapt_boxes_check(const struct adapt_boxes *boxes, int rank)
{
    for (int64_t mine = boxes->first[rank]; mine < boxes->first[rank + 1]; mine++) {
        const struct adapt_box *box = &boxes->boxes[mine];
        for (int axis = 0; axis < BOX_AXES; axis++)
            if (box->high[axis] < box->low[axis] || box->low[axis] < -(INT64_MAX / 4) ||
                box->high[axis] > INT64_MAX / 4)
                return "a box ends before it begins, or its numbers are too large";
        for (int64_t other = 0; other < boxes->first[boxes->size]; other++) {
            struct adapt_box both = common(box, &boxes->boxes[other]);
            if (other != mine && adapt_box_values(&both) > 0)
                return "two boxes overlap";
        }
    }
    return NULL;
}

/* ---- even cuts ------------------------------------------------------------------------------- */

void adapt_box_parts(const struct adapt_box *domain, int size, int parts[BOX_AXES])
{
    double length[BOX_AXES];

    for (int axis = 0; axis < BOX_AXES; axis++) {
        parts[axis] = 1;
        length[axis] = (double) (domain->high[axis] - domain->low[axis]);
    }
    /* the greatest prime factors first, each to the axis with the longest parts */
    for (int rest = size; rest > 1;) {
        int factor = rest, longest = 0;
        for (int divisor = 2; divisor <= factor / divisor;) {
            if (factor % divisor == 0)
                factor /= divisor;
            else
                divisor++;
        }
        for (int axis = 1; axis < BOX_AXES; axis++)
            if (length[axis] / parts[axis] > length[longest] / parts[longest])
                longest = axis;
        parts[longest] *= factor;
        rest /= factor;
    }
}

struct adapt_box adapt_box_even(const struct adapt_box *domain, int size, int rank)
{
    struct adapt_box box;
    int parts[BOX_AXES], rest = rank;

    adapt_box_parts(domain, size, parts);
    for (int axis = BOX_AXES - 1; axis >= 0; axis--) {
        const int64_t n = domain->high[axis] - domain->low[axis];
        const int index = rest % parts[axis];
        rest /= parts[axis];
        box.low[axis] = domain->low[axis] + adapt_block_begin(n, parts[axis], index);
        box.high[axis] = domain->low[axis] + adapt_block_begin(n, parts[axis], index + 1);
    }
    return box;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static const char *add(struct adapt_box_list *list, const struct adapt_box_piece *piece)
{
    if (list->count == list->capacity_for) {
        int64_t capacity_for = list->capacity_for ? 2 * list->capacity_for : 8;
        void *more = realloc(list->pieces, (size_t) capacity_for * sizeof(*list->pieces));
        if (!more)
            return ADAPT_NO_MEMORY;
        list->pieces = more;
        list->capacity_for = capacity_for;
    }
    list->pieces[list->count++] = *piece;
    return NULL;
}

/* Adds a piece in slices along its longest axis, of at most `limit` values unless one layer has
 * more. */
static const char *add_slices(struct adapt_box_list *list, struct adapt_box_piece piece,
                              int64_t limit)
{
    const struct adapt_box whole = piece.region;
    const char *error = NULL;
    int longest = 0;

    for (int axis = 1; axis < BOX_AXES; axis++)
        if (whole.high[axis] - whole.low[axis] > whole.high[longest] - whole.low[longest])
            longest = axis;
    const int64_t layers = whole.high[longest] - whole.low[longest];
    const int64_t layer = adapt_box_values(&whole) / layers;
    const int64_t thick = limit / layer > 0 ? limit / layer : 1;
    for (int64_t from = whole.low[longest]; !error && from < whole.high[longest]; from += thick) {
        piece.region.low[longest] = from;
        piece.region.high[longest] = whole.high[longest] - from < thick ?
            whole.high[longest] : from + thick;
        error = add(list, &piece);
    }
    return error;
}

/* Splits every region of `from` into its part in `box`, which is added to `inside`, and the rest,
 * which stays. */
static const char *cut(struct adapt_box_list *from, const struct adapt_box *box,
                       struct adapt_box_list *inside)
{
    const int64_t count = from->count;
    int64_t left = 0;
    struct adapt_box_list rest = { NULL, 0, 0 };
    const char *error = NULL;

    for (int64_t k = 0; !error && k < count; k++) {
        struct adapt_box_piece piece = from->pieces[k], part = piece;
        struct adapt_box both = common(&piece.region, box);
        if (adapt_box_values(&both) == 0) {
            from->pieces[left++] = piece;
            continue;
        }
        for (int axis = 0; !error && axis < BOX_AXES; axis++) {
            part.region = piece.region;
            part.region.high[axis] = both.low[axis];
            if (adapt_box_values(&part.region) > 0)
                error = add(&rest, &part);
            part.region = piece.region;
            part.region.low[axis] = both.high[axis];
            if (!error && adapt_box_values(&part.region) > 0)
                error = add(&rest, &part);
            piece.region.low[axis] = both.low[axis];
            piece.region.high[axis] = both.high[axis];
        }
        part.region = both;
        if (!error)
            error = add(inside, &part);
    }
    from->count = left;
    for (int64_t k = 0; !error && k < rest.count; k++)
        error = add(from, &rest.pieces[k]);
    free(rest.pieces);
    return error;
}

/* ---- one new box ----------------------------------------------------------------------------- */

struct making {
    struct adapt_box_schedule *made;
    const struct adapt_boxes *old, *coming;
    const struct adapt_roles *roles;
    const int *nodes;
    int64_t limit;
    int process;                /* this process */
};

/* Removes the values that the old boxes of `rank` have from `wanted`, for the new box `piece` of
 * `receiver`. */
static const char *take_from(const struct making *making, int rank, int receiver,
                             struct adapt_box_piece piece, struct adapt_box_list *wanted)
{
    const struct adapt_boxes *old = making->old;
    struct adapt_box_list found = { NULL, 0, 0 };
    const char *error = NULL;

    for (int64_t k = old->first[rank]; !error && wanted->count > 0 && k < old->first[rank + 1];
         k++) {
        struct adapt_box values = values_of(&old->boxes[k], making->nodes);
        found.count = 0;
        error = cut(wanted, &values, &found);
        piece.old_box = (int) (k - old->first[rank]);
        for (int64_t j = 0; !error && j < found.count; j++) {
            piece.region = found.pieces[j].region;
            if (rank == receiver && receiver == making->process) {
                piece.process = rank;
                error = add(&making->made->keep, &piece);
            } else if (rank != receiver && receiver == making->process) {
                piece.process = rank;
                error = add_slices(&making->made->receive, piece, making->limit);
            } else if (rank != receiver && rank == making->process) {
                piece.process = receiver;
                error = add_slices(&making->made->send, piece, making->limit);
            }
        }
    }
    free(found.pieces);
    return error;
}

/* The sources of the values of a new box: its process, then the lowest old rank that has them.  All
 * callers get the same result. */
static const char *find_sources(const struct making *making, int receiver, int new_box,
                                const struct adapt_box *box)
{
    const struct adapt_box values = values_of(box, making->nodes);
    struct adapt_box_piece piece = {.new_box = new_box,.region = values };
    struct adapt_box_list wanted = { NULL, 0, 0 };
    const char *error = NULL;

    if (adapt_box_values(&values) > 0)
        error = add(&wanted, &piece);
    if (!error && receiver < making->old->size)
        error = take_from(making, receiver, receiver, piece, &wanted);
    for (int rank = 0; !error && wanted.count > 0 && rank < making->old->size; rank++)
        if (rank != receiver)
            error = take_from(making, rank, receiver, piece, &wanted);
    if (!error && wanted.count > 0)
        error = "no process has some of the values of a new box";
    free(wanted.pieces);
    return error;
}

static bool touches(const struct making *making, int rank, const struct adapt_box *box)
{
    const struct adapt_box values = values_of(box, making->nodes);

    for (int64_t k = making->old->first[rank]; k < making->old->first[rank + 1]; k++) {
        struct adapt_box mine = values_of(&making->old->boxes[k], making->nodes);
        mine = common(&mine, &values);
        if (adapt_box_values(&mine) > 0)
            return true;
    }
    return false;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* qsort is not stable: the number of a piece in its list is its last key. */
struct sorted {
    int distance;
    int64_t number;
};

static int by_distance(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;

    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static const char *sort(struct adapt_box_list *list, int process, bool sends, int processes)
{
    struct sorted *order = adapt_reserve(list->count, sizeof(*order));
    struct adapt_box_piece *pieces = adapt_reserve(list->count, sizeof(*pieces));

    if (!order || !pieces) {
        free(order);
        free(pieces);
        return ADAPT_NO_MEMORY;
    }
    for (int64_t k = 0; k < list->count; k++) {
        int distance =
            sends ? list->pieces[k].process - process : process - list->pieces[k].process;
        order[k] = (struct sorted) { distance < 0 ? distance + processes : distance, k };
    }
    if (list->count > 0)
        qsort(order, (size_t) list->count, sizeof(*order), by_distance);
    for (int64_t k = 0; k < list->count; k++)
        pieces[k] = list->pieces[order[k].number];
    free(order);
    free(list->pieces);
    list->pieces = pieces;
    list->capacity_for = list->count;
    return NULL;
}

const char *adapt_box_schedule_make(struct adapt_box_schedule *made, const struct adapt_boxes *old,
                                    const struct adapt_boxes *coming,
                                    const struct adapt_roles *roles, const int nodes[BOX_AXES],
                                    int64_t limit)
{
    struct making making = {.made = made,.old = old,.coming = coming,.roles = roles,.nodes =
            nodes,.limit = limit,.process = roles->old_rank
    };
    const char *error = NULL;
    int staying = 0;

    *made = (struct adapt_box_schedule) {.keep = {NULL, 0, 0} };
    for (int rank = 0; rank < roles->old_size; rank++)
        staying += roles->new_rank_of[rank] >= 0;
    if (making.process < 0)
        making.process = roles->process_of_new[roles->new_rank];
    for (int rank = 0; !error && rank < coming->size; rank++) {
        const int receiver = roles->process_of_new[rank];
        for (int64_t k = coming->first[rank]; !error && k < coming->first[rank + 1]; k++)
            if (receiver == making.process ||
                (roles->old_rank >= 0 && touches(&making, roles->old_rank, &coming->boxes[k])))
                error = find_sources(&making, receiver, (int) (k - coming->first[rank]),
                                     &coming->boxes[k]);
    }
    const int processes = roles->old_size + roles->new_size - staying;
    if (!error)
        error = sort(&made->send, making.process, true, processes);
    if (!error)
        error = sort(&made->receive, making.process, false, processes);
    if (error)
        adapt_box_schedule_clear(made);
    return error;
}

void adapt_box_schedule_clear(struct adapt_box_schedule *schedule)
{
    free(schedule->send.pieces);
    free(schedule->receive.pieces);
    free(schedule->keep.pieces);
    *schedule = (struct adapt_box_schedule) {.keep = {NULL, 0, 0} };
}
