/* Detects operations that are still pending when commit is called.  No state.  SPEC C6. */

#include "adapt_handles.h"

/* Time that check_pending waits for operations to complete. */
#define PENDING_GRACE_SECONDS 0.1

struct pending {
    char text[256];             /* of the operation closest to the application */
    int count, rank;            /* rank: of that operation */
};

static const char *request_kind(const MPIR_Request * req)
{
    switch (req->kind) {
        case MPIR_REQUEST_KIND__SEND:
            return "send";
        case MPIR_REQUEST_KIND__RECV:
            return "receive";
        case MPIR_REQUEST_KIND__PREQUEST_SEND:
            return "started persistent send";
        case MPIR_REQUEST_KIND__PREQUEST_RECV:
            return "started persistent receive";
        case MPIR_REQUEST_KIND__PREQUEST_COLL:
            return "started persistent collective operation";
        case MPIR_REQUEST_KIND__PART_SEND:
            return "started partitioned send";
        case MPIR_REQUEST_KIND__PART_RECV:
            return "started partitioned receive";
        case MPIR_REQUEST_KIND__COLL:
            return "nonblocking collective operation";
        case MPIR_REQUEST_KIND__MPROBE:
            return "matched but unreceived message";
        case MPIR_REQUEST_KIND__RMA:
            return "one-sided operation";
        case MPIR_REQUEST_KIND__GREQUEST:
            return "nonblocking operation on a file";
        default:
            return "operation";
    }
}

static void describe_request(MPIR_Request * req, char *text, int size)
{
    int peer, tag;
    char peer_text[32] = "", tag_text[32] = "";

    MPIDI_Adapt_request_peer(req, &peer, &tag);
    if (peer == MPI_ANY_SOURCE)
        snprintf(peer_text, sizeof(peer_text), ", any peer");
    else if (peer != MPI_UNDEFINED)
        snprintf(peer_text, sizeof(peer_text), ", peer %d", peer);
    if (tag == MPI_ANY_TAG)
        snprintf(tag_text, sizeof(tag_text), ", any tag");
    else if (tag != MPI_UNDEFINED)
        snprintf(tag_text, sizeof(tag_text), ", tag %d", tag);
    snprintf(text, size, "%s on %s%s%s", request_kind(req),
             req->comm->name[0] ? req->comm->name : "a communicator without name", peer_text,
             tag_text);
}

static bool is_pending(MPIR_Request * req)
{
    if (!req->comm || !MPIR_Adapt_ends(req->comm))
        return false;
    if (req->kind == MPIR_REQUEST_KIND__MPROBE)
        return true;
    /* the counter of a persistent collective operation that was never started has its first
     * value */
    return MPIR_Request_is_active(req) && !MPIR_Request_is_complete(req);
}

/* The request that executes a started persistent one. */
static MPIR_Request *carrier_of(MPIR_Request * req)
{
    if (req->kind == MPIR_REQUEST_KIND__PREQUEST_COLL)
        return req->u.persist_coll.real_request;
    return MPIR_Request_is_persistent(req) ? req->u.persist.real_request : NULL;
}

/* Of several requests of one operation, the one with the greatest value is the application's
 * own. */
static int own_rank(MPIR_Request * req)
{
    if (MPIR_Request_is_persistent(req) || MPIR_Request_is_partitioned(req))
        return 2;
    return req->kind == MPIR_REQUEST_KIND__COLL || req->kind == MPIR_REQUEST_KIND__GREQUEST;
}

static void add_pending_request(void *object, void *context)
{
    MPIR_Request *req = object;
    struct pending *pending = context;

    if (!is_pending(req))
        return;
    int rank = own_rank(req);
    if (pending->count == 0 || (rank > 0 && rank >= pending->rank)) {
        describe_request(req, pending->text, sizeof(pending->text));
        pending->rank = rank;
    }
    pending->count++;
}

/* A started persistent request counts once. */
static void subtract_carrier(void *object, void *context)
{
    MPIR_Request *carrier = carrier_of(object);
    struct pending *pending = context;

    if (carrier && is_pending(carrier))
        pending->count--;
}

static void add_pending_win(void *object, void *context)
{
    MPIR_Win *win = object;
    struct pending *pending = context;
    const char *why = MPIR_Adapt_ends(win->comm_ptr) ? MPIDI_Adapt_win_pending(win) : NULL;

    if (!why)
        return;
    if (pending->count == 0)
        snprintf(pending->text, sizeof(pending->text), "%s on window %s", why,
                 win->name[0] ? win->name : "without name");
    pending->count++;
}

void MPIR_Adapt_request_on(MPI_Request request, MPI_Comm comm)
{
    MPIR_Request *req;

    if (MPIR_Adapt.state == MPIR_ADAPT_STATE__OFF && !MPIR_CVAR_SESSION_CHECK)
        return;
    MPIR_Request_get_ptr(request, req);
    MPIR_Comm_get_ptr(comm, req->comm);
    MPIR_Comm_add_ref(req->comm);
}

/* Operations on files complete only when they are tested. */
static void poll_request(void *object, void *unused)
{
    MPIR_Request *req = object;
    MPI_Status status;

    if (is_pending(req) && MPIR_Request_has_poll_fn(req))
        (void) MPIR_Grequest_poll(req, &status);
}

static void find_pending(struct pending *pending)
{
    pending->count = pending->rank = 0;
    MPIR_Adapt_foreach_request(poll_request, NULL);
    MPIR_Adapt_foreach_request(add_pending_request, pending);
    if (pending->count > 0)
        MPIR_Adapt_foreach_request(subtract_carrier, pending);
    MPIR_Adapt_foreach_win(add_pending_win, pending);
#ifdef HAVE_ROMIO
    char text[sizeof(pending->text)];
    if (MPIR_ROMIO_Adapt_pending(text, sizeof(text))) {
        if (pending->count == 0)
            memcpy(pending->text, text, sizeof(text));
        pending->count++;
    }
#endif
}

int MPIR_Adapt_check_pending(void)
{
    int mpi_errno = MPI_SUCCESS;
    struct pending pending;
    MPL_time_t start, now;
    double waited;

    MPL_wtime(&start);
    find_pending(&pending);
    while (pending.count > 0) {
        /* a send that was freed with MPI_Request_free may need one more message to complete */
        mpi_errno = MPIDI_Adapt_progress();
        MPIR_ERR_CHECK(mpi_errno);
        find_pending(&pending);
        MPL_wtime(&now);
        MPL_wtime_diff(&start, &now, &waited);
        if (waited > PENDING_GRACE_SECONDS)
            break;
    }
    if (pending.count > 0)
        MPIR_ERR_SETANDJUMP2(mpi_errno, MPI_ERR_PENDING, "**adaptpending", "**adaptpending %s %d",
                             pending.text, pending.count - 1);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
