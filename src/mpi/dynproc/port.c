/*
 * Port requests, and MPIX_Server_connect.  DN2, DN3, DN5, DN6.
 *
 * On rank 0 a call waits in the queue of its service, and accepts clients as they arrive; the
 * others are notified by events.
 */

#include "dynproc_events.h"
#include "dynproc_service.h"

struct MPIR_Dynproc_call {
    int n, left;                /* number of requests, of active ones */
    struct MPIR_Dynproc_request **requests;     /* NULL: ended */
    MPIX_Key_function *welcome;
    void *extra_state;
    struct MPIR_Dynproc_key_fortran fortran;    /* extra_state, of a key function of Fortran's */
    bool all_cancelled;
    struct MPIR_Dynproc_events *events;
    struct MPIR_Dynproc_service *service;       /* rank 0 */
    struct MPIR_Dynproc_call *next;
};

static void free_call(struct MPIR_Dynproc_call *call)
{
    MPL_free(call->requests);
    MPL_free(call);
}

static void end_request(struct MPIR_Dynproc_call *call, int index, enum MPIR_Dynproc_state state,
                        int error)
{
    struct MPIR_Dynproc_request *request = call->requests[index];

    call->requests[index] = NULL;
    call->left--;
    call->all_cancelled = call->all_cancelled && state == MPIR_DYNPROC_CANCELLED;
    MPIR_Dynproc_request_end(request, state, error);
}

/* ---- rank 0 ---------------------------------------------------------------------------------- */

static void leave_line(struct MPIR_Dynproc_call *call)
{
    struct MPIR_Dynproc_call **cursor = &call->service->calls;

    while (*cursor != call)
        cursor = &(*cursor)->next;
    *cursor = call->next;
    if (call->all_cancelled && !call->service->calls)
        MPIR_Dynproc_service_close(call->service);
    free_call(call);
}

static void decide(struct MPIR_Dynproc_call *call, int index, enum MPIR_Dynproc_state state)
{
    MPIR_Dynproc_events_send(call->events, index, state, MPI_SUCCESS);
    end_request(call, index, state, MPI_SUCCESS);
    if (!call->left)
        leave_line(call);
}

static void cancel(struct MPIR_Dynproc_request *request)
{
    decide(request->owner, request->index, MPIR_DYNPROC_CANCELLED);
}

static int first_active(const struct MPIR_Dynproc_call *call)
{
    int i = 0;

    while (!call->requests[i])
        i++;
    return i;
}

static bool take_one(struct MPIR_Dynproc_service *service)
{
    struct MPIR_Dynproc_call *call = service->calls;
    struct MPIR_Dynproc_link *link =
        call ? MPIR_Dynproc_service_take(service, call->welcome, call->extra_state) : NULL;

    if (!link)
        return false;
    int i = first_active(call);
    call->requests[i]->link = link;
    decide(call, i, MPIR_DYNPROC_TAKEN);
    return true;
}

/* Services without waiting calls are not polled: their clients wait in the system's queue. */
bool MPIR_Dynproc_poll_services(void)
{
    bool more = false;

    for (struct MPIR_Dynproc_service * service = MPIR_Dynproc_services, *next; service;
         service = next) {
        next = service->next;
        if (!service->calls)
            continue;
        MPIR_Dynproc_service_poll(service);
        while (take_one(service));
        more = more || service->calls;
    }
    return more;
}

static void stand_in_line(struct MPIR_Dynproc_call *call, struct MPIR_Dynproc_service *service)
{
    struct MPIR_Dynproc_call **cursor = &service->calls;

    call->service = service;
    while (*cursor)
        cursor = &(*cursor)->next;
    *cursor = call;
    MPIR_Dynproc_start_polling();
}

/* ---- the other ranks ------------------------------------------------------------------------- */

static void fail_all(struct MPIR_Dynproc_call *call, int error)
{
    for (int i = 0; i < call->n; i++) {
        if (call->requests[i])
            end_request(call, i, MPIR_DYNPROC_FAILED, error);
    }
}

static void apply(void *owner, const struct MPIR_Dynproc_event *event)
{
    struct MPIR_Dynproc_call *call = owner;
    int error = MPIR_Dynproc_event_error(event);

    if (!event) {
        fail_all(call, error);
    } else {
        MPIR_Assertp(event->index >= 0 && event->index < call->n && call->requests[event->index]);
        end_request(call, event->index, event->state, error);
    }
    if (!call->left)
        free_call(call);
}

/* ---- MPIX_Iaccept ---------------------------------------------------------------------------- */

