/*
 * How rank 0 notifies the other processes of a communicator of the states of requests that they
 * have made together: in small messages along a binary tree, under a tag that all have counted
 * equally.  No process waits.  DN3.
 */

#ifndef EVENTS_H_INCLUDED
#define EVENTS_H_INCLUDED

#include "dynproc.h"

struct MPIR_Dynproc_event {
    int index;                  /* which request */
    int state;                  /* enum MPIR_Dynproc_state */
    int error_class;            /* if it FAILED */
};

struct MPIR_Dynproc_events;
/* On ranks other than 0, for each event.  NULL: none will come any more, because a process has
 * ended. */
typedef void (MPIR_Dynproc_apply) (void *owner, const struct MPIR_Dynproc_event * event);

/* n events will come.  They close themselves after the last one. */
int MPIR_Dynproc_events_open(MPIR_Comm * comm, int tag, int n, MPIR_Dynproc_apply * apply,
                             void *owner, struct MPIR_Dynproc_events **events);
/* Rank 0, n times: the request has come to this state, by this error if it has FAILED. */
void MPIR_Dynproc_events_send(struct MPIR_Dynproc_events *events, int index,
                              enum MPIR_Dynproc_state state, int error);
/* The outcome, on the other ranks: MPI_SUCCESS, or an error of that class.  NULL as in
 * MPIR_Dynproc_apply. */
int MPIR_Dynproc_event_error(const struct MPIR_Dynproc_event *event);

#endif /* EVENTS_H_INCLUDED */
