/* See ch4_unresolved.h. */

#include "mpidimpl.h"
#include "ch4_unresolved.h"
#include "ch4_dynproc.h"
#include "mpid_dynproc.h"

#define QUESTIONS 65536         /* max queries of unknown processes; further ones are dropped */

/* A message, from MPI_Isend until the network has taken it. */
struct held {
    enum MPIDI_Unresolved_kind kind;
    const void *buf;
    MPI_Aint count;
    MPI_Datatype datatype;
    int rank, tag, context_offset;
    MPIR_Comm *comm;
    MPIDI_av_entry_t *av;
    MPIR_Errflag_t errflag;
    MPIR_Request *request;      /* of the program */
    MPIR_Request *sent;         /* of the network, while the message is being sent */
    struct held *next;
};

/* Unresolved peers that messages were sent to. */
struct peer {
    MPIDI_av_entry_t *av;
    bool queried, answered;
    struct held *first, **end;
    struct peer *next;
};

/* Peers that have sent a query. */
struct question {
    char name[MPIDI_UNRESOLVED_NAME];
    MPIDI_av_entry_t *av;       /* NULL: not known yet */
    struct question *next;
};

static struct peer *peers;
static struct held *under_way;
static struct question *questions;
static int n_questions;
static bool is_listening, polls_again;
static int hook_id = -1;

/* ---- messages -------------------------------------------------------------------------------- */

static struct peer **find_peer(const MPIDI_av_entry_t * av)
{
    struct peer **cursor = &peers;

    while (*cursor && (*cursor)->av != av)
        cursor = &(*cursor)->next;
    return cursor;
}

static struct peer *peer_of(MPIDI_av_entry_t * av)
{
    struct peer **cursor = find_peer(av);

    if (!*cursor) {
        *cursor = MPL_calloc(1, sizeof(**cursor), MPL_MEM_OTHER);
        MPIR_Assertp(*cursor);
        (*cursor)->av = av;
        (*cursor)->end = &(*cursor)->first;
    }
    return *cursor;
}

int MPIDI_Unresolved_isend(enum MPIDI_Unresolved_kind kind, const void *buf, MPI_Aint count,
                           MPI_Datatype datatype, int rank, int tag, MPIR_Comm * comm,
                           int context_offset, MPIDI_av_entry_t * av, MPIR_Errflag_t errflag,
                           MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;
    struct held *held = MPL_malloc(sizeof(*held), MPL_MEM_OTHER);

    MPIR_ERR_CHKANDJUMP(!held, mpi_errno, MPI_ERR_OTHER, "**nomem");
    MPIDI_CH4_REQUEST_CREATE(*request, MPIR_REQUEST_KIND__SEND, 0, 2);
    MPIR_ERR_CHKANDJUMP(!*request, mpi_errno, MPIX_ERR_NOREQ, "**nomemreq");
    *held = (struct held) {
        .kind = kind,.buf = buf,.count = count,.datatype = datatype,.rank = rank,.tag = tag,
            .context_offset =
            context_offset,.comm = comm,.av = av,.errflag = errflag,.request = *request
    };
    MPIR_Comm_add_ref(comm);
    MPIR_Datatype_add_ref_if_not_builtin(datatype);
    struct peer *peer = peer_of(av);
    *peer->end = held;
    peer->end = &held->next;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(held);
    goto fn_exit;
}

static int hand_over(struct held *held)
{
    switch (held->kind) {
        case MPIDI_UNRESOLVED__SYNCHRONOUS:
            return MPIDI_NM_mpi_issend(held->buf, held->count, held->datatype, held->rank,
                                       held->tag, held->comm, held->context_offset, held->av,
                                       &held->sent);
        case MPIDI_UNRESOLVED__COLLECTIVE:
            return MPIDI_NM_isend_coll(held->buf, held->count, held->datatype, held->rank,
                                       held->tag, held->comm, held->context_offset, held->av,
                                       &held->sent, &held->errflag);
        case MPIDI_UNRESOLVED__SEND:
            break;
    }
    return MPIDI_NM_mpi_isend(held->buf, held->count, held->datatype, held->rank, held->tag,
                              held->comm, held->context_offset, held->av, &held->sent);
}

static void complete(struct held *held, int error)
{
    if (held->sent)
        MPIR_Request_free(held->sent);
    held->request->status.MPI_ERROR = error;
    MPIR_Request_complete(held->request);
    MPIR_Datatype_release_if_not_builtin(held->datatype);
    MPIR_Comm_release(held->comm);
    MPL_free(held);
}

/* This may make progress, during which other threads add messages. */
static void release(struct peer *peer)
{
    while (peer->first) {
        struct held *held = peer->first;
        int error = hand_over(held);
        peer->first = held->next;
        if (!peer->first)
            peer->end = &peer->first;
        if (error) {
            complete(held, error);
            continue;
        }
        MPIDI_REQUEST(held->sent, is_local) = 0;
        held->next = under_way;
        under_way = held;
    }
    peer->av->unresolved = 0;
    struct peer **cursor = find_peer(peer->av);
    *cursor = peer->next;
    MPL_free(peer);
}