static int make_requests(struct MPIR_Dynproc_call *call, MPIR_Comm * comm, int tag)
{
    int mpi_errno = MPI_SUCCESS;

    for (int i = 0; i < call->n; i++) {
        mpi_errno = MPIR_Dynproc_request_make(comm, true, tag, i, &call->requests[i]);
        MPIR_ERR_CHECK(mpi_errno);
        call->requests[i]->cancel = cancel;
        call->requests[i]->owner = call;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int make_call(MPIR_Comm * comm, int n, struct MPIR_Dynproc_call **made)
{
    int mpi_errno = MPI_SUCCESS, tag;
    struct MPIR_Dynproc_call *call = MPL_calloc(1, sizeof(*call), MPL_MEM_OTHER);

    MPIR_ERR_CHKANDJUMP(!call, mpi_errno, MPI_ERR_OTHER, "**nomem");
    call->n = call->left = n;
    call->all_cancelled = true;
    call->requests = MPL_calloc((size_t) n, sizeof(*call->requests), MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!call->requests, mpi_errno, MPI_ERR_OTHER, "**nomem");
    mpi_errno = MPIR_Sched_next_tag(comm, &tag);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = make_requests(call, comm, tag);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Dynproc_events_open(comm, tag, n, apply, call, &call->events);
    MPIR_ERR_CHECK(mpi_errno);
    *made = call;

  fn_exit:
    return mpi_errno;
  fn_fail:
    for (int i = 0; call && call->requests && i < n; i++) {
        if (call->requests[i])
            MPIR_Dynproc_request_drop(call->requests[i]);
    }
    if (call)
        free_call(call);
    goto fn_exit;
}

/* The name is not available: the call fails here, and the requests of the other processes fail. */
static void give_up(struct MPIR_Dynproc_call *call, int error)
{
    for (int i = 0; i < call->n; i++) {
        struct MPIR_Dynproc_request *request = call->requests[i];
        MPIR_Dynproc_events_send(call->events, i, MPIR_DYNPROC_FAILED, error);
        end_request(call, i, MPIR_DYNPROC_FAILED, error);
        MPIR_Dynproc_request_drop(request);
    }
    free_call(call);
}

static void keep_key_function(struct MPIR_Dynproc_call *call, MPIX_Key_function * welcome,
                              void *extra_state)
{
    call->welcome = welcome;
    call->extra_state = extra_state;
    if (welcome == MPIR_Dynproc_call_fortran_key) {
        call->fortran = *(struct MPIR_Dynproc_key_fortran *) extra_state;
        call->extra_state = &call->fortran;
    }
}

int MPIR_Iaccept_impl(MPIR_Comm * comm, const char *name, MPIX_Key_function * welcome,
                      void *extra_state, int n, MPI_Request requests[])
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Dynproc_call *call = NULL;
    struct MPIR_Dynproc_service *service = NULL;

    MPIR_ERR_CHKANDJUMP1(n < 0, mpi_errno, MPI_ERR_COUNT, "**countneg", "**countneg %d", n);
    MPIR_ERR_CHKANDJUMP1(n > MPIR_DYNPROC_PORTS, mpi_errno, MPI_ERR_COUNT, "**dynproctoomany",
                         "**dynproctoomany %d", n);
    if (n == 0)
        goto fn_exit;
    MPIR_ERR_CHKANDJUMP1(!requests, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s",
                         "array_of_requests");
    mpi_errno = make_call(comm, n, &call);
    MPIR_ERR_CHECK(mpi_errno);
    if (comm->rank == 0) {
        keep_key_function(call, welcome, extra_state);
        mpi_errno = MPIR_Dynproc_service_open(name, &service);
        if (mpi_errno)
            give_up(call, mpi_errno);
        MPIR_ERR_CHECK(mpi_errno);
        stand_in_line(call, service);
    }
    for (int i = 0; i < n; i++)
        requests[i] = call->requests[i]->handle->handle;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- MPIX_Server_connect --------------------------------------------------------------------- */

/* A client that ends before it has sent its hello is skipped. */
static int serve_one(const char *name, struct MPIR_Dynproc_attach *attach)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Dynproc_service *service;
    struct MPIR_Dynproc_link *link;
    bool is_served = false;

    mpi_errno = MPIR_Dynproc_service_open(name, &service);
    MPIR_ERR_CHECK(mpi_errno);
    struct MPIR_Dynproc_wait wait = {.fd = service->fd };
    while (!is_served) {
        MPIR_Dynproc_service_poll(service);
        link = MPIR_Dynproc_service_take(service, NULL, NULL);
        if (link) {
            is_served = MPIR_Dynproc_attach_exchange(attach, link) == MPI_SUCCESS;
            continue;
        }
        mpi_errno = MPIR_Dynproc_pause(&wait);
        MPIR_ERR_CHECK(mpi_errno);
        /* another thread may have cancelled the last port request of this name */
        mpi_errno = MPIR_Dynproc_service_open(name, &service);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Server_connect_impl(MPIR_Comm * comm, const char *name, MPIR_Comm ** newcomm)
{
    return MPIR_Dynproc_attach(comm, MPIR_DYNPROC_SERVER, serve_one, name, newcomm);
}
