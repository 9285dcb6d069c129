/* The device's part of dynamic process management: addresses, and communicators made of them; and
 * the requests of those whose peers have ended, also as members of a session's communicators (session_liveness.c). */

#include "mpidimpl.h"
#include "mpir_adapt.h"
#include "mpir_device_callbacks.h"
#include "mpid_dynproc.h"
#include "pmi_adapt_calls.h"
#include "ch4_dynproc.h"
#include "ch4_locality.h"
#include "ch4_unresolved.h"
#include "mpid_session.h"
#include <limits.h>
#include <poll.h>

int MPID_Dynproc_addresses(MPIR_Comm * comm, int **sizes, char **addresses)
{
    return MPIDI_NM_get_local_upids(comm, sizes, addresses);
}

int MPID_Dynproc_progress_count(void)
{
    int count = 0;

    for (int vci = 0; vci < MPIDI_global.n_vcis; vci++)
        count += MPL_atomic_relaxed_load_int(&MPIDI_VCI(vci).progress_count);
    return count;
}

/* A table of addresses that is new stays until the end: a client that comes again is found there, where a new table
 * and another entry of the same address in the network's would be made for each of its connections. */
static void keep_tables(int n, const uint64_t * gpids)
{
    for (int i = 0; i < n; i++) {
        int avtid = MPIDIU_GPID_GET_AVTID(gpids[i]);
        if (avtid > 0 && MPIR_Object_get_ref(MPIDIU_get_av_table(avtid)) == 0)
            MPIDIU_avt_add_ref(avtid);
    }
}

