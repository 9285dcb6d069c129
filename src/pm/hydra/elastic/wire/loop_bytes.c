/* Sets of loops as bytes, for messages between proxy and mpiexec.  Invalid bytes are refused as a
 * whole (loop_set.h). */

#include "loop_parts.h"

#include <stdlib.h>
#include <string.h>

struct set_head {
    uint32_t loops, dropped;
};

struct loop_head {
    uint64_t key, parent, iterations, loop_ns, mpi_ns;
    uint32_t ordinal, ratio_min, ratio_max, items, ranges, pad;
    char name[PMI_ADAPT_LOOP_NAME_MAX];
};

size_t loop_set_bytes(const struct loop_set *set)
{
    size_t bytes = sizeof(struct set_head);

    for (uint32_t i = 0; i < set->loops; i++)
        bytes += sizeof(struct loop_head) + set->loop[i].items * sizeof(struct loop_item) +
            set->loop[i].ranges * sizeof(struct loop_ranks);
    return bytes;
}

static char *put_loop_bytes(char *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return to + bytes;
}

void loop_set_write(const struct loop_set *set, void *bytes)
{
    const struct set_head head = { set->loops, set->dropped };
    char *to = put_loop_bytes(bytes, &head, sizeof(head));

    for (uint32_t i = 0; i < set->loops; i++) {
        const struct loop *loop = &set->loop[i];
        struct loop_head one = {.key = loop->key,.parent = loop->parent,
                                .iterations = loop->iterations,
            .loop_ns = loop->loop_ns,.mpi_ns = loop->mpi_ns,.ordinal = loop->ordinal,
            .ratio_min = loop->ratio_min,.ratio_max = loop->ratio_max,.items = loop->items,
                .ranges = loop->ranges
        };
        memcpy(one.name, loop->name, sizeof(one.name));
        to = put_loop_bytes(to, &one, sizeof(one));
        to = put_loop_bytes(to, loop->item, loop->items * sizeof(loop->item[0]));
        to = put_loop_bytes(to, loop->range, loop->ranges * sizeof(loop->range[0]));
    }
}

struct reader {
    const char *at;
    size_t left;
};

static bool take_loop_bytes(struct reader *reader, void *to, size_t bytes)
{
    if (bytes > reader->left)
        return false;
    memcpy(to, reader->at, bytes);
    reader->at += bytes;
    reader->left -= bytes;
    return true;
}

static bool is_ratio(const struct loop_head *head)
{
    if (head->ratio_min == LOOP_NO_RATIO)
        return head->ratio_max == 0;
    return head->ratio_min <= head->ratio_max && head->ratio_max <= LOOP_PPM;
}

static bool are_items(const struct loop *loop)
{
    for (uint32_t i = 0; i < loop->items; i++) {
        uint32_t kind = loop->item[i].kind;
        if (kind >= LOOP_KINDS || kind == LOOP_RMA || (kind == LOOP_P2P && loop->item[i].id != 0))
            return false;
    }
    return true;
}

static bool are_ranges(const struct loop *loop)
{
    for (uint32_t i = 0; i < loop->ranges; i++) {
        if (loop->range[i].first > loop->range[i].last ||
            (i > 0 && (uint64_t) loop->range[i - 1].last + 1 >= loop->range[i].first))
            return false;
    }
    return true;
}

/* `loop` owns the allocations, also after a failure. */
static bool read_loop(struct reader *reader, struct loop *loop)
{
    struct loop_head head;

    *loop = (struct loop) { 0 };
    if (!take_loop_bytes(reader, &head, sizeof(head)) || head.items == 0 ||
        head.items > LOOP_ITEMS_MAX || head.ranges == 0 ||
        head.items > reader->left / sizeof(struct loop_item) ||
        head.ranges > reader->left / sizeof(struct loop_ranks) || head.key == 0 ||
        head.mpi_ns > head.loop_ns || !is_ratio(&head) || !loop_is_name(head.name))
        return false;
    *loop = (struct loop) {.key = head.key,.parent = head.parent,.iterations = head.iterations,
        .loop_ns = head.loop_ns,.mpi_ns = head.mpi_ns,.ordinal = head.ordinal,
            .ratio_min = head.ratio_min,
        .ratio_max = head.ratio_max,.items = head.items,.ranges = head.ranges,
        .item = malloc(head.items * sizeof(struct loop_item)),
        .range = malloc(head.ranges * sizeof(struct loop_ranks))
    };
    memcpy(loop->name, head.name, sizeof(loop->name));
    return loop->item && loop->range &&
        take_loop_bytes(reader, loop->item, head.items * sizeof(loop->item[0])) &&
        take_loop_bytes(reader, loop->range, head.ranges * sizeof(loop->range[0])) &&
        are_items(loop) && are_ranges(loop);
}

int loop_set_read(struct loop_set *set, const void *bytes, size_t n)
{
    struct reader reader = { bytes, n };
    struct set_head head;

    if (!take_loop_bytes(&reader, &head, sizeof(head)) || head.loops > LOOP_SET_MAX)
        return 0;
    set->dropped = head.dropped;
    for (uint32_t i = 0; i < head.loops; i++) {
        struct loop loop;
        bool good = read_loop(&reader, &loop) && (i == 0 ||
                                                  loop_compare(&set->loop[i - 1], &loop) < 0);
        struct loop *position = good ? loop_set_insert(set, i) : NULL;
        if (!position) {
            loop_free(&loop);
            loop_set_free(set);
            return 0;
        }
        *position = loop;
    }
    if (reader.left > 0)
        loop_set_free(set);
    return reader.left == 0;
}
