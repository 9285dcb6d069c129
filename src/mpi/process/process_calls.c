/*
 * Messages about process requests to and from the step manager, as calls of process sets
 * (pmi_adapt_set.h): while there are process requests, one query for events is pending, and gets
 * its reply when there are events.
 *
 * State: whether that query is pending.  The thread that holds the library's critical section owns
 * it.
 */

#include "process.h"
#include "connect_board.h"
#include "mpid_dynproc.h"
#include "mpir_process_request.h"
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define POLLS 100               /* number of polls without result before a process sleeps */
#define SLEEP_MAX_MS 16         /* max delay of messages of other processes */

static bool listening;

static bool is_short(const char *text)
{
    return strlen(text) <= PMI_TASK_TEXT_MAX;
}

static bool are_short(const char *const texts[], int n)
{
    for (int i = 0; texts && i < n; i++) {
        if (!texts[i] || !is_short(texts[i]))
            return false;
    }
    return true;
}

int MPIR_Process_call_allocate(uint32_t first, int n, const char *global,
                               const char *const locals[], const char *arch,
                               const char *const hosts[], bool hard)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;

    MPIR_ERR_CHKANDJUMP(!is_short(arch) || (global && !is_short(global)) || !are_short(locals, n) ||
                        !are_short(hosts, n), mpi_errno, MPI_ERR_ARG, "**processtext");
    MPIR_Session_write_task_allocate(&call, first, (uint32_t) n, hard, arch, global ? global : "",
                                     locals, locals ? (uint32_t) n : 0, hosts,
                                     hosts ? (uint32_t) n : 0);
    mpi_errno = MPIR_Session_call_notify(&call);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Process_call_start(uint32_t number, const char *executable, char *const args[], int n)
{
    struct MPIR_Session_call call;

    MPIR_Session_write_task_start(&call, number, executable, args, (uint32_t) n);
    return MPIR_Session_call_notify(&call);
}

int MPIR_Process_call_start_world(const char *parent, int n,
                                  struct MPIR_Process_request *const requests[])
{
    struct MPIR_Session_call call;

    MPIR_Session_write_task_start_world(&call, parent, (uint32_t) n);
    for (int i = 0; i < n; i++)
        MPIR_Session_write_task_start_world_member(&call, requests[i]->number,
                                                   requests[i]->executable, requests[i]->args,
                                                   (uint32_t) requests[i]->n_args);
    return MPIR_Session_call_notify(&call);
}

int MPIR_Process_call_cancel(uint32_t number)
{
    struct MPIR_Session_call call;

    MPIR_Session_write_task_cancel(&call, number);
    return MPIR_Session_call_notify(&call);
}

int MPIR_Process_call_release(uint32_t number)
{
    struct MPIR_Session_call call;

    MPIR_Session_write_task_release(&call, number);
    return MPIR_Session_call_notify(&call);
}

int MPIR_Process_call_signal(uint32_t number, const char *name)
{
    struct MPIR_Session_call call;

    MPIR_Session_write_task_signal(&call, number, name);
    return MPIR_Session_call_notify(&call);
}

/* ---- events ---------------------------------------------------------------------------------- */

static int take_events(struct MPIR_Session_answer *answer, void *state)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Process_event *event = MPL_malloc(sizeof(*event), MPL_MEM_OTHER);

    MPIR_ERR_CHKANDJUMP(!event, mpi_errno, MPI_ERR_OTHER, "**nomem");
    listening = false;
    for (uint32_t n = MPIR_Session_answer_number(answer); n > 0 && !answer->bad; n--) {
        event->number = MPIR_Session_answer_number(answer);
        event->stage = (enum pmi_task_stage) MPIR_Session_answer_number(answer);
        event->code = MPIR_Session_answer_number(answer);
        MPIR_Session_answer_text(answer, event->text, PMI_TASK_TEXT_MAX);
        MPIR_Session_answer_text(answer, event->info, MPI_MAX_INFO_VAL);
        if (!answer->bad)
            MPIR_Process_take_event(event);
    }
    if (MPIR_Process_requests > 0)
        mpi_errno = MPIR_Process_listen();
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(event);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Process_listen(void)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    MPIR_Request *answered = NULL;

    if (listening)
        goto fn_exit;
    MPIR_Session_write_task_events(&call);
    mpi_errno =
        MPIR_Session_call_start(&call, take_events, MPL_malloc(1, MPL_MEM_OTHER), &answered);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Request_free(answered);        /* no caller waits for it */
    listening = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- waiting for them ------------------------------------------------------------------------ */

/* Whether all active requests are process requests. */
static bool are_all_ours(int n, MPIR_Request * const requests[])
{
    for (int i = 0; i < n; i++)
        if (requests[i] && MPIR_Request_is_active(requests[i]) &&
            !MPIR_Process_request_of(requests[i]))
            return false;
    return true;
}

/* Whether the caller has to wait. */
static bool wait_on(int n, MPIR_Request * const requests[], bool all)
{
    bool waits = false;

    for (int i = 0; i < n; i++) {
        if (!requests[i] || !MPIR_Request_is_active(requests[i]))
            continue;
        bool complete = MPIR_Request_is_complete(requests[i]);
        if (complete && !all)
            return false;
        waits = waits || !complete;
    }
    return waits;
}

/* Sleeps at most until the proxy replies; other threads continue meanwhile. */
static void sleep_on(const uint32_t * answered, uint32_t seen, int ms)
{
    const struct timespec limit = {.tv_nsec = ms * 1000000L };

    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    syscall(SYS_futex, answered, FUTEX_WAIT, seen, &limit, NULL, 0);
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

/* An event of any of these requests arrives as a reply.  A process that received messages continues
 * to poll. */
int MPIR_Process_await(int n, MPIR_Request * const requests[], bool all)
{
    int mpi_errno = MPI_SUCCESS, in_vain = 0, sleep_ms = 1;
    const uint32_t *answered = MPIR_Board_answered();

    if (!answered || MPIR_CVAR_PROGRESS_YIELD == MPIR_CVAR_PROGRESS_YIELD_never ||
        !are_all_ours(n, requests))
        goto fn_exit;
    while (wait_on(n, requests, all)) {
        uint32_t seen = __atomic_load_n(answered, __ATOMIC_ACQUIRE);
        int before = MPID_Dynproc_progress_count();
        mpi_errno = MPID_Progress_test(NULL);
        MPIR_ERR_CHECK(mpi_errno);
        if (before != MPID_Dynproc_progress_count()) {
            in_vain = 0;
            sleep_ms = 1;
        } else if (++in_vain > POLLS && wait_on(n, requests, all)) {
            sleep_on(answered, seen, MPIR_Process_worlds_start() ? 1 : sleep_ms);
            sleep_ms = MPL_MIN(2 * sleep_ms, SLEEP_MAX_MS);
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
