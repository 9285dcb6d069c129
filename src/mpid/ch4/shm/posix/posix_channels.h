/*
 * Channels: shared memory for processes of one host that were started separately (a world, those
 * that joined through process sets, those of MPI_Comm_spawn).  doc/developer/shm-channels.md; SI9,
 * DS5.
 *
 * A channel connects two processes in both directions.  The locality of the peer's address
 * identifies it; its negative replaces the rank in the world in the functions of posix.  This
 * header is for sending and progress; for the life of channels see ch4_channels.h.  In a program
 * without channels they cost one test of a word (MPIDI_HAS_CHANNELS).
 */

#ifndef POSIX_CHANNELS_H_INCLUDED
#define POSIX_CHANNELS_H_INCLUDED

#include "../../src/ch4_locality.h"
#include "../../src/ch4_proc.h"

extern struct MPIDI_POSIX_channels {
    unsigned open;              /* number of open channels */
    unsigned long long sent;    /* active messages, or parts of them, ever sent */
} MPIDI_POSIX_channels;

/* The contract of MPIDI_POSIX_eager_send.  A message to a process that has ended counts as sent,
 * but a request that waits for a reply to it gets an error. */
int MPIDI_POSIX_channel_send(int grank, MPIDI_POSIX_am_header_t * msg_hdr, const void *am_hdr,
                             MPI_Aint am_hdr_sz, const void *buf, MPI_Aint count,
                             MPI_Datatype datatype, MPI_Aint offset, MPI_Aint * bytes_sent);

/* Receives at most one message, or part of one, from each channel. */
int MPIDI_POSIX_channels_progress(void);

/* The process of this rank in the segment has ended: messages that wait to be sent to it are
 * dropped. */
void MPIDI_POSIX_channels_without(int lpid);
/* Whether the request waits for space in a channel. */
bool MPIDI_POSIX_channels_hold(MPIR_Request * req);

/* The rank of a process for MPIDI_POSIX_eager_send, if there are channels. */
int MPIDI_POSIX_channel_of(int rank, MPIR_Comm * comm);

/* The same, also without channels. */
static inline int MPIDI_POSIX_channel_or_lpid(int rank, MPIR_Comm * comm)
{
    return MPIDI_HAS_CHANNELS ? MPIDI_POSIX_channel_of(rank, comm)
        : MPIDIU_rank_to_lpid(rank, comm);
}

#endif /* POSIX_CHANNELS_H_INCLUDED */
