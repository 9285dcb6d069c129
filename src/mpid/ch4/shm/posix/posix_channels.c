/*
 * Sends and receives on channels, as posix_am.h and posix_progress.h do in the host's segment.  See
 * posix_channels.h.
 */

#include "mpidimpl.h"
#include "posix_am.h"
#include "posix_eager.h"
#include "posix_channels.h"
#include "posix_recv_segment.h"
#include "posix_noinline.h"
#include "mpidig_recv_utils.h"
#include "../../src/ch4_dynproc.h"

/* attempts on a full channel between two tests whether its peer has ended */
#define POLL_AFTER 1024
#define POLL_WAITS 4096         /* polls with a missing reply between two such tests */
/* polls between two tests whether the peer has closed its channels */
#define POLL_RECEIVES 64

struct MPIDI_POSIX_channels MPIDI_POSIX_channels;

/* ---- to a process that has ended ------------------------------------------------------------- */

#define ANSWERED (MPIDIG_AM_SEND_FLAGS_RTS | MPIDIG_AM_SEND_FLAGS_SYNC)

/* Fails a request that waits for the process' reply, or for space in its memory, and would wait for
 * ever.  flags: the awaited replies. */
static void fail_request(MPIR_Request * sreq, int flags)
{
    MPID_Dynproc_set_ended(sreq);
    if (flags & MPIDIG_AM_SEND_FLAGS_RTS) {
        MPIR_Datatype_release_if_not_builtin(MPIDIG_REQUEST(sreq, datatype));
        MPID_Request_complete(sreq);
    }
    if (flags & MPIDIG_AM_SEND_FLAGS_SYNC)
        MPID_Request_complete(sreq);
}

static int drop(const MPIDI_POSIX_am_header_t * msg_hdr, const void *am_hdr, MPI_Aint data,
                MPI_Aint * bytes_sent)
{
    const MPIDIG_hdr_t *hdr = am_hdr;

    if (hdr && msg_hdr->handler_id == MPIDIG_SEND && hdr->flags & ANSWERED)
        fail_request(hdr->sreq_ptr, hdr->flags);
    if (bytes_sent)
        *bytes_sent = data;
    return MPIDI_POSIX_OK;
}

/* ---- awaited replies ------------------------------------------------------------------------- */

struct channel_wait {
    MPIR_Request *sreq;
    int flags;                  /* the awaited replies */
    struct channel_wait *next;
};

/* Without memory the request may wait for ever. */
static void await_answer(struct channel *channel, const MPIDIG_hdr_t * hdr)
{
    struct channel_wait *wait = MPL_malloc(sizeof(*wait), MPL_MEM_OTHER);

    if (!wait)
        return;
    *wait = (struct channel_wait) {.sreq = hdr->sreq_ptr,.flags = hdr->flags & ANSWERED };
    if (channel->waits)
        channel->last_wait->next = wait;
    else
        channel->waits = wait;
    channel->last_wait = wait;
}

/* Most replies arrive in the order in which the messages were sent. */
static void answered(struct channel *channel, const MPIR_Request * sreq, int flag)
{
    struct channel_wait **cursor = &channel->waits, *before = NULL;

    while (*cursor && (*cursor)->sreq != sreq) {
        before = *cursor;
        cursor = &before->next;
    }
    struct channel_wait *wait = *cursor;
    if (!wait || (wait->flags &= ~flag))
        return;
    *cursor = wait->next;
    if (channel->last_wait == wait)
        channel->last_wait = before;
    MPL_free(wait);
}

/* Notes whether a message is such a reply. */
static void note_answer(struct channel *channel, int handler, const void *am_hdr, MPI_Aint bytes)
{
    if (handler == MPIDIG_SEND_CTS && bytes >= (MPI_Aint) sizeof(MPIDIG_send_cts_msg_t))
        answered(channel, ((const MPIDIG_send_cts_msg_t *) am_hdr)->sreq_ptr,
                 MPIDIG_AM_SEND_FLAGS_RTS);
    else if (handler == MPIDIG_SSEND_ACK && bytes >= (MPI_Aint) sizeof(MPIDIG_ssend_ack_msg_t))
        answered(channel, ((const MPIDIG_ssend_ack_msg_t *) am_hdr)->sreq_ptr,
                 MPIDIG_AM_SEND_FLAGS_SYNC);
}

