/* See ofi_dynproc.h. */

#include "mpidimpl.h"
#include "ofi_events.h"
#include "ofi_dynproc.h"

/* max polls until libfabric reports the cancelled operations, after its other events */
#define POLLS 64

void MPIDI_OFI_dynproc_send(MPIR_Request * sreq, MPIR_Comm * comm, int rank)
{
    if (!MPID_Dynproc_may_end(comm))
        return;
    /* the receiver, for peer_of in ch4_failed_requests.c */
    sreq->status.MPI_SOURCE = rank;
    /* the receive for the acknowledgement, if there is one */
    MPIDI_OFI_REQUEST(sreq, util.inject_buf) = NULL;
    sreq->comm = comm;
    MPIR_Comm_add_ref(comm);
}

/* Cancels an operation and polls until libfabric has reported that.  An operation that is unknown
 * to libfabric has been matched: then there is no event. */
static void cancel(MPIR_Request * req, void *context, bool is_done(MPIR_Request *))
{
    int vni = MPIDI_Request_get_vci(req);

    for (int nic = 0; nic < MPIDI_OFI_global.num_nics; nic++)
        (void) fi_cancel((fid_t) MPIDI_OFI_global.ctx[MPIDI_OFI_get_ctx_index(NULL, vni, nic)].rx,
                         context);
    for (int i = 0; i < POLLS && !is_done(req); i++)
        (void) MPIDI_OFI_progress_uninlined(vni);
}

static bool is_cancelled(MPIR_Request * rreq)
{
    return MPIR_Request_is_complete(rreq) || MPIR_STATUS_GET_CANCEL_BIT(rreq->status);
}

bool MPIDI_OFI_dynproc_cancel_recv(MPIR_Request * rreq)
{
    cancel(rreq, &MPIDI_OFI_REQUEST(rreq, context), is_cancelled);
    if (MPIR_Request_is_complete(rreq))
        return true;
    if (!MPIR_STATUS_GET_CANCEL_BIT(rreq->status))
        return false;
    MPIR_STATUS_SET_CANCEL_BIT(rreq->status, FALSE);
    MPIR_STATUS_SET_COUNT(rreq->status, 0);
    MPID_Dynproc_set_ended(rreq);
    MPIDIU_request_complete(rreq);
    return true;
}

static bool is_answered(MPIR_Request * sreq)
{
    return !MPIDI_OFI_REQUEST(sreq, util.inject_buf);
}

/* Drops the receive for the acknowledgement; this completes the request if its data were sent. */
static void drop_answer(MPIR_Request * sreq)
{
    MPIDI_OFI_ssendack_request_t *answer = MPIDI_OFI_REQUEST(sreq, util.inject_buf);

    if (answer)
        cancel(sreq, &answer->context, is_answered);
}

void MPIDI_OFI_dynproc_fail_send(MPIR_Request * sreq)
{
    if (MPIDI_OFI_REQUEST(sreq, event_id) == MPIDI_OFI_EVENT_SEND_HUGE)
        return;
    MPID_Dynproc_set_ended(sreq);
    drop_answer(sreq);
    if (!MPIR_Request_is_complete(sreq))
        MPIDI_OFI_dynproc_force(sreq);
}

void MPIDI_OFI_dynproc_not_sent(MPIR_Request * sreq)
{
    MPID_Dynproc_set_ended(sreq);
    drop_answer(sreq);
    (void) MPIDI_OFI_send_event(MPIDI_Request_get_vci(sreq), NULL, sreq,
                                MPIDI_OFI_REQUEST(sreq, event_id));
}

/* The device's reference is now held for libfabric. */
void MPIDI_OFI_dynproc_force(MPIR_Request * req)
{
    MPID_Dynproc_set_ended(req);
    MPIR_Datatype_release_if_not_builtin(MPIDI_OFI_REQUEST(req, datatype));
    MPL_atomic_relaxed_store_int(&MPIDI_OFI_REQUEST(req, util_id),
                                 MPIDI_OFI_REQUEST(req, event_id));
    MPIDI_OFI_REQUEST(req, event_id) = MPIDI_OFI_EVENT_LATE;
    MPIR_cc_set(req->cc_ptr, 0);
    MPID_Dynproc_keep(req);
}

void MPIDI_OFI_dynproc_late(MPIR_Request * req)
{
    switch (MPL_atomic_relaxed_load_int(&MPIDI_OFI_REQUEST(req, util_id))) {
        case MPIDI_OFI_EVENT_SEND_PACK:
        case MPIDI_OFI_EVENT_RECV_PACK:
            MPIR_gpu_free_host(MPIDI_OFI_REQUEST(req, noncontig.pack.pack_buffer));
            break;
        case MPIDI_OFI_EVENT_SEND_NOPACK:
        case MPIDI_OFI_EVENT_RECV_NOPACK:
            MPL_free(MPIDI_OFI_REQUEST(req, noncontig.nopack));
            break;
        default:
            break;
    }
    MPID_Dynproc_give_back(req);
    MPIDI_CH4_REQUEST_FREE(req);
}

bool MPIDI_OFI_dynproc_error(int vni, MPIR_Request * req, const struct fi_cq_err_entry *error,
                             int *mpi_errno)
{
    struct fi_cq_tagged_entry nothing = {.op_context = error->op_context,.flags = FI_RECV };

    switch (MPIDI_OFI_REQUEST(req, event_id)) {
        case MPIDI_OFI_EVENT_LATE:
        case MPIDI_OFI_EVENT_SSEND_ACK:        /* cancelled only here */
            break;
        case MPIDI_OFI_EVENT_RECV:
        case MPIDI_OFI_EVENT_RECV_PACK:
        case MPIDI_OFI_EVENT_RECV_NOPACK:
            if (error->err == FI_ECANCELED)
                return false;
            /* fallthrough */
        case MPIDI_OFI_EVENT_SEND:
        case MPIDI_OFI_EVENT_SEND_PACK:
        case MPIDI_OFI_EVENT_SEND_NOPACK:
            if (!MPID_Dynproc_is_connected(req))
                return false;
            MPID_Dynproc_set_ended(req);
            break;
        default:
            return false;
    }
    *mpi_errno = MPIDI_OFI_dispatch_function(vni, &nothing, req);
    return true;
}
