/*
 * A process that has lanes (posix_lanes.h) leaves out most looks at a network on which nothing comes.  DS5;
 * doc/developer/shm-channels.md.
 *
 * Parents and children have met over the network, and while a connection is open each look at it is a system call,
 * which takes longer than a short message on a lane.  After some looks that have found nothing the network rests: it is
 * looked at each five microseconds or so, until something comes.
 */

#ifndef CH4_RESTS_H_INCLUDED
#define CH4_RESTS_H_INCLUDED

#include <stdint.h>
#include "ch4_locality.h"
#include "mpidu_oversubscribed.h"

extern struct MPIDI_rests {
    unsigned looks;             /* that have found nothing, one after the other */
    uint64_t last;              /* when it was looked, by the processor's clock */
} MPIDI_rests;

/* A look at the network, which may rest. */
#define MPIDI_NETWORK_PROGRESS(vci) (MPIDI_HAS_LANES ? MPIDI_Network_progress(vci) : MPIDI_NM_progress(vci, 0))
int MPIDI_Network_progress(int vci);

/* Something has come. */
static inline void MPIDI_network_wakes(void)
{
    MPIDI_rests.looks = 0;
}

#endif /* CH4_RESTS_H_INCLUDED */
