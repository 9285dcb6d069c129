/* What dynamic process management (src/mpi/dynproc) needs of the device: addresses, and communicators made of them. */

#include "mpidimpl.h"
#include "mpir_adapt.h"
#include "adapt_handles.h"
#include "dynproc.h"
#include "ch4_dynproc.h"
#include "ch4_unaware.h"

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

#define ENDED_MOST 256          /* requests of one look; the next one finds the rest */

struct ended {
    MPIR_Comm *comm;
    int n;
    MPIR_Request *requests[ENDED_MOST];
};

static void add_ended(void *object, void *context)
{
    MPIR_Request *req = object;
    struct ended *ended = context;

    if (req->comm != ended->comm || req->kind != MPIR_REQUEST_KIND__RECV || MPIR_Request_is_complete(req) ||
        ended->n == ENDED_MOST)
        return;
    MPIR_Request_add_ref(req);
    ended->requests[ended->n++] = req;
}

static void set_ended(MPIR_Request * req)
{
    MPIR_ERR_SET(req->status.MPI_ERROR, MPIX_ERR_PROC_FAILED, "**dynprocended");
}

/* What has been matched is being received.  Requests to send do not know their communicator. */
void MPID_Dynproc_fail(MPIR_Comm * comm)
{
    struct ended ended = {.comm = comm };

    MPIR_Adapt_foreach_request(add_ended, &ended);
    for (int i = 0; i < ended.n; i++) {
        MPIR_Request *req = ended.requests[i];
        if (MPID_Cancel_recv(req) == MPI_SUCCESS && MPIR_STATUS_GET_CANCEL_BIT(req->status)) {
            MPIR_STATUS_SET_CANCEL_BIT(req->status, FALSE);
            set_ended(req);
        }
        MPIR_Request_free(req);
    }
}

bool MPID_Dynproc_send_ended(MPIR_Request * req)
{
    if (req->kind != MPIR_REQUEST_KIND__SEND || !MPIR_Dynproc_had_connections())
        return false;
    set_ended(req);
    return true;
}