static bool complete_sent(void)
{
    bool made_progress = false;

    for (struct held ** cursor = &under_way; *cursor;) {
        struct held *held = *cursor;
        if (!MPIR_Request_is_complete(held->sent)) {
            cursor = &held->next;
            continue;
        }
        *cursor = held->next;
        complete(held, held->sent->status.MPI_ERROR);
        made_progress = true;
    }
    return made_progress;
}

/* ---- queries and replies --------------------------------------------------------------------- */

static MPIDI_av_entry_t *find_address(const char *name)
{
    int avtid, lpid;

    return MPIDI_NM_unresolved_find(name, &avtid, &lpid) ? &MPIDIU_get_av(avtid, lpid) : NULL;
}

static void note_question(const struct MPIDI_Unresolved_msg *word)
{
    struct question *question =
        n_questions < QUESTIONS ? MPL_malloc(sizeof(*question), MPL_MEM_OTHER) : NULL;

    if (!question)
        return;
    *question = (struct question) {.av = find_address(word->name),.next = questions };
    memcpy(question->name, word->name, sizeof(question->name));
    questions = question;
    n_questions++;
}

static void note_answer(const struct MPIDI_Unresolved_msg *word)
{
    MPIDI_av_entry_t *av = find_address(word->name);
    struct peer *peer = av ? *find_peer(av) : NULL;

    if (peer)
        peer->answered = true;
}

static bool receive_msg(void)
{
    struct MPIDI_Unresolved_msg word;
    bool has_received = false;

    while (MPIDI_NM_unresolved_recv(&word)) {
        has_received = true;
        if (word.is_answer)
            note_answer(&word);
        else
            note_question(&word);
    }
    return has_received;
}

/* Replies to resolved peers; a reply that the network does not accept is sent again. */
static void answer(void)
{
    for (struct question ** cursor = &questions; *cursor;) {
        struct question *question = *cursor;
        if (!question->av && polls_again)
            question->av = find_address(question->name);
        if (!question->av || !MPIDI_NM_unresolved_send(question->av, true)) {
            cursor = &question->next;
            continue;
        }
        *cursor = question->next;
        MPL_free(question);
        n_questions--;
    }
    polls_again = false;
}

void MPIDI_Unresolved_retry(void)
{
    polls_again = true;
}

/* ---- progress -------------------------------------------------------------------------------- */

/* For a peer that has ended without a reply; later messages to it fail in the same way. */
static void fail_held(struct peer *peer)
{
    for (struct held ** cursor = &peer->first; *cursor;) {
        struct held *held = *cursor;
        int error = MPID_Dynproc_check(MPI_UNDEFINED, held->comm);
        if (error == MPI_SUCCESS) {
            cursor = &held->next;
            continue;
        }
        *cursor = held->next;
        if (peer->end == &held->next)
            peer->end = cursor;
        complete(held, error);
    }
    if (peer->first)
        return;
    struct peer **cursor = find_peer(peer->av);
    *cursor = peer->next;
    MPL_free(peer);
}

static void poll_peers(void)
{
    for (struct peer * peer = peers, *next; peer; peer = next) {
        next = peer->next;
        if (!peer->queried)
            peer->queried = MPIDI_NM_unresolved_send(peer->av, false);
        if (peer->answered)
            release(peer);
        else
            fail_held(peer);
    }
}

static int poll_unresolved(int *made_progress)
{
    static bool polls; /* the functions below make progress, which would call this function again */

    if (polls)
        return MPI_SUCCESS;
    polls = true;
    *made_progress = receive_msg();
    if (questions)
        answer();
    if (peers)
        poll_peers();
    if (under_way)
        *made_progress = complete_sent() || *made_progress;
    polls = false;
    return MPI_SUCCESS;
}

/* Sends messages that the program does not wait for any more.  Another session may begin
 * afterwards. */
static int finish(void *unused ATTRIBUTE((unused)))
{
    while (peers || under_way)
        MPID_Progress_test(NULL);
    while (questions) {
        struct question *question = questions;
        questions = question->next;
        MPL_free(question);
    }
    n_questions = 0;
    MPIR_Progress_hook_deactivate(hook_id);
    is_listening = false;
    return 0;
}

bool MPID_Dynproc_answer_from_now_on(void)
{
    if (is_listening)
        return true;
    if (hook_id < 0 && MPIR_Progress_hook_register(poll_unresolved, &hook_id) != MPI_SUCCESS)
        return false;
    if (!MPIDI_NM_unresolved_listen())
        return false;
    MPIR_Add_finalize(finish, NULL, MPIR_FINALIZE_CALLBACK_PRIO + 1);
    MPIR_Progress_hook_activate(hook_id);
    is_listening = true;
    return true;
}

void MPID_Dynproc_is_unknown_to(MPIR_Comm * comm)
{
    int avtid, lpid;

    if (!MPID_Dynproc_answer_from_now_on())
        return;
    for (int i = 0; i < comm->remote_size; i++) {
        MPIDIU_comm_rank_to_pid(comm, i, &lpid, &avtid);
        MPIDIU_get_av(avtid, lpid).unresolved = 1;
    }
}
