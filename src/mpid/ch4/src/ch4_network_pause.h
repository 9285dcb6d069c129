/*
 * A process that has channels (posix_channels.h) omits most polls of an idle network.  DS5;
 * doc/developer/shm-channels.md.
 *
 * Parents and children have connected over the network, and while a connection is open each poll of
 * it is a system call, which takes longer than a short message on a channel.  After some polls
 * without a message the network is paused: it is polled about every five microseconds, until a
 * message arrives.
 */

#ifndef CH4_NETWORK_PAUSE_H_INCLUDED
#define CH4_NETWORK_PAUSE_H_INCLUDED

#include <stdint.h>
#include "ch4_locality.h"
#include "mpidu_oversubscribed.h"

extern struct MPIDI_network_pause {
    unsigned polls;             /* without a message, in succession */
    uint64_t last;              /* time of the last poll, by the processor's clock */
} MPIDI_network_pause;

/* A poll of the network, which may be paused. */
#define MPIDI_NETWORK_PROGRESS(vci) (MPIDI_HAS_CHANNELS ? MPIDI_Network_progress(vci) \
                                     : MPIDI_NM_progress(vci, 0))
int MPIDI_Network_progress(int vci);

/* A message has arrived. */
static inline void MPIDI_network_wakes(void)
{
    MPIDI_network_pause.polls = 0;
}

#endif /* CH4_NETWORK_PAUSE_H_INCLUDED */
