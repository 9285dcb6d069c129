/*
 * Queries that get their reply while the program continues: progress polls the count of replies,
 * fetches the reply and completes the request.  For MPIX_Session_iget_pset_data (SD2), and the
 * functions of session_request.c.
 *
 * The thread that holds the library's critical section owns the state.  session_call.c bounds the
 * number of pending queries.
 */

#include "session.h"

struct later {
    struct MPIR_Session_sent sent;
    int (*take) (struct MPIR_Session_answer * answer, void *state);
    void *state;
    MPIR_Request *request;
    struct later *next;
};

static struct later *under_way;
static int hook_id = -1;

/* Completes the request with the reply, or with an error, which its completion returns. */
static void complete(struct later *later, struct MPIR_Session_answer *answer, int mpi_errno)
{
    if (!mpi_errno)
        mpi_errno = later->take(answer, later->state);
    MPIR_Session_answer_free(answer);
    MPL_free(later->state);
    later->request->status.MPI_ERROR = mpi_errno;
    MPIR_Request_complete(later->request);
}

static int poll_requests(int *made_progress)
{
    struct MPIR_Session_answer answer;
    bool is_complete;

    for (struct later ** cursor = &under_way; *cursor;) {
        struct later *later = *cursor;
        int mpi_errno = MPIR_Session_call_test(&later->sent, &answer, &is_complete);
        if (!is_complete) {
            cursor = &later->next;
            continue;
        }
        *cursor = later->next;
        complete(later, &answer, mpi_errno);
        MPL_free(later);
        *made_progress = 1;
    }
    if (!under_way)
        MPIR_Progress_hook_deactivate(hook_id);
    return MPI_SUCCESS;
}

/* The library's progress polls from now on. */
static int await(struct later *later)
{
    int mpi_errno = MPI_SUCCESS;

    if (hook_id < 0)
        mpi_errno = MPIR_Progress_hook_register(poll_requests, &hook_id);
    MPIR_ERR_CHECK(mpi_errno);
    later->next = under_way;
    under_way = later;
    MPIR_Progress_hook_activate(hook_id);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_call_start(struct MPIR_Session_call *call,
                            int (*take)(struct MPIR_Session_answer * answer, void *state),
                            void *state, MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    struct later *later = MPL_calloc(1, sizeof(*later), MPL_MEM_OTHER);
    MPIR_Request *req = MPIR_Request_create(MPIR_REQUEST_KIND__COLL);

    call->waits = true;
    if (!later || !req || !MPIR_Session_call_has_capacity(call))
        MPIR_Session_call_free(call);
    MPIR_ERR_CHKANDJUMP(!later || !req || !state, mpi_errno, MPI_ERR_OTHER, "**nomem");
    MPIR_ERR_CHKANDJUMP(!MPIR_Session_call_has_capacity(call), mpi_errno, MPI_ERR_NO_MEM,
                        "**psetigets");
    mpi_errno = MPIR_Session_call_send(call, &later->sent);
    MPIR_ERR_CHECK(mpi_errno);
    later->take = take;
    later->state = state;
    later->request = req;
    MPIR_Request_add_ref(req);
    mpi_errno = await(later);
    /* there is a slot for one more hook than the library uses */
    MPIR_Assert(mpi_errno == MPI_SUCCESS);
    *request = req;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(state);
    MPL_free(later);
    if (req)
        MPIR_Request_free(req);
    goto fn_exit;
}

/* ---- data of a set --------------------------------------------------------------------------- */

struct iget {
    MPI_Info *data;             /* owned by the caller */
};

static int take_data(struct MPIR_Session_answer *answer, void *state)
{
    MPIR_Info *info = NULL;
    int mpi_errno = MPIR_Session_read_data(answer, &info);

    if (info)
        *((struct iget *) state)->data = info->handle;
    return mpi_errno;
}

int MPIR_Session_iget_pset_data_impl(MPIR_Session * session, const char *coll_pset,
                                     const char *name, const char *const keys[], int nkeys,
                                     int wait, MPI_Info * data, MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call = { 0 };
    struct iget *iget;

    *data = MPI_INFO_NULL;
    mpi_errno = MPIR_Session_write_get(&call, session, coll_pset, name, keys, nkeys, wait);
    MPIR_ERR_CHECK(mpi_errno);
    iget = MPL_malloc(sizeof(*iget), MPL_MEM_OTHER);
    if (iget)
        iget->data = data;
    mpi_errno = MPIR_Session_call_start(&call, take_data, iget, request);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
