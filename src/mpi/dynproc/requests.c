/*
 * Port and contact requests as MPI_Request. DN3, DN4, DN6.
 *
 * The user's handle is a persistent request whose operation is a generalized request: MPI_Wait,
 * MPI_Test and similar calls, MPI_Cancel and MPI_Request_free support such a pair, and completion
 * keeps the handle.  This file holds a reference to the handle, so that it is not reused while the
 * request is in its list; if no other reference is left, the user has freed the handle.
 */

#include "dynproc_lines.h"
#include <poll.h>

#define SWEEP_EVERY 256         /* polls */
#define NAP_AFTER 20000         /* polls without a result */
#define SHORT_NAP_AFTER 100     /* if the other processes are known to be present */
#define NAP_MS 1
#define LOOK_EVERY 10e-6        /* seconds between two polls of sockets */

static struct MPIR_Dynproc_request *all;
static int hook_id = -1;
static bool is_at_finalize;
static bool (*poll_also) (void);
static void (*close_also) (void);

int MPIR_Dynproc_error_elsewhere(int errclass)
{
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, errclass,
                                "**dynprocroot", 0);
}

/* ---- callbacks of the generalized request ---------------------------------------------------- */

static int request_query(void *state, MPI_Status * status)
{
    struct MPIR_Dynproc_request *request = state;

    MPIR_STATUS_SET_CANCEL_BIT(*status, request->state == MPIR_DYNPROC_CANCELLED);
    return MPI_SUCCESS;
}

static int request_release(void *state)
{
    return MPI_SUCCESS;
}

/* Rank 0 decides for all; otherwise processes might assign clients to requests differently. */
static int cancel(void *state, int is_complete)
{
    struct MPIR_Dynproc_request *request = state;

    if (!is_complete && request->state == MPIR_DYNPROC_ACTIVE && request->comm->rank == 0)
        request->cancel(request);
    return MPI_SUCCESS;
}

/* ---- the requests ---------------------------------------------------------------------------- */

static int make_handle(struct MPIR_Dynproc_request *request)
{
    int mpi_errno =
        MPIR_Grequest_start_impl(request_query, request_release, cancel, request,
                                 &request->operation);

    MPIR_ERR_CHECK(mpi_errno);
    request->handle = MPIR_Request_create(MPIR_REQUEST_KIND__PREQUEST_SEND);
    MPIR_Comm_add_ref(request->comm);
    request->handle->comm = request->comm;
    request->handle->u.persist.real_request = request->operation;
    request->handle->cc_ptr = &request->operation->cc;
    MPID_Dynproc_init_handle(request->handle);
    MPIR_Request_add_ref(request->handle);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Dynproc_request_make(MPIR_Comm * comm, bool is_server, int number, int index,
                              struct MPIR_Dynproc_request **made)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Dynproc_request *request = MPL_calloc(1, sizeof(*request), MPL_MEM_OTHER);

    MPIR_ERR_CHKANDJUMP(!request, mpi_errno, MPI_ERR_OTHER, "**nomem");
    request->comm = comm;
    request->is_server = is_server;
    request->number = number;
    request->index = index;
    mpi_errno = make_handle(request);
    MPIR_ERR_CHECK(mpi_errno);
    request->next = all;
    all = request;
    *made = request;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(request);
    goto fn_exit;
}

void MPIR_Dynproc_request_end(struct MPIR_Dynproc_request *request, enum MPIR_Dynproc_state state,
                              int error)
{
    MPIR_Request *operation = request->operation;

    request->state = state;
    request->owner = NULL;
    request->operation = NULL;
    operation->status.MPI_ERROR = state == MPIR_DYNPROC_FAILED ? error : MPI_SUCCESS;
    MPIR_Request_complete(operation);
}

struct MPIR_Dynproc_request *MPIR_Dynproc_request_of(MPI_Request handle)
{
    struct MPIR_Dynproc_request *request = all;

    while (request && request->handle->handle != handle)
        request = request->next;
    return request;
}

