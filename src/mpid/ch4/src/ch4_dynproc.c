/* What dynamic process management (src/mpi/dynproc) needs of the device: addresses, and communicators made of them. */

#include "mpidimpl.h"
#include "mpir_adapt.h"
#include "adapt_handles.h"
#include "dynproc.h"
#include "ch4_dynproc.h"
#include "ch4_unaware.h"
#include "../netmod/ofi/ofi_dynproc.h"

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
    MPIDI_Unaware_look_again();
    comm->context_id = send_context;
    mpi_errno = MPID_Create_intercomm_from_lpids(comm, n, gpids);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Comm_map_dup(comm, local, MPIR_COMM_MAP_DIR__L2L);
    comm->tainted = 1;
    MPIR_Adapt_comm_derive(comm, local, NULL);
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

bool PMIU_Adapt_has_manager(void);      /* src/pmi/simple/simple_pmi_adapt.h */

bool MPID_Dynproc_is_alone(void)
{
    return !PMIU_Adapt_has_manager();
}

/* ---- the other side has ended ----------------------------------------------------------------------------------- */

int MPID_Dynproc_failed(void)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_SET(mpi_errno, MPIX_ERR_PROC_FAILED, "**dynprocended");
    return mpi_errno;
}

int MPID_Dynproc_told(int context_id)
{
    MPIR_Dynproc_hear(context_id - MPIR_CONTEXT_INTRA_COLL);
    return MPID_Dynproc_failed();
}

bool MPID_Dynproc_is_departed(const MPIR_Comm * comm, bool is_error)
{
    return is_error ? comm->adapt.connection != 0 : MPIR_Dynproc_has_ended(comm);
}

bool MPID_Dynproc_is_connected(const MPIR_Request * req)
{
    return req->comm && req->comm->adapt.connection;
}

void MPID_Dynproc_set_ended(MPIR_Request * req)
{
    MPIR_ERR_SET(req->status.MPI_ERROR, MPIX_ERR_PROC_FAILED, "**dynprocended");
}

int MPID_Dynproc_check(const MPIR_Comm * comm)
{
    return MPIR_Dynproc_has_ended(comm) ? MPID_Dynproc_failed() : MPI_SUCCESS;
}

/* ---- requests whose memory is the network's --------------------------------------------------------------------- */

static struct kept {
    MPIR_Request *req;
    struct kept *next;
} *kept;

/* Without memory the communicator stays as long as the request. */
void MPID_Dynproc_keep(MPIR_Request * req)
{
    struct kept *one = MPL_malloc(sizeof(*one), MPL_MEM_OTHER);

    if (!one)
        return;
    *one = (struct kept) {.req = req,.next = kept };
    kept = one;
}

static void forget(struct kept **place)
{
    struct kept *one = *place;

    *place = one->next;
    MPL_free(one);
}

void MPID_Dynproc_give_back(MPIR_Request * req)
{
    for (struct kept ** place = &kept; *place; place = &(*place)->next) {
        if ((*place)->req == req) {
            forget(place);
            return;
        }
    }
}

/* The program has freed it, so nobody asks for its communicator any more. */
void MPID_Dynproc_sweep(void)
{
    for (struct kept ** place = &kept; *place;) {
        MPIR_Request *req = (*place)->req;
        if (MPIR_Object_get_ref(req) > 1) {
            place = &(*place)->next;
            continue;
        }
        MPIR_Comm *comm = req->comm;
        req->comm = NULL;
        forget(place);
        if (comm)
            MPIR_Comm_release(comm);
        MPIR_Request_add_ref(req);
        MPIR_Request_free(req); /* progress, for who waits to disconnect */
    }
}

/* ---- requests of a connection ----------------------------------------------------------------------------------- */

#define ENDED_MOST 256          /* requests of one look; the next one finds the rest */

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

/* Whether it was there when this was asked before.  Its error is what says so: new ones have none, and it is right for
 * what comes in meanwhile, too, as the operation fails. */
static bool has_been_seen(MPIR_Request * req)
{
    bool has_been = req->status.MPI_ERROR != MPI_SUCCESS;

    MPID_Dynproc_set_ended(req);
    return has_been;
}

/* Not of the shared memory: lanes know of ends themselves, and others are of this side. */
static void fail_send(MPIR_Request * req)
{
    if (!MPIDI_REQUEST(req, is_local))
        MPIDI_OFI_dynproc_fail_send(req);
}

/* From any source, or by a lane: what the network has of it goes first. */
static void fail_shared_recv(MPIR_Request * req)
{
    MPIR_Request *partner = MPIDI_REQUEST_ANYSOURCE_PARTNER(req);

    if (partner && !MPIDI_OFI_dynproc_cancel_recv(partner))
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
    else if (!MPIDI_REQUEST_ANYSOURCE_PARTNER(req) && !MPIDI_OFI_dynproc_cancel_recv(req) && also_matched)
        MPIDI_OFI_dynproc_force(req);
}

int MPID_Dynproc_fail(unsigned connection, bool also_matched, bool also_local)
{
    struct ended ended = {.connection = connection };

    MPIR_Adapt_foreach_request(add_ended, &ended);
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
