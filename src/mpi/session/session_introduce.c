/*
 * Processes that know each other, and need no rendezvous: by an introduction, or because mpiexec
 * reports that they are a full mesh (pset_meshes.h).  SI8.
 *
 * A joining process may be introduced to the present processes before they are notified of it: it
 * inserts their addresses and claims its channels to them, on the same host.  Each of them offers
 * its own channel when it makes the first communicator with the new one, and decides then whether
 * they have a channel, in shared memory.  The new one waits for that.
 */

#include "session_contact.h"
#include <sched.h>

/* By lpid: contact with this process, and with each other. */
static unsigned char *contact_state;

bool MPIR_Session_needs_no_rendezvous(const MPIR_Group * group)
{
    bool needless = contact_state != NULL;

    for (int i = 0; i < group->size && needless; i++)
        needless = group->lrank_to_lpid[i].lpid < MPID_SESSION_LPIDS_MAX &&
            contact_state[group->lrank_to_lpid[i].lpid];
    return needless;
}

int MPIR_Session_note_contact(const int *lpids, int n, enum MPIR_Session_contact how)
{
    int mpi_errno = MPI_SUCCESS;

    if (!contact_state)
        contact_state = MPL_calloc(MPID_SESSION_LPIDS_MAX, 1, MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!contact_state, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < n; i++)
        contact_state[lpids[i]] =
            contact_state[lpids[i]] == MPIR_SESSION_NOT_CONNECTED ? how : contact_state[lpids[i]];

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- introductions --------------------------------------------------------------------------- */

/* Channels are claimed here, so that the other processes only poll when they make a communicator.
 * They decide then whether there is a channel, and this process waits for that.  Processes of other
 * hosts are connected as usual. */
int MPIR_Session_prepare_introduction(struct MPIR_Session_answer *answer, bool * can_be)
{
    int mpi_errno = MPI_SUCCESS, n = 0, lpids[PMI_SET_INTRODUCED_MAX];
    char bc[PMI_SET_CARD_MAX + 1];

    MPL_initlock_lock(&MPIR_Session_contact_lock);
    mpi_errno = MPIR_Session_insert_own_bc(bc, PMI_SET_CARD_MAX);
    MPIR_ERR_CHECK(mpi_errno);
    for (uint32_t left = MPIR_Session_answer_number(answer); left > 0 && !answer->bad; left--) {
        uint32_t uid = MPIR_Session_answer_number(answer);
        MPIR_Session_answer_text(answer, bc, PMI_SET_CARD_MAX);
        MPIR_ERR_CHKANDJUMP(answer->bad || uid >= MPID_SESSION_LPIDS_MAX ||
                            n == PMI_SET_INTRODUCED_MAX, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");
        mpi_errno = MPIR_Session_insert_bc((int) uid, bc);
        MPIR_ERR_CHECK(mpi_errno);
        lpids[n++] = (int) uid;
    }
    MPIR_Session_offer_channels(lpids, n);
    *can_be = n > 0;
    for (int i = 0; i < n; i++)
        *can_be = *can_be && MPID_Channels_undecided(lpids[i]);

  fn_exit:
    MPL_initlock_unlock(&MPIR_Session_contact_lock);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_take_introduction(struct MPIR_Session_answer *answer)
{
    int mpi_errno = MPI_SUCCESS, n = 0;
    int *lpids = MPIR_Session_answer_members(answer, &n);

    MPL_initlock_lock(&MPIR_Session_contact_lock);
    MPIR_ERR_CHKANDJUMP(answer->bad || !lpids, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");
    for (int i = 0; i < n; i++)
        MPIR_ERR_CHKANDJUMP(lpids[i] < 0, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");
    if (n == 0)
        goto fn_exit;
    mpi_errno = MPIR_Session_note_contact(lpids, n, MPIR_SESSION_INTRODUCED);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno =
        MPIR_Session_note_contact(MPIR_Session_start_lpids(), MPIR_Process.size,
                                  MPIR_SESSION_CONNECTED);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_initlock_unlock(&MPIR_Session_contact_lock);
    MPL_free(lpids);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_introduce(const int *lpids, int n)
{
    int mpi_errno = MPI_SUCCESS, own = MPIR_Session_lpid();
    char bc[PMI_SET_CARD_MAX + 1];
    bool knows_all = true;

    MPL_initlock_lock(&MPIR_Session_contact_lock);
    for (int i = 0; i < n; i++)
        knows_all = knows_all && lpids[i] >= 0 && lpids[i] < MPID_SESSION_LPIDS_MAX &&
            MPIR_Session_knows(lpids[i]);
    if (!knows_all)
        goto fn_exit;
    MPID_Channels_remove_exited();
    if (!MPIR_Session_knows(own))
        mpi_errno = MPIR_Session_insert_own_bc(bc, PMI_SET_CARD_MAX);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_note_contact(&own, 1, MPIR_SESSION_CONNECTED);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Session_note_contact(lpids, n, MPIR_SESSION_CONNECTED);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_initlock_unlock(&MPIR_Session_contact_lock);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- decisions about channels ---------------------------------------------------------------- */

static bool awaits_decision_of(int lpid)
{
    return contact_state && contact_state[lpid] == MPIR_SESSION_INTRODUCED;
}

/* Both have offered channels. */
static void decide_channel_to(int lpid)
{
    MPID_Channels_decide(lpid);
    if (awaits_decision_of(lpid))
        contact_state[lpid] = MPIR_SESSION_CONNECTED;
}

/* Called after the rendezvous of all members. */
void MPIR_Session_decide_channels(const MPIR_Group * group)
{
    MPL_initlock_lock(&MPIR_Session_contact_lock);
    for (int i = 0; i < group->size; i++)
        decide_channel_to((int) group->lrank_to_lpid[i].lpid);
    MPL_initlock_unlock(&MPIR_Session_contact_lock);
}

/* Decides for members that were introduced to this process and have already offered channels.
 * Returns whether a channel was offered now. */
static bool decide_where_offered(const MPIR_Group * group)
{
    bool is_new = false;

    MPL_initlock_lock(&MPIR_Session_contact_lock);
    for (int i = 0; i < group->size; i++) {
        int lpid = (int) group->lrank_to_lpid[i].lpid;
        if (awaits_decision_of(lpid))
            continue;
        is_new = MPIR_Session_offer_channel(lpid) || is_new;
        decide_channel_to(lpid);
    }
    MPL_initlock_unlock(&MPIR_Session_contact_lock);
    return is_new;
}

/* Whether this member, if this process was introduced to it, has decided. */
static bool poll_decision(int lpid)
{
    MPL_initlock_lock(&MPIR_Session_contact_lock);
    bool decided = !awaits_decision_of(lpid) || !MPID_Channels_undecided(lpid);
    if (decided)
        decide_channel_to(lpid);
    MPL_initlock_unlock(&MPIR_Session_contact_lock);
    return decided;
}

static int await_decision(const MPIR_Group * group, int lpid)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_watch watch = { 0 };
    bool ended = false;

    while (!poll_decision(lpid)) {
        mpi_errno = MPID_Progress_test(NULL);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Session_watch(&watch, &lpid, 1, group, &ended);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_ERR_CHKANDJUMP(ended, mpi_errno, MPI_ERR_PROC_ABORTED, "**sessionmemberended");
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        sched_yield();
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Of two introduced processes the older one decides, and the newer one waits for the decision.
 * Newer processes are notified first, so that there is no cycle of waits.  `has_met`: this was the
 * first time. */
int MPIR_Session_decide_all(const MPIR_Group * group, bool * has_met)
{
    int mpi_errno = MPI_SUCCESS;

    *has_met = decide_where_offered(group);
    for (int i = 0; i < group->size; i++) {
        int lpid = (int) group->lrank_to_lpid[i].lpid;
        *has_met = *has_met || awaits_decision_of(lpid);
        mpi_errno = await_decision(group, lpid);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