/* The maps, then what MPI_Intercomm_create does for its communicators. */
int MPID_Dynproc_complete(MPIR_Comm * comm, MPIR_Comm * local, MPIR_Context_id_t send_context, int *sizes,
                          char *addresses)
{
    int mpi_errno = MPI_SUCCESS, n = comm->remote_size;
    uint64_t *gpids = MPL_malloc(sizeof(*gpids) * (size_t) n, MPL_MEM_ADDRESS);

    MPIR_ERR_CHKANDJUMP(!gpids, mpi_errno, MPI_ERR_OTHER, "**nomem");
    mpi_errno = MPIDIU_upids_to_gpids(n, sizes, addresses, gpids);
    MPIR_ERR_CHECK(mpi_errno);
    keep_tables(n, gpids);
    MPIDI_Unresolved_retry();
    comm->context_id = send_context;
    mpi_errno = MPID_Create_intercomm_from_lpids(comm, n, gpids);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Comm_map_dup(comm, local, MPIR_COMM_MAP_DIR__L2L);
    comm->tainted = 1;
    MPIR_Device_callbacks.comm_derive(comm, local, NULL);
    mpi_errno = MPIR_Comm_commit(comm);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(gpids);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void inherit_errhandler(MPIR_Comm * comm, MPIR_Comm * local)
{
    MPID_THREAD_CS_ENTER(POBJ, local->mutex);
    MPID_THREAD_CS_ENTER(VCI, local->mutex);
    comm->errhandler = local->errhandler;
    if (local->errhandler)
        MPIR_Errhandler_add_ref(local->errhandler);
    MPID_THREAD_CS_EXIT(POBJ, local->mutex);
    MPID_THREAD_CS_EXIT(VCI, local->mutex);
}

int MPID_Dynproc_stub(MPIR_Comm * local, bool is_low_group, MPIR_Context_id_t recv_context, int remote_size,
                      MPIR_Comm ** stub)
{
    int mpi_errno = MPIR_Comm_create(stub);

    MPIR_ERR_CHECK(mpi_errno);
    (*stub)->context_id = recv_context;
    (*stub)->recvcontext_id = recv_context;
    (*stub)->remote_size = remote_size;
    (*stub)->local_size = local->local_size;
    (*stub)->rank = local->rank;
    (*stub)->comm_kind = MPIR_COMM_KIND__INTERCOMM;
    (*stub)->local_comm = NULL;
    (*stub)->is_low_group = is_low_group;
    inherit_errhandler(*stub, local);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Dynproc_intercomm(MPIR_Comm * local, bool is_low_group, MPIR_Context_id_t recv_context,
                           MPIR_Context_id_t send_context, int remote_size, int *sizes, char *addresses,
                           MPIR_Comm ** newcomm)
{
    int mpi_errno = MPI_SUCCESS;

    *newcomm = NULL;
    mpi_errno = MPID_Dynproc_stub(local, is_low_group, recv_context, remote_size, newcomm);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPID_Dynproc_complete(*newcomm, local, send_context, sizes, addresses);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* A persistent request that is none of the device's: it can be freed, and MPI_Start refuses it. */
void MPID_Dynproc_init_handle(MPIR_Request * handle)
{
    MPIDI_PREQUEST(handle, p_type) = (MPIDI_ptype) - 1;
    MPIDI_PREQUEST(handle, rank) = 0;
    MPIDI_PREQUEST(handle, datatype) = MPI_BYTE;
}

bool MPID_Dynproc_is_alone(void)
{
    return !PMIU_Adapt_has_manager();
}

/* Progress may query mpiexec.  Other threads may do so, too, and lead on what others wait for. */
static void make_progress(int fd, int wait_ms)
{
    struct pollfd line = {.fd = fd,.events = POLLIN };

    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    (void) MPID_Progress_test(NULL);    /* errors belong to requests, whose owners get them */
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    if (wait_ms > 0)
        (void) poll(&line, 1, wait_ms);
    else
        MPL_sched_yield();
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
}

void MPID_Dynproc_prepare_names(void)
{
    PMIU_Adapt_set_progress(make_progress);
}

void MPID_Dynproc_prepare_spawn(void)
{
    PMIU_Adapt_set_progress(make_progress);
    (void) PMIU_Adapt_await_spawn_turn();       /* a broken connection is the spawn's error */
}

/* ---- members of a session's communicators that have ended ------------------------------------------------------ */

/* By their lpids, which are those of the first table of addresses. */
typedef uint64_t lpid_set_t[MPID_SESSION_LPIDS_MAX / 64];

static lpid_set_t exited, is_silent, had_segment;
static unsigned n_exited;
static bool watches_members;    /* or has done so */

static bool holds(const lpid_set_t set, int lpid)
{
    return set[lpid / 64] >> lpid % 64 & 1;
}

static void add(lpid_set_t set, int lpid)
{
    set[lpid / 64] |= UINT64_C(1) << lpid % 64;
}

/* -1: it is of no session. */
static int lpid_of(MPIR_Comm * comm, int rank)
{
    int lpid, avtid;

    if (comm->adapt.connection || rank < 0 || rank >= comm->remote_size || MPIDI_is_self_comm(comm) ||
        MPIDI_Session_is_parent(comm))
        return -1;
    MPIDIU_comm_rank_to_pid(comm, rank, &lpid, &avtid);
    return avtid == 0 && lpid < MPID_SESSION_LPIDS_MAX ? lpid : -1;
}

static bool is_in(const lpid_set_t set, MPIR_Comm * comm, int rank)
{
    int lpid = n_exited ? lpid_of(comm, rank) : -1;

    return lpid >= 0 && holds(set, lpid);
}

bool MPIDI_Dynproc_has_exited(MPIR_Comm * comm, int rank)
{
    return is_in(exited, comm, rank);
}

/* Of any source: nobody else is there. */
static bool nobody_sends(MPIR_Comm * comm, int source)
{
    bool is_intercomm = comm->comm_kind == MPIR_COMM_KIND__INTERCOMM;

    if (n_exited == 0 || source >= 0)
        return MPIDI_Dynproc_has_exited(comm, source);
    if (source != MPI_ANY_SOURCE || comm->remote_size + is_intercomm < 2)
        return false;
    for (int rank = 0; rank < comm->remote_size; rank++) {
        if ((is_intercomm || rank != comm->rank) && !MPIDI_Dynproc_has_exited(comm, rank))
            return false;
    }
    return true;
}

/* Messages that are sent from now on are dropped, as to a channel that has ended. */
void MPID_Session_mark_exited(int lpid)
{
    MPIDI_av_table_t *table = MPIDI_global.avt_mgr.av_table0;

    if (holds(exited, lpid) || lpid >= table->size)
        return;
    add(exited, lpid);
    n_exited++;
    if (table->table[lpid].is_local == MPIDI_LOCALITY__SEGMENT) {
        add(had_segment, lpid);
        table->table[lpid].is_local = MPIDI_LOCALITY__EXITED;
        MPIDI_global.has_channels |= 1;
        MPIDI_SHM_channels_without(lpid);
    }
}

void MPID_Session_mark_silent(int lpid)
{
    add(is_silent, lpid);
}

bool MPID_Session_has_exited(int lpid)
{
    return holds(exited, lpid);
}

void MPID_Session_depart_nobody(void)
{
    memset(exited, 0, sizeof(exited));
    memset(is_silent, 0, sizeof(is_silent));
    memset(had_segment, 0, sizeof(had_segment));
    n_exited = 0;
}

void MPID_Session_watch_comm(MPIR_Comm * comm)
{
    watches_members = true;
    if (MPIDI_global.n_vcis > 1)
        return;
    comm->tainted = 1;
    if (comm->node_comm)
        comm->node_comm->tainted = 1;
    if (comm->node_roots_comm)
        comm->node_roots_comm->tainted = 1;
}

/* ---- the other side has ended ---------------------------------------------------------------------------------- */

int MPID_Dynproc_failed(void)
{
    int mpi_errno = MPI_SUCCESS;

    if (MPIR_Device_callbacks.dynproc_had_connections())
        MPIR_ERR_SET(mpi_errno, MPIX_ERR_PROC_FAILED, "**dynprocended");
    else
        MPIR_ERR_SET(mpi_errno, MPIX_ERR_PROC_FAILED, "**membergone");
    return mpi_errno;
}

int MPID_Dynproc_notified(int context_id)
{
    MPIR_Device_callbacks.dynproc_note_ended(context_id - MPIR_CONTEXT_INTRA_COLL);
    return MPID_Dynproc_failed();
}

bool MPID_Dynproc_is_exited(MPIR_Comm * comm, int rank, bool is_error)
{
    return (is_error && MPID_Dynproc_may_end(comm)) || MPIR_Device_callbacks.dynproc_has_ended(comm) ||
        MPIDI_Dynproc_has_exited(comm, rank);
}

bool MPID_Dynproc_may_end(const MPIR_Comm * comm)
{
    return comm->adapt.connection || (watches_members && !MPIDI_Session_is_parent(comm));
}

bool MPID_Dynproc_any_may_end(void)
{
    return MPIR_Device_callbacks.dynproc_had_connections() || watches_members;
}

bool MPID_Dynproc_is_connected(const MPIR_Request * req)
{
    return req->comm && MPID_Dynproc_may_end(req->comm);
}

/* The class alone: it may lie there for long, and a code with a text is an internal error after 128 other ones. */
void MPID_Dynproc_set_ended(MPIR_Request * req)
{
    req->status.MPI_ERROR = MPIX_ERR_PROC_FAILED;
}

int MPID_Dynproc_check(int source, MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;

    if (MPIR_Device_callbacks.dynproc_has_ended(comm))
        return MPID_Dynproc_failed();
    if (nobody_sends(comm, source))
        MPIR_ERR_SET(mpi_errno, MPIX_ERR_PROC_FAILED, "**membergone");
    return mpi_errno;
}

/* ---- requests whose memory is the network's -------------------------------------------------------------------- */

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

/* The program has freed it, so nobody uses its communicator any more. */
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
        MPIR_Request_free(req); /* progress, for who waits to disconnect */
    }
}

/* ---- requests of a connection ---------------------------------------------------------------------------------- */

int MPIDI_Dynproc_postings;

#define ENDED_MOST 256          /* requests of one poll; the next one finds the rest */

struct ended {
    unsigned connection;
    int n;
    MPIR_Request *requests[ENDED_MOST];
};

static void add_ended(void *object, void *context)
{
    MPIR_Request *req = object;
    struct ended *ended = context;

    if (!req->comm || req->comm->adapt.connection != ended->connection || MPIR_Request_is_complete(req) ||
        (req->kind != MPIR_REQUEST_KIND__RECV && req->kind != MPIR_REQUEST_KIND__SEND) || ended->n == ENDED_MOST)
        return;
    MPIR_Request_add_ref(req);
    ended->requests[ended->n++] = req;
}

/* Between processes of this side, in a collective operation: it goes on by itself if all of them take part. */
static bool is_of_this_side(const MPIR_Request * req)
{
    return req->comm->comm_kind != MPIR_COMM_KIND__INTERCOMM;
}

/* Whether it was there at the last call.  Its error shows that: new ones have none, and it is right for
 * what comes in meanwhile, too, as the operation fails. */
static bool has_been_seen(MPIR_Request * req)
{
    bool has_been = req->status.MPI_ERROR != MPI_SUCCESS;

    MPID_Dynproc_set_ended(req);
    return has_been;
}

/* Not of the shared memory: channels know of ends themselves, and others are of this side. */
static void fail_send(MPIR_Request * req)
{
    if (!MPIDI_REQUEST(req, is_local))
        MPIDI_NM_dynproc_fail_send(req);
}

/* From any source, or by shared memory: what the network has of it goes first. */
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
    else if (!MPIDI_REQUEST_ANYSOURCE_PARTNER(req) && !MPIDI_NM_dynproc_cancel_recv(req) && also_matched)
        MPIDI_NM_dynproc_force(req);
}

