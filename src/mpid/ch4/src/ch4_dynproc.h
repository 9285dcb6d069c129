/* Dynamic process management in the device. */

#ifndef CH4_DYNPROC_H_INCLUDED
#define CH4_DYNPROC_H_INCLUDED

#include <stdbool.h>

/* Whether the receiver of a message that the network has not accepted has ended.  is_error: the
 * network has reported an error, which counts as the receiver's end if processes of this
 * communicator may end. */
bool MPID_Dynproc_is_exited(MPIR_Comm * comm, int rank, bool is_error);
/* The processes of a collective operation forward an error class; these functions return an error
 * code for it.  A process that is notified in this way treats the other side of the connection as
 * ended. */
int MPID_Dynproc_failed(void);
int MPID_Dynproc_notified(int context_id);
MPL_STATIC_INLINE_PREFIX int MPID_Dynproc_error_of(int errflag, int context_id)
{
    return unlikely(errflag == MPIX_ERR_PROC_FAILED) ? MPID_Dynproc_notified(context_id) : errflag;
}

/* Positive while a send to the network is retried and its request is incomplete: no request is
 * ended then. */
extern int MPIDI_Dynproc_postings;

/* Whether peers may end, in a communicator or in any: in communicators of connections and of
 * sessions. */
bool MPID_Dynproc_may_end(const MPIR_Comm * comm);
bool MPID_Dynproc_any_may_end(void);
/* The same for the communicator of a request. */
bool MPID_Dynproc_is_connected(const MPIR_Request * req);
/* Sets the error of a request whose peer has ended; the caller completes it. */
void MPID_Dynproc_set_ended(MPIR_Request * req);
/* The error of a wait for a message of this rank, or any, that cannot arrive any more; or
 * MPI_SUCCESS. */
int MPID_Dynproc_check(int source, MPIR_Comm * comm);

/* A completed request whose memory the network may still use must not retain the communicator. */
void MPID_Dynproc_keep(MPIR_Request * req);
void MPID_Dynproc_give_back(MPIR_Request * req);

/* Whether there is no mpiexec, not even one that this process has started itself. */
bool MPID_Dynproc_is_alone(void);
/* Called before a spawn: the process makes progress while it waits for the spawned processes. */
void MPID_Dynproc_prepare_spawn(void);

#endif /* CH4_DYNPROC_H_INCLUDED */
