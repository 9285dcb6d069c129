/*
 * The application's handles over an adaptation: the interface between the files that treat them (the MPI layer's
 * view is in mpir_adapt.h).  All functions are called inside the library's critical section.  SPEC C4, C5, C6, W8.
 *
 *   adapt_derivation.c      the list of live communicators, and which of them end
 *   adapt_pools.c        objects of other kinds, found in their pools
 *   adapt_pending.c      what is still pending
 *   adapt_attributes.c   attributes of what ends
 *   adapt_release.c      the end itself
 *   adapt_stale.c        stale objects: the slots of communicators, windows and groups that ended with an adaptation or
 *                        a session while the application may still hold their handles (files:
 *                        romio/mpi-io/glue/mpich/adapt_file.c)
 */

#ifndef ADAPT_HANDLES_H_INCLUDED
#define ADAPT_HANDLES_H_INCLUDED

#include "adapt.h"

/* ---- adapt_derivation.c ---- */
extern MPIR_Comm *MPIR_Adapt_live_comms;        /* doubly linked through adapt.next and adapt.prev */
/* Set while commit releases what a process has that will not return from it: all of it (C3). */
extern bool MPIR_Adapt_everything_ends;
/* With the commit, or with the session that is being finalised. */
bool MPIR_Adapt_ends(const MPIR_Comm * comm);

/* ---- adapt_pools.c ---- */
/* A slot is in use if its reference count is positive: unused ones are zero from the start or since
 * their last reference went, stale ones are negative. */
void MPIR_Adapt_foreach_in_use(MPIR_Object_alloc_t * pool, int objects_per_block,
                               void (*function) (void *, void *), void *context);
/* src/mpi/dynproc/watch.c */
void MPIR_Dynproc_comm_derived(MPIR_Comm * comm, const MPIR_Comm * from);
void MPIR_Dynproc_comm_freed(const MPIR_Comm * comm);

void MPIR_Adapt_foreach_request(void (*function) (void *, void *), void *context);
void MPIR_Adapt_foreach_win(void (*function) (void *, void *), void *context);

/* ---- adapt_stale.c ---- */
/* The object whose slot stays in use after its last reference was released, and the epoch by which it ends. */
extern struct MPIR_Adapt_ending {
    MPIR_Comm *comm;
    MPIR_Win *win;
    unsigned epoch;
    unsigned session;           /* which is being finalised, else 0 */
} MPIR_Adapt_ending;
/* It is `comm`, which has given everything back: keeps the slot. */
void MPIR_Adapt_comm_end(MPIR_Comm * comm);
/* The same of a group. */
void MPIR_Adapt_group_end(MPIR_Group * group);
/* MPI is finalised. */
void MPIR_Adapt_release_stale(void);

#endif /* ADAPT_HANDLES_H_INCLUDED */
