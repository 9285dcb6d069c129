/*
 * The shared memory of a host that processes join.  One of these makes it before it reports ready
 * (MPID_Adapt_make_segment, mpir_adapt.h); all processes of the host map it in advance, and move to
 * it in begin.  State: the descriptor in the process that made it.
 */

#ifndef CH4_ADAPT_SEGMENT_H_INCLUDED
#define CH4_ADAPT_SEGMENT_H_INCLUDED

#include "ch4_adapt.h"

/* Maps the segment, and fills this process' part of it; no effect on a host without joining
 * processes. */
int MPIDI_Adapt_map_segment(const struct pmi_adapt_plan *plan, int index,
                            MPIDI_Adapt_segment_t * segment);
/* The adaptation is withdrawn. */
void MPIDI_Adapt_unmap_segment(MPIDI_Adapt_segment_t * segment);
/* In commit: all processes of the host have mapped the segment, which this process may have
 * made. */
void MPIDI_Adapt_close_made_segment(void);

#endif /* CH4_ADAPT_SEGMENT_H_INCLUDED */