int MPID_Dynproc_fail(unsigned connection, bool also_matched, bool also_local)
{
    struct ended ended = {.connection = connection };

    if (MPIDI_Dynproc_postings > 0)
        return 1;
    MPIR_Device_callbacks.foreach_request(add_ended, &ended);
    for (int i = 0; i < ended.n; i++) {
        MPIR_Request *req = ended.requests[i];
        bool is_over = !MPIR_Request_is_complete(req) &&
            (!is_of_this_side(req) || (also_local && has_been_seen(req)));
        if (is_over && req->kind == MPIR_REQUEST_KIND__SEND)
            fail_send(req);
        else if (is_over)
            fail_recv(req, also_matched);
        MPIR_Request_free(req);
    }
    return ended.n;
}

/* ---- requests whose peer has ended ----------------------------------------------------------------------------- */

/* A message that waits for space has no peer of its own (MPIDI_SHM_channels_without has dropped those of the ended),
 * and what has come unexpectedly is nobody's receive yet. */
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

/* The network's keep it in the status, which nobody reads before they are complete. */
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

static void add_unreachable(void *object, void *context)
{
    MPIR_Request *req = object;
    struct ended *unreachable = context;

    if (!req->comm || unreachable->n == ENDED_MOST || req->comm->adapt.connection || MPIR_Request_is_complete(req) ||
        (req->kind != MPIR_REQUEST_KIND__RECV && req->kind != MPIR_REQUEST_KIND__SEND && !is_partitioned(req)) ||
        MPIDI_is_self_comm(req->comm) || (!is_partitioned(req) && is_held(req)))
        return;
    bool is_unreachable = req->kind == MPIR_REQUEST_KIND__RECV ? nobody_sends(req->comm, peer_of(req)) :
        MPIDI_Dynproc_has_exited(req->comm, peer_of(req));
    if (!is_unreachable)
        return;
    MPIR_Request_add_ref(req);
    unreachable->requests[unreachable->n++] = req;
}

