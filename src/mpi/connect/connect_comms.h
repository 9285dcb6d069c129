/*
 * The live communicators of this process, in the order of creation, without builtin ones and
 * without those that are part of another one.  Adaptations, sessions and connections to other jobs
 * use this list.
 */

#ifndef CONNECT_COMMS_H_INCLUDED
#define CONNECT_COMMS_H_INCLUDED

#include "mpiimpl.h"

extern MPIR_Comm *MPIR_Live_comms;      /* doubly linked through adapt.next and adapt.prev */

void MPIR_Live_comms_add(MPIR_Comm * comm);
/* Nothing happens if it is not listed. */
void MPIR_Live_comms_remove(MPIR_Comm * comm);
/* The function may not create or free other communicators. */
void MPIR_Live_comms_foreach(void (*function) (MPIR_Comm *, void *), void *context);

#endif /* CONNECT_COMMS_H_INCLUDED */
