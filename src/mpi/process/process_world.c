/*
 * MPIX_Comm_parent_create: processes that start together as one MPI_COMM_WORLD, and the intercommunicator with them
 * that is there before they are (SPEC DC1-DC3).
 *
 * The process that holds the requests is the only one that has anything to do with the start.  It listens for rank 0 of
 * the new processes (dynproc/parent.c), which comes at the end of its MPI_Init; both exchange what their sides consist
 * of, and the requests reach STARTED.  The other processes have a receive under way, in which the holder notifies them.
 *
 * Until then the intercommunicator is a stub: an object without the device's part.  It is marked as one that is
 * revoked, so that the tests of validity, made anyway in each MPI call, lead here from those that communicate and
 * not from the others; here they wait.  If the processes have ended before, it stays as it is and may be freed.
 *
 * State: worlds whose processes are awaited, or whose stub is there; owned by whichever thread holds the library's
 * critical section.
 */

#include "process.h"
#include "dynproc_lines.h"
#include <fcntl.h>

enum world_state { AWAITED, COMPLETE, FAILED };

struct MPIR_Process_world {
    enum world_state state;
    int n;                      /* processes */
    MPIR_Comm *local, *stub;    /* no stub: it is an intercommunicator, or freed */
    bool is_freed;              /* by the program, before it was complete */
    MPIR_Context_id_t context_id;
    int holder, tag;            /* rank in local; of its messages to the others */
    int head[3];                /* error class, context id, bytes of addresses */
    struct MPIR_Dynproc_side other;
    struct MPIR_Dynproc_lines *lines;   /* until they are those of the intercommunicator */
    /* of the holder */
    struct MPIR_Dynproc_bc *bcs;        /* of all processes of local */
    bool is_started;
    struct MPIR_Process_request **requests;     /* NULL where one is done with */
    struct MPIR_Dynproc_service *service;
    struct MPIR_Dynproc_link *link;
    char parent[MPIR_DYNPROC_PARENT];
    MPIR_Request **sends;
    int n_sends;
    /* of the others */
    MPIR_Request *receives[3];  /* head, sizes, addresses */
    struct MPIR_Process_world *next;
};

static struct MPIR_Process_world *worlds;

static bool is_holder(const struct MPIR_Process_world *world)
{
    return world->local->rank == world->holder;
}

/* ---- the stub -------------------------------------------------------------------------------------------------- */

static struct MPIR_Process_world *world_of(const MPIR_Comm * comm)
{
    struct MPIR_Process_world *world = worlds;

    while (world && world->stub != comm)
        world = world->next;
    return world;
}

/* An object that the device does not know, and its attributes are deleted. */
static void discard_stub(struct MPIR_Process_world *world)
{
    MPIR_Comm *comm = world->stub;
    int error;

    world->stub = NULL;
    if (comm->errhandler && !HANDLE_IS_BUILTIN(comm->errhandler->handle))
        MPIR_Errhandler_free_impl(comm->errhandler);
    MPIR_Free_contextid(comm->recvcontext_id);
    MPID_Thread_mutex_destroy(&comm->mutex, &error);
    MPII_COMML_FORGET(comm);
    MPIR_Object_set_ref(comm, 0);
    MPIR_Handle_obj_free(&MPIR_Comm_mem, comm);
}

bool MPIR_Process_is_stub(const MPIR_Comm * comm)
{
    return comm && comm->revoked && world_of(comm);
}

