/*
 * Messages of an agreement on a communicator (session_agree.h) that have arrived: those of the same
 * process with the same tag, for all threads that wait for some of them.  These share one receive,
 * so that each gets its messages in the order in which they were sent.  SI8.
 */

#include "session_agree.h"
#include "utlist.h"

static struct MPIR_Agree_inbox *inboxes;

int MPIR_Agree_open_inbox(const struct MPIR_Agree_round *round, int member,
                          struct MPIR_Agree_inbox **opened)
{
    int mpi_errno = MPI_SUCCESS, source, lpid = MPIR_Agree_lpid_of(round, member);
    struct MPIR_Agree_inbox *inbox;

    *opened = NULL;
    mpi_errno = MPIR_Agree_rank_in(round, member, &source);
    MPIR_ERR_CHECK(mpi_errno);
    DL_FOREACH(inboxes, inbox) {
        if (inbox->context_id == (int) round->comm->recvcontext_id && inbox->tag == round->tag &&
            inbox->source == source && inbox->lpid == lpid)
            break;
    }
    if (!inbox) {
        inbox = MPL_calloc(1, sizeof(*inbox), MPL_MEM_OTHER);
        MPIR_ERR_CHKANDJUMP(!inbox, mpi_errno, MPI_ERR_OTHER, "**nomem");
        inbox->context_id = round->comm->recvcontext_id;
        inbox->tag = round->tag;
        inbox->source = source;
        inbox->lpid = lpid;
        DL_APPEND(inboxes, inbox);
    }
    inbox->waiting++;
    *opened = inbox;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

bool MPIR_Agree_take_letter(const struct MPIR_Agree_round *round, struct MPIR_Agree_inbox *inbox,
                            struct MPIR_Agree_message *message)
{
    struct MPIR_Agree_letter *letter;

    DL_FOREACH(inbox->letters, letter) {
        if (MPIR_Agree_is_own(round, &letter->message, letter->bytes))
            break;
    }
    if (!letter)
        return false;
    memcpy(message, &letter->message, letter->bytes);
    DL_DELETE(inbox->letters, letter);
    MPL_free(letter);
    return true;
}

static int post_receive(const struct MPIR_Agree_round *round, struct MPIR_Agree_inbox *inbox)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Agree_letter *letter = MPL_malloc(sizeof(*letter), MPL_MEM_BUFFER);

    MPIR_ERR_CHKANDJUMP(!letter, mpi_errno, MPI_ERR_OTHER, "**nomem");
    mpi_errno =
        MPIC_Irecv(&letter->message, sizeof(letter->message), MPI_BYTE, inbox->source, inbox->tag,
                   round->comm, &inbox->request);
    MPIR_ERR_CHECK(mpi_errno);
    inbox->expected = letter;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(letter);
    goto fn_exit;
}

/* The receive has ended: the waiting threads read its result. */
static int end_receive(struct MPIR_Agree_inbox *inbox)
{
    int mpi_errno = inbox->request->status.MPI_ERROR;
    struct MPIR_Agree_letter *letter = inbox->expected;
    const struct MPIR_Agree_message *message = &letter->message;
    bool cancelled = MPIR_STATUS_GET_CANCEL_BIT(inbox->request->status);

    letter->bytes = MPIR_STATUS_GET_COUNT(inbox->request->status);
    MPIR_Request_free(inbox->request);
    inbox->request = NULL;
    inbox->expected = NULL;
    if (cancelled) {
        MPL_free(letter);
        return MPI_SUCCESS;
    }
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(letter->bytes < MPIR_Agree_head_bytes(0) ||
                        message->n > MPIR_AGREE_NUMBERS_MAX ||
                        letter->bytes < MPIR_Agree_head_bytes(message->n), mpi_errno, MPI_ERR_OTHER,
                        "**fail");
    DL_APPEND(inbox->letters, letter);

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(letter);
    goto fn_exit;
}

/* One step towards the next letter. */
int MPIR_Agree_wait_for_letter(const struct MPIR_Agree_round *round, struct MPIR_Agree_inbox *inbox)
{
    int mpi_errno = MPI_SUCCESS;

    if (inbox->request && !inbox->closing && MPIR_Request_is_complete(inbox->request))
        return end_receive(inbox);
    if (!inbox->request)
        mpi_errno = post_receive(round, inbox);
    if (!mpi_errno)
        MPIR_Agree_make_progress(&mpi_errno);
    return mpi_errno;
}

/* A late message, for which no thread waits any more, is stored for a later receive. */
int MPIR_Agree_close_inbox(struct MPIR_Agree_inbox *inbox)
{
    int mpi_errno = MPI_SUCCESS;

    if (inbox->waiting == 1 && inbox->request) {
        inbox->closing = true;
        if (!MPIR_Request_is_complete(inbox->request))
            mpi_errno = MPID_Cancel_recv(inbox->request);
        while (!mpi_errno && !MPIR_Request_is_complete(inbox->request))
            MPIR_Agree_make_progress(&mpi_errno);
        inbox->closing = false;
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = end_receive(inbox);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    inbox->waiting--;
    if (inbox->waiting == 0 && !inbox->letters && !inbox->request) {
        DL_DELETE(inboxes, inbox);
        MPL_free(inbox);
    }
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
