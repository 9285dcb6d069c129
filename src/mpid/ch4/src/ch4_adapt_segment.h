/*
 * The shared memory of a host that processes join.  One of these makes it before it reports ready
 * (MPID_Adapt_make_segment, mpir_adapt.h); all processes of the host map it in advance, and move
 * there in begin.  State: the descriptor in the process that made it.
 */

#ifndef CH4_ADAPT_SEGMENT_H_INCLUDED
#define CH4_ADAPT_SEGMENT_H_INCLUDED

#include "ch4_adapt.h"

/* Maps it, and fills this process' share of it; without effect where nobody joins. */
int MPIDI_Adapt_map_segment(const struct pmi_adapt_plan *plan, int index,
                            MPIDI_Adapt_segment_t * segment);
/* The adaptation is withdrawn. */
void MPIDI_Adapt_unmap_segment(MPIDI_Adapt_segment_t * segment);
/* Commit: the segment that this process made (if it did) has been mapped by all of the host. */
void MPIDI_Adapt_close_made_segment(void);

#endif /* CH4_ADAPT_SEGMENT_H_INCLUDED */
