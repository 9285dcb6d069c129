/*
 * Processes that start together as one MPI_COMM_WORLD (SPEC DC1-DC3): from their start until both
 * sides know each other.
 *
 * Only the process that holds the requests takes part in the start.  It listens for rank 0 of the
 * new processes (dynproc/parent.c), which connects at the end of its MPI_Init; both exchange the
 * data of their sides, and the requests reach STARTED.  The other processes have an active receive,
 * by which the holder notifies them.
 */

#include "process_world.h"
#include <fcntl.h>

/* ---- the end of a world ---------------------------------------------------------------------- */

void MPIR_Process_world_stop_listening(struct MPIR_Process_world *world)
{
    if (world->service)
        MPIR_Dynproc_service_close(world->service);
    MPIR_Dynproc_link_free(world->link);
    world->service = NULL;
    world->link = NULL;
}

static int send_to_other(struct MPIR_Process_world *world, const void *data, int count,
                         MPI_Datatype type, int rank)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;

    return MPIC_Isend(data, count, type, rank, world->tag, world->local,
                      &world->sends[world->n_sends++], &errflag);
}

/* If a process has ended, the job ends, so messages that cannot be sent are not needed. */
static void notify_other_processes(struct MPIR_Process_world *world, int error_class)
{
    const int others = world->local->local_size - 1;

    world->head[0] = error_class;
    world->head[1] = (int) world->other.context_id;
    world->head[2] = world->other.bytes;
    world->sends = MPL_calloc(3 * (size_t) others + 1, sizeof(*world->sends), MPL_MEM_OTHER);
    MPIR_Assertp(world->sends);
    for (int rank = 0; rank <= others; rank++) {
        if (rank == world->holder)
            continue;
        (void) send_to_other(world, world->head, 3, MPI_INT, rank);
        if (error_class)
            continue;
        (void) send_to_other(world, world->other.address_sizes, world->n, MPI_INT, rank);
        (void) send_to_other(world, world->other.addresses, world->other.bytes, MPI_BYTE, rank);
    }
    MPIR_Dynproc_start_polling_by(MPIR_Process_poll_worlds, MPIR_Process_close_worlds);
}

static void fail_process_request(struct MPIR_Process_request *request)
{
    request->world = NULL;
    if (!request->started || request->come == PMI_TASK_EXITED)
        return;
    if (!request->error)
        request->error =
            MPL_strdup("another process of its world has ended before it had initialised MPI");
    (void) MPIR_Process_call_signal(request->number, "KILL");
}

/* Ends the other processes, which would wait in MPI_Init for ever. */
static void fail_world(struct MPIR_Process_world *world)
{
    world->state = MPIR_PROCESS_WORLD_FAILED;
    MPIR_Process_world_stop_listening(world);
    if (world->lines)
        MPIR_Dynproc_lines_end(world->lines, true);
    for (int i = 0; world->requests && i < world->n; i++) {
        struct MPIR_Process_request *request = world->requests[i];
        world->requests[i] = NULL;
        if (request)
            fail_process_request(request);
    }
    if (MPIR_Process_world_is_held_here(world))
        notify_other_processes(world, MPI_ERR_COMM);
    if (world->is_freed)
        MPIR_Process_discard_stub(world);
}

void MPIR_Process_world_failed(struct MPIR_Process_request *request)
{
    struct MPIR_Process_world *world = request->world;

    request->world = NULL;
    for (int i = 0; i < world->n; i++) {
        if (world->requests[i] == request)
            world->requests[i] = NULL;
    }
    if (world->state == MPIR_PROCESS_WORLD_AWAITED)
        fail_world(world);
}

/* ---- the other side has connected ------------------------------------------------------------ */

