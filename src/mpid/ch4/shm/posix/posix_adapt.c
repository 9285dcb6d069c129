/*
 * Shared-memory messages over an adaptation.  On a host that processes join, all of its processes (the
 * leaving ones included, for the window) move to queues in a new segment; nothing that was sent before
 * is lost or overtaken:
 *   1. everybody is in begin, and progresses on the old queues as any waiting process does;
 *   2. nobody progresses any more, so nobody sends into an old queue;
 *   3. the new queues are set up; from here on sends go there;
 *   4. what lies in my old queue is taken out, before my new queue is ever looked at.
 * A message of several fragments may start in the old queue and end in the new one.
 *
 * Slots (places in the segment) have no holes after begin; those of leaving processes stay unused
 * from commit until the next begin that moves.
 */

#include "mpidimpl.h"
#include "posix_noinline.h"
#include "posix_types.h"
#include "posix_am.h"
#include "../posix/eager/include/posix_eager.h"
#include "../posix/eager/iqueue/iqueue_types.h"
#include "../posix/release_gather/release_gather.h"
#include "mpidu_init_shm_adapt.h"
#include "ch4_adapt.h"

typedef MPIDI_POSIX_eager_iqueue_transport_t transport_t;

static struct {
    bool moved;                 /* in this window */
    transport_t old[MPIDI_CH4_MAX_VCIS][MPIDI_CH4_MAX_VCIS];
    void *old_counter;          /* limit counter of the old world's collectives */
    void *new_counter;
} window;

size_t MPIDI_POSIX_adapt_segment_bytes(int local_size)
{
    const size_t slack = 3 * 4096;      /* alignment of the allocations of one transport */
    size_t cell = MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE + MAX_ALIGNMENT +
        sizeof(MPIDU_genqi_shmem_cell_header_s);
    size_t queues = 2 * sizeof(MPIDU_genq_shmem_queue_u);
    size_t transports = (size_t) MPIDI_POSIX_global.num_vsis * MPIDI_POSIX_global.num_vsis;
    size_t per_process = MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS * cell + queues;

    return transports * (local_size * per_process + slack) + 2 * 4096 +
        MPIDU_INIT_SHM_ADAPT_BYTES(local_size);
}

static int progress(void)
{
    return MPID_Progress_test(NULL);
}

static int nothing(void)
{
    return MPI_SUCCESS;
}

