/*
 * A slot and the process in it, as a program uses them (SPEC DA4-DA8): executable and arguments,
 * data of the slot, start, and signals.
 */

#include "process.h"

/* ---- before the start ---- */

struct MPIR_Process_request *MPIR_Process_inactive(const MPIR_Request * handle)
{
    struct MPIR_Process_request *request = handle ? MPIR_Process_request_of(handle) : NULL;

    return request && request->reported == PMI_TASK_ALLOCATED && !request->started ? request : NULL;
}

int MPIR_Process_set_exec_impl(MPIR_Request * handle, const char *executable)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Process_request *request = MPIR_Process_inactive(handle);
    char *copy;

    MPIR_ERR_CHKANDJUMP(!request, mpi_errno, MPI_ERR_REQUEST, "**processrequest");
    MPIR_ERR_CHKANDJUMP1(!executable, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s",
                         "executable");
    MPIR_ERR_CHKANDJUMP(!*executable || strlen(executable) > PMI_TASK_TEXT_MAX, mpi_errno,
                        MPI_ERR_ARG, "**processtext");
    copy = MPL_strdup(executable);
    MPIR_ERR_CHKANDJUMP(!copy, mpi_errno, MPI_ERR_OTHER, "**nomem");
    MPL_free(request->executable);
    request->executable = copy;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Process_set_args_impl(MPIR_Request * handle, char *const args[])
{
    int mpi_errno = MPI_SUCCESS, n = 0;
    struct MPIR_Process_request *request = MPIR_Process_inactive(handle);
    char **copies = NULL;

    MPIR_ERR_CHKANDJUMP(!request, mpi_errno, MPI_ERR_REQUEST, "**processrequest");
    while (args && args[n] && n < PMI_TASK_ARGUMENTS_MAX && strlen(args[n]) <= PMI_TASK_TEXT_MAX)
        n++;
    MPIR_ERR_CHKANDJUMP(args && args[n], mpi_errno, MPI_ERR_ARG, "**processtext");
    mpi_errno = request->world ? MPIR_Process_world_check_args(n) : MPI_SUCCESS;
    MPIR_ERR_CHECK(mpi_errno);
    copies = MPL_calloc((size_t) n + 1, sizeof(*copies), MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!copies, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < n; i++)
        copies[i] = MPL_strdup(args[i]);
    MPIR_Process_free_args(request);
    request->args = copies;
    request->n_args = n;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Data of the slot; NULL: there is none.  `parameter` is the user's name for `capacity`. */
static int copy_text(const char *text, char *capacity, int bytes, const char *parameter)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP(!text, mpi_errno, MPI_ERR_REQUEST, "**processrequest");
    MPIR_ERR_CHKANDJUMP1(!capacity, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s",
                         parameter);
    MPL_strncpy(capacity, text, bytes);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Process_get_nodename_impl(MPIR_Request * handle, char *host)
{
    struct MPIR_Process_request *request = handle ? MPIR_Process_request_of(handle) : NULL;

    return copy_text(request ? request->host : NULL, host, MPI_MAX_PROCESSOR_NAME, "hostname");
}

int MPIR_Process_get_jsinfo_impl(MPIR_Request * handle, char *info)
{
    struct MPIR_Process_request *request = handle ? MPIR_Process_request_of(handle) : NULL;

    return copy_text(request ? request->info : NULL, info, MPI_MAX_INFO_VAL, "js_dep_info");
}

/* ---- MPI_Start and after ---- */

static int check_start(struct MPIR_Process_request *request, int n, MPIR_Request * const handles[])
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP(!MPIR_Process_inactive(request->handle), mpi_errno, MPI_ERR_REQUEST,
                        "**processrequest");
    MPIR_ERR_CHKANDJUMP(!request->executable, mpi_errno, MPI_ERR_REQUEST, "**processexec");
    MPIR_ERR_CHKANDJUMP(request->world &&
                        !MPIR_Process_world_is_whole(request->world, n, handles), mpi_errno,
                        MPI_ERR_REQUEST, "**processtogether");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int start_process(struct MPIR_Process_request *request)
{
    int mpi_errno = MPI_SUCCESS;

    if (request->started)
        return MPI_SUCCESS;     /* started with its world, which may have failed since */
    if (request->world)
        return MPIR_Process_world_start(request->world);
    mpi_errno =
        MPIR_Process_call_start(request->number, request->executable, request->args,
                                request->n_args);
    return mpi_errno ? mpi_errno : MPIR_Process_mark_started(request);
}

/* Starts no request if one of them cannot be started. */
int MPIR_Process_requests_start(int n, MPIR_Request * handles[])
{
    int mpi_errno = MPI_SUCCESS;

    for (int i = 0; i < n; i++) {
        struct MPIR_Process_request *request = MPIR_Process_request_of(handles[i]);
        mpi_errno = request ? check_start(request, n, handles) : MPI_SUCCESS;
        MPIR_ERR_CHECK(mpi_errno);
    }
    for (int i = 0; i < n; i++) {
        struct MPIR_Process_request *request = MPIR_Process_request_of(handles[i]);
        mpi_errno = request ? start_process(request) : MPID_Startall(1, &handles[i]);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* NULL: the process is not started, or has ended. */
static const struct MPIR_Process_request *running_process(MPI_Request request)
{
    MPIR_Request *handle = MPIR_Process_handle(request);
    const struct MPIR_Process_request *process = handle ? MPIR_Process_request_of(handle) : NULL;

    return process && process->started && process->come != PMI_TASK_EXITED ? process : NULL;
}

int MPIR_Process_signal_impl(int signum, int n, const MPI_Request requests[])
{
    int mpi_errno = MPI_SUCCESS;
    const char *name = pmi_signal_name(signum);
    bool missed = false;

    MPIR_ERR_CHKANDJUMP1(!name, mpi_errno, MPIX_ERR_INVALID_SIGNAL, "**processsignal",
                         "**processsignal %d", signum);
    MPIR_ERR_CHKANDJUMP1(n < 0, mpi_errno, MPI_ERR_COUNT, "**countneg", "**countneg %d", n);
    MPIR_ERR_CHKANDJUMP1(n > 0 && !requests, mpi_errno, MPI_ERR_ARG, "**nullptr", "**nullptr %s",
                         "array_of_requests");
    for (int i = 0; i < n; i++)
        missed = missed || !running_process(requests[i]);
    /* the end of one process may end others, while the first signal is sent: they were running
     * before */
    for (int i = 0; i < n; i++) {
        const struct MPIR_Process_request *request = running_process(requests[i]);
        mpi_errno = request ? MPIR_Process_call_signal(request->number, name) : MPI_SUCCESS;
        MPIR_ERR_CHECK(mpi_errno);
    }
    MPIR_ERR_CHKANDJUMP(missed, mpi_errno, MPI_ERR_REQUEST, "**processstarted");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
