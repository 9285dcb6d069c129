/*
 * Changes through process sets, in a process: it is notified of a change, and accepts or declines
 * it for all.  The step manager decides (stepmgr/psets/pset_changes.h).  SR1, SR2, SR4, SR7.
 */

#include "session.h"
#include "connect_board.h"

#define POLLS_PER_PROGRESS 32

/* ---- a job that changes through sets --------------------------------------------------------- */

bool MPIR_Session_is_dynamic(void)
{
    return MPIR_Board.changes_by_sets;
}

void MPIR_Session_note_dynamic(void)
{
    MPIR_Board.changes_by_sets = true;
}

/* SR1; a job that has become dynamic stays dynamic */
int MPIR_Session_become_dynamic(MPIR_Info * info)
{
    int mpi_errno = MPI_SUCCESS, flag = 0;
    struct MPIR_Session_call call;
    char value[MPI_MAX_INFO_VAL + 1];

    if (info)
        MPIR_Info_get_impl(info, "mpix_dynamic", MPI_MAX_INFO_VAL, value, &flag);
    if (!flag || strcmp(value, "true") || !MPIR_Session_has_proxy() || MPIR_Session_is_dynamic())
        goto fn_exit;
    MPIR_Session_write_set_dynamic(&call);
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    mpi_errno = MPIR_Session_call_notify(&call);
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_note_dynamic();

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Cached result that no change removes this process; valid as cached data of sets. */
static struct {
    bool notified;
    struct MPIR_Session_stamp stamp;
} stays_since;

void MPIR_Session_note_stays(bool notified, struct MPIR_Session_stamp stamp)
{
    stays_since.notified = notified;
    stays_since.stamp = stamp;
}

static bool stays(void)
{
    return stays_since.notified &&
        stays_since.stamp.invalidations == MPIR_Session_stamp().invalidations;
}

int MPIR_Session_leaves(bool * leaves)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };
    struct MPIR_Session_stamp stamp = MPIR_Session_stamp();

    *leaves = false;
    if (!MPIR_Session_is_dynamic() || stays())
        goto fn_exit;
    MPIR_Session_write_set_leaves(&call);
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    *leaves = MPIR_Session_answer_number(&answer) == 1;
    MPIR_Session_note_stays(MPIR_Session_answer_number(&answer) == 1, stamp);
    MPIR_ERR_CHKANDJUMP(answer.bad, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- changes --------------------------------------------------------------------------------- */

struct change {
    int type;
    char delta[PMI_SET_NAME_MAX + 1];
    int tag;
    MPIR_Info *info;
};

/* The last sets for which a query of changes got its reply. */
static struct {
    bool all;                   /* no set was named */
    char names[PMI_SET_BCASTS_MAX][PMI_SET_NAME_MAX + 1];
    int next, last;
    unsigned polls;
} queried;

static bool has_queried(const char *bound)
{
    if (!bound)
        return queried.all;
    if (likely(!strcmp(queried.names[queried.last], bound)))
        return true;
    for (int i = 0; i < PMI_SET_BCASTS_MAX; i++)
        if (!strcmp(queried.names[i], bound)) {
            queried.last = i;
            return true;
        }
    return false;
}

static void note_queried(const char *bound)
{
    if (!bound) {
        queried.all = true;
    } else if (!has_queried(bound)) {
        queried.last = queried.next;
        MPL_strncpy(queried.names[queried.last], bound, sizeof(queried.names[0]));
        queried.next = (queried.next + 1) % PMI_SET_BCASTS_MAX;
    }
}

/* Sets that this process may make by itself until it has accepted or declined the change that it
 * was notified of (SA1, doc/developer/process-sets.md). */
static struct {
    uint32_t next, end;         /* numbers */
} granted;

uint32_t MPIR_Session_granted_number(void)
{
    return granted.next < granted.end ? granted.next : 0;
}

void MPIR_Session_granted_used(void)
{
    granted.next++;
}

/* The last change that this process was notified of, until it accepts or declines. */
static struct {
    int type, tag;
    char delta[PMI_SET_NAME_MAX + 1];
    bool introduced;            /* the joining processes need no rendezvous */
} notified;

/* The accept of a notified addition needs no reply, unless this process knows that joining
 * processes have ended (SF2).  The accept of a removal waits for its reply: the processes must not
 * end before the step manager has accepted it. */
static bool may_just_accept(int tag)
{
    struct MPIR_Session_made *delta = NULL;
    bool may = false;

    if (notified.type == MPIX_RC_ADD && notified.tag == tag)
        delta = MPIR_Session_cache_find(notified.delta, false);
    if (delta)
        may = delta->state != PMI_SET_ENDED;
    MPIR_Session_made_release(delta);
    return may;
}

/* Connects the delta of the change that is accepted now.  Without it a rendezvous follows. */
static int connect_delta(void)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_made *delta =
        notified.introduced ? MPIR_Session_cache_find(notified.delta, false) : NULL;

    if (delta)
        mpi_errno = MPIR_Session_introduce(delta->ranks, delta->size);
    MPIR_Session_made_release(delta);
    return mpi_errno;
}

