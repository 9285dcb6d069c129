/* What dynamic process management (src/mpi/dynproc) needs of the device: addresses, and communicators made of them. */

#include "mpidimpl.h"
#include "mpir_adapt.h"
#include "dynproc.h"

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
static int dress(MPIR_Comm * comm, MPIR_Comm * local, int remote_size, const uint64_t * gpids)
{
    int mpi_errno = MPID_Create_intercomm_from_lpids(comm, remote_size, gpids);

    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Comm_map_dup(comm, local, MPIR_COMM_MAP_DIR__L2L);
    MPID_THREAD_CS_ENTER(POBJ, local->mutex);
    MPID_THREAD_CS_ENTER(VCI, local->mutex);
    comm->errhandler = local->errhandler;
    if (local->errhandler)
        MPIR_Errhandler_add_ref(local->errhandler);
    MPID_THREAD_CS_EXIT(POBJ, local->mutex);
    MPID_THREAD_CS_EXIT(VCI, local->mutex);
    comm->tainted = 1;
    MPIR_Adapt_comm_derive(comm, local, NULL);
    mpi_errno = MPIR_Comm_commit(comm);
    MPIR_ERR_CHECK(mpi_errno);

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
    uint64_t *gpids = MPL_malloc(sizeof(*gpids) * (size_t) remote_size, MPL_MEM_ADDRESS);

    *newcomm = NULL;
    MPIR_ERR_CHKANDJUMP(!gpids, mpi_errno, MPI_ERR_OTHER, "**nomem");
    mpi_errno = MPIDIU_upids_to_gpids(remote_size, sizes, addresses, gpids);
    MPIR_ERR_CHECK(mpi_errno);
    keep_tables(remote_size, gpids);
    mpi_errno = MPIR_Comm_create(newcomm);
    MPIR_ERR_CHECK(mpi_errno);
    (*newcomm)->context_id = send_context;
    (*newcomm)->recvcontext_id = recv_context;
    (*newcomm)->remote_size = remote_size;
    (*newcomm)->local_size = local->local_size;
    (*newcomm)->rank = local->rank;
    (*newcomm)->comm_kind = MPIR_COMM_KIND__INTERCOMM;
    (*newcomm)->local_comm = NULL;
    (*newcomm)->is_low_group = is_low_group;
    mpi_errno = dress(*newcomm, local, remote_size, gpids);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(gpids);
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
