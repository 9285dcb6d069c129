/*
 * What is said about process requests to the step manager, by the lines of process sets (pmi_adapt_set.h), and what it
 * tells: one question for events is under way while there are process requests, and is answered when there are any.
 *
 * State: whether that question is under way; owned by whichever thread holds the library's critical section.
 */

#include "process.h"

static bool listening;

static bool is_short(const char *text)
{
    return strlen(text) <= PMI_TASK_TEXT_MAX;
}

/* n texts, or none. */
static int add_texts(struct MPIR_Session_call *call, const char *const texts[], int n)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_Session_call_number(call, texts ? (uint32_t) n : 0);
    for (int i = 0; texts && i < n; i++) {
        MPIR_ERR_CHKANDJUMP(!texts[i] || !is_short(texts[i]), mpi_errno, MPI_ERR_ARG, "**processtext");
        MPIR_Session_call_text(call, texts[i]);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Process_call_allocate(uint32_t first, int n, const char *global, const char *const locals[], const char *arch,
                               const char *const hosts[], bool hard)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call = { 0 };

    MPIR_ERR_CHKANDJUMP(!arch || !is_short(arch) || (global && !is_short(global)), mpi_errno, MPI_ERR_ARG,
                        "**processtext");
    MPIR_Session_call_begin(&call, PMI_TASK_ALLOCATE);
    MPIR_Session_call_number(&call, first);
    MPIR_Session_call_number(&call, (uint32_t) n);
    MPIR_Session_call_number(&call, hard);
    MPIR_Session_call_text(&call, arch);
    MPIR_Session_call_text(&call, global ? global : "");
    mpi_errno = add_texts(&call, locals, n);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = add_texts(&call, hosts, n);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_call_tell(&call);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPIR_Session_call_free(&call);
    goto fn_exit;
}

int MPIR_Process_call_start(uint32_t number, const char *executable, char *const args[], int n)
{
    struct MPIR_Session_call call;

    MPIR_Session_call_begin(&call, PMI_TASK_START);
    MPIR_Session_call_number(&call, number);
    MPIR_Session_call_text(&call, executable);
    MPIR_Session_call_number(&call, (uint32_t) n);
    for (int i = 0; i < n; i++)
        MPIR_Session_call_text(&call, args[i]);
    return MPIR_Session_call_tell(&call);
}

int MPIR_Process_call_cancel(uint32_t number)
{
    struct MPIR_Session_call call;

    MPIR_Session_call_begin(&call, PMI_TASK_CANCEL);
    MPIR_Session_call_number(&call, number);
    return MPIR_Session_call_tell(&call);
}

int MPIR_Process_call_release(uint32_t number)
{
    struct MPIR_Session_call call;

    MPIR_Session_call_begin(&call, PMI_TASK_RELEASE);
    MPIR_Session_call_number(&call, number);
    return MPIR_Session_call_tell(&call);
}

int MPIR_Process_call_signal(uint32_t number, const char *name)
{
    struct MPIR_Session_call call;

    MPIR_Session_call_begin(&call, PMI_TASK_SIGNAL);
    MPIR_Session_call_number(&call, number);
    MPIR_Session_call_text(&call, name);
    return MPIR_Session_call_tell(&call);
}

/* ---- events -------------------------------------------------------------------------------------------------- */

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
    MPIR_Session_call_begin(&call, PMI_TASK_EVENTS);
    mpi_errno = MPIR_Session_ask_later(&call, take_events, MPL_malloc(1, MPL_MEM_OTHER), &answered);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Request_free(answered);        /* nobody waits for it */
    listening = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
