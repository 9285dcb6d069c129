/*
 * Shared-memory messages over an adaptation.  On a host that processes join, all of its processes
 * (including the leaving ones, for the window) move to queues in a new segment; no earlier message
 * is dropped or overtaken.  The pre-existing processes have common old queues, and so have the
 * joining ones:
 *   1. all have reached the move, and make progress on the old queues, as any waiting process;
 *   2. no process makes progress any more, so no message enters an old queue;
 *   3. the new queues, which the joining processes have set up, are used for sends from now on;
 *   4. each process receives the messages of its old queue before it polls its new one.
 * A message of several fragments may start in the old queue and end in the new one.  The joining
 * processes move while the others compute, so that these wait only for each other.
 *
 * Slots in the segment have no holes after begin; those of leaving processes stay unused
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
#include "mpir_adapt.h"

typedef MPIDI_POSIX_eager_iqueue_transport_t transport_t;

static struct {
    bool moved;                 /* in this window */
    void *new_counter;          /* limit counter of the new world's collectives */
} window;

/* Memory from before the last move; unused from commit on, released by reclaim. */
static struct {
    bool exists;
    transport_t transports[MPIDI_CH4_MAX_VCIS][MPIDI_CH4_MAX_VCIS];
    void *counter;
} previous;

/* The shared memory of the previous world's collectives, which the kernel needs a long time to
 * release. */
#define SAVED_MAX 2              /* the world's and its node communicator's */
static MPIDI_POSIX_release_gather_comm_t saved[SAVED_MAX];
static int n_saved;

/* ---- the segment ----------------------------------------------------------------------------- */

/* The local barrier and its blocks are followed by, each on a page of its own: the limit counter of
 * collectives; for each pair of VCIs the cells with the queues of free ones (in the layout of
 * MPIDU_genq_shmem_pool_create_unsafe), and the terminals. */

#define PAGE 4096

static size_t in_pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static size_t cell_bytes(void)
{
    size_t cell = MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE;

    return sizeof(MPIDU_genqi_shmem_cell_header_s) +
        (cell + MAX_ALIGNMENT - 1) / MAX_ALIGNMENT * MAX_ALIGNMENT;
}

static size_t slab_bytes(int n_local)
{
    return n_local * (MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS * cell_bytes() +
                      sizeof(MPIDU_genq_shmem_queue_u));
}

static size_t transport_bytes(int n_local)
{
    return in_pages(slab_bytes(n_local)) + in_pages(n_local * sizeof(MPIDU_genq_shmem_queue_u));
}

static int n_transports(void)
{
    return MPIDI_POSIX_global.num_vsis * MPIDI_POSIX_global.num_vsis;
}

static size_t queues_offset(int n_local)
{
    return in_pages(MPIDU_INIT_SHM_ADAPT_BYTES(n_local));
}

static size_t queues_bytes(int n_local)
{
    return PAGE + n_transports() * transport_bytes(n_local);
}

size_t MPIDI_POSIX_adapt_segment_bytes(int local_size)
{
    return queues_offset(local_size) + queues_bytes(local_size);
}

static MPIDU_genq_shmem_queue_u *terminals_of(const MPIDI_Adapt_segment_t * segment, int transport)
{
    return (MPIDU_genq_shmem_queue_u *) (segment->base + queues_offset(segment->n_local) + PAGE +
                                         transport * transport_bytes(segment->n_local) +
                                         in_pages(slab_bytes(segment->n_local)));
}

/* The cells of a transport, for the process of this slot. */
static MPIDU_genqi_shmem_pool_s pool_of(const MPIDI_Adapt_segment_t * segment, int transport,
                                        int slot)
{
    char *slab = segment->base + queues_offset(segment->n_local) + PAGE +
        transport * transport_bytes(segment->n_local);
    int cells = MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS;
    MPIDU_genqi_shmem_pool_s pool = {
        .cell_size = MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE,
        .cell_alloc_size = cell_bytes(),
        .cells_per_proc = cells,
        .num_proc = segment->n_local,
        .rank = slot,
        .slab = slab,
        .cell_header_base = (MPIDU_genqi_shmem_cell_header_s *) slab,
        .free_queues = (MPIDU_genq_shmem_queue_u *) (slab + segment->n_local * cells *
                                                     cell_bytes()),
    };
    return pool;
}

/* Cell i of this process. */
static MPIDU_genqi_shmem_cell_header_s *cell_of(const MPIDU_genqi_shmem_pool_s * pool, uintptr_t i)
{
    return (MPIDU_genqi_shmem_cell_header_s *)
        ((char *) pool->slab + (pool->rank * pool->cells_per_proc + i) * pool->cell_alloc_size);
}

