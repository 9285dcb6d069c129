/*
 * The window of this process, from prepare to commit: its numbers, and the communicator of the
 * union, which ch4_adapt_begin.c sets.
 */

#ifndef CH4_ADAPT_WINDOW_H_INCLUDED
#define CH4_ADAPT_WINDOW_H_INCLUDED

#include "ch4_adapt.h"

extern struct MPIDI_Adapt_window {
    int pre, joining, size;     /* size of the union */
    int index;                  /* of this process in the union */
    int shift;                  /* index - rank in the world that this process had before */
    MPIR_Comm *union_comm;      /* NULL: not made */
} MPIDI_Adapt_window;

/* Whether all processes of the window share this host's memory, so that they do not use the
 * network. */
bool MPIDI_Adapt_shares_memory(void);

/* ch4_adapt_commit.c: the processes of the previous window stop yielding to each other. */
void MPIDI_Adapt_end_giving_way(void);

/* Sets the numbers of the window. */
void MPIDI_Adapt_window_set(const struct pmi_adapt_plan *plan, int index);

#endif /* CH4_ADAPT_WINDOW_H_INCLUDED */
