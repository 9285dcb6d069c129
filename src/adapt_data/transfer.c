/* See transfer.h. */

#include "transfer.h"

#include <stdlib.h>
#include <string.h>

/* ---- retained elements ----------------------------------------------------------------------- */

/* Copies as a message to itself: writes only the data of the elements, because other data, or
 * elements that have already arrived, may lie between them. */
static int copy_by_type(MPI_Datatype type, char *to, const char *from, int64_t extent,
                        int64_t count)
{
    int code = MPI_SUCCESS;

    while (!code && count > 0) {
        const int some = count < INT32_MAX ? (int) count : INT32_MAX;
        code = MPI_Sendrecv(from, some, type, 0, 0, to, some, type, 0, 0, MPI_COMM_SELF,
                            MPI_STATUS_IGNORE);
        from += some * extent;
        to += some * extent;
        count -= some;
    }
    return code;
}

/* Whether elements have no gaps and do not overlap. */
static bool is_dense(const struct adapt_element *element)
{
    return element->true_lb == 0 && element->true_extent == element->extent &&
        element->size == element->extent;
}

static int copy_run(const struct adapt_element *element, char *to, const char *from, int64_t count)
{
    if (!is_dense(element))
        return copy_by_type(element->type, to, from, element->extent, count);
    memcpy(to, from, (size_t) (count * element->extent));
    return MPI_SUCCESS;
}

static int copy_retained(const struct adapt_element *element, const struct adapt_schedule *schedule,
                     const char *old_part, char *new_part)
{
    int64_t from = 0, to = 0, in_from = 0, in_to = 0;
    int code = MPI_SUCCESS;

    while (!code && from < schedule->retained_from_runs) {
        const struct adapt_run *source = &schedule->retained_from[from];
        const struct adapt_run *target = &schedule->retained_to[to];
        int64_t count = source->count - in_from;
        count = count < target->count - in_to ? count : target->count - in_to;
        code = copy_run(element, new_part + (target->first + in_to) * element->extent,
                        old_part + (source->first + in_from) * element->extent, count);
        in_from += count;
        in_to += count;
        if (in_from == source->count) {
            from++;
            in_from = 0;
        }
        if (in_to == target->count) {
            to++;
            in_to = 0;
        }
    }
    return code;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Returns the number of runs that contain the next `count` elements of the direction. */
static int64_t count_runs(const struct adapt_direction *direction, int64_t count)
{
    int64_t run = direction->run;

    for (count += direction->in_run; count > direction->side->runs[run].count; run++)
        count -= direction->side->runs[run].count;
    return run - direction->run + 1;
}

/* Advances by the next at most `count` elements of this run.  Returns their number; *first: their
 * position in the part. */
static int64_t take_run(struct adapt_direction *direction, int64_t count, int64_t *first)
{
    const struct adapt_run *run = &direction->side->runs[direction->run];
    int64_t length = run->count - direction->in_run;

    length = length < count ? length : count;
    *first = run->first + direction->in_run;
    direction->in_run += length;
    if (direction->in_run == run->count) {
        direction->run++;
        direction->in_run = 0;
    }
    return length;
}

/* Makes a type for the next elements, relative to the start of the part, and advances after
 * them. */
static int make_type(struct adapt_direction *direction, const struct adapt_element *element,
                     int64_t count, int64_t runs, MPI_Datatype *type)
{
    int *lengths = malloc((size_t) runs * sizeof(int));
    MPI_Aint *displacements = malloc((size_t) runs * sizeof(MPI_Aint));
    int code = MPI_ERR_NO_MEM;

    if (lengths && displacements && runs <= INT32_MAX) {
        for (int64_t k = 0; k < runs; k++) {
            int64_t first, length = take_run(direction, count, &first);
            lengths[k] = (int) length;
            displacements[k] = (MPI_Aint) first * element->extent;
            count -= length;
        }
        code = MPI_Type_create_hindexed((int) runs, lengths, displacements, element->type, type);
    }
    free(lengths);
    free(displacements);
    return code ? code : MPI_Type_commit(type);
}

/* Posts the next message; k counts in order. */
static int post(void *state, bool sends, int64_t k, MPI_Request *request)
{
    struct adapt_transfer *transfer = state;
    struct adapt_direction *direction = sends ? &transfer->send : &transfer->receive;
    const struct adapt_peer *peer = &direction->side->peers[direction->peer];
    const struct adapt_exchange *exchange = &transfer->exchange;
    const int process = peer->process;
    MPI_Datatype type = transfer->element.type;
    int64_t count = peer->elements - direction->of_peer, first = 0;
    int code = MPI_SUCCESS, items = 1;

    (void) k;
    count = count < transfer->chunk ? count : transfer->chunk;
    const int64_t runs = count_runs(direction, count);
    if (runs == 1)
        items = (int) take_run(direction, count, &first);
    else
        code = make_type(direction, &transfer->element, count, runs, &type);
    if (code)
        return code;
    direction->of_peer += count;
    if (direction->of_peer == peer->elements) {
        direction->peer++;
        direction->of_peer = 0;
    }
    char *from = direction->part + (MPI_Aint) first * transfer->element.extent;
    if (sends)
        code = MPI_Isend(from, items, type, process, exchange->tag, exchange->all, request);
    else
        code = MPI_Irecv(from, items, type, process, exchange->tag, exchange->all, request);
    int free_code = runs == 1 ? MPI_SUCCESS : MPI_Type_free(&type);
    return code ? code : free_code;
}

/* Returns the number of its messages. */
static int64_t set_out(struct adapt_direction *direction, const struct adapt_side *side, void *part,
                       int64_t chunk)
{
    int64_t messages = 0;

    *direction = (struct adapt_direction) {.side = side,.part = part };
    for (int k = 0; k < side->peer_count; k++)
        messages += (side->peers[k].elements + chunk - 1) / chunk;
    return messages;
}

int adapt_transfer_begin(struct adapt_transfer *transfer, struct adapt_channel *channel,
                         const struct adapt_schedule *schedule, const void *old_part,
                         void *new_part)
{
    transfer->exchange = (struct adapt_exchange) {
        .all = channel->all,.tag = adapt_channel_tag(channel),
        .sends = set_out(&transfer->send, &schedule->send, (void *) old_part, transfer->chunk),
        .receives = set_out(&transfer->receive, &schedule->receive, new_part, transfer->chunk),
        .state = transfer,.post = post
    };
    int code = adapt_exchange_begin(&transfer->exchange);
    if (!code && new_part != old_part)
        code = copy_retained(&transfer->element, schedule, old_part, new_part);
    if (code)
        adapt_exchange_abandon(&transfer->exchange, code);
    return code;
}
