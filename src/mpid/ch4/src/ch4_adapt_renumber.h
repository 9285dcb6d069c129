/*
 * A change of the table of addresses changes its indices: the maps of all communicators, the groups
 * and the windows of this process are rewritten.
 *
 * A group identifies a process by the table of addresses and its index there.  Both are reused
 * after the process has left the world, or was disconnected.  Then its identity in all groups of
 * this process is replaced by a unique one.  The only state is a counter for these; inside the
 * library's critical section.
 */

#ifndef CH4_ADAPT_RENUMBER_H_INCLUDED
#define CH4_ADAPT_RENUMBER_H_INCLUDED

#include "ch4_adapt.h"

/* new_index[i]: new index in table 0 of the process that has index i; -1: exited. */
struct MPIDI_Adapt_new_indices {
    const int *new_index;
    int size;
    const struct pmi_adapt_plan *plan;
};

typedef struct {
    struct MPIDI_Adapt_new_indices r;
    void **seen;                /* space for the maps of all communicators; the caller frees it */
    int n_seen, max_seen;
} MPIDI_Adapt_renumbering_t;

/* Allocates all memory for a renumbering. */
int MPIDI_Adapt_reserve_renumbering(MPIDI_Adapt_renumbering_t * all);
/* Renumbers all communicators (world only if given), groups and windows of this process. */
void MPIDI_Adapt_renumber(MPIDI_Adapt_renumbering_t * all, MPIR_Comm * world);
/* Called before a table of addresses is freed: its processes are disconnected, in all groups. */
void MPIDI_Adapt_table_freed(int avtid, int size);

#endif /* CH4_ADAPT_RENUMBER_H_INCLUDED */
