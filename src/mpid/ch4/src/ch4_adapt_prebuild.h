/*
 * The prebuilt objects of an adaptation (ch4_adapt_prebuild.c), for the entry into the window.
 */

#ifndef CH4_ADAPT_PREBUILD_H_INCLUDED
#define CH4_ADAPT_PREBUILD_H_INCLUDED

#include "ch4_adapt.h"

/* The union's table for this plan, NULL: not made. */
MPIDI_av_table_t *MPIDI_Adapt_prebuilt_table(const struct pmi_adapt_plan *plan);
/* The objects that MPID_Adapt_prebuild has made; the caller owns them then.  The table first; base
 * NULL: no segment. */
MPIDI_av_table_t *MPIDI_Adapt_take_table(void);
MPIDI_Adapt_segment_t MPIDI_Adapt_take_segment(void);

/* MPICH's pools grow by hundreds of objects at once, which touches much new memory: this is done
 * before other processes wait.  The caller holds all locks. */
void MPIDI_Adapt_grow_pools(void);

/* For work in parallel to other threads that communicate. */
void MPIDI_Adapt_lock_all(void);
void MPIDI_Adapt_unlock_all(void);

#endif /* CH4_ADAPT_PREBUILD_H_INCLUDED */
