/*
 * Oversubscribed nodes: a waiting process yields its core when its node has more processes of the
 * world than cores for them.  Waiting processes of stock MPICH poll through their time slices while
 * the process that they wait for gets none.  The decision is made at launch and again by each
 * adaptation, which may oversubscribe or relieve the node (mpidu_init_shm.c and its adaptations
 * call MPIDU_Oversubscribed_set); MPIR_CVAR_PROGRESS_YIELD overrides it.
 */

#ifndef MPIDU_OVERSUBSCRIBED_H_INCLUDED
#define MPIDU_OVERSUBSCRIBED_H_INCLUDED

#include <sched.h>

/* Whether waiting gives way: 1, or 0.  Read in loops that have found nothing to do. */
extern unsigned MPIDU_oversubscribed ATTRIBUTE((visibility("hidden")));

/* Decides anew for the processes pids[0 ... n-1], this one among them, that share the node. */
void MPIDU_Oversubscribed_set(const int *pids, int n);

/* Lets another process run, where it matters.  (MPL_sched_yield does nothing in most
 * configurations.) */
#define MPIDU_OVERSUBSCRIBED_WAIT()                    \
    do {                                        \
        if (unlikely(MPIDU_oversubscribed & 1))        \
            sched_yield();                  \
    } while (0)

#endif /* MPIDU_OVERSUBSCRIBED_H_INCLUDED */
