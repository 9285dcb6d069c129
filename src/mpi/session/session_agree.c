/*
 * How the members of a group agree on the id of their communicator: instead of upstream's
 * MPII_Allreduce_group, with the same messages, while MPI_Comm_create_from_group makes one in this
 * thread.  SI8.
 *
 * Each message identifies its creation, by string and group: two simultaneous creations of the same
 * processes never mix, even if the tags computed from their strings are equal.  Their threads take
 * turns with the ids in the same order everywhere, and share receives (session_inbox.c).
 *
 * A wait for a process that has ended before it took part fails.  The waiting process reports that
 * with all messages of the same round, and once more, so that processes that it would not send to
 * again fail as well.  No process waits for an exited one.  Remaining messages of such a creation
 * never match another creation, because no later group can contain that process.
 */

#include "session_agree.h"

static MPL_TLS struct {
    const char *text;           /* NULL: this thread makes no communicator */
    uint64_t creation;
    bool unknown_hosts;         /* this process or another member does not know all hosts */
} own;

uint64_t MPIR_Session_number_of_creation(const MPIR_Group * group, const char *text, int kind)
{
    const uint64_t prime = 1099511628211u;
    uint64_t number = (14695981039346656037u ^ (unsigned) kind) * prime;

    for (int i = 0; i < group->size; i++)
        number = (number ^ group->lrank_to_lpid[i].lpid) * prime;
    for (const char *c = text; *c; c++)
        number = (number ^ (unsigned char) *c) * prime;
    return number ? number : 1;
}

void MPIR_Session_agree_begin(const MPIR_Group * group, const char *text, int kind)
{
    own.text = text;
    own.unknown_hosts = false;
    own.creation = MPIR_Session_number_of_creation(group, text, kind);
}

void MPIR_Session_agree_end(void)
{
    own.text = NULL;
}

void MPIR_Session_agree_on_unknown_hosts(void)
{
    own.unknown_hosts = true;
}

bool MPIR_Session_agreed_on_unknown_hosts(void)
{
    return own.unknown_hosts;
}

bool MPIR_Session_is_agreeing(void)
{
    return own.text != NULL;
}

uint64_t MPIR_Session_agree_order(int tag)
{
    return own.text ? own.creation : (uint64_t) tag;
}

/* ---- messages -------------------------------------------------------------------------------- */

static size_t text_bytes(void)
{
    return MPL_MIN(strlen(own.text), MPIR_AGREE_TEXT_MAX);
}

static size_t write_message(const struct MPIR_Agree_round *round,
                            struct MPIR_Agree_message *message)
{
    message->creation = own.creation;
    message->failed = round->failed;
    message->unknown_hosts = own.unknown_hosts;
    message->n = round->n;
    memcpy(message->numbers, round->numbers, round->n * sizeof(int));
    memcpy((char *) message + MPIR_Agree_head_bytes(round->n), own.text, text_bytes());
    return MPIR_Agree_head_bytes(round->n) + text_bytes();
}

bool MPIR_Agree_is_own(const struct MPIR_Agree_round *round,
                       const struct MPIR_Agree_message *message, size_t bytes)
{
    return bytes == MPIR_Agree_head_bytes(round->n) + text_bytes() &&
        message->n == (uint32_t) round->n && message->creation == own.creation &&
        !memcmp((const char *) message + MPIR_Agree_head_bytes(round->n), own.text, text_bytes());
}

int MPIR_Agree_lpid_of(const struct MPIR_Agree_round *round, int member)
{
    return (int) round->group->lrank_to_lpid[member].lpid;
}

/* The rank of a member of the group. */
int MPIR_Agree_rank_in(const struct MPIR_Agree_round *round, int member, int *rank)
{
    if (!round->comm->local_group) {    /* the bridge */
        *rank = MPIR_Agree_lpid_of(round, member);
        return MPI_SUCCESS;
    }
    return MPIR_Group_translate_ranks_impl(round->group, 1, &member, round->comm->local_group,
                                           rank);
}

/* ---- to and from one member ------------------------------------------------------------------ */

