/*
 * How processes of a launch become known to each other without a world: pair by pair, by names that they publish in
 * the process manager.  SX5, SX6.
 *
 * Each publishes its address once.  A process that has inserted another's address exports that, too, and nobody sends
 * to a process that has not: libfabric may drop a receive that was posted for a sender who was unknown when its
 * message came.  Nothing is locked while it waits, so that several threads can have a rendezvous with different
 * processes.
 *
 * The address is followed by a comma and the business card for shared memory with others of its host.
 *
 * Processes that were not started together receive each other's addresses from mpiexec: with the data of sets that
 * hold them, and where that was not enough, at a rendezvous in mpiexec.  They have one rendezvous when all have
 * inserted the addresses of all, for the reason above.  Nobody waits there for an exited process.  Processes that had
 * a rendezvous need no other one if mpiexec reports that they are a full mesh (pset_meshes.h); it answers at once
 * those that do not know it yet.
 *
 * A joining process may be introduced to the present processes before anybody is notified of it: it inserts their
 * addresses and claims its channels to them, on the same host.  Each of them offers its own channel when it makes the
 * first communicator with the new one, and decides then whether they have a channel, in shared memory.  The new one
 * waits for that.
 */

#include "session.h"
#include "adapt.h"
#include "pmi.h"
#include "pmi_adapt_calls.h"
#include <sched.h>

#define NAME_BYTES (256 + 64)
#define FIRST_PAUSE_US 50
#define LONGEST_PAUSE_US 5000

/* src/pmi/simple/simple_pmi_adapt.h */

static MPL_initlock_t lock = MPL_INITLOCK_INITIALIZER;
static bool address_exported;
static bool stopped;            /* the world is being made: see MPIR_Session_stop_rendezvous */
static unsigned char *met;      /* for each rank: it knows us, and we know it */