/* It waits for its turn to send, or that it was received, or both. */
static void fail_shared_send(MPIR_Request * sreq)
{
    bool is_synchronous = MPIDIG_REQUEST(sreq, req->status) & MPIDIG_REQ_PEER_SSEND;
    int waits = MPIR_cc_get(*sreq->cc_ptr);

    if (!is_in(had_segment, sreq->comm, MPIDIG_REQUEST(sreq, u.send.dest)))
        return;                 /* its channel knows */
    MPID_Dynproc_set_ended(sreq);
    if (waits > is_synchronous)
        MPIR_Datatype_release_if_not_builtin(MPIDIG_REQUEST(sreq, datatype));
    for (; waits > 0; waits--)
        MPID_Request_complete(sreq);
}

/* That has begun to come in. */
static void fail_shared_part(MPIR_Request * rreq)
{
    MPID_Dynproc_set_ended(rreq);
    MPIR_STATUS_SET_COUNT(rreq->status, 0);
    MPIR_Datatype_release_if_not_builtin(MPIDIG_REQUEST(rreq, datatype));
    MPID_Request_complete(rreq);
}

/* The request stays, and completes again if it is started again. */
static void fail_partitioned(MPIR_Request * req)
{
    MPID_Dynproc_set_ended(req);
    MPIR_Request_add_ref(req);
    MPID_Request_complete(req);
}

/* Whether it was there at the last call.  The network matches a receive with what has come by its progress,
 * not when it is posted.  The completion returns the tag. */
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
    bool also_matched = source >= 0 && is_in(is_silent, req->comm, source);
    fail_recv(req, also_matched);
    if (is_local && also_matched && !MPIR_Request_is_complete(req) &&
        MPIDIG_REQUEST(req, req->status) & MPIDIG_REQ_IN_PROGRESS)
        fail_shared_part(req);
}

void MPID_Session_fail(void)
{
    struct ended unreachable = { 0 };

    if (MPIDI_Dynproc_postings > 0)
        return;
    MPIR_Device_callbacks.foreach_request(add_unreachable, &unreachable);
    for (int i = 0; i < unreachable.n; i++) {
        if (!MPIR_Request_is_complete(unreachable.requests[i]))
            fail_unreachable(unreachable.requests[i]);
        MPIR_Request_free(unreachable.requests[i]);
    }
}