void MPIR_Agree_make_progress(int *mpi_errno)
{
    *mpi_errno = MPID_Progress_test(NULL);
    MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

/* An error of the network after a member has ended is treated as that end.  A thread that makes
 * progress for one member may get the error of a message to another one. */
static void forgive(struct MPIR_Agree_round *round, int *mpi_errno)
{
    bool failed = false;

    if (!*mpi_errno || MPIR_Session_has_failed(round->group, &failed) || !failed)
        return;
    round->failed = true;
    *mpi_errno = MPI_SUCCESS;
}

/* A send to an ended receiver may never complete; it keeps this buffer. */
struct sent {
    MPIR_Request *request;
    struct MPIR_Agree_message *message;
};

static int start_send(struct MPIR_Agree_round *round, int member, struct sent *sent)
{
    int mpi_errno = MPI_SUCCESS, rank;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;

    sent->request = NULL;
    sent->message = MPL_malloc(sizeof(*sent->message), MPL_MEM_BUFFER);
    MPIR_ERR_CHKANDJUMP(!sent->message, mpi_errno, MPI_ERR_OTHER, "**nomem");
    size_t bytes = write_message(round, sent->message);
    mpi_errno = MPIR_Agree_rank_in(round, member, &rank);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno =
        MPIC_Isend(sent->message, bytes, MPI_BYTE, rank, round->tag, round->comm, &sent->request,
                   &errflag);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(sent->message);
    sent->request = NULL;
    forgive(round, &mpi_errno);
    goto fn_exit;
}

static int end_send(struct MPIR_Agree_round *round, int member, struct sent *sent)
{
    int mpi_errno = MPI_SUCCESS, lpid = MPIR_Agree_lpid_of(round, member);
    struct MPIR_Session_watch watch = { 0 };
    bool ended = false;

    if (!sent->request)
        goto fn_exit;
    while (!MPIR_Request_is_complete(sent->request) && !ended) {
        MPIR_Agree_make_progress(&mpi_errno);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Session_watch(&watch, &lpid, 1, NULL, &ended);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (MPIR_Request_is_complete(sent->request))
        MPL_free(sent->message);
    MPIR_Request_free(sent->request);

  fn_exit:
    return mpi_errno;
  fn_fail:
    forgive(round, &mpi_errno);
    goto fn_exit;
}

/* Another thread may receive the message for this one.  No failure has occurred before. */
static int receive_letter(struct MPIR_Agree_round *round, int member,
                          struct MPIR_Agree_message *message)
{
    int mpi_errno = MPI_SUCCESS, lpid = MPIR_Agree_lpid_of(round, member);
    struct MPIR_Session_watch watch = { 0 };
    struct MPIR_Agree_inbox *inbox = NULL;
    bool ended = false, taken = false;

    mpi_errno = MPIR_Agree_open_inbox(round, member, &inbox);
    MPIR_ERR_CHECK(mpi_errno);
    while (!(taken = MPIR_Agree_take_letter(round, inbox, message)) && !ended) {
        mpi_errno = MPIR_Agree_wait_for_letter(round, inbox);
        forgive(round, &mpi_errno);
        MPIR_ERR_CHECK(mpi_errno);
        ended = round->failed;
        if (!ended)
            mpi_errno = MPIR_Session_watch(&watch, &lpid, 1, round->group, &ended);
        MPIR_ERR_CHECK(mpi_errno);
    }
    round->failed = !taken;

  fn_exit:
    if (inbox) {
        int close_errno = MPIR_Agree_close_inbox(inbox);
        mpi_errno = mpi_errno ? mpi_errno : close_errno;
    }
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void combine_numbers(struct MPIR_Agree_round *round,
                            const struct MPIR_Agree_message *message)
{
    round->failed |= message->failed != 0;
    own.unknown_hosts |= message->unknown_hosts != 0;
    for (int i = 0; i < round->n; i++) {
        if (round->op == MPI_BAND)
            round->numbers[i] &= message->numbers[i];
        else
            round->numbers[i] = MPL_MIN(round->numbers[i], message->numbers[i]);
    }
}

static int receive_from(struct MPIR_Agree_round *round, int member)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Agree_message message;
    bool failed = round->failed;

    round->failed = false;
    mpi_errno = receive_letter(round, member, &message);
    MPIR_ERR_CHECK(mpi_errno);
    if (!round->failed)
        combine_numbers(round, &message);
    round->failed |= failed;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int send_to(struct MPIR_Agree_round *round, int member)
{
    struct sent sent;
    int mpi_errno = start_send(round, member, &sent);

    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = end_send(round, member, &sent);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int exchange_with(struct MPIR_Agree_round *round, int member)
{
    struct sent sent;
    int mpi_errno = start_send(round, member, &sent);

    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = receive_from(round, member);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = end_send(round, member, &sent);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Recursive doubling; of the first 2 * rest members the odd ones represent the even ones.  `again`:
 * only sends the failure to the partners of this member. */
static int agree_in_round(struct MPIR_Agree_round *round, bool again)
{
    int mpi_errno = MPI_SUCCESS, rank = round->group->rank, size = round->group->size;
    int power = MPL_pof2(size), rest = size - power, newrank =
        rank < 2 * rest ? rank / 2 : rank - rest;
    bool stood_for = rank < 2 * rest && rank % 2 == 0, stands = rank < 2 * rest && !stood_for;

    if (stood_for)
        mpi_errno = send_to(round, rank + 1);
    else if (stands && !again)
        mpi_errno = receive_from(round, rank - 1);
    MPIR_ERR_CHECK(mpi_errno);
    for (int mask = 1; mask < power && !stood_for; mask *= 2) {
        int other = newrank ^ mask, member = other < rest ? 2 * other + 1 : other + rest;
        mpi_errno = again ? send_to(round, member) : exchange_with(round, member);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (stood_for && !again)
        mpi_errno = receive_from(round, rank + 1);
    else if (stands)
        mpi_errno = send_to(round, rank - 1);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_allreduce_group(int *numbers, int n, MPI_Op op, MPIR_Comm * comm,
                                 MPIR_Group * group, int tag)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Agree_round round = {.comm = comm,.group = group,.tag = tag,.n = n,.op = op,
                                     .numbers = numbers };

    MPIR_Assert(n <= MPIR_AGREE_NUMBERS_MAX && (op == MPI_BAND || op == MPI_MIN));
    mpi_errno = agree_in_round(&round, false);
    MPIR_ERR_CHECK(mpi_errno);
    if (round.failed) {
        mpi_errno = agree_in_round(&round, true);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_ERR_SETANDJUMP(mpi_errno, MPI_ERR_PROC_ABORTED, "**sessionmemberended");
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
