/* See plan_areas.h. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "plan_areas.h"

int HYD_plan_areas_create(struct HYD_plan_areas *areas, int readers, uint64_t start, uint64_t unit)
{
    areas->readers = readers;
    areas->count = 0;
    areas->start = start;
    areas->unit = unit;
    areas->areas = calloc((size_t) readers + 1, sizeof(*areas->areas));
    return areas->areas ? 0 : ENOMEM;
}

void HYD_plan_areas_destroy(struct HYD_plan_areas *areas)
{
    free(areas->areas);
    areas->areas = NULL;
    areas->count = 0;
}

static int is_read(const struct HYD_plan_areas *areas, uint32_t serial, const uint32_t * read)
{
    for (int i = 0; i < areas->readers; i++)
        if (read[i] == serial)
            return 1;
    return 0;
}

uint64_t HYD_plan_areas_take(struct HYD_plan_areas *areas, uint32_t serial, size_t bytes,
                             const uint32_t * read)
{
    const uint64_t wanted = (bytes + areas->unit - 1) / areas->unit * areas->unit;
    struct HYD_plan_area *area = areas->areas;
    uint64_t offset = areas->start;
    int remaining = 0, at;

    for (int i = 0; i < areas->count; i++)
        if (is_read(areas, area[i].serial, read))
            area[remaining++] = area[i];
    for (at = 0; at < remaining && area[at].offset - offset < wanted; at++)
        offset = area[at].offset + area[at].bytes;
    memmove(&area[at + 1], &area[at], (size_t) (remaining - at) * sizeof(*area));
    area[at] = (struct HYD_plan_area) {serial, offset, wanted};
    areas->count = remaining + 1;
    return offset;
}
