/*
 * Messages to and from a process of another job, which may end at any time
 * (src/mpi/dynproc/watch.c).  DN4.
 *
 * A send request on the communicator of a connection stores the communicator and, if it is
 * synchronous, the receive for its acknowledgement.  For other sends only the flag `tainted` of the
 * communicator is tested.
 */

#ifndef OFI_DYNPROC_H_INCLUDED
#define OFI_DYNPROC_H_INCLUDED

#include "ofi_impl.h"
#include "../../src/ch4_dynproc.h"

/* A send is about to be posted on a communicator, which may be of a connection or of a session. */
void MPIDI_OFI_dynproc_send(MPIR_Request * sreq, MPIR_Comm * comm, int rank);
/* libfabric does not accept the message because the peer has ended: the request completes with an
 * error. */
void MPIDI_OFI_dynproc_not_sent(MPIR_Request * sreq);

/* MPIDI_OFI_CALL_RETRY for a message to a process that may have ended.  The error is returned to
 * the caller, or with a request set in the request; a reply is omitted. */
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

/* Both end a request with an error if possible.  False: the receive has been matched, and its
 * message is being received. */
bool MPIDI_OFI_dynproc_cancel_recv(MPIR_Request * rreq);
void MPIDI_OFI_dynproc_fail_send(MPIR_Request * sreq);
/* libfabric does not return the request: it is complete for all other users, and its memory stays
 * reserved for libfabric. */
void MPIDI_OFI_dynproc_force(MPIR_Request * req);
/* libfabric has returned such a request later. */
void MPIDI_OFI_dynproc_late(MPIR_Request * req);

/* Whether an error belongs to this request of a connection; then the request has been completed. */
bool MPIDI_OFI_dynproc_error(int vni, MPIR_Request * req, const struct fi_cq_err_entry *error,
                             int *mpi_errno);

#endif /* OFI_DYNPROC_H_INCLUDED */
