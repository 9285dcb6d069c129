/*
 * Process requests as MPI_Request (SPEC DA1, DA4-DA8, DA10, DA11): their table, their stages, and
 * their end.
 *
 * The user's handle is a persistent receive whose operation represents the next stage to report to
 * the program.  While the handle waits for a slot or for its process it has an operation, and is
 * active; with a slot but no process it has none.  Reached and reported stages are counted
 * separately, so each is reported once, in order.  With the last one the handle changes to a kind
 * that is not persistent, and ends as any other.
 *
 * State: all process requests, in a table by handle and by number.  The thread that holds the
 * library's critical section owns it.
 */

#include "process.h"
#include "dynproc.h"
#include <sys/utsname.h>

#define BUCKETS 1024
/* A stage is returned in the tag of a status, as a number that is no valid tag. */
#define STAGE_TAG(stage) (-0x53540 - (int) (stage))

int MPIR_Process_requests = 0;
static struct MPIR_Process_request *by_number[BUCKETS], *by_handle[BUCKETS];
static uint32_t last_number;

/* ---- table ---- */

static unsigned bucket_of(const MPIR_Request * handle)
{
    return (unsigned) HANDLE_INDEX(handle->handle) % BUCKETS;
}

struct MPIR_Process_request *MPIR_Process_request_find(const MPIR_Request * handle)
{
    struct MPIR_Process_request *request = by_handle[bucket_of(handle)];

    while (request && request->handle != handle)
        request = request->next_by_handle;
    return request;
}

static struct MPIR_Process_request *find_number(uint32_t number)
{
    struct MPIR_Process_request *request = by_number[number % BUCKETS];

    while (request && request->number != number)
        request = request->next_by_number;
    return request;
}

static void list_process_request(struct MPIR_Process_request *request)
{
    request->next_by_number = by_number[request->number % BUCKETS];
    by_number[request->number % BUCKETS] = request;
    request->next_by_handle = by_handle[bucket_of(request->handle)];
    by_handle[bucket_of(request->handle)] = request;
    MPIR_Process_requests++;
}

void MPIR_Process_free_args(struct MPIR_Process_request *request)
{
    for (int i = 0; i < request->n_args; i++)
        MPL_free(request->args[i]);
    MPL_free(request->args);
    request->args = NULL;
    request->n_args = 0;
}

/* Removes the request; the caller owns the handle. */
static void process_request_release(struct MPIR_Process_request *request)
{
    struct MPIR_Process_request **cursor = &by_number[request->number % BUCKETS];

    if (request->world)
        MPIR_Process_world_failed(request);

    while (*cursor != request)
        cursor = &(*cursor)->next_by_number;
    *cursor = request->next_by_number;
    cursor = &by_handle[bucket_of(request->handle)];
    while (*cursor != request)
        cursor = &(*cursor)->next_by_handle;
    *cursor = request->next_by_handle;
    MPIR_Process_free_args(request);
    MPL_free(request->executable);
    MPL_free(request->host);
    MPL_free(request->info);
    MPL_free(request->error);
    MPL_free(request);
    MPIR_Process_requests--;
}

/* ---- stages ---- */

static bool is_process_over(const struct MPIR_Process_request *request)
{
    return request->cancelled || (request->come == PMI_TASK_EXITED && (request->error ||
                                                                      request->reported ==
                                                                          PMI_TASK_STARTED));
}

/* Sets the data that MPI_Wait returns for the next stage. */
static void fill_status(struct MPIR_Process_request *request, MPI_Status * status)
{
    int mpi_errno = MPI_SUCCESS;
    bool over = is_process_over(request);

    MPIR_Status_set_empty(status);
    status->MPI_TAG =
        request->cancelled ? MPI_ANY_TAG : STAGE_TAG(over ? PMI_TASK_EXITED : request->reported +
                                                     1);
    status->MPI_SOURCE = over && !request->cancelled ? (int) request->code : MPIX_PROC_RUNNING;
    MPIR_STATUS_SET_CANCEL_BIT(*status, request->cancelled);
    if (request->cancelled && request->error)
        MPIR_ERR_SET1(mpi_errno, MPIX_ERR_ALLOCATE, "**processallocate", "**processallocate %s",
                      request->error);
    else if (over && request->error)
        MPIR_ERR_SET1(mpi_errno, MPI_ERR_SPAWN, "**processspawn", "**processspawn %s",
                      request->error);
    status->MPI_ERROR = mpi_errno;
}

