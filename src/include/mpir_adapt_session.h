/*
 * Queries of sessions about adaptations; mpir_adapt.h declares the rest.  Included by
 * src/mpi/session and by the files of src/mpi/adapt that have these functions, so that a change
 * rebuilds little.
 */

#ifndef MPIR_ADAPT_SESSION_H_INCLUDED
#define MPIR_ADAPT_SESSION_H_INCLUDED

#include "mpir_adapt.h"

/* ---- adapt_init.c ---- */
/* Called when PMI is connected, in the initialisation of a process or of a session. */
void MPIR_Adapt_pmi_begun(void);
/* Whether this process takes part in adaptations: from MPI_Init_adapt, or MPIX_Comm_modify, to
 * MPI_Finalize. */
bool MPIR_Adapt_is_on(void);
/* Whether this process has notified the proxy that it is rigid. */
bool MPIR_Adapt_proxy_knows_rigid(void);
/* Whether this process is in a world: a joining process is in none before its commit, a process
 * that has left is in none afterwards. */
bool MPIR_Adapt_has_joined(void);

/* ---- adapt_stale.c ---- */
/* Whether a group ended with its session while the application holds its handle. */
bool MPIR_Adapt_group_is_stale(const struct MPIR_Group *group);
/* Releases a handle of such a group; false: the group is not stale. */
bool MPIR_Adapt_group_release_stale(struct MPIR_Group *group);

#endif /* MPIR_ADAPT_SESSION_H_INCLUDED */
