/*
 * Changes through process sets, as a process sees them: it is notified of one, accepts or declines it for all, or was
 * started by one and waits for that in its first MPI_Session_init.  The step manager decides
 * (stepmgr/psets/pset_changes.h).  SR1, SR2, SR4, SR7, SR8, SR11, SJ1, SJ2.
 *
 * In a process of an addition ("joining process") the world is its start group, as ever: MPIR_Process.rank and size.
 * All other processes are known by their lpid in the device's table, which is their uid; in a process of the launch
 * that is the rank.
 */

#include "session.h"
#include "adapt.h"

#define POLLS_PER_PROGRESS 32

static MPL_initlock_t lock = MPL_INITLOCK_INITIALIZER;
static bool detected;           /* it is known whether this process is a joining one */
static bool asking;             /* that query is under way */
static bool entered;            /* it is one */
static bool dynamic;            /* or has requested changes */
static char delta_name[PMI_SET_NAME_MAX + 1];
static uint32_t delta_tag;
static MPIR_Info *accept_keys;
static int *start_lpids, *shared_lpids; /* of the start group, and of those on this host */

/* ---- joining ------------------------------------------------------------------------------------------------ */

void MPIR_Session_before_init(void)
{
    unsigned uid;

    if (MPIR_Adapt.state == MPIR_ADAPT_STATE__OFF && MPIR_Adapt_joins(&uid))
        MPID_Adapt_set_uid(uid);
}

bool MPIR_Session_is_joining(void)
{
    return entered;
}

bool MPIR_Session_is_dynamic(void)
{
    return entered || dynamic;
}

/* Processes of such a job may be killed, and the others go on. */
void MPIR_Session_note_dynamic(void)
{
    dynamic = true;
    MPIR_Adapt_choose_segments();
}

/* That no change removes this process: cached as data of sets. */
static struct {
    bool notified;
    struct MPIR_Session_stamp stamp;
} stays_since;

static void note_stays(bool notified, struct MPIR_Session_stamp stamp)
{
    stays_since.notified = notified;
    stays_since.stamp = stamp;
}

