/*
 * Messages that were not received in a world that ends.  They are eager ones: a message that needs
 * a receiver to complete has a request, which commit reports (C6).  They are in MPICH's queues of
 * unexpected messages (shared memory, active messages, partitioned sends), in libfabric's, or still
 * in transit.
 *
 * Separate context ids of each world and each window ensure that they are never received later
 * (mpir_adapt_context.h).  This file reports and discards them: at commit those that have arrived,
 * and before the next window the late ones.  So they use no memory, and their generation can be
 * reused after a thousand adaptations.
 *
 * No state.  Called inside the library's critical section, by the thread that adapts.  SPEC C4, C9.
 */

#include "mpidimpl.h"
#include "ch4_adapt.h"
#include "ch4_adapt_unexpected.h"
#include "ch4_adapt_window.h"
#include "mpidu_oversubscribed.h"
#include "mpir_adapt.h"
#include "mpir_adapt_context.h"
#include "mpir_adapt_device.h"

/* ---- ids ------------------------------------------------------------------------------------- */

/* The part of an id that identifies a communicator: without the parts that distinguish
 * point-to-point messages from collectives, and name node communicators and the local one of an
 * intercommunicator. */
#define COMM_BITS (~(MPIR_Context_id_t) (MPIR_CONTEXT_SUFFIX_MASK | MPIR_CONTEXT_SUBCOMM_MASK | \
                                         MPIR_CONTEXT_IS_LOCALCOMM_MASK))

/* The generation of MPI_COMM_SELF and of derived communicators, which outlive all worlds.  The
 * worlds use the generations below it.  The number of these is even, so that generations of worlds
 * and of windows stay separate when they are reused. */
#define SELF_GENERATION (MPIR_ADAPT_GENERATIONS - 1)
#define WORLD_GENERATIONS (MPIR_ADAPT_GENERATIONS - 2)

static MPIR_Context_id_t window_bits(unsigned epoch)
{
    return MPIR_Context_generation_bits((2 * epoch - 1) % WORLD_GENERATIONS);
}

static MPIR_Context_id_t world_bits(unsigned epoch)
{
    return MPIR_Context_generation_bits(2 * epoch % WORLD_GENERATIONS);
}

MPIR_Context_id_t MPIDI_Adapt_context_of(MPIDI_Adapt_context_t kind, unsigned epoch)
{
    return MPIR_CONTEXT_DYNAMIC_PROC_MASK | ((unsigned) kind << MPIR_CONTEXT_PREFIX_SHIFT) |
        (kind >= MPIDI_ADAPT_CONTEXT__WORLD ? world_bits(epoch) : window_bits(epoch));
}

int MPID_Adapt_init_contexts(bool in_use)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Comm *self = MPIR_Process.comm_self;

    MPIR_ERR_CHKANDJUMP(!MPIDI_NM_adapt_has_generations(), mpi_errno, MPI_ERR_OTHER,
                        "**adaptmatchbits");
    if (in_use)
        goto fn_exit;
    self->context_id |= MPIR_Context_generation_bits(SELF_GENERATION);
    self->recvcontext_id = self->context_id;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- discarding messages --------------------------------------------------------------------- */

/* The messages whose ids agree with `id` in the bits of `mask`.  Each is reported to `note`, if
 * there is one, as a message on `comm`. */
struct discard {
    MPIR_Context_id_t id, mask;
    MPID_Adapt_unreceived_fn note;
    void *context;
    MPIR_Comm *comm;
};

static bool is_meant(const struct discard *which, MPIR_Context_id_t id)
{
    return ((id ^ which->id) & which->mask) == 0;
}

static void note_discarded(const struct discard *which, int source, int tag)
{
    if (which->note)
        which->note(which->comm, source, tag, which->context);
}

