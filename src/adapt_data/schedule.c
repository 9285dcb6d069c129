/* See schedule.h. */

#include "schedule.h"

#include <stdlib.h>
#include <string.h>

#define FEW 16                  /* runs that need no allocated memory */

/* A run and the process at its other end. */
struct found {
    int process;
    int distance;               /* from sender to receiver, around all processes */
    struct adapt_run run;
};

struct found_list {
    struct found *items;        /* `few`, or allocated memory */
    int64_t count, capacity_for;
    struct found few[FEW];
};

/* The memory from which the parts of a schedule are allocated. */
struct capacity {
    struct adapt_run *runs;
    struct adapt_peer *peers;
};

static const char *make_space_for_more(struct found_list *list)
{
    const bool are_few = list->items == list->few;
    void *more =
        realloc(are_few ? NULL : list->items,
                2 * (size_t) list->capacity_for * sizeof(*list->items));

    if (!more)
        return ADAPT_NO_MEMORY;
    if (are_few)
        memcpy(more, list->few, sizeof(list->few));
    list->items = more;
    list->capacity_for *= 2;
    return NULL;
}

static void set_empty(struct found_list *list)
{
    list->items = list->few;
    list->count = 0;
    list->capacity_for = FEW;
}

static void let_go(struct found_list *list)
{
    if (list->items != list->few)
        free(list->items);
}

static const char *add(struct found_list *list, int process, int64_t first, int64_t count)
{
    struct found *last = list->count > 0 ? &list->items[list->count - 1] : NULL;

    if (last && last->process == process && last->run.first + last->run.count == first) {
        last->run.count += count;
        return NULL;
    }
    const char *error = list->count == list->capacity_for ? make_space_for_more(list) : NULL;
    if (error)
        return error;
    list->items[list->count++] = (struct found) {process, 0, {first, count}};
    return NULL;
}

/* Finds the runs of `rank` in `mine`, by their owners in `theirs`; process_of: by rank of theirs,
 * NULL: the same numbers. */
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

/* Distance is the first key: so there is no cycle of waiting messages (transfer.h). */
static int by_distance(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return x->run.first < y->run.first ? -1 : x->run.first > y->run.first;
}

/* Moves this process' own runs out of the list. */
static void take_retained(struct found_list *list, int process, struct capacity *capacity,
                      struct adapt_run **retained, int64_t *runs, int64_t *elements)
{
    int64_t left = 0;

    *runs = *elements = 0;
    *retained = capacity->runs;
    for (int64_t k = 0; k < list->count; k++) {
        if (list->items[k].process == process) {
            (*retained)[(*runs)++] = list->items[k].run;
            *elements += list->items[k].run.count;
        } else {
            list->items[left++] = list->items[k];
        }
    }
    list->count = left;
    capacity->runs += *runs;
}

static void fill_side(struct adapt_side *side, struct found_list *list, int process, bool sends,
                      int processes, struct capacity *capacity, int64_t *elements)
{
    for (int64_t k = 0; k < list->count; k++) {
        struct found *item = &list->items[k];
        int64_t distance =
            sends ? (int64_t) item->process - process : (int64_t) process - item->process;
        item->distance = (int) (distance < 0 ? distance + processes : distance);
    }
    if (list->count > 1)
        qsort(list->items, (size_t) list->count, sizeof(*list->items), by_distance);
    side->runs = capacity->runs;
    side->peers = capacity->peers;
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
    capacity->runs += list->count;
    capacity->peers += side->peer_count;
}

/* Allocates memory for all found runs and their peers. */
static const char *make_space(struct adapt_schedule *made, int64_t out, int64_t in, int processes,
                             struct capacity *capacity)
{
    const int64_t peers = (out < processes ? out : processes) + (in < processes ? in : processes);

    made->memory =
        malloc((size_t) peers * sizeof(*capacity->peers) +
               (size_t) (out + in) * sizeof(*capacity->runs) + 1);
    if (!made->memory)
        return ADAPT_NO_MEMORY;
    capacity->peers = made->memory;
    capacity->runs = (struct adapt_run *) (capacity->peers + peers);
    return NULL;
}

/* ---- arrays of which all processes have all elements ----------------------------------------- */

/* Joining processes receive the array from the first `givers` old ones in turn; the others keep it
 * unchanged. */
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

/* ---------------------------------------------------------------------------------------------- */

const char *adapt_schedule_make(struct adapt_schedule *made, const struct adapt_distribution *old,
                                const struct adapt_distribution *coming,
                                const struct adapt_roles *roles)
{
    const char *error = NULL;
    struct found_list out, in;
    struct capacity capacity;
    int staying = 0, process = roles->old_rank;
    int64_t retained_to;

    *made = (struct adapt_schedule) {.stay = 0 };
    set_empty(&out);
    set_empty(&in);
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
        error = make_space(made, out.count, in.count, processes, &capacity);
    if (!error) {
        take_retained(&out, process, &capacity, &made->retained_from, &made->retained_from_runs,
                      &made->stay);
        take_retained(&in, process, &capacity, &made->retained_to, &made->retained_to_runs,
                      &retained_to);
        fill_side(&made->send, &out, process, true, processes, &capacity, &made->sent);
        fill_side(&made->receive, &in, process, false, processes, &capacity, &made->received);
    }
    let_go(&out);
    let_go(&in);
    if (error)
        adapt_schedule_clear(made);
    return error;
}

void adapt_schedule_clear(struct adapt_schedule *schedule)
{
    free(schedule->memory);
    *schedule = (struct adapt_schedule) {.stay = 0 };
}
