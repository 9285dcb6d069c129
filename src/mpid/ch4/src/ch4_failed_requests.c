/*
 * Requests whose peer has ended fail (mpid_failure.h): the other side of a connection, or a member
 * of a session's communicator.  Only MPID_Dynproc_set_ended sets their error class.
 */

#include "mpidimpl.h"
#include "mpir_device_callbacks.h"
#include "mpid_dynproc.h"
#include "mpid_failure.h"
#include "ch4_dynproc.h"
#include "ch4_exited.h"
#include <limits.h>

/* ---- requests whose memory the network still uses -------------------------------------------- */

static struct retained {
    MPIR_Request *req;
    struct retained *next;
} *retained;

/* Without memory the communicator stays as long as the request. */
void MPID_Dynproc_keep(MPIR_Request * req)
{
    struct retained *one = MPL_malloc(sizeof(*one), MPL_MEM_OTHER);

    if (!one)
        return;
    *one = (struct retained) {.req = req,.next = retained };
    retained = one;
}

static void retained_release(struct retained **cursor)
{
    struct retained *one = *cursor;

    *cursor = one->next;
    MPL_free(one);
}

void MPID_Dynproc_give_back(MPIR_Request * req)
{
    for (struct retained ** cursor = &retained; *cursor; cursor = &(*cursor)->next) {
        if ((*cursor)->req == req) {
            retained_release(cursor);
            return;
        }
    }
}

/* The program has freed the request, so its communicator is not used any more. */
void MPID_Dynproc_sweep(void)
{
    for (struct retained ** cursor = &retained; *cursor;) {
        MPIR_Request *req = (*cursor)->req;
        if (MPIR_Object_get_ref(req) > 1) {
            cursor = &(*cursor)->next;
            continue;
        }
        MPIR_Comm *comm = req->comm;
        req->comm = NULL;
        retained_release(cursor);
        if (comm)
            MPIR_Comm_release(comm);
        MPIR_Request_add_ref(req);
        MPIR_Request_free(req); /* progress, for callers that wait for a disconnect */
    }
}

/* ---- requests of a connection ---------------------------------------------------------------- */

int MPIDI_Dynproc_postings;

static bool is_of_connection(const MPIR_Request * req, unsigned connection)
{
    return req->comm->adapt.connection == connection &&
        (req->kind == MPIR_REQUEST_KIND__RECV || req->kind == MPIR_REQUEST_KIND__SEND);
}

/* Between processes of this side, in a collective operation: it completes by itself if all of them
 * take part. */
static bool is_of_this_side(const MPIR_Request * req)
{
    return req->comm->comm_kind != MPIR_COMM_KIND__INTERCOMM;
}

/* Whether the request existed at the last call: then it has an error set; new ones have none.  The
 * error is also right for requests that complete meanwhile, because the operation fails. */
static bool has_been_seen(MPIR_Request * req)
{
    bool has_been = req->status.MPI_ERROR != MPI_SUCCESS;

    MPID_Dynproc_set_ended(req);
    return has_been;
}

/* Not for shared memory: channels detect ends themselves, and other requests are of this side. */
static void fail_send(MPIR_Request * req)
{
    if (!MPIDI_REQUEST(req, is_local))
        MPIDI_NM_dynproc_fail_send(req);
}

/* From any source, or by shared memory: the network's part is cancelled first. */
static void fail_shared_recv(MPIR_Request * req)
{
    MPIR_Request *partner = MPIDI_REQUEST_ANYSOURCE_PARTNER(req);

    if (partner && !MPIDI_NM_dynproc_cancel_recv(partner))
        return;
    if (partner) {
        MPIDI_REQUEST_ANYSOURCE_PARTNER(req) = NULL;
        MPIDI_CH4_REQUEST_FREE(partner);
    }
    if (!MPIR_Request_is_complete(req) && MPIDI_SHM_mpi_cancel_recv(req) == MPI_SUCCESS &&
        MPIR_STATUS_GET_CANCEL_BIT(req->status)) {
        MPIR_STATUS_SET_CANCEL_BIT(req->status, FALSE);
        MPID_Dynproc_set_ended(req);
    }
}

static void fail_recv(MPIR_Request * req, bool also_matched)
{
    if (MPIDI_REQUEST(req, is_local))
        fail_shared_recv(req);
    else if (!MPIDI_REQUEST_ANYSOURCE_PARTNER(req) && !MPIDI_NM_dynproc_cancel_recv(req) &&
             also_matched)
        MPIDI_NM_dynproc_force(req);
}

static void fail_of_connection(MPIR_Request * req, const struct MPID_Failure *failure)
{
    if (is_of_this_side(req) && !(failure->also_local && has_been_seen(req)))
        return;
    if (req->kind == MPIR_REQUEST_KIND__SEND)
        fail_send(req);
    else
        fail_recv(req, failure->also_matched);
}

/* ---- requests for members that have ended ---------------------------------------------------- */

/* A message that waits for space has no peer field (MPIDI_SHM_channels_without has dropped those to
 * ended processes), and an unexpected message has no receive yet. */
static bool is_held(MPIR_Request * req)
{
    if (!MPIDI_REQUEST(req, is_local))
        return req->kind == MPIR_REQUEST_KIND__RECV && MPIDI_REQUEST_ANYSOURCE_PARTNER(req);
    return req->kind == MPIR_REQUEST_KIND__SEND ? MPIDI_SHM_channels_hold(req) :
        MPIDIG_REQUEST(req, req->status) & MPIDIG_REQ_UNEXPECTED;
}