static void unlist(struct MPIR_Dynproc_request *request)
{
    struct MPIR_Dynproc_request **cursor = &all;

    while (*cursor != request)
        cursor = &(*cursor)->next;
    *cursor = request->next;
    MPIR_Dynproc_link_free(request->link);
    MPIR_Request_free(request->handle);
    MPL_free(request);
}

void MPIR_Dynproc_request_drop(struct MPIR_Dynproc_request *request)
{
    MPIR_Request *handle = request->handle;

    /* complete, but not tested yet */
    if (handle->u.persist.real_request) {
        MPIR_Request_free(handle->u.persist.real_request);
        handle->u.persist.real_request = NULL;
    }
    unlist(request);
    MPIR_Request_free(handle);
}

void MPIR_Dynproc_sweep(void)
{
    for (struct MPIR_Dynproc_request * request = all, *next; request; request = next) {
        next = request->next;
        if (MPIR_Object_get_ref(request->handle) > 1)
            continue;
        if (request->state != MPIR_DYNPROC_ACTIVE)
            unlist(request);
        else if (request->comm->rank == 0)
            request->cancel(request);
    }
}

/* ---- progress -------------------------------------------------------------------------------- */

static bool is_time(void)
{
    static MPL_time_t last;
    static bool was_polled;
    MPL_time_t now;
    double passed = LOOK_EVERY;

    MPL_wtime(&now);
    if (was_polled)
        MPL_wtime_diff(&last, &now, &passed);
    if (passed < LOOK_EVERY)
        return false;
    was_polled = true;
    last = now;
    return true;
}

static int poll_requests(int *made_progress)
{
    static bool polls; /* the functions below make progress, which would call this function again */
    static int count;

    if (polls || !is_time())
        return MPI_SUCCESS;
    polls = true;
    if (++count % SWEEP_EVERY == 0)
        MPIR_Dynproc_sweep();
    bool more = MPIR_Dynproc_poll_services();
    more = MPIR_Dynproc_poll_contacts() || more;
    more = MPIR_Dynproc_poll_events() || more;
    more = (poll_also && poll_also()) || more;
    if (!more)
        MPIR_Progress_hook_deactivate(hook_id);
    polls = false;
    return MPI_SUCCESS;
}

void MPIR_Dynproc_start_polling(void)
{
    if (hook_id < 0) {
        int mpi_errno = MPIR_Progress_hook_register(poll_requests, &hook_id);
        MPIR_Assertp(mpi_errno == MPI_SUCCESS); /* there is a slot for it */
    }
    MPIR_Progress_hook_activate(hook_id);
}

void MPIR_Dynproc_start_polling_by(bool (*poll_function) (void), void (*close_function) (void))
{
    poll_also = poll_function;
    close_also = close_function;
    MPIR_Dynproc_start_polling();
}

int MPIR_Dynproc_pause(struct MPIR_Dynproc_wait *wait)
{
    int mpi_errno = MPID_Progress_test(NULL);

    MPIR_ERR_CHECK(mpi_errno);
    MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    if (++wait->polls > (wait->is_short ? SHORT_NAP_AFTER : NAP_AFTER)) {
        struct pollfd waits_for[] = { {.fd = wait->fd,.events = POLLIN },
            {.fd = wait->is_short ? MPIR_Dynproc_lines_listen_fd() : -1,.events = POLLIN }
        };
        MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        poll(waits_for, 2, NAP_MS);
        MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int close_all(void *unused)
{
    MPIR_Dynproc_sweep();
    if (close_also)
        close_also();
    MPIR_Dynproc_close_services();
    MPIR_Dynproc_release_names();
    is_at_finalize = false;
    return MPI_SUCCESS;
}

void MPIR_Dynproc_at_finalize(void)
{
    if (!is_at_finalize)
        MPIR_Add_finalize(close_all, NULL, MPIR_FINALIZE_CALLBACK_PRIO + 1);
    is_at_finalize = true;
}
