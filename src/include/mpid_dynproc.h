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
/* Makes an intercommunicator: a stub while the other side is not known yet, its completion later,
 * or both at once. */
int MPID_Dynproc_stub(MPIR_Comm * local, bool is_low_group, MPIR_Context_id_t recv_context,
                      int remote_size, MPIR_Comm ** stub);
int MPID_Dynproc_complete(MPIR_Comm * stub, MPIR_Comm * local, MPIR_Context_id_t send_context,
                          int *sizes, char *addresses);
int MPID_Dynproc_intercomm(MPIR_Comm * local, bool is_low_group, MPIR_Context_id_t recv_context,
                           MPIR_Context_id_t send_context, int remote_size, int *sizes,
                           char *addresses, MPIR_Comm ** newcomm);
/* The processes of the other side may not have the addresses of this side yet: nothing is sent to
 * such a process before it reports that it has them (ch4_unresolved.h).  The second function makes
 * this process report it; it is called before the other side is started, and returns false if the
 * network cannot. */
void MPID_Dynproc_is_unknown_to(MPIR_Comm * comm);
bool MPID_Dynproc_answer_from_now_on(void);
/* Releases the communicators of requests that have failed and that the program has freed. */
void MPID_Dynproc_sweep(void);
/* Increases with everything that has been received or sent. */
int MPID_Dynproc_progress_count(void);
void MPID_Dynproc_init_handle(MPIR_Request * handle);
/* Called before a query about a name: while the process waits for the reply, it makes progress and
 * its other threads continue. */
void MPID_Dynproc_prepare_names(void);

#endif /* MPID_DYNPROC_H_INCLUDED */