void MPIDI_POSIX_channel_fail_waits(struct channel *channel)
{
    while (channel->waits) {
        struct channel_wait *wait = channel->waits;
        channel->waits = wait->next;
        fail_request(wait->sreq, wait->flags);
        MPL_free(wait);
    }
}

/* A peer closes its channels at its end; a killed peer does not.  Messages that it sent before are
 * received first. */
static bool will_not_answer(struct channel *channel)
{
    bool has_ended = __atomic_load_n(&channel->out.ring->closed, __ATOMIC_ACQUIRE) ||
        (++channel->polls % POLL_WAITS == 0 && !MPIDI_POSIX_channel_lives(channel)) ||
        channel->state == CHANNEL_EXITED;

    return has_ended && channel_is_empty(&channel->in);
}

/* ---- receives of long collective operations -------------------------------------------------- */

/* Whether upstream returns the error: operations by flags report that a member has ended, and so do
 * their replacements by messages (posix_flags.c), and operations to and from rank 0.  In other
 * operations upstream may discard the error. */
static bool reports_failure(int tag)
{
    return tag == MPIR_BCAST_TAG || tag == MPIR_REDUCE_TAG || tag == MPIR_ALLREDUCE_TAG;
}

/* The sender of such a receive: the locality of its address; else MPIDI_LOCALITY__NETWORK. */
static unsigned awaited(MPIR_Request * rreq)
{
    int source = MPIDIG_REQUEST(rreq, u.recv.source);
    bool is_one = MPIR_CONTEXT_READ_FIELD(SUFFIX, MPIDIG_REQUEST(rreq, u.recv.context_id)) &&
        reports_failure(MPIDIG_REQUEST(rreq, u.recv.tag));

    return rreq->comm && is_one && source >= 0 ?
        MPIDIU_comm_rank_to_av(rreq->comm, source)->is_local : MPIDI_LOCALITY__NETWORK;
}

static bool will_not_come(MPIR_Request * rreq, bool closely)
{
    unsigned locality = awaited(rreq);

    if (locality < MPIDI_LOCALITY__CHANNEL)
        return locality == MPIDI_LOCALITY__EXITED;
    struct channel *channel = &MPIDI_POSIX_channel[locality - MPIDI_LOCALITY__CHANNEL];
    bool has_ended = channel->state != CHANNEL_OPEN ||
        __atomic_load_n(&channel->out.ring->closed, __ATOMIC_ACQUIRE) ||
        (closely && !MPIDI_POSIX_channel_lives(channel));
    return has_ended && !channel->busy && channel_is_empty(&channel->in);
}

static void poll_receives(bool closely)
{
    MPIR_Request *rreq, *next;

    DL_FOREACH_SAFE(MPIDI_global.per_vci[0].posted_list, rreq, next) {
        if (!will_not_come(rreq, closely))
            continue;
        MPIDIG_delete_posted(rreq, &MPIDI_global.per_vci[0].posted_list);
        MPIR_Datatype_release_if_not_builtin(MPIDIG_REQUEST(rreq, datatype));
        MPID_Dynproc_set_ended(rreq);
        MPIR_STATUS_SET_COUNT(rreq->status, 0);
        MPID_Request_complete(rreq);
    }
}

/* ---- sending --------------------------------------------------------------------------------- */

static struct channel *channel_of(int grank)
{
    int number = -grank - MPIDI_LOCALITY__CHANNEL;

    MPIR_Assert(number < MPIDI_POSIX_channels_top);
    return number < 0 || MPIDI_POSIX_channel[number].state != CHANNEL_OPEN ||
        __atomic_load_n(&MPIDI_POSIX_channel[number].out.ring->closed, __ATOMIC_RELAXED) ?
        NULL : &MPIDI_POSIX_channel[number];
}

static MPI_Aint data_left(MPI_Aint count, MPI_Datatype datatype, MPI_Aint offset)
{
    MPI_Aint size;

    MPIDI_Datatype_check_size(datatype, count, size);
    return size - offset;
}

