/*
 * Where plans lie in the file of a board.  Processes read a plan in place, also after it has been withdrawn or is over,
 * and tell so by its serial number in their slots (pmi_adapt.h).  A place is given to another plan only when nobody
 * reads what lies in it.  Usually there are one or two, so that the file stays as long as the longest plans were.
 * Owner: the board.  SPEC P7.
 */

#ifndef PLAN_PLACES_H_INCLUDED
#define PLAN_PLACES_H_INCLUDED

#include <stddef.h>
#include <stdint.h>

struct HYD_plan_place {
    uint32_t serial;            /* of the plan in it */
    uint64_t offset, bytes;     /* multiples of the unit */
};

struct HYD_plan_places {
    struct HYD_plan_place *places;      /* by offset */
    int count, readers;
    uint64_t start, unit;       /* the first place there may be; of offsets and lengths */
};

/* For plans that `readers` processes read, each one at a time.  0 or ENOMEM. */
int HYD_plan_places_create(struct HYD_plan_places *places, int readers, uint64_t start, uint64_t unit);
void HYD_plan_places_destroy(struct HYD_plan_places *places);

/* Gives up the places of plans that nobody reads, and takes the first one with room for a new plan.  Its offset.
 * read: by reader, the serial number of the plan that it reads. */
uint64_t HYD_plan_places_take(struct HYD_plan_places *places, uint32_t serial, size_t bytes, const uint32_t * read);

#endif /* PLAN_PLACES_H_INCLUDED */
