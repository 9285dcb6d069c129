/* The items of a loop: their order, their rotation, their hash (loop_set.h, loop_parts.h). */

#include "loop_parts.h"

#define HASH_START UINT64_C(0xcbf29ce484222325)
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* The probe first, messages last. */
static uint32_t order_of(uint32_t kind)
{
    return kind == LOOP_PROBE ? 0 : kind == LOOP_P2P ? LOOP_KINDS : kind;
}

int loop_compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_items(const struct loop_item *a, const struct loop_item *b)
{
    int order = loop_compare_numbers(order_of(a->kind), order_of(b->kind));
    return order ? order : loop_compare_numbers(a->id, b->id);
}

static bool is_same_item(const struct loop_item *a, const struct loop_item *b)
{
    return a->id == b->id && a->kind == b->kind;
}

/* Fast for equal sequences, which are frequent. */
int loop_compare_sequences(const struct loop_item *a, const struct loop_item *b, uint32_t items)
{
    uint32_t same = 0;
    while (same < items && is_same_item(&a[same], &b[same]))
        same++;
    return same < items ? compare_items(&a[same], &b[same]) : 0;
}

/* The begin of the least rotation of the sequence; linear time. */
uint32_t loop_least_rotation(const struct loop_item *item, uint32_t n)
{
    uint32_t i = 0, j = 1, same = 0;

    while (i < n && j < n && same < n) {
        int order = compare_items(&item[(i + same) % n], &item[(j + same) % n]);
        if (order == 0) {
            same++;
            continue;
        }
        if (order > 0)
            i += same + 1;
        else
            j += same + 1;
        if (i == j)
            j++;
        same = 0;
    }
    return i < j ? i : j;
}

uint64_t loop_hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * HASH_FACTOR;
    return hash ^ (hash >> 29);
}

uint64_t loop_hash_items(const struct loop_item *item, uint32_t items)
{
    uint64_t hash = HASH_START;
    for (uint32_t i = 0; i < items; i++)
        hash = loop_hash_word(loop_hash_word(hash, item[i].kind), item[i].id);
    return hash;
}
