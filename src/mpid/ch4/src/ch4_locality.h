/*
 * What is_local and host of an address say.  Upstream knows is_local, and asks only whether it is zero.
 */

#ifndef CH4_LOCALITY_H_INCLUDED
#define CH4_LOCALITY_H_INCLUDED

enum {
    MPIDI_LOCALITY__NETWORK = 0,
    MPIDI_LOCALITY__SEGMENT = 1,        /* started together, or of one adapted world: one segment */
    MPIDI_LOCALITY__DEPARTED = 2,       /* had a lane, and has ended */
    MPIDI_LOCALITY__LANE = 3    /* and above: lane 0 and so on (posix_lanes.h) */
};

/* Whether there ever was a lane, so that addresses may say so.  A bit is looked at, as a whole word would be loaded
 * into a register, and what follows is out of line: functions that ask shall be as large as in stock MPICH, and be
 * inlined where they are there. */
#define MPIDI_HAS_LANES unlikely(MPIDI_global.has_lanes & 1)

#define MPIDI_HOST__OWN 1       /* `host` of an address (ch4_hosts.h); 0: not known */

/* Windows of others can be mapped, or be reached through the network. */
#define MPIDI_av_shares_windows(av) \
    ((av)->is_local == MPIDI_LOCALITY__SEGMENT || \
     ((av)->is_local >= MPIDI_LOCALITY__LANE && (av)->host == MPIDI_HOST__OWN))

#endif /* CH4_LOCALITY_H_INCLUDED */
