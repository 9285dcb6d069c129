/* The device's part of dynamic process management: addresses, communicators made of them, and the
 * end of the other side. */

#include "mpidimpl.h"
#include "mpir_adapt.h"
#include "mpir_device_callbacks.h"
#include "mpid_dynproc.h"
#include "pmi_adapt_calls.h"
#include "ch4_dynproc.h"
#include "ch4_adapt_preconnect.h"
#include "ch4_exited.h"
#include "ch4_unresolved.h"
#include "mpid_session.h"
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

/* A new table of addresses stays until the end: a client that connects again is found in it.
 * Otherwise each of its connections would make a new table, and another entry in the network's
 * vector. */
static void keep_tables(int n, const uint64_t * gpids)
{
    for (int i = 0; i < n; i++) {
        int avtid = MPIDIU_GPID_GET_AVTID(gpids[i]);
        if (avtid > 0 && MPIR_Object_get_ref(MPIDIU_get_av_table(avtid)) == 0)
            MPIDIU_avt_add_ref(avtid);
    }
}

/* Sets the maps, then does the same as MPI_Intercomm_create for its communicators. */
int MPID_Dynproc_complete(MPIR_Comm * comm, MPIR_Comm * local, MPIR_Context_id_t send_context,
                          int *sizes, char *addresses)
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

int MPID_Dynproc_stub(MPIR_Comm * local, bool is_low_group, MPIR_Context_id_t recv_context,
                      int remote_size, MPIR_Comm ** stub)
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
                           MPIR_Context_id_t send_context, int remote_size, int *sizes,
                           char *addresses, MPIR_Comm ** newcomm)
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

/* Initialises a persistent request outside the device: it can be freed, and MPI_Start refuses
 * it. */
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

/* Progress may query mpiexec.  Other threads may do so, too, and complete operations that others
 * wait for. */
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

/* ---- the other side has ended ---------------------------------------------------------------- */

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
    return (is_error && MPID_Dynproc_may_end(comm)) || MPIR_Device_callbacks.dynproc_has_ended(comm)
        || MPIDI_Exited_is(comm, rank);
}

bool MPID_Dynproc_may_end(const MPIR_Comm * comm)
{
    return comm->adapt.connection || (MPIDI_Exited_is_watching() && !MPIDI_Session_is_parent(comm));
}

bool MPID_Dynproc_any_may_end(void)
{
    return MPIR_Device_callbacks.dynproc_had_connections() || MPIDI_Exited_is_watching() ||
        MPIDI_Adapt_preconnected_may_end();
}

bool MPID_Dynproc_is_connected(const MPIR_Request * req)
{
    return req->comm && MPID_Dynproc_may_end(req->comm);
}

/* Only the class: the request may exist for a long time, and a code with a text becomes an internal
 * error after 128 others. */
void MPID_Dynproc_set_ended(MPIR_Request * req)
{
    req->status.MPI_ERROR = MPIX_ERR_PROC_FAILED;
}

int MPID_Dynproc_check(int source, MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;

    if (MPIR_Device_callbacks.dynproc_has_ended(comm))
        return MPID_Dynproc_failed();
    if (MPIDI_Exited_no_sender(comm, source))
        MPIR_ERR_SET(mpi_errno, MPIX_ERR_PROC_FAILED, "**membergone");
    return mpi_errno;
}
