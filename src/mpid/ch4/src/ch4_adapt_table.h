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
/* It is the table in use.  References are those of the communicators that exist now. */
void MPIDI_Adapt_set_table(MPIDI_av_table_t * table);
/* Likewise, the union's; the previous one is freed by commit. */
void MPIDI_Adapt_use_union_table(MPIDI_av_table_t * table);
/* Commit: an index is a new rank again, of n. */
int MPIDI_Adapt_compact_table(const struct pmi_adapt_plan *plan, const int *new_index, int n);
/* Takes the addresses of who exited with the last commit out of the netmod. */
int MPIDI_Adapt_remove_exited(void);

#endif /* CH4_ADAPT_TABLE_H_INCLUDED */
