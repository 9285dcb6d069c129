/*
 * Functions of the device for the end of handles with an adaptation
 * (src/mpi/adapt/adapt_handles.h): whether windows are busy, their end without synchronisation,
 * peers of requests.  No state.  SPEC C4, C6.
 */

#include "mpidimpl.h"
#include "mpidig_win.h"
#include "mpir_adapt.h"

static bool is_open(int epoch_type)
{
    /* after a fence another one may follow, but need not */
    return epoch_type != MPIDIG_EPOTYPE_NONE && epoch_type != MPIDIG_EPOTYPE_REFENCE;
}

const char *MPIDI_Adapt_win_pending(MPIR_Win * win)
{
    if (is_open(MPIDIG_WIN(win, sync).access_epoch_type))
        return "open access epoch";
    if (is_open(MPIDIG_WIN(win, sync).exposure_epoch_type))
        return "open exposure epoch";
    if (MPIR_cc_get(MPIDIG_WIN(win, local_cmpl_cnts)) != 0 ||
        MPIR_cc_get(MPIDIG_WIN(win, remote_cmpl_cnts)) != 0 ||
        MPIR_cc_get(MPIDIG_WIN(win, remote_acc_cmpl_cnts)) != 0)
        return "one-sided operation";
    return NULL;
}

int MPIDI_Adapt_win_release(MPIR_Win * win)
{
    return MPIDIG_win_release_local(win);
}

void MPIDI_Adapt_request_peer(MPIR_Request * req, int *peer, int *tag)
{
    *peer = MPI_UNDEFINED;
    *tag = MPI_UNDEFINED;

    switch (req->kind) {
        case MPIR_REQUEST_KIND__PREQUEST_SEND:
        case MPIR_REQUEST_KIND__PREQUEST_RECV:
            *peer = MPIDI_PREQUEST(req, rank);
            *tag = MPIDI_PREQUEST(req, tag);
            break;
        case MPIR_REQUEST_KIND__PART_SEND:
            *peer = MPIDI_PART_REQUEST(req, u.send.dest);
            break;
        case MPIR_REQUEST_KIND__PART_RECV:
            *peer = MPIDI_PART_REQUEST(req, u.recv.source);
            *tag = MPIDI_PART_REQUEST(req, u.recv.tag);
            break;
#ifndef MPIDI_CH4_DIRECT_NETMOD
        case MPIR_REQUEST_KIND__SEND:
            if (!MPIDI_is_self_comm(req->comm) && MPIDI_REQUEST(req, is_local))
                *peer = MPIDIG_REQUEST(req, u.send.dest);
            break;
        case MPIR_REQUEST_KIND__RECV:
            if (MPIDI_is_self_comm(req->comm)) {
                *peer = 0;
                *tag = MPIDI_SELF_REQUEST(req, tag);
            } else if (MPIDI_REQUEST(req, is_local)) {
                *peer = MPIDIG_REQUEST(req, u.recv.source);
                *tag = MPIDIG_REQUEST(req, u.recv.tag);
            }
            break;
#endif
        default:
            break;
    }
}

void MPIDI_Adapt_request_disarm(MPIR_Request * req)
{
    req->kind = MPIR_REQUEST_KIND__PREQUEST_SEND;
    req->u.persist.real_request = NULL;
    MPIR_cc_set(&req->cc, 0);
    req->cc_ptr = &req->cc;
    /* not MPI_PROC_NULL: MPID_Startall also reads the rank of collective requests, which do not set
     * it, and would skip the next one in this slot */
    MPIDI_PREQUEST(req, rank) = 0;
    MPIDI_PREQUEST(req, tag) = 0;
    /* released when the request is freed: a type without reference count */
    MPIDI_PREQUEST(req, datatype) = MPI_BYTE;
}

int MPIDI_Adapt_progress(void)
{
    return MPID_Progress_test(NULL);
}
