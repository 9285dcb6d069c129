/*
 * The device's part of dynamic process management (src/mpid/ch4/src/ch4_dynproc.c), for the MPI
 * layer.
 */

#ifndef MPID_DYNPROC_H_INCLUDED
#define MPID_DYNPROC_H_INCLUDED

#include "mpiimpl.h"
#include "mpir_device_callbacks.h"
#include <stdbool.h>

/* Addresses of the processes of comm, one after the other; the arrays are the caller's. */
int MPID_Dynproc_addresses(MPIR_Comm * comm, int **sizes, char **addresses);
/* An intercommunicator whose other side is not known yet, and when it is. */
int MPID_Dynproc_stub(MPIR_Comm * local, bool is_low_group, MPIR_Context_id_t recv_context,
                      int remote_size, MPIR_Comm ** stub);
int MPID_Dynproc_complete(MPIR_Comm * stub, MPIR_Comm * local, MPIR_Context_id_t send_context,
                          int *sizes, char *addresses);
int MPID_Dynproc_intercomm(MPIR_Comm * local, bool is_low_group, MPIR_Context_id_t recv_context,
                           MPIR_Context_id_t send_context, int remote_size, int *sizes,
                           char *addresses, MPIR_Comm ** newcomm);
/* The other side's processes may not have the addresses of this one's yet: each is sent nothing
 * before it reports that it has (ch4_unresolved.h).  They report it if they do this before the
 * other side is started; it returns false if the network cannot. */
void MPID_Dynproc_is_unknown_to(MPIR_Comm * comm);
bool MPID_Dynproc_answer_from_now_on(void);
/* Communicators of requests that have ended so, and that the program has freed, are given back. */
void MPID_Dynproc_sweep(void);
/* Rises with all that has been received or sent on the way. */
int MPID_Dynproc_progress_count(void);
void MPID_Dynproc_init_handle(MPIR_Request * handle);
/* Before a query about a name: the process makes progress while it waits for the reply, and its
 * other threads go on. */
void MPID_Dynproc_prepare_names(void);

#endif /* MPID_DYNPROC_H_INCLUDED */
