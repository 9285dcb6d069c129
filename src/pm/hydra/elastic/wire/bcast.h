/*
 * The payload of STEP_BCAST (kinds.h), for the agreement on the call in which a text of a process
 * set is delivered.  REPORT_BCAST may reply to it. pmi_adapt_set.h describes the entries of the
 * board.  Native byte order.
 */

#ifndef WIRE_BCAST_H_INCLUDED
#define WIRE_BCAST_H_INCLUDED

#include <stdint.h>

enum bcast_what {
    /* the process counts its calls for `bcast` in this slot, whose gate is `value` */
    BCAST_SLOT = 1,
    /* closes the gates of all slots of `bcast`, reads the counts, sets the gates to the number
     * after the greatest and reports that; `value`: number of the text */
    BCAST_FREEZE,
    BCAST_GATE,                 /* sets the gates of all its slots to `value` */
    BCAST_CLOSE                 /* shuts them for good: no process counts for it any more */
};

struct bcast_order {
    uint32_t what;              /* enum bcast_what */
    uint32_t bcast;             /* number of the set, counted over sets with broadcasts */
    uint32_t uid, slot;        /* PLACE */
    uint64_t value;
};

#endif /* WIRE_BCAST_H_INCLUDED */