int MPIR_Process_free_stub(MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Process_world *world = world_of(comm);

    if (MPIR_Process.attr_free && comm->attributes)
        mpi_errno = MPIR_Process.attr_free(comm->handle, &comm->attributes);
    MPIR_ERR_CHECK(mpi_errno);
    world->is_freed = true;
    if (world->state == FAILED)
        discard_stub(world);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The only process that can start the others would wait for ever. */
static int check_wait(const struct MPIR_Process_world *world)
{
    int mpi_errno = MPI_SUCCESS;

    bool is_alone = MPIR_ThreadInfo.thread_provided < MPI_THREAD_MULTIPLE;

    MPIR_ERR_CHKANDJUMP1(is_holder(world) && !world->is_started && is_alone, mpi_errno, MPI_ERR_COMM,
                         "**processparent", "**processparent %s",
                         "the processes are not started: call MPI_Startall with their requests");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Process_use_stub(MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Process_world *world = world_of(comm);
    struct MPIR_Dynproc_wait wait = {.fd = -1 };

    MPIR_ERR_CHKANDJUMP(!world, mpi_errno, MPIX_ERR_REVOKED, "**comm");
    while (comm->revoked && world->state == AWAITED) {
        mpi_errno = check_wait(world);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Dynproc_pause(&wait);
        MPIR_ERR_CHECK(mpi_errno);
    }
    MPIR_ERR_CHKANDJUMP(comm->revoked, mpi_errno, MPI_ERR_COMM, "**processparent");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- what comes to an end -------------------------------------------------------------------------------------- */

static void stop_listening(struct MPIR_Process_world *world)
{
    if (world->service)
        MPIR_Dynproc_service_close(world->service);
    MPIR_Dynproc_link_free(world->link);
    world->service = NULL;
    world->link = NULL;
}

static int pass_on(struct MPIR_Process_world *world, const void *data, int count, MPI_Datatype type, int rank)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;

    return MPIC_Isend(data, count, type, rank, world->tag, world->local, &world->sends[world->n_sends++], &errflag);
}

/* A process that has ended takes the job with it, so what cannot be sent is not missed. */
static void notify_others(struct MPIR_Process_world *world, int error_class)
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
        (void) pass_on(world, world->head, 3, MPI_INT, rank);
        if (error_class)
            continue;
        (void) pass_on(world, world->other.address_sizes, world->n, MPI_INT, rank);
        (void) pass_on(world, world->other.addresses, world->other.bytes, MPI_BYTE, rank);
    }
    MPIR_Dynproc_start_polling();
}

static void fail_request(struct MPIR_Process_request *request)
{
    request->world = NULL;
    if (!request->started || request->come == PMI_TASK_EXITED)
        return;
    if (!request->error)
        request->error = MPL_strdup("another process of its world has ended before it had initialised MPI");
    (void) MPIR_Process_call_signal(request->number, "KILL");
}

/* The others would wait in MPI_Init for ever: they are ended. */
static void fail(struct MPIR_Process_world *world)
{
    world->state = FAILED;
    stop_listening(world);
    if (world->lines)
        MPIR_Dynproc_lines_end(world->lines, true);
    for (int i = 0; world->requests && i < world->n; i++) {
        struct MPIR_Process_request *request = world->requests[i];
        world->requests[i] = NULL;
        if (request)
            fail_request(request);
    }
    if (is_holder(world))
        notify_others(world, MPI_ERR_COMM);
    if (world->is_freed)
        discard_stub(world);
}

void MPIR_Process_world_failed(struct MPIR_Process_request *request)
{
    struct MPIR_Process_world *world = request->world;

    request->world = NULL;
    for (int i = 0; i < world->n; i++) {
        if (world->requests[i] == request)
            world->requests[i] = NULL;
    }
    if (world->state == AWAITED)
        fail(world);
}

/* ---- the other side is there ----------------------------------------------------------------------------------- */

static int complete_stub(struct MPIR_Process_world *world)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Comm *comm = world->stub;

    world->state = COMPLETE;
    world->stub = NULL;
    comm->revoked = 0;
    mpi_errno = MPID_Dynproc_complete(comm, world->local, (MPIR_Context_id_t) world->other.context_id,
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
    stop_listening(world);
    notify_others(world, MPI_SUCCESS);
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
    struct MPIR_Dynproc_side mine = {.context_id = world->context_id,.size = world->local->local_size,
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
    if (state != MPIR_DYNPROC_MORE) {   /* it comes again, or has ended */
        MPIR_Dynproc_side_free(&world->other);
        MPIR_Dynproc_link_free(world->link);
        world->link = NULL;
    }
    return false;
}

/* ---- the others are notified --------------------------------------------------------------------------------- */

static int receive(struct MPIR_Process_world *world, int i, void *data, int count, MPI_Datatype type)
{
    return MPIC_Irecv(data, count, type, world->holder, world->tag, world->local, &world->receives[i]);
}

/* Whether it is there; then it is given back. */
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
        receive(world, 1, other->address_sizes, other->size, MPI_INT) == MPI_SUCCESS &&
        receive(world, 2, other->addresses, other->bytes, MPI_BYTE) == MPI_SUCCESS;
}

