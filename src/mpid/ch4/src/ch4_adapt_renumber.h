/*
 * When the table of addresses changes, its indices do: the maps of all communicators, the groups and the windows of
 * this process are rewritten.  No state.
 */

#ifndef CH4_ADAPT_RENUMBER_H_INCLUDED
#define CH4_ADAPT_RENUMBER_H_INCLUDED

#include "ch4_adapt.h"

/* new_index[i]: new index in table 0 of the process that has index i; -1: departed. */
struct MPIDI_Adapt_new_indices {
    const int *new_index;
    int size;
    const struct pmi_adapt_plan *plan;
};

typedef struct {
    struct MPIDI_Adapt_new_indices r;
    void **seen;                /* room for the maps of all communicators; the caller's to free */
    int n_seen, max_seen;
} MPIDI_Adapt_renumbering_t;

/* All that renumbering needs memory for. */
int MPIDI_Adapt_reserve_renumbering(MPIDI_Adapt_renumbering_t * all);
/* All communicators (world only if given), groups and windows of this process. */
void MPIDI_Adapt_renumber(MPIDI_Adapt_renumbering_t * all, MPIR_Comm * world);

#endif /* CH4_ADAPT_RENUMBER_H_INCLUDED */
