/* See plan_places.h. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "plan_places.h"

int HYD_plan_places_create(struct HYD_plan_places *places, int readers, uint64_t start, uint64_t unit)
{
    places->readers = readers;
    places->count = 0;
    places->start = start;
    places->unit = unit;
    places->places = calloc((size_t) readers + 1, sizeof(*places->places));
    return places->places ? 0 : ENOMEM;
}

void HYD_plan_places_destroy(struct HYD_plan_places *places)
{
    free(places->places);
    places->places = NULL;
    places->count = 0;
}

static int is_read(const struct HYD_plan_places *places, uint32_t serial, const uint32_t * read)
{
    for (int i = 0; i < places->readers; i++)
        if (read[i] == serial)
            return 1;
    return 0;
}

uint64_t HYD_plan_places_take(struct HYD_plan_places *places, uint32_t serial, size_t bytes, const uint32_t * read)
{
    const uint64_t wanted = (bytes + places->unit - 1) / places->unit * places->unit;
    struct HYD_plan_place *place = places->places;
    uint64_t offset = places->start;
    int kept = 0, at;

    for (int i = 0; i < places->count; i++)
        if (is_read(places, place[i].serial, read))
            place[kept++] = place[i];
    for (at = 0; at < kept && place[at].offset - offset < wanted; at++)
        offset = place[at].offset + place[at].bytes;
    memmove(&place[at + 1], &place[at], (size_t) (kept - at) * sizeof(*place));
    place[at] = (struct HYD_plan_place) {serial, offset, wanted};
    places->count = kept + 1;
    return offset;
}
