/*
 * Context ids of worlds and windows, and the messages with these ids that were not received
 * (ch4_adapt_unexpected.c).
 */

#ifndef CH4_ADAPT_UNEXPECTED_H_INCLUDED
#define CH4_ADAPT_UNEXPECTED_H_INCLUDED

#include "ch4_adapt.h"

/* The communicators with fixed ids, which are not allocated.  They are in the half that MPICH
 * excludes from its allocation mask. */
typedef enum {
    MPIDI_ADAPT_CONTEXT__UNION,
    MPIDI_ADAPT_CONTEXT__NEW_WORLD,
    MPIDI_ADAPT_CONTEXT__INTERCOMM,
    MPIDI_ADAPT_CONTEXT__WORLD,
    /* intercommunicator of processes created by MPIX_Comm_modify: of the world's generation */
    MPIDI_ADAPT_CONTEXT__PARENT,
    MPIDI_ADAPT_CONTEXTS        /* their number */
} MPIDI_Adapt_context_t;

MPIR_Context_id_t MPIDI_Adapt_context_of(MPIDI_Adapt_context_t kind, unsigned epoch);

/* Before the window of adaptation epoch + 1 can open: discards messages that have arrived since the
 * commit of `epoch` for the worlds that it ended, and ensures that no message remains of the
 * generations after the next ones. */
int MPIDI_Adapt_discard_late(unsigned epoch);

#endif /* CH4_ADAPT_UNEXPECTED_H_INCLUDED */