/* Completes the operation if its stage has been reached. */
static void poll_process_request(struct MPIR_Process_request *request)
{
    if (!request->operation || MPIR_Request_is_complete(request->operation))
        return;
    if (!request->cancelled && request->come <= request->reported)
        return;
    fill_status(request, &request->operation->status);
    MPIR_Request_complete(request->operation);
}

/* Makes the request active until the next stage. */
static int activate(struct MPIR_Process_request *request)
{
    int mpi_errno = MPI_SUCCESS;

    request->operation = MPIR_Request_create(MPIR_REQUEST_KIND__COLL);
    MPIR_ERR_CHKANDJUMP(!request->operation, mpi_errno, MPI_ERR_OTHER, "**nomem");
    MPIR_Request_add_ref(request->operation);   /* one for the completing function */
    request->handle->u.persist.real_request = request->operation;
    request->handle->cc_ptr = &request->operation->cc;
    poll_process_request(request);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIR_Process_request_reported(struct MPIR_Process_request *request)
{
    bool over = is_process_over(request);

    request->operation = NULL;
    if (over) {
        request->handle->kind = MPIR_REQUEST_KIND__RMA; /* the caller frees it */
        process_request_release(request);
        return;
    }
    request->reported++;
    if (request->reported == PMI_TASK_STARTED) {
        int mpi_errno = activate(request);
        MPIR_Assertp(mpi_errno == MPI_SUCCESS);
    }
}

int MPIR_Process_mark_started(struct MPIR_Process_request *request)
{
    request->started = true;
    return activate(request);
}

void MPIR_Process_take_event(const struct MPIR_Process_event *event)
{
    struct MPIR_Process_request *request = find_number(event->number);

    if (request && request->world && event->stage == PMI_TASK_EXITED) {
        /* the process may have initialised MPI before it ended */
        MPIR_Process_world_poll(request->world);
        request = find_number(event->number);
    }
    if (!request || (event->stage == PMI_TASK_STARTED && (request->world || request->error)))
        /* freed meanwhile; or not initialised yet; or its world has failed before */
        return;
    switch (event->stage) {
        case PMI_TASK_CANCELLED:
            request->cancelled = true;
            if (*event->text)
                request->error = MPL_strdup(event->text);
            break;
        case PMI_TASK_ALLOCATED:
            request->host = MPL_strdup(event->text);
            request->info = MPL_strdup(event->info);
            break;
        case PMI_TASK_STARTED:
            break;
        case PMI_TASK_EXITED:
            request->code = event->code;
            if (*event->text)
                request->error = MPL_strdup(event->text);
            break;
    }
    if (request->world && event->stage == PMI_TASK_EXITED) {
        if (!request->error && request->come < PMI_TASK_STARTED)
            request->error = MPL_strdup("it has ended before it had initialised MPI");
        MPIR_Process_world_failed(request);
    }
    MPIR_Process_reach(request, event->stage);
}

void MPIR_Process_reach(struct MPIR_Process_request *request, enum pmi_task_stage stage)
{
    request->come = MPL_MAX(request->come, stage);
    if (request->is_freed)
        (void) MPIR_Process_request_free(request);
    else
        poll_process_request(request);
}

/* ---- new requests ---- */

static int make_process_request(uint32_t number)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Process_request *request = MPL_calloc(1, sizeof(*request), MPL_MEM_OTHER);

    MPIR_ERR_CHKANDJUMP(!request, mpi_errno, MPI_ERR_OTHER, "**nomem");
    request->number = number;
    request->handle = MPIR_Request_create(MPIR_REQUEST_KIND__PREQUEST_RECV);
    MPIR_ERR_CHKANDJUMP(!request->handle, mpi_errno, MPI_ERR_OTHER, "**nomem");
    request->handle->comm = MPIR_Process.comm_self;
    if (request->handle->comm)
        MPIR_Comm_add_ref(request->handle->comm);
    MPID_Dynproc_init_handle(request->handle);
    list_process_request(request);
    mpi_errno = activate(request);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Frees a handle that no caller waits for. */
static void drop_handle(struct MPIR_Process_request *request)
{
    MPIR_Request *handle = request->handle, *operation = request->operation;

    if (operation && !MPIR_Request_is_complete(operation))
        MPIR_Request_complete(operation);
    if (operation)
        MPIR_Request_free(operation);
    process_request_release(request);
    MPIR_Request_free(handle);
}

int MPIR_Iallocate_impl(int n, const char *global, const char *const locals[], const char *arch,
                        const char *const hosts[], int hardness, MPI_Request requests[])
{
    int mpi_errno = MPI_SUCCESS, made = 0;
    uint32_t first = last_number + 1;
    struct utsname machine;

    MPIR_ERR_CHKANDJUMP1(n < 0, mpi_errno, MPI_ERR_COUNT, "**countneg", "**countneg %d", n);
    MPIR_ERR_CHKANDJUMP(n > PMI_TASKS_MAX, mpi_errno, MPIX_ERR_ALLOCATE, "**processmany");
    MPIR_ERR_CHKANDJUMP(hardness != MPIX_SOFT &&
                        hardness != MPIX_HARD, mpi_errno, MPI_ERR_ARG, "**processhardness");
    MPIR_ERR_CHKANDJUMP1(n > 0 && !requests, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s",
                         "array_of_requests");
    MPIR_ERR_CHKANDJUMP1(!arch, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s", "arch_type");
    MPIR_ERR_CHKANDJUMP1(!MPIR_Session_find_proxy(), mpi_errno, MPIX_ERR_ALLOCATE,
                         "**processallocate", "**processallocate %s",
                         "the process was not started by this MPI's mpiexec");
    MPIR_ERR_CHKANDJUMP1(strcmp(arch, MPIX_ANYWHERE) && (uname(&machine) < 0 ||
                          strcmp(arch, machine.machine)), mpi_errno, MPIX_ERR_ALLOCATE,
                         "**processallocate", "**processallocate %s",
                         "all hosts of a job have the architecture of this one (uname -m)");
    last_number += (uint32_t) n;
    /* before the call, because a slot may be allocated before it returns */
    for (; made < n; made++) {
        mpi_errno = make_process_request(first + (uint32_t) made);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno =
        MPIR_Process_call_allocate(first, n, global, locals, arch, hosts, hardness == MPIX_HARD);
    MPIR_ERR_CHECK(mpi_errno);
    if (n > 0)
        mpi_errno = MPIR_Process_listen();
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < n; i++)
        MPIR_OBJ_PUBLISH_HANDLE(requests[i], find_number(first + (uint32_t) i)->handle->handle);

  fn_exit:
    return mpi_errno;
  fn_fail:
    for (int i = 0; i < made; i++)
        drop_handle(find_number(first + (uint32_t) i));
    goto fn_exit;
}

MPIR_Request *MPIR_Process_handle(MPI_Request request)
{
    MPIR_Request *handle = NULL;

    if (request != MPI_REQUEST_NULL && HANDLE_GET_MPI_KIND(request) == MPIR_REQUEST)
        MPIR_Request_get_ptr(request, handle);
    return handle;
}

/* ---- the end ---- */

int MPIR_Process_request_cancel(struct MPIR_Process_request *request)
{
    return request->come == PMI_TASK_CANCELLED &&
        !request->cancelled ? MPIR_Process_call_cancel(request->number) : MPI_SUCCESS;
}

int MPIR_Process_request_free(struct MPIR_Process_request *request)
{
    /* If an event of the request arrives while the call below waits for its reply, it must not free
     * it, too. */
    request->is_freed = MPIR_Process_world_awaits(request);
    if (request->is_freed)
        return MPI_SUCCESS;
    int mpi_errno = MPIR_Process_call_release(request->number);
    drop_handle(request);
    return mpi_errno;
}

/* ---- status ---- */

int MPIR_Process_get_stage_impl(const MPI_Status * status, int *stage)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP(!stage || !status || status == MPI_STATUS_IGNORE ||
                        status->MPI_TAG > STAGE_TAG(MPIX_STAGE_ALLOCATED) ||
                        status->MPI_TAG < STAGE_TAG(MPIX_STAGE_EXITED), mpi_errno, MPI_ERR_ARG,
                        "**processstatus");
    *stage = STAGE_TAG(status->MPI_TAG);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Process_get_return_code_impl(const MPI_Status * status, int *code)
{
    int mpi_errno = MPI_SUCCESS, stage;

    MPIR_ERR_CHKANDJUMP(!code, mpi_errno, MPI_ERR_ARG, "**processstatus");
    mpi_errno = MPIR_Process_get_stage_impl(status, &stage);
    MPIR_ERR_CHECK(mpi_errno);
    *code = status->MPI_SOURCE;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
