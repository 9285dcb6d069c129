/*
 * A process that has lanes (posix_lanes.h) leaves out most looks at a network on which nothing comes.  DS5;
 * doc/design/lanes.md.
 *
 * Parents and children have met over the network, and while a connection is open each look at it is a system call,
 * which takes longer than a short message on a lane.  After some looks that have found nothing the network rests: it is
 * looked at each five microseconds or so, until something comes.
 */

#ifndef CH4_RESTS_H_INCLUDED
#define CH4_RESTS_H_INCLUDED

#include <stdbool.h>
#include <stdint.h>
#include "mpidu_oversubscribed.h"

#define MPIDI_RESTS_AFTER 256   /* looks */
#define MPIDI_RESTS_TICKS 16384 /* of the processor's clock, some GHz */

extern struct MPIDI_rests {
    unsigned can;               /* set with the first lane */
    unsigned looks;             /* that have found nothing, one after the other */
    uint64_t last;              /* when it was looked */
} MPIDI_rests;

/* To be asked before a look. */
static inline bool MPIDI_network_rests(void)
{
#ifdef __x86_64__
    if (unlikely(MPIDI_rests.can)) {
        if (MPIDI_rests.looks < MPIDI_RESTS_AFTER) {
            MPIDI_rests.looks++;
            return false;
        }
        uint64_t now = __builtin_ia32_rdtsc();
        if (now - MPIDI_rests.last < MPIDI_RESTS_TICKS)
            return true;
        MPIDI_rests.last = now;
    }
#endif
    return false;
}

/* Something has come. */
static inline void MPIDI_network_wakes(void)
{
    MPIDI_rests.looks = 0;
}

#endif /* CH4_RESTS_H_INCLUDED */