void MPIDI_POSIX_adapt_fill(const MPIDI_Adapt_segment_t * segment, int slot)
{
    const int type = MPIDU_GENQ_SHMEM_QUEUE_TYPE__MPSC;

    for (int transport = 0; transport < n_transports(); transport++) {
        MPIDU_genqi_shmem_pool_s pool = pool_of(segment, transport, slot);
        MPIDU_genq_shmem_queue_init(&terminals_of(segment, transport)[slot], type);
        MPIDU_genq_shmem_queue_init(&pool.free_queues[slot], type);
        for (uintptr_t i = 0; i < pool.cells_per_proc; i++) {
            MPIDU_genqi_shmem_cell_header_s *cell = cell_of(&pool, i);
            /* never 0, which means none */
            cell->handle = (uintptr_t) cell - (uintptr_t) pool.cell_header_base + 1;
            cell->block_idx = slot;
            MPIDU_genq_shmem_queue_enqueue(&pool, &pool.free_queues[slot], HEADER_TO_CELL(cell));
        }
    }
}

static void touch_pages(const void *first, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += PAGE)
        (void) *((const volatile char *) first + i);
    (void) *((const volatile char *) first + bytes - 1);
}

void MPIDI_POSIX_adapt_touch(const MPIDI_Adapt_segment_t * segment)
{
    size_t queues = segment->n_local * sizeof(MPIDU_genq_shmem_queue_u);

    touch_pages(segment->base, queues_offset(segment->n_local) + PAGE);
    for (int transport = 0; transport < n_transports(); transport++) {
        MPIDU_genqi_shmem_pool_s pool = pool_of(segment, transport, segment->my_slot);
        touch_pages(terminals_of(segment, transport), queues);
        touch_pages(pool.free_queues, queues);
        for (uintptr_t i = 0; i < pool.cells_per_proc; i++)
            touch_pages(cell_of(&pool, i), sizeof(MPIDU_genqi_shmem_cell_header_s));
    }
}

/* Makes a transport over existing queues, in the state that MPIDI_POSIX_iqueue_init produces. */
static int make_transport(const MPIDI_Adapt_segment_t * segment, int transport,
                          transport_t * result)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDU_genqi_shmem_pool_s *pool = MPL_malloc(sizeof(*pool), MPL_MEM_OTHER);

    MPIR_ERR_CHKANDJUMP(!pool, mpi_errno, MPI_ERR_OTHER, "**nomem");
    *pool = pool_of(segment, transport, segment->my_slot);
    pool->cell_headers = MPL_malloc(pool->cells_per_proc * sizeof(*pool->cell_headers),
                                    MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!pool->cell_headers, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (uintptr_t i = 0; i < pool->cells_per_proc; i++)
        pool->cell_headers[i] = cell_of(pool, i);
    mpi_errno = MPIR_gpu_register_host(pool->slab, slab_bytes(segment->n_local));
    MPIR_ERR_CHECK(mpi_errno);

    result->num_cells = MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_NUM_CELLS;
    result->size_of_cell = MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE;
    result->cell_pool = pool;
    result->terminals = terminals_of(segment, transport);
    result->my_terminal = &result->terminals[segment->my_slot];

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (pool)
        MPL_free(pool->cell_headers);
    MPL_free(pool);
    goto fn_exit;
}

