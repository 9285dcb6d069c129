/*
 * How processes that were started apart come to lanes (posix_lanes.h): when they meet for the first time, and only
 * then, since a message must not overtake one that went by the network.
 *
 * Each process has a card that says where others of its host find its mailbox.  Who has another's card claims a
 * lane in its mailbox (offer); when both have tried, both know whether both have succeeded (settle), and then they
 * have lanes, or the network for ever.
 */

#ifndef CH4_LANES_H_INCLUDED
#define CH4_LANES_H_INCLUDED

#include "mpidimpl.h"

#define MPIDI_LANES_CARD_BYTES 160

/* Those on both sides of an intercommunicator that nobody has used yet; collective over it. */
int MPIDI_Lanes_meet(MPIR_Comm * intercomm);

#endif /* CH4_LANES_H_INCLUDED */