static void put_header(struct channel_record *record, const MPIDI_POSIX_am_header_t * msg_hdr,
                       const void *am_hdr, MPI_Aint am_hdr_sz, MPI_Aint capacity)
{
    MPIDI_POSIX_am_header_t header = *msg_hdr;

    MPL_COMPILE_TIME_ASSERT(sizeof(header) <= sizeof(record->header));
    header.am_hdr_sz = (int16_t) capacity;
    memcpy(record->header, &header, sizeof(header));
    memcpy(channel_payload(record), am_hdr, (size_t) am_hdr_sz);
}

/* Whether this file copies the data, without datatype processing. */
static bool is_plain(const void *buf, MPI_Datatype datatype, MPI_Aint bytes)
{
    MPL_pointer_attr_t attr;

    if (bytes < CHANNEL_LONG || !HANDLE_IS_BUILTIN(datatype))
        return false;
    MPIR_GPU_query_pointer_attr(buf, &attr);
    return attr.type == MPL_GPU_POINTER_UNREGISTERED_HOST;
}

/* Writes as much data as there is space for; returns its bytes. */
static MPI_Aint put_data(struct channel *channel, const void *buf, MPI_Aint count,
                         MPI_Datatype datatype, MPI_Aint offset, void *to, MPI_Aint capacity)
{
    MPI_Aint packed;

    if (!is_plain(buf, datatype, capacity)) {
        MPIR_Typerep_pack(buf, count, datatype, offset, to, capacity, &packed);
        return packed;
    }
    bool streams = channel_streams(&channel->pace);
    uint64_t start = channel_ticks();
    /* as above, whole elements */
    packed = capacity - capacity % MPIR_Datatype_get_basic_size(datatype);
    channel_copy_in(to, (const char *) buf + offset, (size_t) packed, streams);
    channel_took(&channel->pace, streams, channel_ticks() - start, (uint64_t) packed);
    return packed;
}

int MPIDI_POSIX_channel_send(int grank, MPIDI_POSIX_am_header_t * msg_hdr, const void *am_hdr,
                             MPI_Aint am_hdr_sz, const void *buf, MPI_Aint count,
                             MPI_Datatype datatype, MPI_Aint offset, MPI_Aint * bytes_sent)
{
    struct channel *channel = channel_of(grank);
    MPI_Aint first = am_hdr ? MPL_ROUND_UP_ALIGN(am_hdr_sz, MAX_ALIGNMENT) : 0, packed = 0;
    MPI_Aint data = bytes_sent ? data_left(count, datatype, offset) : 0;
    MPI_Aint payload = MPL_MIN(first + data, (MPI_Aint) MPIDI_POSIX_eager_payload_limit());

    if (!channel)
        return drop(msg_hdr, am_hdr, data, bytes_sent);
    struct channel_record *record = channel_put(&channel->out, (uint64_t) payload);
    if (!record) {
        if (++channel->stuck % POLL_AFTER == 0 && !MPIDI_POSIX_channel_lives(channel))
            return drop(msg_hdr, am_hdr, data, bytes_sent);
        return MPIDI_POSIX_NOK;
    }
    channel->stuck = 0;
    record->kind = am_hdr ? CHANNEL_FIRST : CHANNEL_MORE;
    if (am_hdr)
        put_header(record, msg_hdr, am_hdr, am_hdr_sz, first);
    if (bytes_sent) {
        packed =
            put_data(channel, buf, count, datatype, offset,
                     (char *) channel_payload(record) + first, payload - first);
        *bytes_sent = packed;
    }
    if (am_hdr && msg_hdr->handler_id == MPIDIG_SEND &&
        ((const MPIDIG_hdr_t *) am_hdr)->flags & ANSWERED)
        await_answer(channel, am_hdr);
    channel_publish(&channel->out, record, (uint64_t) (first + packed));
    MPIDI_POSIX_channels.sent++;
    return MPIDI_POSIX_OK;
}

