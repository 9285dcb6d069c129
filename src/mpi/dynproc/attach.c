/*
 * From a connection between two ranks 0 to an intercommunicator.  DN2, DN4.
 *
 * The sides exchange their context ids and addresses on the connection; each makes its half, and
 * notifies the other side when all its processes have made it.  The end of a side ends the
 * connection, so that no process waits for it.
 */

#include "dynproc_lines.h"

static int my_side(const struct MPIR_Dynproc_attach *attach, struct MPIR_Dynproc_side *side)
{
    int mpi_errno = MPID_Dynproc_addresses(attach->comm, &side->address_sizes, &side->addresses);

    MPIR_ERR_CHECK(mpi_errno);
    side->context_id = attach->context_id;
    side->size = attach->comm->local_size;
    for (int i = 0; i < side->size; i++)
        side->bytes += side->address_sizes[i];
    side->bcs = attach->bcs;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static bool overlap(const struct MPIR_Dynproc_side *one, const struct MPIR_Dynproc_side *other)
{
    const char *a = one->addresses;

    for (int i = 0; i < one->size; a += one->address_sizes[i++]) {
        const char *b = other->addresses;
        for (int j = 0; j < other->size; b += other->address_sizes[j++]) {
            if (one->address_sizes[i] == other->address_sizes[j] &&
                !memcmp(a, b, (size_t) one->address_sizes[i]))
                return true;
        }
    }
    return false;
}

int MPIR_Dynproc_gather_bcs(MPIR_Comm * comm, int root, struct MPIR_Dynproc_lines *lines,
                            struct MPIR_Dynproc_bc **bcs)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    struct MPIR_Dynproc_bc mine;

    *bcs =
        comm->rank == root ? MPL_malloc(sizeof(mine) * (size_t) comm->local_size,
                                        MPL_MEM_OTHER) : NULL;
    MPIR_Assertp(*bcs || comm->rank != root);
    MPIR_Dynproc_lines_listen(lines, &mine);
    return MPIR_Gather(&mine, sizeof(mine), MPI_BYTE, *bcs, sizeof(mine), MPI_BYTE, root, comm,
                       &errflag);
}

static void discard(struct MPIR_Dynproc_attach *attach)
{
    MPIR_Dynproc_link_free(attach->link);
    MPIR_Dynproc_lines_free(attach->lines, true);
    MPL_free(attach->bcs);
    MPIR_Dynproc_side_free(&attach->other);
}

/* Called on all processes. */
static int begin(MPIR_Comm * comm, enum MPIR_Dynproc_role role, struct MPIR_Dynproc_attach *attach)
{
    int mpi_errno = MPI_SUCCESS;

    memset(attach, 0, sizeof(*attach));
    attach->comm = comm;
    attach->is_server = role == MPIR_DYNPROC_SERVER;
    attach->is_child = role == MPIR_DYNPROC_CHILD;
    attach->lines = MPIR_Dynproc_lines_new();
    MPIR_Assertp(attach->lines);
    mpi_errno = MPIR_Get_contextid_sparse(comm, &attach->context_id, FALSE);
    MPIR_ERR_CHECK(mpi_errno);
    if (attach->is_server)
        mpi_errno = MPIR_Dynproc_gather_bcs(comm, 0, attach->lines, &attach->bcs);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    discard(attach);
    goto fn_exit;
}

int MPIR_Dynproc_attach_exchange(struct MPIR_Dynproc_attach *attach, struct MPIR_Dynproc_link *link)
{
    struct MPIR_Dynproc_side mine = { 0 };
    struct MPIR_Dynproc_wait wait = {.fd = link->fd };
    enum MPIR_Dynproc_link_state state = MPIR_DYNPROC_MORE;
    int mpi_errno = my_side(attach, &mine);

    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Dynproc_side_free(&attach->other);
    if (!MPIR_Dynproc_send_side(link, attach->is_server, &mine))
        state = MPIR_DYNPROC_BROKEN;
    while (state == MPIR_DYNPROC_MORE) {
        state = MPIR_Dynproc_read_side(link, attach->is_server, &attach->other);
        if (state == MPIR_DYNPROC_MORE) {
            mpi_errno = MPIR_Dynproc_pause(&wait);
            MPIR_ERR_CHECK(mpi_errno);
        }
    }
    MPIR_ERR_CHKANDJUMP(state == MPIR_DYNPROC_BROKEN, mpi_errno, MPI_ERR_PORT, "**dynproclost");
    MPIR_ERR_CHKANDJUMP(overlap(&mine, &attach->other), mpi_errno, MPI_ERR_COMM,
                        "**dynprocoverlap");
    attach->link = link;

  fn_exit:
    mine.bcs = NULL;            /* they are retained for the next client */
    MPIR_Dynproc_side_free(&mine);
    return mpi_errno;
  fn_fail:
    MPIR_Dynproc_link_free(link);
    goto fn_exit;
}

