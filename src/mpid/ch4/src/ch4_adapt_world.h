/*
 * MPI_COMM_WORLD over a commit: what it consists of (context ids, maps, node communicators, choice
 * of algorithms) is prebuilt, as the communicators of the window are.  Commit exchanges it for the
 * parts of the previous world, which are released when no process waits for this one.  A world that
 * was not prebuilt, that of a leaving process, or whose hints have been changed since, is made by
 * commit.
 *
 * State: the coming world, from prebuild to commit, and the previous one with the window's own
 * communicator, from commit until they are released.
 */

#ifndef CH4_ADAPT_WORLD_H_INCLUDED
#define CH4_ADAPT_WORLD_H_INCLUDED

#include "ch4_adapt.h"

/* Makes the coming world of a process that is in it.  The window is set; tables may be the
 * union's. */
int MPIDI_Adapt_make_coming_world(const struct pmi_adapt_plan *plan);
/* The adaptation is withdrawn. */
int MPIDI_Adapt_drop_coming_world(void);

/* Commit, in this order: the communicator gives up what refers to the tables of before; these are
 * the new world's now, and so is the communicator (C5: handle, name, error handler and hints
 * stay). */
int MPIDI_Adapt_end_world(MPIR_Comm * world);
int MPIDI_Adapt_begin_world(MPIR_Comm * world, unsigned epoch);

/* The communicator of the window that the application does not see is not used any more. */
void MPIDI_Adapt_end_union(MPIR_Comm * union_comm);
/* Gives back what the world before the last commit consisted of, and that communicator. */
int MPIDI_Adapt_release_previous_world(void);

#endif /* CH4_ADAPT_WORLD_H_INCLUDED */