static bool stays(void)
{
    return stays_since.notified && stays_since.stamp.invalidations == MPIR_Session_stamp().invalidations;
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
    MPIR_Session_call_begin(&call, PMI_SET_LEAVES);
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    *leaves = MPIR_Session_answer_number(&answer) == 1;
    note_stays(MPIR_Session_answer_number(&answer) == 1, stamp);
    MPIR_ERR_CHKANDJUMP(answer.bad, mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

bool MPIR_Session_may_query(void)
{
    return entered || asking;
}

int MPIR_Session_lpid(void)
{
    return entered ? (int) MPIR_Adapt.uid : MPIR_Process.rank;
}

const int *MPIR_Session_start_lpids(void)
{
    return start_lpids;
}

const int *MPIR_Session_shared_lpids(void)
{
    return shared_lpids;
}

const char *MPIR_Session_delta_name(void)
{
    return delta_name;
}

/* Whether what is of the start group is so in the device's table, too. */
bool MPIR_Session_ranks_are_lpids(void)
{
    return !entered && (!MPIR_Process.comm_world || MPIR_Process.comm_world->rank == MPIR_Process.rank);
}

static int set_lpids(void)
{
    int mpi_errno = MPI_SUCCESS, first = (int) MPIR_Adapt.uid - MPIR_Process.rank;

    MPIR_ERR_CHKANDJUMP(first < 0 || first > MPID_SESSION_LPIDS_MAX - MPIR_Process.size, mpi_errno, MPI_ERR_OTHER,
                        "**sessionplaces");
    start_lpids = MPL_malloc(MPIR_Process.size * sizeof(int), MPL_MEM_OTHER);
    shared_lpids = MPL_malloc(MPIR_Process.local_size * sizeof(int), MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!start_lpids || !shared_lpids, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < MPIR_Process.size; i++)
        start_lpids[i] = first + i;
    for (int i = 0; i < MPIR_Process.local_size; i++)
        shared_lpids[i] = first + MPIR_Process.node_local_map[i];
    mpi_errno = MPID_Session_reserve_lpids(first);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Work that can be done before others are notified of this process: the less is left when it may continue.  A process
 * that was started in another way than by an addition does not join. */
static int prepare_to_enter(bool * joins, bool * introduced)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };
    MPIR_Comm *bridge;
    char bc[PMI_SET_CARD_MAX];

    mpi_errno = MPIR_Session_own_bc(bc, sizeof(bc));
    MPIR_ERR_CHECK(mpi_errno);
    MPID_Session_prepare();
    MPIR_Session_call_begin(&call, PMI_SET_ENTER);
    MPIR_Session_call_text(&call, bc);
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    *joins = MPIR_Session_answer_number(&answer) == 1;
    if (!*joins)
        goto fn_exit;
    MPIR_Session_bc_given();
    mpi_errno = set_lpids();
    MPIR_ERR_CHECK(mpi_errno);
    entered = true;
    mpi_errno = MPID_Session_bridge(&bridge);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_prepare_introduction(&answer, introduced);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* When its change is accepted it goes on. */
static int enter(void)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };
    struct MPIR_Session_stamp stamp;
    bool joins = false, introduced = false;

    mpi_errno = prepare_to_enter(&joins, &introduced);
    MPIR_ERR_CHECK(mpi_errno);
    if (!joins)
        goto fn_exit;
    stamp = MPIR_Session_stamp();
    MPIR_Session_call_begin(&call, PMI_SET_AWAIT);
    MPIR_Session_call_number(&call, introduced);
    call.waits = call.is_slow = true;
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_answer_text(&answer, delta_name, PMI_SET_NAME_MAX);
    delta_tag = MPIR_Session_answer_number(&answer);
    mpi_errno = MPIR_Session_read_data(&answer, &accept_keys);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_call_begin(&call, PMI_SET_ENTERED);
    mpi_errno = MPIR_Session_call_post(&call);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_cache_lookups(&answer, MPIR_Session_answer_number(&answer), stamp);
    MPIR_ERR_CHECK(mpi_errno);
    note_stays(MPIR_Session_answer_number(&answer) == 1, stamp);
    mpi_errno = MPIR_Session_take_introduction(&answer);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The world of its start group, in case MPI_Init comes later: its processes are here together before anybody is
 * notified of them, and lpids are not moved yet.  SW3. */
static int open_start_group(void)
{
    MPL_initlock_lock(&MPIR_init_lock);
    int mpi_errno = MPIR_Session_join_world_at_init();
    MPL_initlock_unlock(&MPIR_init_lock);
    return mpi_errno;
}

int MPIR_Session_enter(void)
{
    int mpi_errno = MPI_SUCCESS;
    bool may_be_joining = MPIR_Session_has_daemon() && MPIR_Adapt.state == MPIR_ADAPT_STATE__OFF &&
        MPIR_Adapt.join_epoch > 0;

    MPL_initlock_lock(&lock);
    if (!detected && may_be_joining) {
        mpi_errno = open_start_group();
        MPIR_ERR_CHECK(mpi_errno);
        asking = true;
        MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        mpi_errno = enter();
        MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        asking = false;
        MPIR_ERR_CHECK(mpi_errno);
    }
    detected = true;

  fn_exit:
    MPL_initlock_unlock(&lock);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* SI4: of a key that is there twice the value of the accept is returned, and of these keys always the library's. */
int MPIR_Session_add_keys(MPIR_Info * info)
{
    int mpi_errno = MPI_SUCCESS, n = 0, flag;
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1], id[16], tag[16];
    const char *const own[][2] = {
        {"mpidynres", "yes"},
        {"mpidynres_process_id", id},
        {"mpidynres_dynamic_start", entered ? "yes" : "no"},
        {"mpidynres_origin_rc_tag", tag}
    };

    snprintf(id, sizeof(id), "%d", MPIR_Session_lpid());
    snprintf(tag, sizeof(tag), "%d", entered ? (int) delta_tag : -1);
    if (entered)
        mpi_errno = MPIR_Info_get_nkeys_impl(accept_keys, &n);
    for (int i = 0; i < n && !mpi_errno; i++) {
        MPIR_Info_get_nthkey_impl(accept_keys, i, key);
        MPIR_Info_get_impl(accept_keys, key, MPI_MAX_INFO_VAL, value, &flag);
        mpi_errno = MPIR_Info_set_impl(info, key, value);
    }
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]) && !mpi_errno; i++)
        mpi_errno = MPIR_Info_set_impl(info, own[i][0], own[i][1]);
    return mpi_errno;
}

/* ---- changes ------------------------------------------------------------------------------------------------ */

