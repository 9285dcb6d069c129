/*
 * The application's handles over an adaptation: the interface between the files that process them
 * (the interface to the MPI layer is mpir_adapt.h).  All functions are called inside the library's
 * critical section.  SPEC C4, C5, C6, W8.
 *
 *   adapt_derivation.c   which of the live communicators (connect_comms.h) end
 *   adapt_pools.c        objects of other kinds, found in their pools
 *   adapt_pending.c      what is still pending
 *   adapt_attributes.c   attributes of what ends
 *   adapt_release.c      the end itself
 *   adapt_stale.c        stale objects: the slots of communicators, windows and groups that ended
 *                        with an adaptation or a session while the application may still hold their
 *                        handles (files: romio/mpi-io/glue/mpich/adapt_file.c)
 */

#ifndef ADAPT_HANDLES_H_INCLUDED
#define ADAPT_HANDLES_H_INCLUDED

#include "adapt.h"
#include "connect_comms.h"

/* ---- adapt_derivation.c ---- */
/* True while commit releases all objects of a process that does not return from it (C3). */
extern bool MPIR_Adapt_everything_ends;
/* Whether the communicator ends with the commit, or with the session that is being finalised. */
bool MPIR_Adapt_ends(const MPIR_Comm * comm);
/* Derives it from the communicator's rank mappers, at the start of MPIR_Comm_commit. */
void MPIR_Adapt_comm_find_derivation(MPIR_Comm * comm);
/* Called when the communicator has no references left: its slot is released, or stays as that of a
 * stale handle. */
void MPIR_Adapt_comm_give_back(MPIR_Comm * comm);

/* ---- adapt_pools.c ---- */
/* A slot is in use if its reference count is positive.  The count is 0 in a slot that was never
 * used or whose last reference was released, and negative in a stale one. */
void MPIR_Adapt_foreach_in_use(MPIR_Object_alloc_t * pool, int objects_per_block,
                               void (*function) (void *, void *), void *context);
void MPIR_Adapt_foreach_request(void (*function) (void *, void *), void *context);
void MPIR_Adapt_foreach_win(void (*function) (void *, void *), void *context);

/* ---- adapt_stale.c ---- */
/* The object whose slot stays in use after its last reference is released, and the epoch that ends
 * it. */
extern struct MPIR_Adapt_ending {
    MPIR_Comm *comm;
    MPIR_Win *win;
    unsigned epoch;
    unsigned session;           /* the session that is being finalised, else 0 */
} MPIR_Adapt_ending;
/* `comm` is that object and has released its resources: retains the slot. */
void MPIR_Adapt_comm_end(MPIR_Comm * comm);
/* The same for a group. */
void MPIR_Adapt_group_end(MPIR_Group * group);
/* The error code for a communicator whose reference count is not positive, without the special
 * rules for the world. */
int MPIR_Adapt_stale_comm_error(const MPIR_Comm * comm, const char *function, int line);
/* Called when MPI is finalised. */
void MPIR_Adapt_release_stale(void);

#endif /* ADAPT_HANDLES_H_INCLUDED */