/* Broadcasts the result of rank 0. */
static int spread(struct MPIR_Dynproc_attach *attach, int error)
{
    struct MPIR_Dynproc_side *other = &attach->other;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    int mpi_errno, head[5] = { error ? MPIR_ERR_GET_CLASS(error) : MPI_SUCCESS, other->size,
        (int) other->context_id, other->bytes, other->bcs ? (int) sizeof(other->bcs[0]) : 0
    };

    mpi_errno = MPIR_Bcast(head, 5, MPI_INT, 0, attach->comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    if (attach->comm->rank == 0) {
        mpi_errno = error;
        MPIR_ERR_CHECK(mpi_errno);
    } else {
        mpi_errno = head[0] ? MPIR_Dynproc_error_elsewhere(head[0]) : MPI_SUCCESS;
        MPIR_ERR_CHECK(mpi_errno);
        other->size = head[1];
        other->context_id = (uint32_t) head[2];
        other->bytes = head[3];
        other->address_sizes = MPL_malloc(sizeof(int) * (size_t) other->size, MPL_MEM_OTHER);
        other->addresses = MPL_malloc((size_t) other->bytes, MPL_MEM_OTHER);
        other->bcs =
            head[4] ? MPL_malloc(sizeof(other->bcs[0]) * (size_t) other->size,
                                 MPL_MEM_OTHER) : NULL;
        MPIR_Assertp(other->address_sizes && other->addresses && (other->bcs || !head[4]));
    }
    if (attach->comm->local_size > 1) {
        mpi_errno =
            MPIR_Bcast(other->address_sizes, other->size, MPI_INT, 0, attach->comm, &errflag);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Bcast(other->addresses, other->bytes, MPI_BYTE, 0, attach->comm, &errflag);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno =
            MPIR_Bcast(other->bcs, head[4] * (MPI_Aint) other->size, MPI_BYTE, 0, attach->comm,
                       &errflag);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Waits until all processes of the other side have the addresses of this side. */
static int await_other(struct MPIR_Dynproc_attach *attach, bool *lives)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Dynproc_wait wait = {.fd = attach->link->fd,.is_short = true };
    bool is_sent = MPIR_Dynproc_send_ready(attach->link, attach->is_server);
    enum MPIR_Dynproc_link_state state = is_sent ? MPIR_DYNPROC_MORE : MPIR_DYNPROC_BROKEN;

    while (state == MPIR_DYNPROC_MORE) {
        state = MPIR_Dynproc_read_ready(attach->link, attach->is_server);
        mpi_errno = state == MPIR_DYNPROC_MORE ? MPIR_Dynproc_pause(&wait) : MPI_SUCCESS;
        MPIR_ERR_CHECK(mpi_errno);
    }
    *lives = state == MPIR_DYNPROC_DONE;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* No process sends to a process that does not have the sender's address yet: the network could not
 * identify the sender (with libfabric's sockets provider, as long as nothing is sent back), and
 * would match the message with any receive of its tag.  The processes of the client usually have
 * their lines by then, so that no process of the server waits for them.  If a side ends meanwhile,
 * operations on the intercommunicator return an error. */
static int assemble(struct MPIR_Dynproc_attach *attach, int error, bool *lives)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    int mpi_errno, mine = error ? MPIR_ERR_GET_CLASS(error) : MPI_SUCCESS, reported[2] =
        { MPI_SUCCESS, true };

    *lives = true;
    mpi_errno = MPIR_Reduce(&mine, &reported[0], 1, MPI_INT, MPI_MAX, 0, attach->comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    if (attach->link && !reported[0]) {
        mpi_errno = await_other(attach, lives);
        reported[0] = mpi_errno ? MPIR_ERR_GET_CLASS(mpi_errno) : MPI_SUCCESS;
        reported[1] = *lives;
    }
    mpi_errno = MPIR_Bcast(reported, 2, MPI_INT, 0, attach->comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    *lives = reported[1];
    if (reported[0])
        mpi_errno = error ? error : MPIR_Dynproc_error_elsewhere(reported[0]);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Makes the lines of this process.  Children do not wait for parents. */
static int make_lines(struct MPIR_Dynproc_attach *attach, MPIR_Comm * comm)
{
    struct MPIR_Dynproc_lines *lines = attach->lines;
    int mpi_errno = MPIR_Dynproc_connect(comm, lines);

    attach->lines = NULL;
    MPIR_ERR_CHECK(mpi_errno);
    if (attach->is_server || attach->other.bcs)
        MPIR_Dynproc_lines_make(lines, comm, !attach->is_child, attach->other.bcs);
    if (attach->is_server || attach->is_child)
        goto fn_exit;
    mpi_errno = MPIR_Dynproc_await_lines(comm);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Called on all processes; error is that of rank 0. */
static int end(struct MPIR_Dynproc_attach *attach, int error, MPIR_Comm ** newcomm)
{
    int mpi_errno = spread(attach, error);
    struct MPIR_Dynproc_side *other = &attach->other;
    bool is_made = false, lives = true;

    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno =
        MPID_Dynproc_intercomm(attach->comm, attach->is_server, attach->context_id,
                               other->context_id, other->size, other->address_sizes,
                               other->addresses, newcomm);
    is_made = mpi_errno == MPI_SUCCESS;
    MPIR_Dynproc_is_connecting(true);
    if (is_made)
        mpi_errno = make_lines(attach, *newcomm);
    if (!attach->is_child)
        mpi_errno = assemble(attach, mpi_errno, &lives);
    MPIR_Dynproc_is_connecting(false);
    MPIR_ERR_CHECK(mpi_errno);
    if (attach->link)
        MPIR_Dynproc_watch(*newcomm, MPIR_Dynproc_link_leave(attach->link));
    attach->link = NULL;
    if (!lives)
        MPIR_Dynproc_set_broken(*newcomm);

  fn_exit:
    discard(attach);
    return mpi_errno;
  fn_fail:
    if (is_made)
        MPIR_Comm_release(*newcomm);
    else
        MPIR_Free_contextid(attach->context_id);
    *newcomm = NULL;
    goto fn_exit;
}

int MPIR_Dynproc_attach(MPIR_Comm * comm, enum MPIR_Dynproc_role role,
                        MPIR_Dynproc_rendezvous * rendezvous, const char *name,
                        MPIR_Comm ** newcomm)
{
    struct MPIR_Dynproc_attach attach;
    int mpi_errno = begin(comm, role, &attach);

    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = comm->rank == 0 ? rendezvous(name, &attach) : MPI_SUCCESS;
    mpi_errno = end(&attach, mpi_errno, newcomm);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- MPIX_Remote_attach ---------------------------------------------------------------------- */

/* All processes must have the same request: if one of them has none, or another one, all of them
 * fail. */
static int agree(MPIR_Comm * comm, const struct MPIR_Dynproc_request *request)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    /* a value is the same everywhere if its max equals the negative of the max of its negative */
    int mine[5] = { 1, 0, 0, 0, 0 }, all[5];

    if (request) {
        mine[0] = 0;
        mine[1] = request->number;
        mine[2] = -request->number;
        mine[3] = request->index;
        mine[4] = -request->index;
    }
    mpi_errno = MPIR_Allreduce(mine, all, 5, MPI_INT, MPI_MAX, comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(all[0] || all[1] != -all[2] ||
                        all[3] != -all[4], mpi_errno, MPI_ERR_REQUEST, "**dynprocrequest");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Remote_attach_impl(MPIR_Comm * comm, int n, MPI_Request requests[], MPIR_Comm ** newcomm)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Dynproc_attach attach;
    struct MPIR_Dynproc_request *request;

    MPIR_ERR_CHKANDJUMP1(n < 0, mpi_errno, MPI_ERR_COUNT, "**countneg", "**countneg %d", n);
    MPIR_ERR_CHKANDJUMP1(n != 1, mpi_errno, MPI_ERR_ARG, "**dynprocone", "**dynprocone %d", n);
    MPIR_ERR_CHKANDJUMP1(!requests, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s",
                         "array_of_requests");
    request = MPIR_Dynproc_request_of(requests[0]);
    if (request && (request->comm != comm || request->state != MPIR_DYNPROC_TAKEN))
        request = NULL;
    mpi_errno = agree(comm, request);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno =
        begin(comm, request->is_server ? MPIR_DYNPROC_SERVER : MPIR_DYNPROC_CLIENT, &attach);
    MPIR_ERR_CHECK(mpi_errno);
    if (comm->rank == 0)
        mpi_errno = MPIR_Dynproc_attach_exchange(&attach, request->link);
    request->link = NULL;
    MPIR_Dynproc_request_drop(request);
    requests[0] = MPI_REQUEST_NULL;
    mpi_errno = end(&attach, mpi_errno, newcomm);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
