/*
 * Messages to and from a process of another job, which may end at any time
 * (src/mpi/dynproc/watch.c).  DN4.
 *
 * A request to send knows its communicator if that is of a connection, and the receive by which a
 * synchronous one is answered.  For others only the mark `tainted` of the communicator is tested.
 */

#ifndef OFI_DYNPROC_H_INCLUDED
#define OFI_DYNPROC_H_INCLUDED

#include "ofi_impl.h"
#include "../../src/ch4_dynproc.h"

/* A send is about to be posted on a communicator, which may be of a connection or of a session. */
void MPIDI_OFI_dynproc_send(MPIR_Request * sreq, MPIR_Comm * comm, int rank);
/* libfabric does not take it, as there is nobody any more: it completes with an error. */
void MPIDI_OFI_dynproc_not_sent(MPIR_Request * sreq);

/* MPIDI_OFI_CALL_RETRY of what is sent to a process that may have ended: without a request the
 * caller has the error, with one the request; an answer is left out. */
#define MPIDI_OFI_INJECT_UNLESS_EXITED(call, vci, name, eagain)                         \
    MPIDI_OFI_CALL_RETRY_UNLESS(call, vci, name, eagain,                                \
        MPID_Dynproc_is_exited(comm, dst_rank, _ret != -FI_EAGAIN), {                   \
            MPIR_ERR_SET(mpi_errno, MPIX_ERR_PROC_FAILED, "**dynprocended");            \
            goto fn_exit;                                                               \
        })
#define MPIDI_OFI_SEND_UNLESS_EXITED(call, vci, name, eagain)                           \
    MPIDI_OFI_CALL_RETRY_UNLESS(call, vci, name, eagain,                                \
        MPID_Dynproc_is_exited(comm, dst_rank, _ret != -FI_EAGAIN), {                   \
            MPIDI_OFI_dynproc_not_sent(sreq);                                           \
            goto fn_exit;                                                               \
        })
#define MPIDI_OFI_ANSWER_UNLESS_EXITED(call, vci, name, eagain)                         \
    MPIDI_OFI_CALL_RETRY_UNLESS(call, vci, name, eagain, \
                                MPID_Dynproc_is_exited(c, r, _ret != -FI_EAGAIN), break)

/* Both end a request with an error if that can be done.  A receive that has been matched is being
 * received: false. */
bool MPIDI_OFI_dynproc_cancel_recv(MPIR_Request * rreq);
void MPIDI_OFI_dynproc_fail_send(MPIR_Request * sreq);
/* libfabric does not give it back: it is complete for everybody else, and its memory is
 * libfabric's. */
void MPIDI_OFI_dynproc_force(MPIR_Request * req);
/* Now it does, after all. */
void MPIDI_OFI_dynproc_late(MPIR_Request * req);

/* Whether an error is one of this request, which is of a connection; then it has been completed. */
bool MPIDI_OFI_dynproc_error(int vni, MPIR_Request * req, const struct fi_cq_err_entry *error,
                             int *mpi_errno);

#endif /* OFI_DYNPROC_H_INCLUDED */
