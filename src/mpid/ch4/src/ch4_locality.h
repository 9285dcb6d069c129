/*
 * What is_local of an address says.  Upstream asks only whether it is zero.
 */

#ifndef CH4_LOCALITY_H_INCLUDED
#define CH4_LOCALITY_H_INCLUDED

enum {
    MPIDI_LOCALITY__NETWORK = 0,
    MPIDI_LOCALITY__SEGMENT = 1,        /* started together, or of one adapted world: one segment */
    MPIDI_LOCALITY__DEPARTED = 2,       /* had a lane, and has ended */
    MPIDI_LOCALITY__LANE = 3    /* and above: lane 0 and so on (posix_lanes.h) */
};

/* Windows of others can be mapped, or be reached through the network. */
#define MPIDI_av_shares_windows(av) ((av)->is_local == MPIDI_LOCALITY__SEGMENT)

#endif /* CH4_LOCALITY_H_INCLUDED */
