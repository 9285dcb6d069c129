/*
 * Payloads of STEP_BCAST and REPORT_BCAST (kinds.h): the agreement on the call in which a text of a process set is
 * delivered.  What the board has of it: pmi_adapt_set.h.  The bytes are the machine's own.
 */

#ifndef WIRE_BCAST_H_INCLUDED
#define WIRE_BCAST_H_INCLUDED

#include <stdint.h>

enum bcast_what {
    BCAST_PLACE = 1,            /* the process counts its calls for `bcast` in this place, whose gate is `value` */
    BCAST_FREEZE,               /* shut the gates of all places of `bcast`, read the counts, let the gates be the number
                                 * after the greatest and report that; `value`: number of the text */
    BCAST_GATE,                 /* the gates of all its places are `value` */
    BCAST_FORGET                /* they are shut for good: nobody counts for it any more */
};

struct bcast_order {
    uint32_t what;              /* enum bcast_what */
    uint32_t bcast;             /* number of the set among those that have broadcasts */
    uint32_t uid, place;        /* PLACE */
    uint64_t value;
};

struct bcast_frozen {
    uint32_t bcast, text;       /* of the order */
    uint64_t ceiling;           /* no process passes the call of this number before the gate is moved */
};

#endif /* WIRE_BCAST_H_INCLUDED */