/* A message that is still being assembled is found by a later call. */
static void discard_active_messages(const struct discard *which, int vci)
{
    const int in_transfer = MPIDIG_REQ_BUSY | MPIDIG_REQ_RTS;
    MPIR_Request *request, *next;

    DL_FOREACH_SAFE(MPIDI_global.per_vci[vci].unexp_list, request, next) {
        if (!is_meant(which, MPIDIG_REQUEST(request, u.recv.context_id)) ||
            (MPIDIG_REQUEST(request, req->status) & in_transfer))
            continue;
        note_discarded(which, MPIDIG_REQUEST(request, u.recv.source),
                       MPIDIG_REQUEST(request, u.recv.tag));
        DL_DELETE(MPIDI_global.per_vci[vci].unexp_list, request);
        if (MPIDIG_REQUEST(request, buffer))
            MPIDU_genq_private_pool_free_cell(MPIDI_global.per_vci[vci].unexp_pack_buf_pool,
                                              MPIDIG_REQUEST(request, buffer));
        /* the reference of the transport, then that of the missing receiver */
        MPID_Request_complete(request);
        MPIDI_CH4_REQUEST_FREE(request);
    }
}

/* Discards announcements of partitioned operations of which only one side was made.  The
 * application's own request remains until it frees it. */
static void discard_partitioned(const struct discard *which)
{
    MPIR_Request *request, *next;

    DL_FOREACH_SAFE(MPIDI_global.part_unexp_list, request, next) {
        if (is_meant(which, MPIDI_PART_REQUEST(request, u.recv.context_id))) {
            note_discarded(which, MPIDI_PART_REQUEST(request, u.recv.source),
                           MPIDI_PART_REQUEST(request, u.recv.tag));
            DL_DELETE(MPIDI_global.part_unexp_list, request);
            MPIDI_CH4_REQUEST_FREE(request);
        }
    }
    DL_FOREACH_SAFE(MPIDI_global.part_posted_list, request, next) {
        if (is_meant(which, MPIDI_PART_REQUEST(request, u.recv.context_id))) {
            DL_DELETE(MPIDI_global.part_posted_list, request);
            MPIR_Request_free_unsafe(request);
        }
    }
}

static void discard_queued(const struct discard *which)
{
    for (int vci = 0; vci < MPIDI_global.n_vcis; vci++) {
        MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
        discard_active_messages(which, vci);
        if (vci == 0)
            discard_partitioned(which);
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    }
}

static int discard_in_libfabric(const struct discard *which)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Status status;
    int found;

    do {
        mpi_errno = MPIDI_NM_adapt_find_unexpected(which->id, which->mask, true, &found, &status);
        MPIR_ERR_CHECK(mpi_errno);
        if (found)
            note_discarded(which, status.MPI_SOURCE, status.MPI_TAG);
    } while (found);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- commit ---------------------------------------------------------------------------------- */

/* Libfabric is queried for whole generations first, because usually there is nothing and there may
 * be many communicators. */
struct ending {
    MPID_Adapt_unreceived_fn note;
    void *context;
    MPIR_Context_id_t empty[2]; /* bits of generations without messages in libfabric */
    int n_empty;
    int mpi_errno;
};

