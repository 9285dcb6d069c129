/* The last steps of a set's reader: joins loops, renumbers processes (loop_set.h). */

#include "loop_parts.h"

#include <stdlib.h>
#include <string.h>

static bool share_processes(const struct loop *a, const struct loop *b)
{
    for (uint32_t i = 0, k = 0; i < a->ranges && k < b->ranges;) {
        if (a->range[i].last < b->range[k].first)
            i++;
        else if (b->range[k].last < a->range[i].first)
            k++;
        else
            return true;
    }
    return false;
}

/* The items without messages, rotated.  Returns their number. */
static uint32_t without_messages(const struct loop *loop, struct loop_item *item)
{
    struct loop_item left[LOOP_ITEMS_MAX];
    uint32_t n = 0;

    for (uint32_t i = 0; i < loop->items; i++) {
        if (loop->item[i].kind != LOOP_P2P)
            left[n++] = loop->item[i];
    }
    uint32_t turn = n > 0 ? loop_least_rotation(left, n) : 0;
    for (uint32_t i = 0; i < n; i++)
        item[i] = left[(i + turn) % n];
    return n;
}

static bool is_same_but_for_messages(const struct loop *a, const struct loop *b)
{
    struct loop_item of_a[LOOP_ITEMS_MAX], of_b[LOOP_ITEMS_MAX];

    if (a->parent != b->parent || a->ordinal != b->ordinal || share_processes(a, b))
        return false;
    if (a->items == b->items && loop_compare_sequences(a->item, b->item, a->items) == 0)
        return true;            /* the loops around were joined */
    uint32_t n = without_messages(a, of_a);
    return n > 0 && without_messages(b, of_b) == n && loop_compare_sequences(of_a, of_b, n) == 0;
}

/* Removes `other` and moves its content to `loop`. */
static void join_loops(struct loop_set *set, uint32_t loop, uint32_t other)
{
    struct loop joined = set->loop[other];

    if (!loop_combine(&set->loop[loop], &joined))
        set->dropped++;
    for (uint32_t i = 0; i < set->loops; i++) {
        if (set->loop[i].parent == joined.key)
            set->loop[i].parent = set->loop[loop].key;
    }
    set->loops--;
    memmove(&set->loop[other], &set->loop[other + 1], (set->loops - other) * sizeof(joined));
    loop_free(&joined);
}

/* Keeps the loop with more processes, or the one with the smaller key. */
static bool join_one(struct loop_set *set, uint32_t processes)
{
    for (uint32_t a = 0; a < set->loops; a++) {
        uint32_t of_a = loop_processes(&set->loop[a]);
        for (uint32_t b = a + 1; b < set->loops && of_a < processes; b++) {
            if (!is_same_but_for_messages(&set->loop[a], &set->loop[b]))
                continue;
            if (loop_processes(&set->loop[b]) > of_a)
                join_loops(set, b, a);
            else
                join_loops(set, a, b);
            return true;
        }
    }
    return false;
}

void loop_set_join_alone(struct loop_set *set, uint32_t processes)
{
    while (join_one(set, processes));
}

void loop_set_renumber(struct loop_set *set, uint32_t limit,
                       int64_t(*map) (void *context, uint32_t rank), void *context)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < set->loops; i++) {
        struct loop *loop = &set->loop[i];
        struct loop renumbered = {.range = malloc(sizeof(loop->range[0])) };
        bool complete = renumbered.range != NULL;
        for (uint32_t r = 0; complete && r < loop->ranges; r++) {
            uint64_t end = loop->range[r].last < limit ? loop->range[r].last + UINT64_C(1) : limit;
            for (uint64_t rank = loop->range[r].first; complete && rank < end; rank++) {
                int64_t number = map(context, (uint32_t) rank);
                complete = number < 0 || loop_add_rank(&renumbered, (uint32_t) number);
            }
        }
        free(loop->range);
        loop->range = renumbered.range;
        loop->ranges = renumbered.ranges;
        if (complete && loop->ranges > 0) {
            set->loop[count++] = *loop;
        } else {
            set->dropped++;
            loop_free(loop);
        }
    }
    set->loops = count;
}