static bool is_partitioned(const MPIR_Request * req)
{
    return req->kind == MPIR_REQUEST_KIND__PART_SEND || req->kind == MPIR_REQUEST_KIND__PART_RECV;
}

/* Requests of the network store it in the status, which is not read before completion. */
static int peer_of(const MPIR_Request * req)
{
    if (is_partitioned(req))
        return req->kind == MPIR_REQUEST_KIND__PART_SEND ? MPIDI_PART_REQUEST(req, u.send.dest) :
            MPIDI_PART_REQUEST(req, u.recv.source);
    if (!MPIDI_REQUEST(req, is_local))
        return req->status.MPI_SOURCE;
    return req->kind == MPIR_REQUEST_KIND__SEND ? MPIDIG_REQUEST(req, u.send.dest) :
        MPIDIG_REQUEST(req, u.recv.source);
}

static bool is_unreachable(MPIR_Request * req)
{
    if (req->comm->adapt.connection || MPIDI_is_self_comm(req->comm) ||
        (req->kind != MPIR_REQUEST_KIND__RECV && req->kind != MPIR_REQUEST_KIND__SEND &&
         !is_partitioned(req)) || (!is_partitioned(req) && is_held(req)))
        return false;
    return req->kind == MPIR_REQUEST_KIND__RECV ? MPIDI_Exited_no_sender(req->comm, peer_of(req)) :
        MPIDI_Exited_is(req->comm, peer_of(req));
}

/* The request waits for its turn to send, or for its acknowledgement, or both. */
static void fail_shared_send(MPIR_Request * sreq)
{
    bool is_synchronous = MPIDIG_REQUEST(sreq, req->status) & MPIDIG_REQ_PEER_SSEND;
    int waits = MPIR_cc_get(*sreq->cc_ptr);

    if (!MPIDI_Exited_had_segment(sreq->comm, MPIDIG_REQUEST(sreq, u.send.dest)))
        return;                 /* its channel handles it */
    MPID_Dynproc_set_ended(sreq);
    if (waits > is_synchronous)
        MPIR_Datatype_release_if_not_builtin(MPIDIG_REQUEST(sreq, datatype));
    for (; waits > 0; waits--)
        MPID_Request_complete(sreq);
}

/* Fails a receive that has received a part. */
static void fail_shared_part(MPIR_Request * rreq)
{
    MPID_Dynproc_set_ended(rreq);
    MPIR_STATUS_SET_COUNT(rreq->status, 0);
    MPIR_Datatype_release_if_not_builtin(MPIDIG_REQUEST(rreq, datatype));
    MPID_Request_complete(rreq);
}

/* The request remains, and completes again if it is started again. */
static void fail_partitioned(MPIR_Request * req)
{
    MPID_Dynproc_set_ended(req);
    MPIR_Request_add_ref(req);
    MPID_Request_complete(req);
}

/* Whether the request existed at the last call: the network matches a receive with arrived messages
 * in its progress, not when it is posted.  The mark is in the tag, which the completion sets. */
static bool is_old(MPIR_Request * rreq)
{
    const int mark = INT_MIN;
    bool is = rreq->status.MPI_TAG == mark;

    rreq->status.MPI_TAG = is ? MPI_ANY_TAG : mark;
    return is;
}

static void fail_unreachable(MPIR_Request * req)
{
    bool is_local = MPIDI_REQUEST(req, is_local), is_recv = req->kind == MPIR_REQUEST_KIND__RECV;

    if (is_partitioned(req)) {
        fail_partitioned(req);
        return;
    }
    if (!is_recv) {
        (is_local ? fail_shared_send : fail_send) (req);
        return;
    }
    if ((!is_local || MPIDI_REQUEST_ANYSOURCE_PARTNER(req)) && !is_old(req))
        return;
    int source = peer_of(req);
    bool also_matched = source >= 0 && MPIDI_Exited_is_silent(req->comm, source);
    fail_recv(req, also_matched);
    if (is_local && also_matched && !MPIR_Request_is_complete(req) &&
        MPIDIG_REQUEST(req, req->status) & MPIDIG_REQ_IN_PROGRESS)
        fail_shared_part(req);
}

/* ---- both ------------------------------------------------------------------------------------ */

#define FAILED_MOST 256         /* max requests of one call; the next call finds the rest */

struct failed_scan {
    const struct MPID_Failure *failure;
    int n;
    MPIR_Request *requests[FAILED_MOST];
};

static void add_failed(void *object, void *context)
{
    MPIR_Request *req = object;
    struct failed_scan *scan = context;
    unsigned connection = scan->failure->connection;

    if (!req->comm || scan->n == FAILED_MOST || MPIR_Request_is_complete(req) ||
        !(connection ? is_of_connection(req, connection) : is_unreachable(req)))
        return;
    MPIR_Request_add_ref(req);
    scan->requests[scan->n++] = req;
}

int MPID_Failure_end_requests(const struct MPID_Failure *failure)
{
    struct failed_scan scan = {.failure = failure };

    if (MPIDI_Dynproc_postings > 0)
        return 1;
    MPIR_Device_callbacks.foreach_request(add_failed, &scan);
    for (int i = 0; i < scan.n; i++) {
        MPIR_Request *req = scan.requests[i];
        if (!MPIR_Request_is_complete(req) && failure->connection)
            fail_of_connection(req, failure);
        else if (!MPIR_Request_is_complete(req))
            fail_unreachable(req);
        MPIR_Request_free(req);
    }
    return scan.n;
}
