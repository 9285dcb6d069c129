/* Dynamic process management in the device. */

#ifndef CH4_DYNPROC_H_INCLUDED
#define CH4_DYNPROC_H_INCLUDED

#include <stdbool.h>

/* Whether nobody is there to whom a message for this rank goes that the network has not taken.
 * is_error: and will not take, for a reason that is the other side's if that may end. */
bool MPID_Dynproc_is_exited(MPIR_Comm * comm, int rank, bool is_error);
/* The processes of a collective operation pass on an error class, and a code is needed.  A process
 * that is notified in this way that the other side of a connection has ended takes it as a fact. */
int MPID_Dynproc_failed(void);
int MPID_Dynproc_notified(int context_id);
MPL_STATIC_INLINE_PREFIX int MPID_Dynproc_error_of(int errflag, int context_id)
{
    return unlikely(errflag == MPIX_ERR_PROC_FAILED) ? MPID_Dynproc_notified(context_id) : errflag;
}

/* While a send to the network is retried, in the midst of making its request: no request is
 * ended. */
extern int MPIDI_Dynproc_postings;

/* Whether processes with which one communicates may end, of a communicator or of any: those of
 * connections, and of sessions. */
bool MPID_Dynproc_may_end(const MPIR_Comm * comm);
bool MPID_Dynproc_any_may_end(void);
/* The same of a message. */
bool MPID_Dynproc_is_connected(const MPIR_Request * req);
/* The error of a message whose other side has ended, for whoever completes it. */
void MPID_Dynproc_set_ended(MPIR_Request * req);
/* The error of who waits for a message of this rank, or any, that will not come, or MPI_SUCCESS. */
int MPID_Dynproc_check(int source, MPIR_Comm * comm);

/* A request that is complete, and whose memory the network may still use, shall not keep the
 * communicator. */
void MPID_Dynproc_keep(MPIR_Request * req);
void MPID_Dynproc_give_back(MPIR_Request * req);

/* Whether there is no mpiexec, not even one that this process has started itself. */
bool MPID_Dynproc_is_alone(void);
/* Before a spawn: the process makes progress while it waits for what it spawns. */
void MPID_Dynproc_prepare_spawn(void);

#endif /* CH4_DYNPROC_H_INCLUDED */