/* The holder's messages so far. */
static void listen_to_holder(struct MPIR_Process_world *world)
{
    bool is_good = true;

    if (world->receives[0]) {
        if (is_received(&world->receives[0], &is_good) && (!is_good || world->head[0] || !receive_side(world)))
            fail(world);
        return;
    }
    for (int i = 1; i < 3; i++) {
        if (world->receives[i] && !is_received(&world->receives[i], &is_good))
            return;
    }
    if (!is_good || complete_stub(world) != MPI_SUCCESS)
        fail(world);
}

/* ---- progress -------------------------------------------------------------------------------------------------- */

static void poll_world(struct MPIR_Process_world *world)
{
    if (!is_holder(world))
        listen_to_holder(world);
    else if (world->is_started && is_other_side_there(world) && all_are_there(world) != MPI_SUCCESS)
        fail(world);
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

static void free_world(struct MPIR_Process_world *world)
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

    for (struct MPIR_Process_world ** cursor = &worlds; *cursor;) {
        struct MPIR_Process_world *world = *cursor;
        if (world->state == AWAITED)
            poll_world(world);
        bool is_over = world->state != AWAITED && has_sent(world);
        more = more || !is_over;
        if (!is_over || world->stub) {
            cursor = &world->next;
            continue;
        }
        *cursor = world->next;
        MPIR_Comm_release(world->local);
        free_world(world);
    }
    return more;
}

bool MPIR_Process_worlds_start(void)
{
    for (struct MPIR_Process_world * world = worlds; world; world = world->next) {
        if (world->state == AWAITED && world->is_started)
            return true;
    }
    return false;
}

/* At MPI_Finalize: everything that nobody has taken or reported. */
void MPIR_Process_close_worlds(void)
{
    while (worlds) {
        struct MPIR_Process_world *world = worlds;
        worlds = world->next;
        stop_listening(world);
        for (int i = 0; i < 3; i++) {
            if (world->receives[i] && MPID_Cancel_recv(world->receives[i]) == MPI_SUCCESS)
                MPIR_Request_free(world->receives[i]);
        }
        for (int i = 0; world->requests && i < world->n; i++) {
            if (world->requests[i])
                world->requests[i]->world = NULL;
        }
        if (world->stub)
            discard_stub(world);
        MPIR_Comm_release(world->local);
        free_world(world);
    }
}

/* ---- start ----------------------------------------------------------------------------------------------------- */

bool MPIR_Process_world_is_whole(const struct MPIR_Process_world *world, int n, MPIR_Request * const handles[])
{
    int found = 0;

    for (int i = 0; i < n; i++) {
        struct MPIR_Process_request *request = MPIR_Process_request_of(handles[i]);
        found += request && request->world == world;
    }
    return found == world->n;
}

