/*
 * Processes that were started separately get channels (posix_channels.h) when they connect for the
 * first time, and only then, because a message must not overtake one that was sent over the
 * network.
 *
 * The business card of a process contains the location of its receive segment.  A process that has
 * another's business card claims a channel in its receive segment (offer).  When both have tried,
 * both can determine whether both have succeeded (decide); then they have channels, or always use
 * the network.
 */

#ifndef CH4_CHANNELS_H_INCLUDED
#define CH4_CHANNELS_H_INCLUDED

#include "mpidimpl.h"

#define MPIDI_LANES_CARD_BYTES 160

/* Makes channels between the two sides of an intercommunicator that has not been used yet;
 * collective over it. */
int MPIDI_Channels_connect(MPIR_Comm * intercomm);

#endif /* CH4_CHANNELS_H_INCLUDED */
