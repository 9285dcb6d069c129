/*
 * MPI_COMM_WORLD over a commit: its parts (context ids, maps, node communicators, choice of
 * algorithms) are prebuilt, as the communicators of the window are.  Commit replaces the parts of
 * the previous world by them; those are released when no process waits for this one.  Commit itself
 * makes a world that was not prebuilt, the world of a leaving process, or one whose hints have
 * changed since.
 *
 * State: the next world, from prebuild to commit, and the previous one with the window's own
 * communicator, from commit until they are released.
 */

#ifndef CH4_ADAPT_WORLD_H_INCLUDED
#define CH4_ADAPT_WORLD_H_INCLUDED

#include "ch4_adapt.h"

/* Makes the next world of a process that is in it.  The window is set; tables may be the
 * union's. */
int MPIDI_Adapt_make_coming_world(const struct pmi_adapt_plan *plan);
/* The adaptation is withdrawn. */
int MPIDI_Adapt_drop_coming_world(void);

/* In commit, in this order: the communicator releases its references to the previous tables; after
 * the new tables are set, it becomes the new world (C5: handle, name, error handler and hints
 * stay). */
int MPIDI_Adapt_end_world(MPIR_Comm * world);
int MPIDI_Adapt_begin_world(MPIR_Comm * world, unsigned epoch);

/* The window's internal communicator is not used any more. */
void MPIDI_Adapt_end_union(MPIR_Comm * union_comm);
/* Releases the parts of the world before the last commit, and that communicator. */
int MPIDI_Adapt_release_previous_world(void);

#endif /* CH4_ADAPT_WORLD_H_INCLUDED */
