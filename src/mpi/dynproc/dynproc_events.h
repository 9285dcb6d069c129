/*
 * Rank 0 notifies the other processes of a communicator of the states of their common requests: in
 * small messages along a binary tree, with a tag that all processes count in the same way.  No
 * process waits.  DN3.
 */

#ifndef EVENTS_H_INCLUDED
#define EVENTS_H_INCLUDED

#include "dynproc.h"

struct MPIR_Dynproc_event {
    int index;                  /* index of the request */
    int state;                  /* enum MPIR_Dynproc_state */
    int error_class;            /* if it FAILED */
};

struct MPIR_Dynproc_events;
/* Called on ranks other than 0, for each event.  NULL: no further event will arrive, because a
 * process has ended. */
typedef void (MPIR_Dynproc_apply) (void *owner, const struct MPIR_Dynproc_event * event);

/* Opens a channel for n events.  It is closed after the last one. */
int MPIR_Dynproc_events_open(MPIR_Comm * comm, int tag, int n, MPIR_Dynproc_apply * apply,
                             void *owner, struct MPIR_Dynproc_events **events);
/* Called by rank 0, n times: the request has reached this state, with this error if it has
 * FAILED. */
void MPIR_Dynproc_events_send(struct MPIR_Dynproc_events *events, int index,
                              enum MPIR_Dynproc_state state, int error);
/* The result on the other ranks: MPI_SUCCESS, or an error of that class.  NULL as in
 * MPIR_Dynproc_apply. */
int MPIR_Dynproc_event_error(const struct MPIR_Dynproc_event *event);

#endif /* EVENTS_H_INCLUDED */
