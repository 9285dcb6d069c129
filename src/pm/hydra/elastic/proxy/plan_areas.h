/*
 * Areas of plans in the file of a board.  Processes read a plan in place, also after its withdrawal
 * or end, and write its serial number to their slots while they do (pmi_adapt.h).  An area is
 * reused only when no process reads it.  Usually there are one or two areas, so the file is not
 * much longer than the longest plans.  Owner: the board.  Protocol clause P7.
 */

#ifndef PLAN_AREAS_H_INCLUDED
#define PLAN_AREAS_H_INCLUDED

#include <stddef.h>
#include <stdint.h>

struct HYD_plan_area {
    uint32_t serial;            /* of the plan in it */
    uint64_t offset, bytes;     /* multiples of the unit */
};

struct HYD_plan_areas {
    struct HYD_plan_area *areas;      /* by offset */
    int count, readers;
    uint64_t start, unit;       /* offset of the first area; unit of offsets and lengths */
};

/* For `readers` processes, each of which reads one plan at a time. 0 or ENOMEM. */
int HYD_plan_areas_create(struct HYD_plan_areas *areas, int readers, uint64_t start, uint64_t unit);
void HYD_plan_areas_destroy(struct HYD_plan_areas *areas);

/* Frees the areas of plans that no process reads, and takes the first one with space for a new
 * plan.  Returns its offset. read: by reader, the serial number of the plan that it reads. */
uint64_t HYD_plan_areas_take(struct HYD_plan_areas *areas, uint32_t serial, size_t bytes,
                             const uint32_t * read);

#endif /* PLAN_AREAS_H_INCLUDED */