static int publish(const char *name, const char *value)
{
    int mpi_errno = MPI_SUCCESS;

    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    int failed = PMIU_Adapt_publish(name, value);
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    MPIR_ERR_CHKANDJUMP(failed, mpi_errno, MPI_ERR_OTHER, "**sessionpublish");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static bool lookup_name(const char *name, char value[MPI_MAX_PORT_NAME])
{
    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    int missing = PMIU_Adapt_lookup(name, value);
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    return !missing;
}

static bool is_stopped(void)
{
    MPL_initlock_lock(&lock);
    bool is = stopped;
    MPL_initlock_unlock(&lock);
    return is;
}

/* Until the process with this rank, of this group, has exported it, or rendezvous are stopped; meanwhile others may
 * need this one's progress. */
static int await(const MPIR_Group * group, int rank, const char *name, char value[MPI_MAX_PORT_NAME])
{
    int mpi_errno = MPI_SUCCESS, pause_us = FIRST_PAUSE_US;
    struct MPIR_Session_watch watch = { 0 };
    bool ended;

    while (!is_stopped() && !lookup_name(name, value)) {
        mpi_errno = MPID_Progress_test(NULL);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Session_watch(&watch, &rank, 1, group, &ended);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_ERR_CHKANDJUMP(ended, mpi_errno, MPI_ERR_PROC_ABORTED, "**sessionmemberended");
        MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        usleep(pause_us);
        MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        pause_us = MPL_MIN(2 * pause_us, LONGEST_PAUSE_US);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void address_name(char *name, int rank)
{
    snprintf(name, NAME_BYTES, "elastic-address-%s-%d", MPIR_pmi_job_id(), rank);
}

static void known_name(char *name, int who, int by)
{
    snprintf(name, NAME_BYTES, "elastic-known-%s-%d-%d", MPIR_pmi_job_id(), who, by);
}

/* Text as others take it in. */
static int own_bc(char *bc, int bytes)
{
    int mpi_errno = MPID_Session_address(bc, bytes);
    int length = (int) strlen(bc);

    if (!mpi_errno && length + 1 < bytes) {
        bc[length] = ',';
        MPID_Channels_bc(bc + length + 1, bytes - length - 1);
    }
    return mpi_errno;
}

/* `channels`: the part of the business card that is about shared memory; "" if there is none. */
static int insert_address(int lpid, const char *bc, const char **channels)
{
    char address[PMI_SET_CARD_MAX + 1];
    size_t length = strcspn(bc, ",");

    *channels = bc[length] ? bc + length + 1 : "";
    MPL_strncpy(address, bc, sizeof(address));
    if (length < sizeof(address))
        address[length] = '\0';
    return MPID_Session_insert(lpid, address);
}

static int take_in(int lpid, const char *bc)
{
    const char *channels;
    int mpi_errno = insert_address(lpid, bc, &channels);

    if (!mpi_errno && *channels)
        MPID_Channels_offer(lpid, channels);
    return mpi_errno;
}

/* Under the lock.  Without a world there is no other way to oneself. */
static int take_in_oneself(const char *own)
{
    int mpi_errno = take_in(MPIR_Session_lpid(), own);

    if (!mpi_errno)
        MPID_Channels_decide(MPIR_Session_lpid());
    return mpi_errno;
}

int MPIR_Session_rendezvous_self(void)
{
    int mpi_errno = MPI_SUCCESS;
    char text[PMI_SET_CARD_MAX];

    if (MPIR_Process.comm_world || MPIR_Adapt.state != MPIR_ADAPT_STATE__OFF)
        goto fn_exit;
    MPL_initlock_lock(&lock);
    if (!MPID_Session_knows(MPIR_Session_lpid())) {
        mpi_errno = own_bc(text, sizeof(text));
        if (!mpi_errno)
            mpi_errno = take_in_oneself(text);
    }
    MPL_initlock_unlock(&lock);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Under the lock. */
static int publish_address(void)
{
    int mpi_errno = MPI_SUCCESS;
    char name[NAME_BYTES], text[MPI_MAX_PORT_NAME];

    if (address_exported)
        goto fn_exit;
    met = MPL_calloc(MPIR_Process.size, 1, MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!met, mpi_errno, MPI_ERR_OTHER, "**nomem");
    mpi_errno = own_bc(text, sizeof(text));
    MPIR_ERR_CHECK(mpi_errno);
    if (!MPID_Session_knows(MPIR_Session_lpid()))
        mpi_errno = take_in_oneself(text);
    MPIR_ERR_CHECK(mpi_errno);
    met[MPIR_Process.rank] = 1;
    address_name(name, MPIR_Process.rank);
    mpi_errno = publish(name, text);
    MPIR_ERR_CHECK(mpi_errno);
    address_exported = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int learn(const MPIR_Group * group, int rank)
{
    int mpi_errno = MPI_SUCCESS;
    char name[NAME_BYTES], text[MPI_MAX_PORT_NAME];

    address_name(name, rank);
    mpi_errno = await(group, rank, name, text);
    MPIR_ERR_CHECK(mpi_errno);
    MPL_initlock_lock(&lock);
    if (!stopped && !MPID_Session_knows(rank)) {
        mpi_errno = take_in(rank, text);
        if (!mpi_errno) {
            known_name(name, rank, MPIR_Process.rank);
            mpi_errno = publish(name, "yes");
        }
    }
    MPL_initlock_unlock(&lock);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Under the lock. */
static void have_met(int rank)
{
    MPID_Channels_decide(rank);
    met[rank] = 1;
}

static int await_known(const MPIR_Group * group, int rank)
{
    char name[NAME_BYTES], text[MPI_MAX_PORT_NAME];

    known_name(name, MPIR_Process.rank, rank);
    int mpi_errno = await(group, rank, name, text);
    if (!mpi_errno) {
        MPL_initlock_lock(&lock);
        if (!stopped)
            have_met(rank);
        MPL_initlock_unlock(&lock);
    }
    return mpi_errno;
}

static int begin_rendezvous(void)
{
    MPL_initlock_lock(&lock);
    int mpi_errno = stopped ? MPI_SUCCESS : publish_address();
    MPL_initlock_unlock(&lock);
    return mpi_errno;
}

int MPIR_Session_rendezvous(const MPIR_Group * group, bool * all_met)
{
    int mpi_errno = MPI_SUCCESS;

    /* everybody knows everybody in a world */
    *all_met = true;
    if (MPIR_Process.comm_world)
        goto fn_exit;
    for (int i = 0; i < group->size; i++)
        MPIR_ERR_CHKANDJUMP(group->lrank_to_lpid[i].lpid >= MPIR_Process.size, mpi_errno,
                            MPI_ERR_GROUP, "**sessiongroup");
    mpi_errno = begin_rendezvous();
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < group->size && !is_stopped(); i++) {
        int rank = (int) group->lrank_to_lpid[i].lpid;
        mpi_errno = met[rank] ? MPI_SUCCESS : learn(group, rank);
        MPIR_ERR_CHECK(mpi_errno);
    }
    for (int i = 0; i < group->size && !is_stopped(); i++) {
        int rank = (int) group->lrank_to_lpid[i].lpid;
        mpi_errno = met[rank] ? MPI_SUCCESS : await_known(group, rank);
        MPIR_ERR_CHECK(mpi_errno);
    }
    for (int i = 0; i < group->size; i++)
        *all_met = *all_met && met && met[group->lrank_to_lpid[i].lpid];

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- rendezvous and a world that is made meanwhile ----------------------------------------------------------- */

/* Processes that had a rendezvous, as both see it, continue over the network, and the others share memory in the
 * world: both of a pair have to decide the same.  So when all have come to make the world, they stop to take in
 * addresses.  Then, when all have stopped, a pair is connected if each has exported that it knows the other one. */
void MPIR_Session_stop_rendezvous(bool is_stop)
{
    MPL_initlock_lock(&lock);
    stopped = is_stop;
    MPL_initlock_unlock(&lock);
}

/* Under the lock. */
static int finish_rendezvous_with(int rank)
{
    char name[NAME_BYTES], text[MPI_MAX_PORT_NAME];

    known_name(name, MPIR_Process.rank, rank);
    if (lookup_name(name, text)) {
        have_met(rank);
        return MPI_SUCCESS;
    }
    MPID_Channels_decide(rank); /* it has claimed none: ours is given back */
    return MPID_Session_insert(rank, NULL);
}

int MPIR_Session_finish_rendezvous(void)
{
    int mpi_errno = MPI_SUCCESS;

    MPL_initlock_lock(&lock);
    for (int rank = 0; address_exported && rank < MPIR_Process.size && !mpi_errno; rank++) {
        if (!met[rank] && MPID_Session_knows(rank))
            mpi_errno = finish_rendezvous_with(rank);
    }
    MPL_initlock_unlock(&lock);
    return mpi_errno;
}

/* ---- processes of different start groups ----------------------------------------------------------------------- */

bool MPIR_Session_is_apart(const MPIR_Group * group)
{
    bool apart = MPIR_Session_is_joining();

    for (int i = 0; i < group->size && !apart; i++)
        apart = group->lrank_to_lpid[i].lpid >= (uint64_t) MPIR_Process.size;
    return apart && MPIR_Adapt.state == MPIR_ADAPT_STATE__OFF;
}

static char **channel_bcs;      /* by lpid: taken in with the address, and not offered yet */

static bool is_mate(int lpid)
{
    int first = MPIR_Session_lpid() - MPIR_Process.rank;

    return lpid >= first && lpid < first + MPIR_Process.size;
}

static bool knows(int lpid)
{
    return MPID_Session_knows(lpid) || (MPIR_Process.comm_world && is_mate(lpid));
}

/* A ring in the other's memory is claimed when both make a communicator, not before: one of them may never. */
static int insert_bc(int lpid, const char *bc)
{
    int mpi_errno = MPI_SUCCESS;
    const char *channels;

    if (knows(lpid))
        goto fn_exit;
    if (!channel_bcs)
        channel_bcs = MPL_calloc(MPID_SESSION_LPIDS_MAX, sizeof(*channel_bcs), MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!channel_bcs, mpi_errno, MPI_ERR_OTHER, "**nomem");
    mpi_errno = insert_address(lpid, bc, &channels);
    MPIR_ERR_CHECK(mpi_errno);
    if (*channels)
        channel_bcs[lpid] = MPL_strdup(channels);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Whether there was one. */
static bool offer_channel(int lpid)
{
    if (!channel_bcs || !channel_bcs[lpid])
        return false;
    MPID_Channels_offer(lpid, channel_bcs[lpid]);
    MPL_free(channel_bcs[lpid]);
    channel_bcs[lpid] = NULL;
    return true;
}

static void offer_channels(const int *lpids, int n)
{
    for (int i = 0; i < n; i++)
        offer_channel(lpids[i]);
}

/* The own one is taken in as others' are, with a channel that is claimed later (take_in_oneself claims it at once). */
static int insert_own_bc(char *bc, int bytes)
{
    int mpi_errno = own_bc(bc, bytes);

    return mpi_errno ? mpi_errno : insert_bc(MPIR_Session_lpid(), bc);
}

/* Of processes of the launch the others need not know, who take in its world together, if at all. */
static int take_early(uint32_t uid, const char *bc)
{
    int mpi_errno = MPI_SUCCESS;

    if (uid >= MPID_SESSION_LPIDS_MAX || MPIR_Adapt.state != MPIR_ADAPT_STATE__OFF ||
        (int) uid == MPIR_Session_lpid() || (is_mate((int) uid) && !MPIR_Session_is_joining()))
        goto fn_exit;
    MPL_initlock_lock(&lock);
    mpi_errno = MPID_Session_reserve_lpids(0);
    if (!mpi_errno)
        mpi_errno = insert_bc((int) uid, bc);
    MPL_initlock_unlock(&lock);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_insert_bcs(struct MPIR_Session_answer *answer)
{
    int mpi_errno = MPI_SUCCESS;
    char bc[PMI_SET_CARD_MAX + 1];

    for (uint32_t n = MPIR_Session_answer_number(answer); n > 0 && !answer->bad; n--) {
        uint32_t uid = MPIR_Session_answer_number(answer);
        MPIR_Session_answer_text(answer, bc, PMI_SET_CARD_MAX);
        MPIR_ERR_CHKANDJUMP(answer->bad, mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");
        mpi_errno = take_early(uid, bc);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static bool bc_given;           /* mpiexec has it */

int MPIR_Session_own_bc(char *bc, int bytes)
{
    int mpi_errno = MPI_SUCCESS;

    bc[0] = '\0';
    if (bc_given)
        goto fn_exit;
    MPL_initlock_lock(&lock);
    mpi_errno = own_bc(bc, bytes);
    MPL_initlock_unlock(&lock);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIR_Session_bc_given(void)
{
    bc_given = true;
}

static unsigned long long rendezvous_count;

unsigned long long *MPIR_Session_rendezvous_count(void)
{
    return &rendezvous_count;
}

/* By lpid: with this process, and with each other. */
static unsigned char *contact_state;

enum contact_state {
    NOT_CONNECTED,
    CONNECTED,
    INTRODUCED                  /* and has not decided yet whether there is a channel, as far as it is known here */
};

static bool needs_no_rendezvous(const MPIR_Group * group)
{
    bool needless = contact_state != NULL;

    for (int i = 0; i < group->size && needless; i++)
        needless = group->lrank_to_lpid[i].lpid < MPID_SESSION_LPIDS_MAX && contact_state[group->lrank_to_lpid[i].lpid];
    return needless;
}

static int note_contact(const int *lpids, int n, enum contact_state how)
{
    int mpi_errno = MPI_SUCCESS;

    if (!contact_state)
        contact_state = MPL_calloc(MPID_SESSION_LPIDS_MAX, 1, MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!contact_state, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < n; i++)
        contact_state[lpids[i]] = contact_state[lpids[i]] == NOT_CONNECTED ? how : contact_state[lpids[i]];

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- introductions --------------------------------------------------------------------------------------------- */

/* Channels are claimed here and now, so that the others only poll when they make a communicator; they decide then
 * whether there is one, which this process waits for.  Processes of other hosts are connected as ever. */
int MPIR_Session_prepare_introduction(struct MPIR_Session_answer *answer, bool * can_be)
{
    int mpi_errno = MPI_SUCCESS, n = 0, lpids[PMI_SET_INTRODUCED_MAX];
    char bc[PMI_SET_CARD_MAX + 1];

    MPL_initlock_lock(&lock);
    mpi_errno = insert_own_bc(bc, PMI_SET_CARD_MAX);
    MPIR_ERR_CHECK(mpi_errno);
    for (uint32_t left = MPIR_Session_answer_number(answer); left > 0 && !answer->bad; left--) {
        uint32_t uid = MPIR_Session_answer_number(answer);
        MPIR_Session_answer_text(answer, bc, PMI_SET_CARD_MAX);
        MPIR_ERR_CHKANDJUMP(answer->bad || uid >= MPID_SESSION_LPIDS_MAX || n == PMI_SET_INTRODUCED_MAX, mpi_errno,
                            MPI_ERR_OTHER, "**adaptdaemon");
        mpi_errno = insert_bc((int) uid, bc);
        MPIR_ERR_CHECK(mpi_errno);
        lpids[n++] = (int) uid;
    }
    offer_channels(lpids, n);
    *can_be = n > 0;
    for (int i = 0; i < n; i++)
        *can_be = *can_be && MPID_Channels_undecided(lpids[i]);

  fn_exit:
    MPL_initlock_unlock(&lock);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_take_introduction(struct MPIR_Session_answer *answer)
{
    int mpi_errno = MPI_SUCCESS, n = 0;
    int *lpids = MPIR_Session_answer_members(answer, &n);

    MPL_initlock_lock(&lock);
    MPIR_ERR_CHKANDJUMP(answer->bad || !lpids, mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");
    for (int i = 0; i < n; i++)
        MPIR_ERR_CHKANDJUMP(lpids[i] < 0, mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");
    if (n == 0)
        goto fn_exit;
    mpi_errno = note_contact(lpids, n, INTRODUCED);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = note_contact(MPIR_Session_start_lpids(), MPIR_Process.size, CONNECTED);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_initlock_unlock(&lock);
    MPL_free(lpids);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIR_Session_remove_exited(void)
{
    MPL_initlock_lock(&lock);
    MPID_Channels_remove_exited();
    MPL_initlock_unlock(&lock);
}

int MPIR_Session_introduce(const int *lpids, int n)
{
    int mpi_errno = MPI_SUCCESS, own = MPIR_Session_lpid();
    char bc[PMI_SET_CARD_MAX + 1];
    bool knows_all = true;

    MPL_initlock_lock(&lock);
    for (int i = 0; i < n; i++)
        knows_all = knows_all && lpids[i] >= 0 && lpids[i] < MPID_SESSION_LPIDS_MAX && knows(lpids[i]);
    if (!knows_all)
        goto fn_exit;
    MPID_Channels_remove_exited();
    if (!knows(own))
        mpi_errno = insert_own_bc(bc, PMI_SET_CARD_MAX);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = note_contact(&own, 1, CONNECTED);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = note_contact(lpids, n, CONNECTED);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_initlock_unlock(&lock);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static bool awaits_decision_of(int lpid)
{
    return contact_state && contact_state[lpid] == INTRODUCED;
}

/* Both have offered channels. */
static void decide_channel(int lpid)
{
    MPID_Channels_decide(lpid);
    if (awaits_decision_of(lpid))
        contact_state[lpid] = CONNECTED;
}

/* When all members have met. */
static void decide_channels(const MPIR_Group * group)
{
    MPL_initlock_lock(&lock);
    for (int i = 0; i < group->size; i++)
        decide_channel((int) group->lrank_to_lpid[i].lpid);
    MPL_initlock_unlock(&lock);
}

/* With those who were introduced to this process, and have offered channels long ago.  Whether there is one that had
 * not been decided. */
static bool decide(const MPIR_Group * group)
{
    bool is_new = false;

    MPL_initlock_lock(&lock);
    for (int i = 0; i < group->size; i++) {
        int lpid = (int) group->lrank_to_lpid[i].lpid;
        if (awaits_decision_of(lpid))
            continue;
        is_new = offer_channel(lpid) || is_new;
        decide_channel(lpid);
    }
    MPL_initlock_unlock(&lock);
    return is_new;
}

/* Whether this member, if this process was introduced to it, has decided. */
static bool poll_decision(int lpid)
{
    MPL_initlock_lock(&lock);
    bool decided = !awaits_decision_of(lpid) || !MPID_Channels_undecided(lpid);
    if (decided)
        decide_channel(lpid);
    MPL_initlock_unlock(&lock);
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

/* Of two that were introduced the one that was there before comes, and decides, and the other one waits for it.  So
 * newer processes are notified first, so that no cycle of waits arises.  `has_met`: for the first
 * time. */
static int decide_all(const MPIR_Group * group, bool * has_met)
{
    int mpi_errno = MPI_SUCCESS;

    *has_met = decide(group);
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

/* ---- rendezvous ------------------------------------------------------------------------------------------------ */

static int insert_missing(struct MPIR_Session_answer *answer, const int *lpids, int n)
{
    int mpi_errno = MPI_SUCCESS;
    char text[PMI_SET_CARD_MAX + 1];

    for (int i = 0; i < n && !mpi_errno; i++) {
        MPIR_Session_answer_text(answer, text, PMI_SET_CARD_MAX);
        mpi_errno = insert_bc(lpids[i], text);
    }
    return mpi_errno;
}

/* All of them come to it.  `complete`: all know all; else what was missing has been taken in, and they have another
 * rendezvous.  `is_needless`: those that know each other for good need not have come. */
static int rendezvous_round(const int *lpids, int n, const char *stringtag, int round, const char *bc, bool knows_all,
                            bool * complete, bool * is_needless)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };
    char tag[PMI_SET_TAG_MAX];

    snprintf(tag, sizeof(tag), "%d %.900s", round, stringtag);
    mpi_errno = MPIR_Session_call_prepare();
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_call_begin(&call, PMI_SET_MEET);
    call.waits = true;
    MPIR_Session_call_text(&call, tag);
    MPIR_Session_call_text(&call, bc);
    MPIR_Session_call_members(&call, lpids, n);
    MPIR_Session_call_number(&call, knows_all);
    mpi_errno = MPIR_Session_call_query(&call, &answer);
    if (mpi_errno)
        goto fn_fail;           /* no line of the error's stack: the reason comes last, and would be cut off */
    MPIR_Session_bc_given();
    rendezvous_count++;
    uint32_t bcs = MPIR_Session_answer_number(&answer);
    MPIR_ERR_CHKANDJUMP(answer.bad || (bcs != 0 && bcs != (uint32_t) n), mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");
    *complete = bcs == 0;
    MPL_initlock_lock(&lock);
    mpi_errno = insert_missing(&answer, lpids, (int) bcs);
    if (!mpi_errno)
        offer_channels(lpids, n);
    *is_needless = MPIR_Session_answer_number(&answer) == 1;
    if (!mpi_errno && *is_needless)
        mpi_errno = note_contact(lpids, n, CONNECTED);
    MPL_initlock_unlock(&lock);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_rendezvous_apart(const MPIR_Group * group, const char *stringtag, int first_round, bool * has_met)
{
    int mpi_errno = MPI_SUCCESS, *lpids = NULL;
    char bc[PMI_SET_CARD_MAX];
    bool knows_all = true, complete, is_needless, is_new;
    MPIR_CHKLMEM_DECL(1);

    MPL_initlock_lock(&lock);
    *has_met = !needs_no_rendezvous(group);
    MPL_initlock_unlock(&lock);
    if (!*has_met) {
        mpi_errno = decide_all(group, has_met);
        MPIR_ERR_CHECK(mpi_errno);
        goto fn_exit;
    }
    MPIR_CHKLMEM_MALLOC(lpids, int *, group->size * sizeof(int), mpi_errno, "lpids", MPL_MEM_OTHER);
    for (int i = 0; i < group->size; i++) {
        MPIR_ERR_CHKANDJUMP(group->lrank_to_lpid[i].lpid >= MPID_SESSION_LPIDS_MAX, mpi_errno, MPI_ERR_GROUP,
                            "**sessiongroup");
        lpids[i] = (int) group->lrank_to_lpid[i].lpid;
    }
    MPL_initlock_lock(&lock);
    mpi_errno = MPID_Session_reserve_lpids(0);
    if (!mpi_errno)
        mpi_errno = insert_own_bc(bc, sizeof(bc));
    for (int i = 0; i < group->size && !mpi_errno; i++)
        knows_all = knows_all && knows(lpids[i]);
    if (!mpi_errno)
        offer_channels(lpids, group->size);
    MPL_initlock_unlock(&lock);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = rendezvous_round(lpids, group->size, stringtag, first_round, bc_given ? "" : bc, knows_all, &complete,
                                 &is_needless);
    MPIR_ERR_CHECK(mpi_errno);
    if (!complete)
        mpi_errno = rendezvous_round(lpids, group->size, stringtag, first_round + 1, "", true, &complete, &is_needless);
    MPIR_ERR_CHECK(mpi_errno);
    if (is_needless)
        mpi_errno = decide_all(group, &is_new);
    else
        decide_channels(group);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
