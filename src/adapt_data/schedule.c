/* See schedule.h. */

#include "schedule.h"

#include <stdlib.h>

/* A run and the process at its other end. */
struct found {
    int process;
    int distance;               /* from sender to receiver, around all processes */
    struct adapt_run run;
};

struct found_list {
    struct found *items;
    int64_t count, room_for;
};

static const char *add(struct found_list *list, int process, int64_t first, int64_t count)
{
    struct found *last = list->count > 0 ? &list->items[list->count - 1] : NULL;

    if (last && last->process == process && last->run.first + last->run.count == first) {
        last->run.count += count;
        return NULL;
    }
    if (list->count == list->room_for) {
        int64_t room_for = list->room_for ? 2 * list->room_for : 16;
        void *more = realloc(list->items, (size_t) room_for * sizeof(*list->items));
        if (!more)
            return ADAPT_NO_MEMORY;
        list->items = more;
        list->room_for = room_for;
    }
    list->items[list->count++] = (struct found) {process, 0, {first, count}};
    return NULL;
}

/* The runs of `rank` in `mine`, by who has them in `theirs`; process_of: by rank of theirs, NULL:
 * the same numbers. */
static const char *find_runs(const struct adapt_distribution *mine, int rank,
                             const struct adapt_distribution *theirs, const int *process_of,
                             struct found_list *list, int64_t *part)
{
    int64_t low, high, end;

    *part = 0;
    for (int64_t from = 0; adapt_distribution_next(mine, rank, from, &low, &high); from = high) {
        for (int64_t i = low; i < high; i = end) {
            int owner = adapt_distribution_owner(theirs, i, &end);
            end = end < high ? end : high;
            const char *error = add(list, process_of ? process_of[owner] : owner,
                                    *part + (i - low), end - i);
            if (error)
                return error;
        }
        *part += high - low;
    }
    return NULL;
}

/* Distance first: then no message waits for one that waits for it (transfer.h). */
static int by_distance(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return x->run.first < y->run.first ? -1 : x->run.first > y->run.first;
}

/* Takes what is this process' own out of the list. */
static const char *take_kept(struct found_list *list, int process, struct adapt_run **kept,
                             int64_t *runs, int64_t *elements)
{
    int64_t left = 0;

    *runs = *elements = 0;
    *kept = adapt_room(list->count, sizeof(**kept));
    if (!*kept)
        return ADAPT_NO_MEMORY;
    for (int64_t k = 0; k < list->count; k++) {
        if (list->items[k].process == process) {
            (*kept)[(*runs)++] = list->items[k].run;
            *elements += list->items[k].run.count;
        } else {
            list->items[left++] = list->items[k];
        }
    }
    list->count = left;
    return NULL;
}

static const char *fill_side(struct adapt_side *side, struct found_list *list, int process,
                             bool sends, int processes, int64_t *elements)
{
    for (int64_t k = 0; k < list->count; k++) {
        struct found *item = &list->items[k];
        int64_t distance = sends ? (int64_t) item->process - process : (int64_t) process - item->process;
        item->distance = (int) (distance < 0 ? distance + processes : distance);
    }
    if (list->count > 0)
        qsort(list->items, (size_t) list->count, sizeof(*list->items), by_distance);
    side->runs = adapt_room(list->count, sizeof(*side->runs));
    side->peers = adapt_room(list->count < processes ? list->count : processes,
                             sizeof(*side->peers));
    if (!side->runs || !side->peers)
        return ADAPT_NO_MEMORY;
    *elements = 0;
    for (int64_t k = 0; k < list->count; k++) {
        const struct found *item = &list->items[k];
        if (k == 0 || item->process != list->items[k - 1].process)
            side->peers[side->peer_count++] = (struct adapt_peer) {item->process, k, 0, 0};
        struct adapt_peer *peer = &side->peers[side->peer_count - 1];
        side->runs[k] = item->run;
        peer->runs++;
        peer->elements += item->run.count;
        *elements += item->run.count;
    }
    return NULL;
}

/* ---- what everybody has all of ---------------------------------------------------------------- */

/* Joining processes get it from the first `givers` old ones in turn; the others keep it as it is. */
static const char *find_same(int64_t n, int givers, const struct adapt_roles *roles, int process,
                             int processes, struct found_list *out, struct found_list *in)
{
    const char *error = NULL;

    if (n == 0)
        return NULL;
    if (process >= roles->old_size)
        return add(in, (process - roles->old_size) % givers, 0, n);
    for (int joining = process; !error && process < givers &&
         joining < processes - roles->old_size; joining += givers)
        error = add(out, roles->old_size + joining, 0, n);
    if (!error && roles->new_rank >= 0) {
        error = add(out, process, 0, n);
        if (!error)
            error = add(in, process, 0, n);
    }
    return error;
}

/* ----------------------------------------------------------------------------------------------- */

const char *adapt_schedule_make(struct adapt_schedule *made, const struct adapt_distribution *old,
                                const struct adapt_distribution *coming,
                                const struct adapt_roles *roles)
{
    const char *error = NULL;
    struct found_list out = { NULL, 0, 0 }, in = { NULL, 0, 0 };
    int staying = 0, process = roles->old_rank;
    int64_t kept_to;

    *made = (struct adapt_schedule) {.stay = 0 };
    for (int rank = 0; rank < roles->old_size; rank++)
        staying += roles->new_rank_of[rank] >= 0;
    const int processes = roles->old_size + roles->new_size - staying;
    if (process < 0)
        process = roles->process_of_new[roles->new_rank];

    if (old->kind == ADAPT_LAYOUT_SAME || old->kind == ADAPT_LAYOUT_SHARED) {
        error = find_same(old->n, old->kind == ADAPT_LAYOUT_SHARED ? 1 : roles->old_size, roles,
                          process, processes, &out, &in);
        made->old_part = roles->old_rank < 0 ? 0 : old->n;
        made->new_part = roles->new_rank < 0 ? 0 : old->n;
    } else {
        if (roles->old_rank >= 0)
            error = find_runs(old, roles->old_rank, coming, roles->process_of_new, &out,
                              &made->old_part);
        if (!error && roles->new_rank >= 0)
            error = find_runs(coming, roles->new_rank, old, NULL, &in, &made->new_part);
    }
    if (!error)
        error = take_kept(&out, process, &made->kept_from, &made->kept_from_runs, &made->stay);
    if (!error)
        error = take_kept(&in, process, &made->kept_to, &made->kept_to_runs, &kept_to);
    if (!error)
        error = fill_side(&made->send, &out, process, true, processes, &made->sent);
    if (!error)
        error = fill_side(&made->receive, &in, process, false, processes, &made->received);
    free(out.items);
    free(in.items);
    if (error)
        adapt_schedule_clear(made);
    return error;
}

void adapt_schedule_clear(struct adapt_schedule *schedule)
{
    free(schedule->send.runs);
    free(schedule->send.peers);
    free(schedule->receive.runs);
    free(schedule->receive.peers);
    free(schedule->kept_from);
    free(schedule->kept_to);
    *schedule = (struct adapt_schedule) {.stay = 0 };
}