static int discard_generation(struct ending *ending, MPIR_Context_id_t bits)
{
    int mpi_errno = MPI_SUCCESS;
    MPI_Status status;
    int found;

    mpi_errno =
        MPIDI_NM_adapt_find_unexpected(bits, MPIR_ADAPT_GENERATION_MASK, false, &found, &status);
    MPIR_ERR_CHECK(mpi_errno);
    if (!found)
        ending->empty[ending->n_empty++] = bits;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void discard_of_comm(MPIR_Comm * comm, struct ending *ending)
{
    struct discard which = {
        .id = comm->recvcontext_id,
        .mask = COMM_BITS,
        .note = ending->note,
        .context = ending->context,
        .comm = comm
    };

    discard_queued(&which);
    for (int i = 0; i < ending->n_empty; i++) {
        if ((which.id & MPIR_ADAPT_GENERATION_MASK) == ending->empty[i])
            return;
    }
    int err = discard_in_libfabric(&which);
    if (ending->mpi_errno == MPI_SUCCESS)
        ending->mpi_errno = err;
}

static void discard_if_ending(MPIR_Comm * comm, void *context)
{
    if (!MPIR_Device_callbacks.comm_survives(comm->handle))
        discard_of_comm(comm, context);
}

/* If all processes of the window are on this host, libfabric has no messages of it. */
static int discard_generations(struct ending *ending, unsigned epoch)
{
    int mpi_errno = MPI_SUCCESS;
    const MPIR_Context_id_t generations[] = {
        MPIR_Process.comm_world->recvcontext_id & MPIR_ADAPT_GENERATION_MASK, window_bits(epoch)
    };

    for (int i = 0; i < 2; i++) {
        if (MPIDI_Adapt_shares_memory()) {
            ending->empty[ending->n_empty++] = generations[i];
            continue;
        }
        mpi_errno = discard_generation(ending, generations[i]);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Receives the messages that have arrived. */
static int receive_messages(void)
{
    int mpi_errno = MPI_SUCCESS;

    if (!MPIDI_Adapt_shares_memory())
        return MPIDI_Adapt_progress();
    for (int vci = 0; vci < MPIDI_global.n_vcis; vci++) {
        MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
        mpi_errno = MPIDI_SHM_progress(vci, 0);
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Adapt_discard_unreceived(unsigned epoch, MPID_Adapt_unreceived_fn note, void *context)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Comm *world = MPIR_Process.comm_world;
    struct ending ending = {.note = note,.context = context };
    const unsigned oversubscribed = MPIDU_oversubscribed;

    /* Nothing here waits for another process: a yield would only cost time. */
    MPIDU_oversubscribed = 0;
    mpi_errno = receive_messages();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = discard_generations(&ending, epoch);
    MPIR_ERR_CHECK(mpi_errno);
    discard_of_comm(world, &ending);
    MPIR_Device_callbacks.foreach_comm(discard_if_ending, &ending);
    mpi_errno = ending.mpi_errno;
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIDU_oversubscribed = oversubscribed;
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- afterwards ------------------------------------------------------------------------------ */

struct search {
    MPIR_Context_id_t bits;
    bool found;
};

static void collect_bits(MPIR_Comm * comm, void *context)
{
    struct search *search = context;

    if ((comm->recvcontext_id & MPIR_ADAPT_GENERATION_MASK) == search->bits)
        search->found = true;
}

/* A communicator that was merged with another job's may have a generation of that job. */
static bool is_in_use(MPIR_Context_id_t bits)
{
    struct search search = { bits, false };

    MPIR_Device_callbacks.foreach_comm(collect_bits, &search);
    collect_bits(MPIR_Process.comm_self, &search);
    return search.found;
}

int MPIDI_Adapt_discard_late(unsigned epoch)
{
    int mpi_errno = MPI_SUCCESS;

    if (epoch == 0)
        goto fn_exit;
    /* Others may be in the next window already: its generation is not discarded. */
    const MPIR_Context_id_t generations[] = {
        world_bits(epoch - 1), window_bits(epoch), window_bits(epoch + 2), world_bits(epoch + 2)
    };
    for (size_t i = 0; i < sizeof(generations) / sizeof(generations[0]); i++) {
        struct discard which = {.id = generations[i],.mask = MPIR_ADAPT_GENERATION_MASK };
        if (is_in_use(generations[i]))
            continue;
        discard_queued(&which);
        mpi_errno = discard_in_libfabric(&which);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- a communicator that is freed ------------------------------------------------------------ */

static bool is_on_this_node(MPIR_Comm * comm)
{
    for (int rank = 0; rank < comm->remote_size; rank++) {
        if (!MPIDI_rank_is_local(rank, comm))
            return false;
    }
    return true;
}

/* Discards messages that have arrived meanwhile with ids of communicators that were freed some time
 * ago (mpir_context_rest.h). */
static void discard_rested(void)
{
    MPIR_Context_id_t id = MPIR_Contextid_end_rest(0);

    for (; id; id = MPIR_Contextid_end_rest(id)) {
        const struct discard which = {.id = id,.mask = COMM_BITS };
        MPID_Progress_poke();
        discard_queued(&which);
        if (MPIR_Process.num_nodes > 1 || MPIDI_global.avt_mgr.n_avts > 1)
            (void) discard_in_libfabric(&which);
    }
}

void MPID_Comm_discard_unreceived(MPIR_Comm * comm)
{
    const struct discard which = {.id = comm->recvcontext_id,.mask = COMM_BITS };

    discard_rested();
    /* Pending operations hold references, and may still receive.  In a communicator of one process,
     * requests of messages to itself also hold references. */
    if (MPIR_Object_get_ref(comm) != 1 ||
        (comm->comm_kind == MPIR_COMM_KIND__INTRACOMM && comm->local_size == 1))
        return;
    MPID_Progress_poke();
    discard_queued(&which);
    if (!is_on_this_node(comm))
        (void) discard_in_libfabric(&which);
}
