/*
 * A process that a change through process sets has started: it waits in its first MPI_Session_init
 * until the change is accepted.  SR8, SR11, SJ1, SJ2.
 *
 * In a process of an addition ("joining process") the world is its start group, as in upstream:
 * MPIR_Process.rank and size.  All other processes are identified by their lpid in the device's
 * table, which is their uid; in a process of the launch that is the rank.
 */

#include "session.h"
#include "connect_board.h"

static MPL_initlock_t lock = MPL_INITLOCK_INITIALIZER;
static bool detected;           /* `entered` is valid */
static bool asking;             /* that query is pending */
static bool entered;            /* this is a joining process: MPIR_Board.changes_by_sets */
static char delta_name[PMI_SET_NAME_MAX + 1];
static uint32_t delta_tag;
static MPIR_Info *accept_keys;
static int *start_lpids, *shared_lpids; /* of the start group, and of those on this host */

void MPIR_Session_before_init(void)
{
    unsigned uid;

    if (!MPIR_Adapt_is_on() && MPIR_Board_joins(&uid))
        MPID_Adapt_set_uid(uid);
}

bool MPIR_Session_is_joining(void)
{
    return entered;
}

bool MPIR_Session_may_query(void)
{
    return entered || asking;
}

int MPIR_Session_lpid(void)
{
    return entered ? (int) MPIR_Board.uid : MPIR_Process.rank;
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

/* Whether ranks of the start group are lpids of the device's table. */
bool MPIR_Session_ranks_are_lpids(void)
{
    return !entered && (!MPIR_Process.comm_world ||
                        MPIR_Process.comm_world->rank == MPIR_Process.rank);
}

static int set_lpids(void)
{
    int mpi_errno = MPI_SUCCESS, first = (int) MPIR_Board.uid - MPIR_Process.rank;

    MPIR_ERR_CHKANDJUMP(first < 0 || first > MPID_SESSION_LPIDS_MAX - MPIR_Process.size, mpi_errno,
                        MPI_ERR_OTHER, "**sessionplaces");
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

/* Work before others are notified of this process, so that it may continue sooner afterwards.  A
 * process that was not started by an addition does not join. */
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
    MPIR_Session_write_set_enter(&call, bc);
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    *joins = MPIR_Session_answer_number(&answer) == 1;
    if (!*joins)
        goto fn_exit;
    MPIR_Session_bc_given();
    mpi_errno = set_lpids();
    MPIR_ERR_CHECK(mpi_errno);
    entered = MPIR_Board.changes_by_sets = true;
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

/* Waits until its change is accepted. */
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
    MPIR_Session_write_set_await(&call, introduced);
    call.waits = call.is_slow = true;
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_answer_text(&answer, delta_name, PMI_SET_NAME_MAX);
    delta_tag = MPIR_Session_answer_number(&answer);
    mpi_errno = MPIR_Session_read_data(&answer, &accept_keys);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_write_set_entered(&call);
    mpi_errno = MPIR_Session_call_post(&call);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_cache_lookups(&answer, MPIR_Session_answer_number(&answer), stamp);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_note_stays(MPIR_Session_answer_number(&answer) == 1, stamp);
    mpi_errno = MPIR_Session_take_introduction(&answer);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Opens the world of the start group for a later MPI_Init: all its processes are here before any
 * other process is notified of them, and lpids are not moved yet.  SW3. */
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
    bool may_be_joining = MPIR_Session_has_proxy() && !MPIR_Adapt_is_on() &&
        MPIR_Board.join_epoch > 0;

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

/* SI4: a key that exists twice has the value of the accept, and these keys always have the
 * library's value. */
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
