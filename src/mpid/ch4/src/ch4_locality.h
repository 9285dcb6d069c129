/*
 * The meaning of is_local and host of an address.  Upstream has only is_local, and tests whether it
 * is zero.
 */

#ifndef CH4_LOCALITY_H_INCLUDED
#define CH4_LOCALITY_H_INCLUDED

enum {
    MPIDI_LOCALITY__NETWORK = 0,
    MPIDI_LOCALITY__SEGMENT = 1,        /* started together, or in one adapted world: one segment */
    MPIDI_LOCALITY__EXITED = 2, /* had a channel, and has ended */
    MPIDI_LOCALITY__CHANNEL = 3 /* and above: channel 0 and so on (posix_channels.h) */
};

/* Whether there ever was a channel, so that addresses may have one.  It tests a bit, because a
 * whole word would be loaded into a register, and the code after the test is out of line: functions
 * with this test must be as large as in stock MPICH, so that they are inlined in the same way. */
#define MPIDI_HAS_CHANNELS unlikely(MPIDI_global.has_channels & 1)

#define MPIDI_HOST__OWN 1       /* `host` of an address (ch4_hosts.h); 0: not known */

/* Windows of the process can be mapped, or accessed through the network. */
#define MPIDI_av_shares_windows(av) \
    ((av)->is_local == MPIDI_LOCALITY__SEGMENT || \
     ((av)->is_local >= MPIDI_LOCALITY__CHANNEL && (av)->host == MPIDI_HOST__OWN))

#endif /* CH4_LOCALITY_H_INCLUDED */