int MPIDI_POSIX_adapt_renumber(int union_size, int shift)
{
    int mpi_errno = MPI_SUCCESS;
    int known = MPIR_Process.comm_world->local_size;

    int *slots = MPL_malloc(union_size * sizeof(int), MPL_MEM_SHM);
    MPIR_ERR_CHKANDJUMP(!slots, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < union_size; i++) {
        int before = i - shift;
        slots[i] = before >= 0 && before < known ? MPIDI_POSIX_global.local_ranks[before] : -1;
    }
    MPL_free(MPIDI_POSIX_global.local_ranks);
    MPIDI_POSIX_global.local_ranks = slots;

    for (int vsi = 0; vsi < MPIDI_CH4_MAX_VCIS; vsi++) {
        MPIDI_POSIX_am_request_header_t *postponed;
        DL_FOREACH(MPIDI_POSIX_global.per_vsi[vsi].postponed_queue, postponed)
            postponed->dst_grank += shift;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The slots of the new segment, and the requests that are being received from each. */
static int set_slots(const int *local_index, int n_local, int my_slot, const int *new_slot)
{
    int mpi_errno = MPI_SUCCESS;

    for (int vsi = 0; vsi < MPIDI_CH4_MAX_VCIS; vsi++) {
        MPIR_Request **old = MPIDI_POSIX_global.per_vsi[vsi].active_rreq;
        MPIR_Request **active = MPL_calloc(n_local, sizeof(MPIR_Request *), MPL_MEM_SHM);
        MPIR_ERR_CHKANDJUMP(!active, mpi_errno, MPI_ERR_OTHER, "**nomem");
        for (int slot = 0; slot < MPIDI_POSIX_global.num_local; slot++) {
            if (new_slot[slot] >= 0)
                active[new_slot[slot]] = old[slot];
        }
        MPL_free(old);
        MPIDI_POSIX_global.per_vsi[vsi].active_rreq = active;
    }
    for (int slot = 0; slot < n_local; slot++)
        MPIDI_POSIX_global.local_ranks[local_index[slot]] = slot;
    MPIDI_POSIX_global.num_local = n_local;
    MPIDI_POSIX_global.my_local_rank = my_slot;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* One cell of an old queue, as MPIDI_POSIX_progress_recv would take it.  from is its sender's slot in
 * the new numbering. */
static void receive_cell(MPIDI_POSIX_eager_iqueue_cell_t * cell, int from, int src_vsi, int vsi)
{
    MPIR_Request **active = &MPIDI_POSIX_global.per_vsi[vsi].active_rreq[from];
    char *payload = MPIDI_POSIX_EAGER_IQUEUE_CELL_PAYLOAD(cell);
    size_t left = cell->payload_size;

    if (cell->type == MPIDI_POSIX_EAGER_IQUEUE_CELL_TYPE_HDR) {
        MPIDI_POSIX_am_header_t *header = &cell->am_header;
        void *am_hdr = payload;
        uint32_t attr = MPIDIG_AM_ATTR__IS_LOCAL;

        MPIDIG_AM_ATTR_SET_VCIS(attr, src_vsi, vsi);
        payload += header->am_hdr_sz;
        left -= header->am_hdr_sz;
        if (header->am_type != MPIDI_POSIX_AM_TYPE__PIPELINE) {
            MPIDIG_global.target_msg_cbs[header->handler_id] (am_hdr, payload, left, attr, NULL);
            return;
        }
        MPIR_Assertp(*active == NULL);
        MPIDIG_global.target_msg_cbs[header->handler_id] (am_hdr, NULL, left,
                                                          attr | MPIDIG_AM_ATTR__IS_ASYNC,
                                                          active);
        MPIDIG_recv_setup(*active);
    }

    MPIR_Request *request = *active;
    if (MPIDIG_recv_copy_seg(payload, left, request)) {
        *active = NULL;
        MPIDIG_REQUEST(request, req->target_cmpl_cb) (request);
    }
}

static void drain_old_queues(const int *new_slot)
{
    for (int vsi = 0; vsi < MPIDI_POSIX_global.num_vsis; vsi++) {
        for (int src_vsi = 0; src_vsi < MPIDI_POSIX_global.num_vsis; src_vsi++) {
            transport_t *old = &window.old[src_vsi][vsi];
            MPIDI_POSIX_eager_iqueue_cell_t *cell;

            while (true) {
                cell = NULL;
                MPIDU_genq_shmem_queue_dequeue(old->cell_pool, old->my_terminal, (void **) &cell);
                if (!cell)
                    break;
                receive_cell(cell, new_slot[cell->from], src_vsi, vsi);
                MPIDU_genq_shmem_pool_cell_free(old->cell_pool, cell);
            }
        }
    }
}

int MPIDI_POSIX_adapt_move(void *segment, size_t bytes, const int *local_index, int n_local,
                           int my_slot)
{
    int mpi_errno = MPI_SUCCESS;
    int *new_slot = NULL;
    MPIR_CHKLMEM_DECL(1);

    /* by old slot, before the tables change; -1 for those who have left */
    MPIR_CHKLMEM_MALLOC(new_slot, int *, MPIDI_POSIX_global.num_local * sizeof(int), mpi_errno,
                        "slots", MPL_MEM_SHM);
    for (int slot = 0; slot < MPIDI_POSIX_global.num_local; slot++)
        new_slot[slot] = -1;
    for (int slot = 0; slot < n_local; slot++) {
        int old = MPIDI_POSIX_global.local_ranks[local_index[slot]];
        if (old >= 0)
            new_slot[old] = slot;
    }

    MPIDU_Init_shm_adapt_move(segment, bytes, n_local, my_slot);
    mpi_errno = MPIDU_Init_shm_adapt_barrier(progress);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDU_Init_shm_adapt_barrier(nothing);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDU_Init_shm_adapt_crowd(NULL, n_local);

    memcpy(window.old, MPIDI_POSIX_eager_iqueue_global.transports, sizeof(window.old));
    window.old_counter = MPIDI_POSIX_global.shm_ptr;
    mpi_errno = set_slots(local_index, n_local, my_slot, new_slot);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDU_Init_shm_alloc(sizeof(MPL_atomic_uint64_t), &window.new_counter);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_POSIX_eager_init(my_slot, n_local);
    MPIR_ERR_CHECK(mpi_errno);
    window.moved = true;
    drain_old_queues(new_slot);

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int free_old_queues(void)
{
    int mpi_errno = MPI_SUCCESS;

    for (int src = 0; src < MPIDI_POSIX_global.num_vsis; src++) {
        for (int dst = 0; dst < MPIDI_POSIX_global.num_vsis; dst++) {
            mpi_errno = MPIDU_Init_shm_free(window.old[src][dst].terminals);
            MPIR_ERR_CHECK(mpi_errno);
            mpi_errno = MPIDU_genq_shmem_pool_destroy_unsafe(window.old[src][dst].cell_pool);
            MPIR_ERR_CHECK(mpi_errno);
        }
    }
    mpi_errno = MPIDU_Init_shm_free(window.old_counter);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDU_Init_shm_adapt_drop_old();
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Which slots of this host go on. */
static int find_crowd(int new_size)
{
    int mpi_errno = MPI_SUCCESS, n = 0;
    int *slots = NULL;
    MPIR_CHKLMEM_DECL(1);

    MPIR_CHKLMEM_MALLOC(slots, int *, new_size * sizeof(int), mpi_errno, "slots", MPL_MEM_SHM);
    for (int rank = 0; rank < new_size; rank++) {
        if (MPIDI_POSIX_global.local_ranks[rank] >= 0)
            slots[n++] = MPIDI_POSIX_global.local_ranks[rank];
    }
    MPIDU_Init_shm_adapt_crowd(slots, n);

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_POSIX_adapt_commit(const int *new_index, int union_size, int new_size)
{
    int mpi_errno = MPI_SUCCESS;

    int *slots = MPL_malloc(new_size * sizeof(int), MPL_MEM_SHM);
    MPIR_ERR_CHKANDJUMP(!slots, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < union_size; i++) {
        if (new_index[i] >= 0)
            slots[new_index[i]] = MPIDI_POSIX_global.local_ranks[i];
    }
    MPL_free(MPIDI_POSIX_global.local_ranks);
    MPIDI_POSIX_global.local_ranks = slots;
    mpi_errno = find_crowd(new_size);
    MPIR_ERR_CHECK(mpi_errno);

    if (window.moved) {
        /* The old world's communicators have given back what they had of the old counter. */
        MPIDI_POSIX_global.shm_ptr = window.new_counter;
        MPIDI_POSIX_shm_limit_counter = (MPL_atomic_uint64_t *) window.new_counter;
        mpi_errno = free_old_queues();
        MPIR_ERR_CHECK(mpi_errno);
    }
    window.moved = false;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