static int complete_stub(struct MPIR_Process_world *world)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Comm *comm = world->stub;

    world->state = MPIR_PROCESS_WORLD_COMPLETE;
    world->stub = NULL;
    comm->revoked = 0;
    mpi_errno =
        MPID_Dynproc_complete(comm, world->local, (MPIR_Context_id_t) world->other.context_id,
                              world->other.address_sizes, world->other.addresses);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Dynproc_connect(comm, world->lines);
    world->lines = NULL;
    MPIR_ERR_CHECK(mpi_errno);
    if (world->link)            /* the other side's rank 0 keeps it as well */
        MPIR_Dynproc_watch(comm, fcntl(world->link->fd, F_DUPFD_CLOEXEC, 0));
    if (world->is_freed)
        mpi_errno = MPIR_Comm_release(comm);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int all_are_there(struct MPIR_Process_world *world)
{
    int mpi_errno = complete_stub(world);

    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Process_world_stop_listening(world);
    notify_other_processes(world, MPI_SUCCESS);
    for (int i = 0; i < world->n; i++) {
        struct MPIR_Process_request *request = world->requests[i];
        world->requests[i] = NULL;
        request->world = NULL;
        if (request->is_freed)
            (void) MPIR_Process_request_free(request);
        else
            MPIR_Process_reach(request, PMI_TASK_STARTED);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static bool send_own_side(struct MPIR_Process_world *world)
{
    struct MPIR_Dynproc_side mine = {.context_id = world->context_id,
                                     .size = world->local->local_size,
        .bcs = world->bcs
    };
    bool is_sent = false;

    if (MPID_Dynproc_addresses(world->local, &mine.address_sizes, &mine.addresses) == MPI_SUCCESS) {
        for (int i = 0; i < mine.size; i++)
            mine.bytes += mine.address_sizes[i];
        is_sent = MPIR_Dynproc_send_side(world->link, true, &mine);
    }
    mine.bcs = NULL;
    MPIR_Dynproc_side_free(&mine);
    return is_sent;
}

/* Whether the other side has sent its members. */
static bool is_other_side_there(struct MPIR_Process_world *world)
{
    enum MPIR_Dynproc_link_state state = MPIR_DYNPROC_MORE;

    if (!world->link) {
        MPIR_Dynproc_service_poll(world->service);
        world->link = MPIR_Dynproc_service_take(world->service, NULL, NULL);
        if (world->link && !send_own_side(world))
            state = MPIR_DYNPROC_BROKEN;
    }
    if (world->link && state == MPIR_DYNPROC_MORE)
        state = MPIR_Dynproc_read_side(world->link, true, &world->other);
    if (state == MPIR_DYNPROC_DONE && world->other.size == world->n)
        return true;
    if (state != MPIR_DYNPROC_MORE) {   /* it connects again, or has ended */
        MPIR_Dynproc_side_free(&world->other);
        MPIR_Dynproc_link_free(world->link);
        world->link = NULL;
    }
    return false;
}

/* ---- notification of the other processes ----------------------------------------------------- */

int MPIR_Process_world_receive(struct MPIR_Process_world *world, int i, void *data, int count,
                               MPI_Datatype type)
{
    return MPIC_Irecv(data, count, type, world->holder, world->tag, world->local,
                      &world->receives[i]);
}

/* Whether the message has arrived; then its request is released. */
static bool is_received(MPIR_Request ** request, bool *is_good)
{
    if (!MPIR_Request_is_complete(*request))
        return false;
    *is_good = *is_good && (*request)->status.MPI_ERROR == MPI_SUCCESS;
    MPIR_Request_free(*request);
    *request = NULL;
    return true;
}

static bool receive_side(struct MPIR_Process_world *world)
{
    struct MPIR_Dynproc_side *other = &world->other;

    other->size = world->n;
    other->context_id = (uint32_t) world->head[1];
    other->bytes = world->head[2];
    other->address_sizes = MPL_malloc(sizeof(int) * (size_t) other->size, MPL_MEM_OTHER);
    other->addresses = MPL_malloc((size_t) MPL_MAX(other->bytes, 1), MPL_MEM_OTHER);
    return other->address_sizes && other->addresses &&
        MPIR_Process_world_receive(world, 1, other->address_sizes, other->size,
                                   MPI_INT) == MPI_SUCCESS &&
        MPIR_Process_world_receive(world, 2, other->addresses, other->bytes,
                                   MPI_BYTE) == MPI_SUCCESS;
}

/* Processes the holder's messages that have arrived. */
static void listen_to_holder(struct MPIR_Process_world *world)
{
    bool is_good = true;

    if (world->receives[0]) {
        if (is_received(&world->receives[0], &is_good) &&
            (!is_good || world->head[0] || !receive_side(world)))
            fail_world(world);
        return;
    }
    for (int i = 1; i < 3; i++) {
        if (world->receives[i] && !is_received(&world->receives[i], &is_good))
            return;
    }
    if (!is_good || complete_stub(world) != MPI_SUCCESS)
        fail_world(world);
}

/* ---- progress -------------------------------------------------------------------------------- */

void MPIR_Process_world_poll(struct MPIR_Process_world *world)
{
    if (world->state != MPIR_PROCESS_WORLD_AWAITED)
        return;
    if (!MPIR_Process_world_is_held_here(world))
        listen_to_holder(world);
    else if (world->is_started && is_other_side_there(world) && all_are_there(world) != MPI_SUCCESS)
        fail_world(world);
}

static bool has_sent(struct MPIR_Process_world *world)
{
    for (; world->n_sends > 0; world->n_sends--) {
        MPIR_Request *last = world->sends[world->n_sends - 1];
        if (last && !MPIR_Request_is_complete(last))
            return false;
        if (last)
            MPIR_Request_free(last);
    }
    return true;
}

void MPIR_Process_world_free(struct MPIR_Process_world *world)
{
    MPIR_Dynproc_side_free(&world->other);
    MPIR_Dynproc_lines_free(world->lines, true);
    MPL_free(world->bcs);
    MPL_free(world->sends);
    MPL_free(world->requests);
    MPL_free(world);
}

bool MPIR_Process_poll_worlds(void)
{
    bool more = false;

    for (struct MPIR_Process_world ** cursor = &MPIR_Process_worlds; *cursor;) {
        struct MPIR_Process_world *world = *cursor;
        MPIR_Process_world_poll(world);
        bool is_over = world->state != MPIR_PROCESS_WORLD_AWAITED && has_sent(world);
        more = more || !is_over;
        if (!is_over || world->stub) {
            cursor = &world->next;
            continue;
        }
        *cursor = world->next;
        MPIR_Comm_release(world->local);
        MPIR_Process_world_free(world);
    }
    return more;
}

bool MPIR_Process_worlds_start(void)
{
    for (struct MPIR_Process_world * world = MPIR_Process_worlds; world; world = world->next) {
        if (world->state == MPIR_PROCESS_WORLD_AWAITED && world->is_started)
            return true;
    }
    return false;
}

/* At MPI_Finalize: releases everything that was not completed or reported. */
void MPIR_Process_close_worlds(void)
{
    while (MPIR_Process_worlds) {
        struct MPIR_Process_world *world = MPIR_Process_worlds;
        MPIR_Process_worlds = world->next;
        MPIR_Process_world_stop_listening(world);
        for (int i = 0; i < 3; i++) {
            if (world->receives[i] && MPID_Cancel_recv(world->receives[i]) == MPI_SUCCESS)
                MPIR_Request_free(world->receives[i]);
        }
        for (int i = 0; world->requests && i < world->n; i++) {
            if (world->requests[i])
                world->requests[i]->world = NULL;
        }
        if (world->stub)
            MPIR_Process_discard_stub(world);
        MPIR_Comm_release(world->local);
        MPIR_Process_world_free(world);
    }
}

/* ---- start ----------------------------------------------------------------------------------- */

bool MPIR_Process_world_is_whole(const struct MPIR_Process_world *world, int n,
                                 MPIR_Request * const handles[])
{
    int found = 0;

    for (int i = 0; i < n; i++) {
        struct MPIR_Process_request *request = MPIR_Process_request_of(handles[i]);
        found += request && request->world == world;
    }
    return found == world->n;
}

/* A process may end during the start, and with it the world: a failed world has no requests any
 * more. */
int MPIR_Process_world_start(struct MPIR_Process_world *world)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Process_request **requests = NULL;

    if (world->is_started)
        goto fn_exit;
    requests = MPL_malloc((size_t) world->n * sizeof(*requests), MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!requests, mpi_errno, MPI_ERR_OTHER, "**nomem");
    memcpy(requests, world->requests, (size_t) world->n * sizeof(*requests));
    for (int i = 0; i < world->n; i++)
        requests[i]->started = true;
    mpi_errno = MPIR_Process_call_start_world(world->parent, world->n, requests);
    for (int i = 0; mpi_errno && i < world->n; i++)
        requests[i]->started = false;
    MPIR_ERR_CHECK(mpi_errno);
    world->is_started = true;
    for (int i = 0; i < world->n; i++) {
        mpi_errno = MPIR_Process_mark_started(requests[i]);
        MPIR_ERR_CHECK(mpi_errno);
    }
    MPIR_Dynproc_start_polling_by(MPIR_Process_poll_worlds, MPIR_Process_close_worlds);

  fn_exit:
    MPL_free(requests);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

bool MPIR_Process_world_awaits(const struct MPIR_Process_request *request)
{
    return request->world && request->world->is_started;
}