static int use_queues(const MPIDI_Adapt_segment_t * segment)
{
    int mpi_errno = MPI_SUCCESS, transport = 0;
    void *start;

    mpi_errno = MPIDU_Init_shm_alloc(queues_bytes(segment->n_local), &start);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Assertp((char *) start == segment->base + queues_offset(segment->n_local));
    window.new_counter = start;
    for (int src = 0; src < MPIDI_POSIX_global.num_vsis; src++) {
        for (int dst = 0; dst < MPIDI_POSIX_global.num_vsis; dst++) {
            mpi_errno = make_transport(segment, transport++,
                                       MPIDI_POSIX_eager_iqueue_get_transport(src, dst));
            MPIR_ERR_CHECK(mpi_errno);
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- begin ----------------------------------------------------------------------------------- */

static int nothing(void)
{
    return MPI_SUCCESS;
}

void MPIDI_POSIX_adapt_renumber(int *slots, int union_size, int shift)
{
    int known = MPIR_Process.comm_world->local_size;

    for (int i = 0; i < union_size; i++) {
        int before = i - shift;
        slots[i] = before >= 0 && before < known ? MPIDI_POSIX_global.local_ranks[before] : -1;
    }
    MPL_free(MPIDI_POSIX_global.local_ranks);
    MPIDI_POSIX_global.local_ranks = slots;

    for (int vsi = 0; vsi < MPIDI_CH4_MAX_VCIS; vsi++) {
        MPIDI_POSIX_am_request_header_t *postponed;
        DL_FOREACH(MPIDI_POSIX_global.per_vsi[vsi].postponed_queue, postponed) {
            if (postponed->dst_grank >= 0)      /* else that of a channel */
                postponed->dst_grank += shift;
        }
    }
}

/* Sets the slots of the new segment, and moves the requests that are being received from each. */
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

/* Receives one cell of an old queue, as MPIDI_POSIX_progress_recv does.  from is its sender's new
 * slot. */
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
            transport_t *old = &previous.transports[src_vsi][vsi];
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

int MPIDI_POSIX_adapt_move(const MPIDI_Adapt_segment_t * segment)
{
    int mpi_errno = MPI_SUCCESS;
    int *new_slot = NULL, n_local = segment->n_local;
    MPIR_CHKLMEM_DECL(1);

    /* by old slot, before the tables change; -1: left */
    MPIR_CHKLMEM_MALLOC(new_slot, int *, MPIDI_POSIX_global.num_local * sizeof(int), mpi_errno,
                        "slots", MPL_MEM_SHM);
    for (int slot = 0; slot < MPIDI_POSIX_global.num_local; slot++)
        new_slot[slot] = -1;
    for (int slot = 0; slot < n_local; slot++) {
        int old = MPIDI_POSIX_global.local_ranks[segment->local_index[slot]];
        if (old >= 0)
            new_slot[old] = slot;
    }

    /* during the first wait others may need this processor */
    MPIDU_Init_shm_adapt_expect_sharers(segment->base, n_local);
    mpi_errno = MPIDU_Init_shm_adapt_barrier(MPIDI_Adapt_progress);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDU_Init_shm_adapt_barrier(nothing);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDU_Init_shm_adapt_move(segment->base, segment->bytes, n_local, segment->my_slot);

    MPIR_Assert(!previous.exists);
    memcpy(previous.transports, MPIDI_POSIX_eager_iqueue_global.transports,
           sizeof(previous.transports));
    previous.counter = MPIDI_POSIX_global.shm_ptr;
    previous.exists = true;
    mpi_errno = set_slots(segment->local_index, n_local, segment->my_slot, new_slot);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = use_queues(segment);
    MPIR_ERR_CHECK(mpi_errno);
    window.moved = true;
    drain_old_queues(new_slot);

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- commit ---------------------------------------------------------------------------------- */

/* The slots of this host that stay in use. */
static int find_sharers(int new_size)
{
    int mpi_errno = MPI_SUCCESS, n = 0;
    int *slots = NULL;
    MPIR_CHKLMEM_DECL(1);

    MPIR_CHKLMEM_MALLOC(slots, int *, new_size * sizeof(int), mpi_errno, "slots", MPL_MEM_SHM);
    for (int rank = 0; rank < new_size; rank++) {
        if (MPIDI_POSIX_global.local_ranks[rank] >= 0)
            slots[n++] = MPIDI_POSIX_global.local_ranks[rank];
    }
    MPIDU_Init_shm_adapt_set_sharers(slots, n);

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_POSIX_adapt_keep_collectives(MPIR_Comm * comm)
{
    MPIDI_POSIX_release_gather_comm_t *state = &MPIDI_POSIX_COMM(comm, release_gather);

    if (!state->is_initialized || MPIR_Object_get_ref(comm) != 1 || n_saved == SAVED_MAX)
        return;                 /* freed with the communicator */
    if (comm->rank == 0) {
        /* It does not count for the new world's counter. */
        uint64_t bytes = state->flags_shm_size;
        bytes += state->bcast_buf_addr ? state->bcast_shm_size : 0;
        bytes += state->reduce_buf_addr ? state->reduce_shm_size : 0;
        MPL_atomic_fetch_sub_uint64(MPIDI_POSIX_flags_counter(comm), bytes);
    }
    saved[n_saved++] = *state;
    state->is_initialized = 0;
}

static int free_saved_collectives(void)
{
    int mpi_errno = MPI_SUCCESS;
    static MPIR_Comm holder;    /* for upstream's function */

    holder.rank = -1;           /* for rank 0 it would subtract the bytes again */
    while (n_saved > 0) {
        MPIDI_POSIX_COMM(&holder, release_gather) = saved[--n_saved];
        mpi_errno = MPIDI_POSIX_mpi_release_gather_comm_free(&holder);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
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
    mpi_errno = find_sharers(new_size);
    MPIR_ERR_CHECK(mpi_errno);

    if (window.moved) {
        /* The old world's communicators have released their part of the old counter. */
        MPIDI_POSIX_global.shm_ptr = window.new_counter;
        MPIDI_POSIX_shm_limit_counter = (MPL_atomic_uint64_t *) window.new_counter;
    }
    window.moved = false;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_POSIX_adapt_reclaim(void)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = free_saved_collectives();
    MPIR_ERR_CHECK(mpi_errno);
    if (!previous.exists)
        goto fn_exit;
    previous.exists = false;
    for (int src = 0; src < MPIDI_POSIX_global.num_vsis; src++) {
        for (int dst = 0; dst < MPIDI_POSIX_global.num_vsis; dst++) {
            transport_t *transport = &previous.transports[src][dst];
            mpi_errno = MPIDU_Init_shm_free(transport->terminals);
            MPIR_ERR_CHECK(mpi_errno);
            mpi_errno = MPIDU_genq_shmem_pool_destroy_unsafe(transport->cell_pool);
            MPIR_ERR_CHECK(mpi_errno);
        }
    }
    mpi_errno = MPIDU_Init_shm_free(previous.counter);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDU_Init_shm_adapt_drop_old();
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
