/* Sets of loops: the equality of loops, and how they are merged (loop_set.h). */

#include "loop_parts.h"

#include <stdlib.h>
#include <string.h>

uint32_t loop_add_as_it_fits(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static uint64_t add_times(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void loop_set_init(struct loop_set *set)
{
    *set = (struct loop_set) { 0 };
}

void loop_free(struct loop *loop)
{
    free(loop->item);
    free(loop->range);
}

void loop_set_free(struct loop_set *set)
{
    for (uint32_t i = 0; i < set->loops; i++)
        loop_free(&set->loop[i]);
    free(set->loop);
    loop_set_init(set);
}

int loop_compare(const struct loop *a, const struct loop *b)
{
    int order = loop_compare_numbers(a->key, b->key);
    if (!order)
        order = loop_compare_numbers(a->parent, b->parent);
    if (!order)
        order = loop_compare_numbers(a->ordinal, b->ordinal);
    if (!order)
        order = loop_compare_numbers(a->items, b->items);
    return order ? order : loop_compare_sequences(a->item, b->item, a->items);
}

/* Makes space for one more loop at `at`; NULL: there is none. */
struct loop *loop_set_insert(struct loop_set *set, uint32_t at)
{
    if (set->loops == LOOP_SET_MAX)
        return NULL;
    if (set->loops == set->capacity) {
        uint32_t capacity = set->capacity ? 2 * set->capacity : 8;
        struct loop *loop = realloc(set->loop, capacity * sizeof(*loop));
        if (!loop)
            return NULL;
        set->loop = loop;
        set->capacity = capacity;
    }
    memmove(&set->loop[at + 1], &set->loop[at], (set->loops - at) * sizeof(set->loop[0]));
    set->loops++;
    return &set->loop[at];
}

static void *copy_of(const void *from, size_t bytes)
{
    void *to = malloc(bytes);
    if (to)
        memcpy(to, from, bytes);
    return to;
}

static void add_copy(struct loop_set *set, uint32_t at, const struct loop *from)
{
    struct loop copy = *from;

    copy.item = copy_of(from->item, from->items * sizeof(from->item[0]));
    copy.range = copy_of(from->range, from->ranges * sizeof(from->range[0]));
    struct loop *to = copy.item && copy.range ? loop_set_insert(set, at) : NULL;
    if (to) {
        *to = copy;
    } else {
        set->dropped++;
        loop_free(&copy);
    }
}

/* ---- ranges of processes --------------------------------------------------------------------- */

/* Appends the ranges of `from`, which are after all ranges of the loop and do not touch them. */
static bool append_ranges(struct loop *loop, const struct loop *from)
{
    struct loop_ranks *range = realloc(loop->range, (loop->ranges + from->ranges) * sizeof(*range));

    if (!range)
        return false;
    memcpy(&range[loop->ranges], from->range, from->ranges * sizeof(*range));
    loop->range = range;
    loop->ranges += from->ranges;
    return true;
}

/* Merges both lists; joins touching ranges. */
static bool add_ranges(struct loop *loop, const struct loop *from)
{
    if (loop->ranges > 0 && from->range[0].first > loop->range[loop->ranges - 1].last + UINT64_C(1))
        return append_ranges(loop, from);

    struct loop_ranks *merged = malloc((loop->ranges + from->ranges) * sizeof(*merged));
    uint32_t n = 0, a = 0, b = 0;

    if (!merged)
        return false;
    while (a < loop->ranges || b < from->ranges) {
        bool own = b == from->ranges || (a < loop->ranges &&
                                         loop->range[a].first <= from->range[b].first);
        struct loop_ranks next = own ? loop->range[a++] : from->range[b++];
        if (n > 0 && (uint64_t) merged[n - 1].last + 1 >= next.first) {
            if (next.last > merged[n - 1].last)
                merged[n - 1].last = next.last;
        } else {
            merged[n++] = next;
        }
    }
    free(loop->range);
    loop->range = merged;
    loop->ranges = n;
    return true;
}

/* Fast if ranks are added in ascending order. */
bool loop_add_rank(struct loop *loop, uint32_t rank)
{
    struct loop_ranks one = { rank, rank };
    struct loop from = {.ranges = 1,.range = &one };

    if (loop->ranges > 0 && loop->range[loop->ranges - 1].last + UINT64_C(1) == rank) {
        loop->range[loop->ranges - 1].last = rank;
        return true;
    }
    if (loop->ranges > 0)
        return add_ranges(loop, &from);
    loop->range[0] = one;
    loop->ranges = 1;
    return true;
}

uint32_t loop_processes(const struct loop *loop)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < loop->ranges; i++)
        n += loop->range[i].last - loop->range[i].first + 1;
    return n;
}

/* ---- merging --------------------------------------------------------------------------------- */

void loop_add_numbers(struct loop *loop, const struct loop *from)
{
    loop->iterations = add_times(loop->iterations, from->iterations);
    loop->loop_ns = add_times(loop->loop_ns, from->loop_ns);
    loop->mpi_ns = add_times(loop->mpi_ns, from->mpi_ns);
    if (from->ratio_min < loop->ratio_min)
        loop->ratio_min = from->ratio_min;
    if (from->ratio_max > loop->ratio_max)
        loop->ratio_max = from->ratio_max;
    if (!loop_is_same_name(from->name, loop->name) && strcmp(from->name, loop->name) < 0)
        memcpy(loop->name, from->name, sizeof(loop->name));
}

bool loop_combine(struct loop *loop, const struct loop *from)
{
    if (!add_ranges(loop, from))
        return false;
    loop_add_numbers(loop, from);
    for (uint32_t i = 0; i < loop->items && i < from->items; i++)
        loop->item[i].reentries = loop_add_as_it_fits(loop->item[i].reentries,
                                                      from->item[i].reentries);
    return true;
}

static void add_loop(struct loop_set *set, const struct loop *from)
{
    uint32_t low = 0, high = set->loops;

    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int order = loop_compare(&set->loop[middle], from);
        if (order == 0) {
            if (!loop_combine(&set->loop[middle], from))
                set->dropped++;
            return;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    add_copy(set, low, from);
}

void loop_set_merge(struct loop_set *set, const struct loop_set *from)
{
    for (uint32_t i = 0; i < from->loops; i++)
        add_loop(set, &from->loop[i]);
    set->dropped = loop_add_as_it_fits(set->dropped, from->dropped);
}