static void read_grant(struct MPIR_Session_answer *answer)
{
    granted.next = MPIR_Session_answer_number(answer);
    granted.end = granted.next + MPL_MIN(MPIR_Session_answer_number(answer), PMI_SET_GRANT);
    if (answer->bad)
        granted.end = granted.next;
}

/* SR2: a load from the board, if there was such a query before: then the job changes through sets
 * (SR1), and the name is or was that of a set.  A caller that only queries makes progress at
 * intervals, because other processes may wait for that. */
static bool knows_of_none(const char *bound, int *mpi_errno)
{
    const struct pmi_adapt_control *board = MPIR_Board_words();

    *mpi_errno = MPI_SUCCESS;
    if (!board || (__atomic_load_n(&board->offer, __ATOMIC_ACQUIRE) & ~PMI_SET_BY_SETS) ||
        !has_queried(bound) || (bound && !*bound))
        return false;
    if (++queried.polls % POLLS_PER_PROGRESS == 0)
        *mpi_errno = MPID_Progress_test(NULL);
    return true;
}

/* SE1: without a step manager there are no changes. */
static int query_change(const char *bound, bool only_query, struct change *change)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };
    struct MPIR_Session_stamp stamp;
    char bc[PMI_SET_CARD_MAX];

    *change = (struct change) {.type = MPIX_RC_NONE,.tag = -1 };
    if (!MPIR_Session_has_proxy())
        goto fn_exit;
    MPIR_ERR_CHKANDJUMP(bound && !*bound, mpi_errno, MPI_ERR_ARG, "**psetunknown");
    mpi_errno = MPIR_Session_call_prepare();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_own_bc(bc, sizeof(bc));
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_write_set_change(&call, bound ? bound : "", only_query, bc);
    stamp = MPIR_Session_stamp();
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_bc_given();
    MPIR_Session_note_dynamic();
    change->type = (int) MPIR_Session_answer_number(&answer);
    MPIR_Session_answer_text(&answer, change->delta, PMI_SET_NAME_MAX);
    uint32_t tag = MPIR_Session_answer_number(&answer);
    MPIR_ERR_CHKANDJUMP(answer.bad, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");
    if (change->type == MPIX_RC_NONE)
        note_queried(bound);    /* otherwise the board may not have the reply yet */
    if (change->delta[0]) {
        change->tag = (int) tag;
        mpi_errno = MPIR_Session_read_data(&answer, &change->info);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Session_cache_lookups(&answer, MPIR_Session_answer_number(&answer), stamp);
        MPIR_ERR_CHECK(mpi_errno);
        bool introduced = MPIR_Session_answer_number(&answer) == 1;
        read_grant(&answer);
        notified.introduced = introduced && !answer.bad;
        notified.type = change->type;
        notified.tag = change->tag;
        strcpy(notified.delta, change->delta);
    }

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_rc_test_impl(MPIR_Session * session, const char *name, int *flag)
{
    int mpi_errno = MPIR_Session_check(session);
    struct change change;

    *flag = 0;
    MPIR_ERR_CHECK(mpi_errno);
    if (likely(knows_of_none(name, &mpi_errno)))
        goto fn_exit;
    mpi_errno = query_change(name, true, &change);
    MPIR_ERR_CHECK(mpi_errno);
    *flag = change.type != MPIX_RC_NONE;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_rc_get_impl(MPIR_Session * session, const char *name, int *type, char *delta,
                             int *tag, MPIR_Info ** info)
{
    int mpi_errno = MPIR_Session_check(session);
    struct change change;

    *type = MPIX_RC_NONE;
    *tag = -1;
    delta[0] = '\0';
    *info = NULL;
    MPIR_ERR_CHECK(mpi_errno);
    if (likely(knows_of_none(name, &mpi_errno)))
        goto fn_exit;
    mpi_errno = query_change(name, false, &change);
    MPIR_ERR_CHECK(mpi_errno);
    *type = change.type;
    *tag = change.tag;
    MPL_strncpy(delta, change.delta, MPI_MAX_PSET_NAME_LEN);
    *info = change.info;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_rc_accept_impl(MPIR_Session * session, int tag, MPIR_Info * info)
{
    int mpi_errno = MPIR_Session_check(session);
    struct MPIR_Session_call call;

    MPIR_ERR_CHECK(mpi_errno);
    granted.end = granted.next;
    MPIR_Session_write_set_accept(&call, (uint32_t) tag, info);
    mpi_errno =
        may_just_accept(tag) ? MPIR_Session_call_post(&call) : MPIR_Session_call_notify(&call);
    MPIR_ERR_CHECK(mpi_errno);
    if (notified.type == MPIX_RC_ADD && notified.tag == tag)
        mpi_errno = connect_delta();
    MPIR_ERR_CHECK(mpi_errno);
    notified.type = MPIX_RC_NONE;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_rc_decline_impl(MPIR_Session * session, int tag)
{
    int mpi_errno = MPIR_Session_check(session);
    struct MPIR_Session_call call;

    MPIR_ERR_CHECK(mpi_errno);
    granted.end = granted.next;
    MPIR_Session_write_set_decline(&call, (uint32_t) tag);
    mpi_errno = MPIR_Session_call_notify(&call);
    MPIR_ERR_CHECK(mpi_errno);
    notified.type = MPIX_RC_NONE;
    MPIR_Session_remove_exited();       /* of earlier ones that were declined */

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