/* SR1; a job that does so once does so for ever */
int MPIR_Session_become_dynamic(MPIR_Info * info)
{
    int mpi_errno = MPI_SUCCESS, flag = 0;
    struct MPIR_Session_call call;
    char value[MPI_MAX_INFO_VAL + 1];

    if (info)
        MPIR_Info_get_impl(info, "mpix_dynamic", MPI_MAX_INFO_VAL, value, &flag);
    if (!flag || strcmp(value, "true") || !MPIR_Session_has_daemon() || MPIR_Session_is_dynamic())
        goto fn_exit;
    MPIR_Session_call_begin(&call, PMI_SET_DYNAMIC);
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

struct change {
    int type;
    char delta[PMI_SET_NAME_MAX + 1];
    int tag;
    MPIR_Info *info;
};

/* Of which sets a question about changes has been answered: the last ones. */
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

/* Sets that this process may make by itself until it has accepted or declined the change that it was notified of (SA1,
 * doc/developer/process-sets.md). */
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
    bool introduced;            /* the joining processes need not be met */
} notified;

/* The accept of an addition that this process was notified of needs no reply, unless it is known here that joining
 * processes have ended (SF2).  A removal's ends may come before: they must not come before that is known. */
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

/* The delta of the change that is accepted now.  Without it there is a rendezvous. */
static int connect_delta(void)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_made *delta = notified.introduced ? MPIR_Session_cache_find(notified.delta, false) : NULL;

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

/* SR2: a load from the board, if there was such a query before: the job changes through sets then (SR1), and the name
 * is a set's, or was.  A caller that only queries makes progress now and then: others may wait for that. */
static bool knows_of_none(const char *bound, int *mpi_errno)
{
    const struct pmi_adapt_control *board = MPIR_Adapt_board_words();

    *mpi_errno = MPI_SUCCESS;
    if (!board || (__atomic_load_n(&board->offer, __ATOMIC_ACQUIRE) & ~PMI_SET_BY_SETS) || !has_queried(bound) ||
        (bound && !*bound))
        return false;
    if (++queried.polls % POLLS_PER_PROGRESS == 0)
        *mpi_errno = MPID_Progress_test(NULL);
    return true;
}

/* SE1: there are none where nobody makes them. */
static int query_change(const char *bound, bool only_query, struct change *change)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };
    struct MPIR_Session_stamp stamp;
    char bc[PMI_SET_CARD_MAX];

    *change = (struct change) {.type = MPIX_RC_NONE,.tag = -1 };
    if (!MPIR_Session_has_daemon())
        goto fn_exit;
    MPIR_ERR_CHKANDJUMP(bound && !*bound, mpi_errno, MPI_ERR_ARG, "**psetunknown");
    mpi_errno = MPIR_Session_call_prepare();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_own_bc(bc, sizeof(bc));
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_call_begin(&call, PMI_SET_CHANGE);
    if (bound) {
        MPIR_Session_call_operand(&call, bound);
    } else {
        MPIR_Session_call_text(&call, "");
        MPIR_Session_call_number(&call, 0);
    }
    MPIR_Session_call_number(&call, only_query);
    MPIR_Session_call_text(&call, bc);
    stamp = MPIR_Session_stamp();
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_bc_given();
    MPIR_Session_note_dynamic();
    change->type = (int) MPIR_Session_answer_number(&answer);
    MPIR_Session_answer_text(&answer, change->delta, PMI_SET_NAME_MAX);
    uint32_t tag = MPIR_Session_answer_number(&answer);
    MPIR_ERR_CHKANDJUMP(answer.bad, mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");
    if (change->type == MPIX_RC_NONE)
        note_queried(bound);    /* or the board may not have the reply yet */
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

int MPIR_Session_rc_get_impl(MPIR_Session * session, const char *name, int *type, char *delta, int *tag,
                             MPIR_Info ** info)
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
    struct MPIR_Session_call call = { 0 };

    MPIR_ERR_CHECK(mpi_errno);
    granted.end = granted.next;
    MPIR_Session_call_begin(&call, PMI_SET_ACCEPT);
    MPIR_Session_call_number(&call, (uint32_t) tag);
    mpi_errno = MPIR_Session_call_data(&call, info);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = may_just_accept(tag) ? MPIR_Session_call_post(&call) : MPIR_Session_call_notify(&call);
    MPIR_ERR_CHECK(mpi_errno);
    if (notified.type == MPIX_RC_ADD && notified.tag == tag)
        mpi_errno = connect_delta();
    MPIR_ERR_CHECK(mpi_errno);
    notified.type = MPIX_RC_NONE;

  fn_exit:
    MPIR_Session_call_free(&call);
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
    MPIR_Session_call_begin(&call, PMI_SET_DECLINE);
    MPIR_Session_call_number(&call, (uint32_t) tag);
    mpi_errno = MPIR_Session_call_notify(&call);
    MPIR_ERR_CHECK(mpi_errno);
    notified.type = MPIX_RC_NONE;
    MPIR_Session_remove_exited();       /* of earlier ones that were declined */

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
