/*
 * Context ids of worlds and windows, and the messages with these ids that were not received
 * (ch4_adapt_unexpected.c).
 */

#ifndef CH4_ADAPT_UNEXPECTED_H_INCLUDED
#define CH4_ADAPT_UNEXPECTED_H_INCLUDED

#include "ch4_adapt.h"

/* The communicators whose ids are known without allocation.  They lie in the half that MPICH keeps
 * out of its allocation mask. */
typedef enum {
    MPIDI_ADAPT_CONTEXT__UNION,
    MPIDI_ADAPT_CONTEXT__NEW_WORLD,
    MPIDI_ADAPT_CONTEXT__INTERCOMM,
    MPIDI_ADAPT_CONTEXT__WORLD,
    /* of those that MPIX_Comm_modify has created: of the world's generation */
    MPIDI_ADAPT_CONTEXT__PARENT,
    MPIDI_ADAPT_CONTEXTS        /* how many */
} MPIDI_Adapt_context_t;

MPIR_Context_id_t MPIDI_Adapt_context_of(MPIDI_Adapt_context_t kind, unsigned epoch);

/* Before the window of adaptation epoch + 1 can open: throws away what has come since the commit of
 * `epoch` for the worlds that it ended, and makes sure that nothing is left of the generations
 * after next. */
int MPIDI_Adapt_discard_late(unsigned epoch);

#endif /* CH4_ADAPT_UNEXPECTED_H_INCLUDED */
