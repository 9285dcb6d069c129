/*
 * MPIX_Session_iget_pset_data: a question that is answered while the program goes on.  Progress looks whether the count
 * of answers has changed, fetches the answer and completes the request.  SD2.
 *
 * Owned by whichever thread holds the library's critical section.  What is under way is bounded by session_call.c.
 */

#include "session.h"

struct iget {
    struct MPIR_Session_sent sent;
    MPI_Info *data;             /* of the caller */
    MPIR_Request *request;
    struct iget *next;
};

static struct iget *igets;
static int hook_id = -1;

/* With the answer, or an error, which the request's completion returns. */
static void complete(struct iget *iget, struct MPIR_Session_answer *answer, int mpi_errno)
{
    MPIR_Info *info = NULL;

    if (!mpi_errno)
        mpi_errno = MPIR_Session_read_data(answer, &info);
    MPIR_Session_answer_free(answer);
    if (info)
        *iget->data = info->handle;
    iget->request->status.MPI_ERROR = mpi_errno;
    MPIR_Request_complete(iget->request);
}

static int look(int *made_progress)
{
    struct MPIR_Session_answer answer;
    bool is_complete;

    for (struct iget ** place = &igets; *place;) {
        struct iget *iget = *place;
        int mpi_errno = MPIR_Session_call_test(&iget->sent, &answer, &is_complete);
        if (!is_complete) {
            place = &iget->next;
            continue;
        }
        *place = iget->next;
        complete(iget, &answer, mpi_errno);
        MPL_free(iget);
        *made_progress = 1;
    }
    if (!igets)
        MPIR_Progress_hook_deactivate(hook_id);
    return MPI_SUCCESS;
}

/* The library's progress looks from now on. */
static int await(struct iget *iget)
{
    int mpi_errno = MPI_SUCCESS;

    if (hook_id < 0)
        mpi_errno = MPIR_Progress_hook_register(look, &hook_id);
    MPIR_ERR_CHECK(mpi_errno);
    iget->next = igets;
    igets = iget;
    MPIR_Progress_hook_activate(hook_id);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_iget_pset_data_impl(MPIR_Session * session, const char *coll_pset, const char *name,
                                     const char *const keys[], int nkeys, int wait, MPI_Info * data,
                                     MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call = { 0 };
    struct iget *iget = NULL;
    MPIR_Request *req = NULL;

    *data = MPI_INFO_NULL;
    mpi_errno = MPIR_Session_write_get(&call, session, coll_pset, name, keys, nkeys, wait);
    MPIR_ERR_CHECK(mpi_errno);
    call.waits = true;
    iget = MPL_calloc(1, sizeof(*iget), MPL_MEM_OTHER);
    req = MPIR_Request_create(MPIR_REQUEST_KIND__COLL);
    if (!iget || !req || !MPIR_Session_call_has_room(&call))
        MPL_free(call.bytes);
    MPIR_ERR_CHKANDJUMP(!iget || !req, mpi_errno, MPI_ERR_OTHER, "**nomem");
    MPIR_ERR_CHKANDJUMP(!MPIR_Session_call_has_room(&call), mpi_errno, MPI_ERR_NO_MEM, "**psetigets");
    mpi_errno = MPIR_Session_call_send(&call, &iget->sent);
    MPIR_ERR_CHECK(mpi_errno);
    iget->data = data;
    iget->request = req;
    MPIR_Request_add_ref(req);
    mpi_errno = await(iget);
    MPIR_Assert(mpi_errno == MPI_SUCCESS);      /* there is a place for one hook more than the library has */
    *request = req;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(iget);
    if (req)
        MPIR_Request_free(req);
    goto fn_exit;
}
