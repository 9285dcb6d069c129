/*
 * Oversubscribed nodes: a waiting process yields its core if its node has more processes of the
 * world than cores for them.  In stock MPICH waiting processes poll during their whole time slices
 * while the awaited process gets none.  The decision is made at launch and again by each
 * adaptation, which may begin or end the oversubscription (mpidu_init_shm.c and its adaptations
 * call MPIDU_Oversubscribed_set); MPIR_CVAR_PROGRESS_YIELD overrides it.
 */

#ifndef MPIDU_OVERSUBSCRIBED_H_INCLUDED
#define MPIDU_OVERSUBSCRIBED_H_INCLUDED

#include <sched.h>

/* Whether waiting processes yield: 1, or 0.  Read in polling loops that have found no work. */
extern unsigned MPIDU_oversubscribed ATTRIBUTE((visibility("hidden")));

/* Decides again, for the processes pids[0 ... n-1] that share the node, including this one. */
void MPIDU_Oversubscribed_set(const int *pids, int n);

/* Lets another process run on an oversubscribed node.  (MPL_sched_yield does nothing in most
 * configurations.) */
#define MPIDU_OVERSUBSCRIBED_WAIT()                    \
    do {                                        \
        if (unlikely(MPIDU_oversubscribed & 1))        \
            sched_yield();                  \
    } while (0)

#endif /* MPIDU_OVERSUBSCRIBED_H_INCLUDED */
