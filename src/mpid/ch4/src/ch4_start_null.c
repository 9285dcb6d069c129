/*
 * Persistent and partitioned requests of MPI_PROC_NULL (mpir_start_null.h).  No message is sent.
 * Called inside the library's critical section.
 */

#include "mpidimpl.h"
#include "ch4_start_null.h"
#include "mpir_start_null.h"

int MPIDI_Part_create_null(int partitions, MPIR_Comm * comm, MPIR_Request_kind_t kind,
                           MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Request *req = NULL;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    MPIDI_CH4_REQUEST_CREATE(req, kind, 0, 1);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
    MPIR_ERR_CHKANDSTMT(req == NULL, mpi_errno, MPIX_ERR_NOREQ, goto fn_fail, "**nomemreq");

    MPIR_Comm_add_ref(comm);
    req->comm = comm;
    req->u.part.partitions = partitions;
    MPIR_Part_request_inactivate(req);
    MPIR_Status_set_procnull(&req->status);
    MPIR_cc_set(req->cc_ptr, 0);
    /* without a peer's request no handshake begins; source and destination are the same memory */
    MPIDIG_PART_REQUEST(req, peer_req_ptr) = NULL;
    MPIDI_PART_REQUEST(req, u.send.dest) = MPI_PROC_NULL;
    MPIDI_PART_REQUEST(req, datatype) = MPI_BYTE;
#ifndef MPIDI_CH4_DIRECT_NETMOD
    MPIDI_REQUEST(req, is_local) = 0;
#endif
    *request = req;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void start_persistent(MPIR_Request * request)
{
    if (MPIDI_PREQUEST(request, rank) != MPI_PROC_NULL)
        return;
    request->u.persist.real_request = request->kind == MPIR_REQUEST_KIND__PREQUEST_RECV ?
        MPIR_Request_create_null_recv() : MPIR_Request_create_complete(MPIR_REQUEST_KIND__SEND);
    request->status.MPI_ERROR = MPI_SUCCESS;
    request->cc_ptr = &request->u.persist.real_request->cc;
}

static void start_partitioned(MPIR_Request * request)
{
    if (MPIDI_PART_REQUEST(request, u.send.dest) != MPI_PROC_NULL)
        return;
    /* one more than the number of partitions: data is never sent */
    if (request->kind == MPIR_REQUEST_KIND__PART_SEND)
        MPIR_cc_set(&MPIDIG_PART_REQUEST(request, u.send).ready_cntr,
                    request->u.part.partitions + 1);
    MPIR_Part_request_activate(request);
    MPIR_cc_set(request->cc_ptr, 0);
}

void MPID_Start_null(MPIR_Request * request)
{
    if (MPIR_Request_is_partitioned(request))
        start_partitioned(request);
    else
        start_persistent(request);
}
