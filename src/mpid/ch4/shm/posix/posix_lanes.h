/*
 * Lanes: shared memory for processes of one host that were started apart (a world, those that joined through process
 * sets, those of MPI_Comm_spawn).  doc/developer/shm-channels.md; SI9, DS5.
 *
 * A lane leads from one process to another and back; it is known by the locality of the peer's address, whose negative
 * takes the place of a rank in the world in the functions of posix.  This header is what sending and progress need, for
 * the life of lanes see ch4_lanes.h.  A program without lanes pays a look at a word (MPIDI_HAS_LANES).
 */

#ifndef POSIX_LANES_H_INCLUDED
#define POSIX_LANES_H_INCLUDED

#include "../../src/ch4_locality.h"
#include "../../src/ch4_proc.h"

extern struct MPIDI_POSIX_lanes {
    unsigned open;              /* how many there are */
    unsigned long long sent;    /* active messages, or parts of them, ever sent */
} MPIDI_POSIX_lanes;

/* The contract of MPIDI_POSIX_eager_send.  Whatever is sent to a process that has ended counts as sent, but whoever
 * waits for an answer of it gets an error. */
int MPIDI_POSIX_lane_send(int grank, MPIDI_POSIX_am_header_t * msg_hdr, const void *am_hdr,
                          MPI_Aint am_hdr_sz, const void *buf, MPI_Aint count, MPI_Datatype datatype,
                          MPI_Aint offset, MPI_Aint * bytes_sent);

/* Takes in at most one message, or part of one, of each lane. */
int MPIDI_POSIX_lanes_progress(void);

/* The process of this rank in the segment has ended: what waits to be sent to it is dropped. */
void MPIDI_POSIX_lanes_without(int grank);
/* Whether the request waits until there is room for it. */
bool MPIDI_POSIX_lanes_hold(const MPIR_Request * req);

/* What MPIDI_POSIX_eager_send knows a process by, where there are lanes. */
int MPIDI_POSIX_lane_of(int rank, MPIR_Comm * comm);

/* The same anywhere. */
static inline int MPIDI_POSIX_lane_or_lpid(int rank, MPIR_Comm * comm)
{
    return MPIDI_HAS_LANES ? MPIDI_POSIX_lane_of(rank, comm) : MPIDIU_rank_to_lpid(rank, comm);
}

#endif /* POSIX_LANES_H_INCLUDED */
