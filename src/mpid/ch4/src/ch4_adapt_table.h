/*
 * The table of addresses, av_table0: the world's, in a window the union's, and then the new
 * world's.  Processes that left with a commit keep their addresses until the next adaptation is
 * prepared.
 *
 * State: the table that the union's has replaced, from prepare to commit, and the entries of
 * processes that exited.
 */

#ifndef CH4_ADAPT_TABLE_H_INCLUDED
#define CH4_ADAPT_TABLE_H_INCLUDED

#include "ch4_adapt.h"

/* An empty table of addresses, without references; NULL: no memory. */
MPIDI_av_table_t *MPIDI_Adapt_new_table(int size);
/* Makes it the table in use.  Its references are those of the present communicators. */
void MPIDI_Adapt_set_table(MPIDI_av_table_t * table);
/* The same for the union's table; commit frees the previous one. */
void MPIDI_Adapt_use_union_table(MPIDI_av_table_t * table);
/* In commit: makes indices equal to the n new ranks. */
int MPIDI_Adapt_compact_table(const struct pmi_adapt_plan *plan, const int *new_index, int n);
/* Removes the addresses of processes that exited with the last commit from the netmod. */
int MPIDI_Adapt_remove_exited(void);

#endif /* CH4_ADAPT_TABLE_H_INCLUDED */