int MPIDI_POSIX_channel_of(int rank, MPIR_Comm * comm)
{
    unsigned locality = MPIDIU_comm_rank_to_av(comm, rank)->is_local;

    return locality > MPIDI_LOCALITY__SEGMENT ? -(int) locality : MPIDIU_rank_to_lpid(rank, comm);
}

bool MPIDI_POSIX_channels_sends(void)
{
    MPIDI_POSIX_am_request_header_t *postponed;

    DL_FOREACH(MPIDI_POSIX_global.per_vsi[0].postponed_queue, postponed) {
        if (postponed->dst_grank < 0)
            return true;
    }
    return false;
}

void MPIDI_POSIX_channels_without(int lpid)
{
    MPIDI_POSIX_am_request_header_t *postponed;

    for (int vsi = 0; vsi < MPIDI_POSIX_global.num_vsis; vsi++) {
        DL_FOREACH(MPIDI_POSIX_global.per_vsi[vsi].postponed_queue, postponed) {
            if (postponed->dst_grank == lpid)
                postponed->dst_grank = -MPIDI_LOCALITY__EXITED;
        }
    }
}

/* A message with only a header has no request; the header of a long message contains the
 * request. */
static bool is_of(const MPIDI_POSIX_am_request_header_t * postponed, const MPIR_Request * req)
{
    if (postponed->request || postponed->msg_hdr->handler_id != MPIDIG_SEND)
        return postponed->request == req;
    return ((const MPIDIG_hdr_t *) postponed->am_hdr)->sreq_ptr == req;
}

bool MPIDI_POSIX_channels_hold(MPIR_Request * req)
{
    MPIDI_POSIX_am_request_header_t *postponed;

    for (int vsi = 0; vsi < MPIDI_POSIX_global.num_vsis; vsi++) {
        DL_FOREACH(MPIDI_POSIX_global.per_vsi[vsi].postponed_queue, postponed) {
            if (is_of(postponed, req))
                return true;
        }
    }
    return false;
}