int MPIR_Process_world_start(struct MPIR_Process_world *world)
{
    int mpi_errno = MPI_SUCCESS;

    if (world->is_started)
        goto fn_exit;
    mpi_errno = MPIR_Process_call_start_world(world->parent, world->n, world->requests);
    MPIR_ERR_CHECK(mpi_errno);
    world->is_started = true;
    for (int i = 0; i < world->n; i++) {
        mpi_errno = MPIR_Process_mark_started(world->requests[i]);
        MPIR_ERR_CHECK(mpi_errno);
    }
    MPIR_Dynproc_start_polling();

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

bool MPIR_Process_world_awaits(const struct MPIR_Process_request *request)
{
    return request->world && request->world->is_started;
}

/* ---- MPIX_Comm_parent_create ----------------------------------------------------------------------------------- */

static void unbind(struct MPIR_Process_world *world)
{
    for (int i = 0; world->requests && i < world->n; i++) {
        if (world->requests[i])
            world->requests[i]->world = NULL;
    }
}

int MPIR_Process_world_check_args(int n_args)
{
    int mpi_errno = MPI_SUCCESS;
    char text[128];

    snprintf(text, sizeof(text), "a program has %d arguments and can have %d: write them to a file", n_args,
             PMI_TASK_WORLD_ARGUMENTS_MAX);
    MPIR_ERR_CHKANDJUMP1(n_args > PMI_TASK_WORLD_ARGUMENTS_MAX, mpi_errno, MPI_ERR_ARG, "**processparent",
                         "**processparent %s", text);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The holder: the requests are those of this world from now on. */
static int hold(struct MPIR_Process_world *world, const MPI_Request handles[])
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP1(!handles, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s", "array_of_requests");
    world->requests = MPL_calloc((size_t) world->n, sizeof(*world->requests), MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!world->requests, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < world->n; i++) {
        struct MPIR_Process_request *request = MPIR_Process_inactive(MPIR_Process_handle(handles[i]));
        MPIR_ERR_CHKANDJUMP(!request || request->world, mpi_errno, MPI_ERR_REQUEST, "**processbound");
        mpi_errno = MPIR_Process_world_check_args(request->n_args);
        MPIR_ERR_CHECK(mpi_errno);
        request->world = world;
        world->requests[i] = request;
    }
    mpi_errno = MPIR_Dynproc_parent_listen(&world->service, world->parent);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The same on all: an error of the greatest class that one has found, or who holds the requests, and how many. */
static int agree(struct MPIR_Process_world *world, int own_errno)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    const int rank = world->local->rank, own_class = own_errno ? MPIR_ERR_GET_CLASS(own_errno) : MPI_SUCCESS;
    bool holds = world->n > 0;
    /* the holder's rank as a maximum, and as its own negative */
    int mine[4] = { own_class, holds ? rank : -1, holds ? -rank : -INT_MAX, world->n }, all[4];

    mpi_errno = MPIR_Allreduce(mine, all, 4, MPI_INT, MPI_MAX, world->local, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = own_errno;
    if (!mpi_errno && all[0])
        mpi_errno = MPIR_Dynproc_error_elsewhere(all[0]);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(all[1] < 0 || all[1] != -all[2], mpi_errno, MPI_ERR_REQUEST, "**processbound");
    world->holder = all[1];
    world->n = all[3];

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int make_stub(struct MPIR_Process_world *world)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = MPIR_Get_contextid_sparse(world->local, &world->context_id, FALSE);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Sched_next_tag(world->local, &world->tag);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Dynproc_gather_bcs(world->local, world->holder, world->lines, &world->bcs);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPID_Dynproc_stub(world->local, true, world->context_id, world->n, &world->stub);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Dynproc_lines_make(world->lines, world->stub, false, NULL);
    world->stub->revoked = 1;
    if (!is_holder(world))
        mpi_errno = receive(world, 0, world->head, 3, MPI_INT);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Comm_parent_create_impl(MPIR_Comm * local, int n, const MPI_Request handles[], MPIR_Comm ** intercomm)
{
    int mpi_errno = MPI_SUCCESS, own_errno = MPI_SUCCESS;
    struct MPIR_Process_world *world = MPL_calloc(1, sizeof(*world), MPL_MEM_OTHER);

    MPIR_ERR_CHKANDJUMP(!world, mpi_errno, MPI_ERR_OTHER, "**nomem");
    world->local = local;
    world->n = MPL_MAX(n, 0);
    world->lines = MPIR_Dynproc_lines_new();
    MPIR_Assertp(world->lines);
    if (n < 0)
        MPIR_ERR_SET1(own_errno, MPI_ERR_COUNT, "**countneg", "**countneg %d", n);
    else if (n > 0)
        own_errno = hold(world, handles);
    mpi_errno = agree(world, own_errno);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = make_stub(world);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Comm_add_ref(local);
    MPIR_Dynproc_at_finalize();
    (void) MPID_Dynproc_answer_from_now_on();
#if defined HAVE_ERROR_CHECKING && HAVE_ERROR_CHECKING == MPID_ERROR_LEVEL_RUNTIME
    MPIR_Process.do_error_checks = 1;   /* by which those who use it come here */
#endif
    world->next = worlds;
    worlds = world;
    *intercomm = world->stub;
    MPIR_Dynproc_start_polling();

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (world) {
        unbind(world);
        stop_listening(world);
        free_world(world);
    }
    goto fn_exit;
}
