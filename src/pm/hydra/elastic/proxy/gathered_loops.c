/* See gathered_loops.h. */

#include "hydra.h"
#include "gathered_loops.h"
#include "wire/loop_set.h"

struct gathered {
    uint32_t group, sample;
    struct loop_set set;
    struct gathered *next;
};

static struct gathered *sets = NULL;

static struct gathered *find_set(uint32_t group, uint32_t sample)
{
    struct gathered *g;

    for (g = sets; g && (g->group != group || g->sample != sample); g = g->next);
    return g;
}

static struct gathered *new_set(uint32_t group, uint32_t sample)
{
    struct gathered *g = MPL_calloc(1, sizeof(*g), MPL_MEM_PM);

    if (!g)
        return NULL;
    g->group = group;
    g->sample = sample;
    loop_set_init(&g->set);
    g->next = sets;
    sets = g;
    return g;
}

int HYD_gathered_loops_add(uint32_t group, uint32_t sample, const void *bytes, size_t n)
{
    struct loop_set set;

    loop_set_init(&set);
    if (!loop_set_read(&set, bytes, n))
        return 0;
    struct gathered *g = find_set(group, sample);
    if (!g)
        g = new_set(group, sample);
    if (g)
        loop_set_merge(&g->set, &set);
    loop_set_free(&set);
    return g != NULL;
}

static struct HYD_relay_entry entry_of(const struct gathered *g)
{
    return (struct HYD_relay_entry) {
        .message = {.kind = REPORT_LOOPS,.epoch = g->sample,
                    .bytes = sizeof(g->group) + loop_set_bytes(&g->set)}
    };
}

size_t HYD_gathered_loops_bytes(void)
{
    size_t bytes = 0;

    for (const struct gathered * g = sets; g; g = g->next) {
        struct HYD_relay_entry entry = entry_of(g);
        bytes += HYD_relay_entry_bytes(&entry);
    }
    return bytes;
}

void HYD_gathered_loops_write(char *bytes, struct HYD_relay_origin origin, uint32_t * reports)
{
    while (sets) {
        struct gathered *g = sets;
        struct HYD_relay_entry entry = entry_of(g);
        size_t whole = HYD_relay_entry_bytes(&entry);

        entry.origin = origin;
        entry.message.sequence = ++*reports;
        memset(bytes + whole - 8, 0, 8);        /* the padding */
        memcpy(bytes, &entry, sizeof(entry));
        memcpy(bytes + sizeof(entry), &g->group, sizeof(g->group));
        loop_set_write(&g->set, bytes + sizeof(entry) + sizeof(g->group));
        bytes += whole;
        sets = g->next;
        loop_set_free(&g->set);
        MPL_free(g);
    }
}