void MPIDI_POSIX_channels_counts(unsigned **open, unsigned long long **sent)
{
    *open = &MPIDI_POSIX_channels.open;
    *sent = &MPIDI_POSIX_channels.sent;
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* Does the work of MPIDIG_recv_copy and MPIDIG_recv_copy_seg for long data without datatype
 * processing.  False: other data.  The space for the whole message was checked when it began. */
static bool take_plainly(MPIR_Request * rreq, const void *data, MPI_Aint bytes, MPI_Aint offset)
{
    MPIDIG_rreq_async_t *copied = &MPIDIG_REQUEST(rreq, req->recv_async);
    MPI_Datatype datatype = MPIDIG_REQUEST(rreq, datatype);
    char *buf = MPIDIG_REQUEST(rreq, buffer);

    if (rreq->status.MPI_ERROR || copied->recv_type != MPIDIG_RECV_DATATYPE ||
        bytes > copied->in_data_sz || !is_plain(buf, datatype, bytes) ||
        bytes % MPIR_Datatype_get_basic_size(datatype))
        return false;
    channel_copy_out(buf + offset, data, (size_t) bytes);
    copied->in_data_sz -= bytes;
    copied->offset = offset + bytes;
    MPIR_STATUS_SET_COUNT(rreq->status, copied->offset);
    return true;
}

static void take_whole(MPIR_Request * rreq, void *data, MPI_Aint bytes)
{
    if (!take_plainly(rreq, data, bytes, 0))
        MPIDIG_recv_copy(data, rreq);
    MPIDIG_REQUEST(rreq, req->target_cmpl_cb) (rreq);
}

static void take_part(struct channel *channel, void *data, MPI_Aint bytes)
{
    MPIR_Request *rreq = channel->active;
    MPIDIG_rreq_async_t *copied = &MPIDIG_REQUEST(rreq, req->recv_async);

    if (take_plainly(rreq, data, bytes, copied->offset) ? copied->in_data_sz == 0 :
        MPIDIG_recv_copy_seg(data, bytes, rreq)) {
        channel->active = NULL;
        MPIDIG_REQUEST(rreq, req->target_cmpl_cb) (rreq);
    }
}

/* Whether a send message has arrived completely with its beginning. */
static bool is_long_send(const MPIDI_POSIX_am_header_t * header, const void *am_hdr, MPI_Aint bytes)
{
    const MPIDIG_hdr_t *hdr = am_hdr;

    return bytes >= CHANNEL_LONG && header->handler_id == MPIDIG_SEND &&
        header->am_type == MPIDI_POSIX_AM_TYPE__SHORT && header->am_hdr_sz >= (int) sizeof(*hdr) &&
        !(hdr->flags & MPIDIG_AM_SEND_FLAGS_RTS) && hdr->data_sz == bytes;
}

/* False: the data are no valid beginning of a message. */
static bool take_first(struct channel *channel, const MPIDI_POSIX_am_header_t * header,
                       char *am_hdr, MPI_Aint bytes)
{
    uint32_t attr = MPIDIG_AM_ATTR__IS_LOCAL;
    int id = header->handler_id;

    if (id < 0 || id >= MPIDI_AM_HANDLERS_MAX || !MPIDIG_global.target_msg_cbs[id] ||
        header->am_hdr_sz < 0 || header->am_hdr_sz > bytes || channel->active)
        return false;
    char *data = am_hdr + header->am_hdr_sz;
    if (channel->waits)
        note_answer(channel, id, am_hdr, header->am_hdr_sz);
    bytes -= header->am_hdr_sz;
    MPIDIG_AM_ATTR_SET_VCIS(attr, 0, 0);
    if (is_long_send(header, am_hdr, bytes)) {
        MPIR_Request *rreq = NULL;
        MPIDIG_global.target_msg_cbs[id] (am_hdr, NULL, bytes, attr | MPIDIG_AM_ATTR__IS_ASYNC,
                                          &rreq);
        if (rreq)
            take_whole(rreq, data, bytes);
        return rreq != NULL;
    }
    if (header->am_type != MPIDI_POSIX_AM_TYPE__PIPELINE) {
        MPIDIG_global.target_msg_cbs[id] (am_hdr, data, bytes, attr, NULL);
        return true;
    }
    MPIDIG_global.target_msg_cbs[id] (am_hdr, NULL, bytes, attr | MPIDIG_AM_ATTR__IS_ASYNC,
                                      &channel->active);
    if (!channel->active)
        return false;
    MPIDIG_recv_setup(channel->active);
    take_part(channel, data, bytes);
    return true;
}

static bool take_record(struct channel *channel, struct channel_record *record, MPI_Aint payload)
{
    MPIDI_POSIX_am_header_t header;

    if (record->kind == CHANNEL_FIRST) {
        memcpy(&header, record->header, sizeof(header));
        return take_first(channel, &header, channel_payload(record), payload);
    }
    if (!channel->active)
        return false;
    take_part(channel, channel_payload(record), payload);
    return true;
}

static int take_in(struct channel *channel)
{
    int mpi_errno = MPI_SUCCESS;
    uint32_t bytes, payload;
    bool wrong;

    struct channel_record *record = channel_take(&channel->in, &bytes, &payload, &wrong);
    if (record) {
        channel->busy = true;   /* a handler may make progress */
        wrong = !take_record(channel, record, payload);
        channel->busy = false;
        channel_taken(&channel->in, bytes);
    }
    if (wrong)
        channel->state = CHANNEL_BROKEN;
    MPIR_ERR_CHKANDJUMP1(wrong, mpi_errno, MPI_ERR_OTHER, "**lanewrong", "**lanewrong %d",
                         (int) channel->peer.pid);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_POSIX_channels_progress(void)
{
    static unsigned polls;
    int mpi_errno = MPI_SUCCESS;

    if (unlikely(++polls % POLL_RECEIVES == 0))
        poll_receives(polls % POLL_WAITS == 0);
    for (int i = 0; i < MPIDI_POSIX_channels_top; i++) {
        struct channel *channel = &MPIDI_POSIX_channel[i];
        if (channel->state < CHANNEL_OPEN || channel->busy)
            continue;
        if (channel->waits && will_not_answer(channel))
            MPIDI_POSIX_channel_fail_waits(channel);
        if (channel_is_empty(&channel->in))
            continue;
        mpi_errno = take_in(channel);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
