/*
 * How processes of a launch become known to each other without a world: pair by pair, by names that they publish in
 * the process manager.  SX5, SX6.
 *
 * Each publishes its address once.  Who has taken in another's address publishes that, too, and nobody sends to a
 * process that has not said so: libfabric may lose a receive that was posted for a sender who was unknown when its
 * message came.  Nothing is locked while it waits, so that several threads can meet different processes.
 *
 * Behind the address, after a comma, stands how it shares memory with others of its host.
 *
 * Processes that were not started together are told each other's addresses by mpiexec: along with sets that hold them,
 * and where that was not enough, when they meet there.  They meet once when all have taken in the addresses of all, for
 * the reason above.  Nobody waits there for one that has departed.  Those who have met need not do so again if mpiexec
 * says so (pset_meshes.h): it answers those at once who have not heard of that.
 *
 * A joining process may be introduced to those that are there before anybody is told of it: it takes in their addresses
 * and claims its lanes to them, on the same host.  Each of them offers its own lane when it makes the first
 * communicator with the new one, and says then whether they have a lane, in shared memory.  The new one waits for that.
 */

#include "session.h"
#include "adapt.h"
#include "pmi.h"
#include <sched.h>

#define NAME_BYTES (256 + 64)
#define FIRST_PAUSE_US 50
#define LONGEST_PAUSE_US 5000

/* src/pmi/simple/simple_pmi_adapt.h */
int PMIU_Adapt_publish(const char *name, const char *value);
int PMIU_Adapt_lookup(const char *name, char *value);

static MPL_initlock_t lock = MPL_INITLOCK_INITIALIZER;
static bool address_published;
static bool stopped;            /* the world is being made: see MPIR_Session_stop_meetings */
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

static bool look_up(const char *name, char value[MPI_MAX_PORT_NAME])
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

/* Until the process with this rank, of this group, has published it, or meetings are stopped; meanwhile others may need
 * this one's progress. */
static int await(const MPIR_Group * group, int rank, const char *name, char value[MPI_MAX_PORT_NAME])
{
    int mpi_errno = MPI_SUCCESS, pause_us = FIRST_PAUSE_US;
    struct MPIR_Session_watch watch = { 0 };
    bool ended;

    while (!is_stopped() && !look_up(name, value)) {
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
static int own_card(char *card, int bytes)
{
    int mpi_errno = MPID_Session_address(card, bytes);
    int length = (int) strlen(card);

    if (!mpi_errno && length + 1 < bytes) {
        card[length] = ',';
        MPID_Lanes_card(card + length + 1, bytes - length - 1);
    }
    return mpi_errno;
}

/* `lanes`: the part of the card that is about shared memory; "" if there is none. */
static int take_in_address(int place, const char *card, const char **lanes)
{
    char address[PMI_SET_CARD_MAX + 1];
    size_t length = strcspn(card, ",");

    *lanes = card[length] ? card + length + 1 : "";
    MPL_strncpy(address, card, sizeof(address));
    if (length < sizeof(address))
        address[length] = '\0';
    return MPID_Session_take_in(place, address);
}

static int take_in(int place, const char *card)
{
    const char *lanes;
    int mpi_errno = take_in_address(place, card, &lanes);

    if (!mpi_errno && *lanes)
        MPID_Lanes_offer(place, lanes);
    return mpi_errno;
}

/* Under the lock.  Without a world there is no other way to oneself. */
static int take_in_oneself(const char *own)
{
    int mpi_errno = take_in(MPIR_Session_place(), own);

    if (!mpi_errno)
        MPID_Lanes_settle(MPIR_Session_place());
    return mpi_errno;
}

int MPIR_Session_meet_oneself(void)
{
    int mpi_errno = MPI_SUCCESS;
    char text[PMI_SET_CARD_MAX];

    if (MPIR_Process.comm_world || MPIR_Adapt.state != MPIR_ADAPT_STATE__OFF)
        goto fn_exit;
    MPL_initlock_lock(&lock);
    if (!MPID_Session_knows(MPIR_Session_place())) {
        mpi_errno = own_card(text, sizeof(text));
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

    if (address_published)
        goto fn_exit;
    met = MPL_calloc(MPIR_Process.size, 1, MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!met, mpi_errno, MPI_ERR_OTHER, "**nomem");
    mpi_errno = own_card(text, sizeof(text));
    MPIR_ERR_CHECK(mpi_errno);
    if (!MPID_Session_knows(MPIR_Session_place()))
        mpi_errno = take_in_oneself(text);
    MPIR_ERR_CHECK(mpi_errno);
    met[MPIR_Process.rank] = 1;
    address_name(name, MPIR_Process.rank);
    mpi_errno = publish(name, text);
    MPIR_ERR_CHECK(mpi_errno);
    address_published = true;

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
    MPID_Lanes_settle(rank);
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

static int begin_to_meet(void)
{
    MPL_initlock_lock(&lock);
    int mpi_errno = stopped ? MPI_SUCCESS : publish_address();
    MPL_initlock_unlock(&lock);
    return mpi_errno;
}

int MPIR_Session_meet(const MPIR_Group * group, bool * all_met)
{
    int mpi_errno = MPI_SUCCESS;

    /* everybody knows everybody in a world */
    *all_met = true;
    if (MPIR_Process.comm_world)
        goto fn_exit;
    for (int i = 0; i < group->size; i++)
        MPIR_ERR_CHKANDJUMP(group->lrank_to_lpid[i].lpid >= MPIR_Process.size, mpi_errno,
                            MPI_ERR_GROUP, "**sessiongroup");
    mpi_errno = begin_to_meet();
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

/* ---- meetings and a world that is made meanwhile ----------------------------------------------------------------- */

/* Those who have met, as both see it, go on over the network, and the others share memory in the world: both of a pair
 * have to decide alike.  So when all have come to make the world, they stop to take in addresses.  Then, when all have
 * stopped, a pair has met if each has published that it knows the other one. */
void MPIR_Session_stop_meetings(bool is_stop)
{
    MPL_initlock_lock(&lock);
    stopped = is_stop;
    MPL_initlock_unlock(&lock);
}

/* Under the lock. */
static int end_meeting(int rank)
{
    char name[NAME_BYTES], text[MPI_MAX_PORT_NAME];

    known_name(name, MPIR_Process.rank, rank);
    if (look_up(name, text)) {
        have_met(rank);
        return MPI_SUCCESS;
    }
    MPID_Lanes_settle(rank);    /* it has claimed none: ours is given back */
    return MPID_Session_take_in(rank, NULL);
}

int MPIR_Session_end_meetings(void)
{
    int mpi_errno = MPI_SUCCESS;

    MPL_initlock_lock(&lock);
    for (int rank = 0; address_published && rank < MPIR_Process.size && !mpi_errno; rank++) {
        if (!met[rank] && MPID_Session_knows(rank))
            mpi_errno = end_meeting(rank);
    }
    MPL_initlock_unlock(&lock);
    return mpi_errno;
}

/* ---- processes of different start groups ------------------------------------------------------------------------ */

bool MPIR_Session_is_apart(const MPIR_Group * group)
{
    bool apart = MPIR_Session_is_joiner();

    for (int i = 0; i < group->size && !apart; i++)
        apart = group->lrank_to_lpid[i].lpid >= (uint64_t) MPIR_Process.size;
    return apart && MPIR_Adapt.state == MPIR_ADAPT_STATE__OFF;
}

static char **lane_cards;       /* by place: taken in with the address, and not offered yet */

static bool is_mate(int place)
{
    int first = MPIR_Session_place() - MPIR_Process.rank;

    return place >= first && place < first + MPIR_Process.size;
}

static bool knows(int place)
{
    return MPID_Session_knows(place) || (MPIR_Process.comm_world && is_mate(place));
}

/* A ring in the other's memory is claimed when both make a communicator, not before: one of them may never. */
static int take_in_card(int place, const char *card)
{
    int mpi_errno = MPI_SUCCESS;
    const char *lanes;

    if (knows(place))
        goto fn_exit;
    if (!lane_cards)
        lane_cards = MPL_calloc(MPID_SESSION_PLACES, sizeof(*lane_cards), MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!lane_cards, mpi_errno, MPI_ERR_OTHER, "**nomem");
    mpi_errno = take_in_address(place, card, &lanes);
    MPIR_ERR_CHECK(mpi_errno);
    if (*lanes)
        lane_cards[place] = MPL_strdup(lanes);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Whether there was one. */
static bool offer_lane(int place)
{
    if (!lane_cards || !lane_cards[place])
        return false;
    MPID_Lanes_offer(place, lane_cards[place]);
    MPL_free(lane_cards[place]);
    lane_cards[place] = NULL;
    return true;
}

static void offer_lanes(const int *places, int n)
{
    for (int i = 0; i < n; i++)
        offer_lane(places[i]);
}

/* The own one is taken in as others' are, with a lane that is claimed later (take_in_oneself claims it at once). */
static int take_in_own_card(char *card, int bytes)
{
    int mpi_errno = own_card(card, bytes);

    return mpi_errno ? mpi_errno : take_in_card(MPIR_Session_place(), card);
}

/* Of processes of the launch the others need not know, who take in its world together, if at all. */
static int take_early(uint32_t uid, const char *card)
{
    int mpi_errno = MPI_SUCCESS;

    if (uid >= MPID_SESSION_PLACES || MPIR_Adapt.state != MPIR_ADAPT_STATE__OFF ||
        (int) uid == MPIR_Session_place() || (is_mate((int) uid) && !MPIR_Session_is_joiner()))
        goto fn_exit;
    MPL_initlock_lock(&lock);
    mpi_errno = MPID_Session_reserve_places(0);
    if (!mpi_errno)
        mpi_errno = take_in_card((int) uid, card);
    MPL_initlock_unlock(&lock);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_take_cards(struct MPIR_Session_answer *answer)
{
    int mpi_errno = MPI_SUCCESS;
    char card[PMI_SET_CARD_MAX + 1];

    for (uint32_t n = MPIR_Session_answer_number(answer); n > 0 && !answer->bad; n--) {
        uint32_t uid = MPIR_Session_answer_number(answer);
        MPIR_Session_answer_text(answer, card, PMI_SET_CARD_MAX);
        MPIR_ERR_CHKANDJUMP(answer->bad, mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");
        mpi_errno = take_early(uid, card);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static bool card_given;         /* mpiexec has it */

int MPIR_Session_own_card(char *card, int bytes)
{
    int mpi_errno = MPI_SUCCESS;

    card[0] = '\0';
    if (card_given)
        goto fn_exit;
    MPL_initlock_lock(&lock);
    mpi_errno = own_card(card, bytes);
    MPL_initlock_unlock(&lock);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIR_Session_card_given(void)
{
    card_given = true;
}

static unsigned long long meetings;

unsigned long long *MPIR_Session_meetings(void)
{
    return &meetings;
}

/* By place: with this process, and with each other. */
static unsigned char *acquainted;

enum acquaintance {
    STRANGER,
    ACQUAINTED,
    INTRODUCED                  /* and has not decided yet whether there is a lane, as far as it is known here */
};

static bool need_not_meet(const MPIR_Group * group)
{
    bool needless = acquainted != NULL;

    for (int i = 0; i < group->size && needless; i++)
        needless = group->lrank_to_lpid[i].lpid < MPID_SESSION_PLACES && acquainted[group->lrank_to_lpid[i].lpid];
    return needless;
}

static int note_acquainted(const int *places, int n, enum acquaintance how)
{
    int mpi_errno = MPI_SUCCESS;

    if (!acquainted)
        acquainted = MPL_calloc(MPID_SESSION_PLACES, 1, MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!acquainted, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < n; i++)
        acquainted[places[i]] = acquainted[places[i]] == STRANGER ? how : acquainted[places[i]];

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- introductions ---------------------------------------------------------------------------------------------- */

/* Lanes are claimed here and now, so that the others need only look when they make a communicator; they say then
 * whether there is one, which this process waits for.  Who is elsewhere is met as ever. */
int MPIR_Session_prepare_introduction(struct MPIR_Session_answer *answer, bool * can_be)
{
    int mpi_errno = MPI_SUCCESS, n = 0, places[PMI_SET_INTRODUCED_MAX];
    char card[PMI_SET_CARD_MAX + 1];

    MPL_initlock_lock(&lock);
    mpi_errno = take_in_own_card(card, PMI_SET_CARD_MAX);
    MPIR_ERR_CHECK(mpi_errno);
    for (uint32_t left = MPIR_Session_answer_number(answer); left > 0 && !answer->bad; left--) {
        uint32_t uid = MPIR_Session_answer_number(answer);
        MPIR_Session_answer_text(answer, card, PMI_SET_CARD_MAX);
        MPIR_ERR_CHKANDJUMP(answer->bad || uid >= MPID_SESSION_PLACES || n == PMI_SET_INTRODUCED_MAX, mpi_errno,
                            MPI_ERR_OTHER, "**adaptdaemon");
        mpi_errno = take_in_card((int) uid, card);
        MPIR_ERR_CHECK(mpi_errno);
        places[n++] = (int) uid;
    }
    offer_lanes(places, n);
    *can_be = n > 0;
    for (int i = 0; i < n; i++)
        *can_be = *can_be && MPID_Lanes_undecided(places[i]);

  fn_exit:
    MPL_initlock_unlock(&lock);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_take_introduction(struct MPIR_Session_answer *answer)
{
    int mpi_errno = MPI_SUCCESS, n = 0;
    int *places = MPIR_Session_answer_members(answer, &n);

    MPL_initlock_lock(&lock);
    MPIR_ERR_CHKANDJUMP(answer->bad || !places, mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");
    for (int i = 0; i < n; i++)
        MPIR_ERR_CHKANDJUMP(places[i] < 0, mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");
    if (n == 0)
        goto fn_exit;
    mpi_errno = note_acquainted(places, n, INTRODUCED);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = note_acquainted(MPIR_Session_start_places(), MPIR_Process.size, ACQUAINTED);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_initlock_unlock(&lock);
    MPL_free(places);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIR_Session_forget_departed(void)
{
    MPL_initlock_lock(&lock);
    MPID_Lanes_forget_departed();
    MPL_initlock_unlock(&lock);
}

int MPIR_Session_introduce(const int *places, int n)
{
    int mpi_errno = MPI_SUCCESS, own = MPIR_Session_place();
    char card[PMI_SET_CARD_MAX + 1];
    bool knows_all = true;

    MPL_initlock_lock(&lock);
    for (int i = 0; i < n; i++)
        knows_all = knows_all && places[i] >= 0 && places[i] < MPID_SESSION_PLACES && knows(places[i]);
    if (!knows_all)
        goto fn_exit;
    MPID_Lanes_forget_departed();
    if (!knows(own))
        mpi_errno = take_in_own_card(card, PMI_SET_CARD_MAX);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = note_acquainted(&own, 1, ACQUAINTED);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = note_acquainted(places, n, ACQUAINTED);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_initlock_unlock(&lock);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static bool awaits_decision_of(int place)
{
    return acquainted && acquainted[place] == INTRODUCED;
}

/* Both have offered lanes. */
static void settle(int place)
{
    MPID_Lanes_settle(place);
    if (awaits_decision_of(place))
        acquainted[place] = ACQUAINTED;
}

/* When all members have met. */
static void settle_all(const MPIR_Group * group)
{
    MPL_initlock_lock(&lock);
    for (int i = 0; i < group->size; i++)
        settle((int) group->lrank_to_lpid[i].lpid);
    MPL_initlock_unlock(&lock);
}

/* With those who were introduced to this process, and have offered lanes long ago.  Whether there is one that had not
 * been decided. */
static bool decide(const MPIR_Group * group)
{
    bool is_new = false;

    MPL_initlock_lock(&lock);
    for (int i = 0; i < group->size; i++) {
        int place = (int) group->lrank_to_lpid[i].lpid;
        if (awaits_decision_of(place))
            continue;
        is_new = offer_lane(place) || is_new;
        settle(place);
    }
    MPL_initlock_unlock(&lock);
    return is_new;
}

/* Whether this member, if this process was introduced to it, has decided. */
static bool look_for_decision(int place)
{
    MPL_initlock_lock(&lock);
    bool decided = !awaits_decision_of(place) || !MPID_Lanes_undecided(place);
    if (decided)
        settle(place);
    MPL_initlock_unlock(&lock);
    return decided;
}

static int await_decision(const MPIR_Group * group, int place)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_watch watch = { 0 };
    bool ended = false;

    while (!look_for_decision(place)) {
        mpi_errno = MPID_Progress_test(NULL);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Session_watch(&watch, &place, 1, group, &ended);
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
 * those that are newer than this process are told first, and nobody waits in a circle.  `has_met`: for the first
 * time. */
static int decide_all(const MPIR_Group * group, bool * has_met)
{
    int mpi_errno = MPI_SUCCESS;

    *has_met = decide(group);
    for (int i = 0; i < group->size; i++) {
        int place = (int) group->lrank_to_lpid[i].lpid;
        *has_met = *has_met || awaits_decision_of(place);
        mpi_errno = await_decision(group, place);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- meetings --------------------------------------------------------------------------------------------------- */

static int take_in_missing(struct MPIR_Session_answer *answer, const int *places, int n)
{
    int mpi_errno = MPI_SUCCESS;
    char text[PMI_SET_CARD_MAX + 1];

    for (int i = 0; i < n && !mpi_errno; i++) {
        MPIR_Session_answer_text(answer, text, PMI_SET_CARD_MAX);
        mpi_errno = take_in_card(places[i], text);
    }
    return mpi_errno;
}

/* All of them come to it.  `complete`: all know all; else what was missing has been taken in, and they meet again.
 * `is_needless`: those that know each other for good need not have come. */
static int meet_once(const int *places, int n, const char *stringtag, int round, const char *card, bool knows_all,
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
    MPIR_Session_call_text(&call, card);
    MPIR_Session_call_members(&call, places, n);
    MPIR_Session_call_number(&call, knows_all);
    mpi_errno = MPIR_Session_call_ask(&call, &answer);
    if (mpi_errno)
        goto fn_fail;           /* no line of the error's stack: the reason comes last, and would be cut off */
    MPIR_Session_card_given();
    meetings++;
    uint32_t cards = MPIR_Session_answer_number(&answer);
    MPIR_ERR_CHKANDJUMP(answer.bad || (cards != 0 && cards != (uint32_t) n), mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");
    *complete = cards == 0;
    MPL_initlock_lock(&lock);
    mpi_errno = take_in_missing(&answer, places, (int) cards);
    if (!mpi_errno)
        offer_lanes(places, n);
    *is_needless = MPIR_Session_answer_number(&answer) == 1;
    if (!mpi_errno && *is_needless)
        mpi_errno = note_acquainted(places, n, ACQUAINTED);
    MPL_initlock_unlock(&lock);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_meet_apart(const MPIR_Group * group, const char *stringtag, int first_round, bool * has_met)
{
    int mpi_errno = MPI_SUCCESS, *places = NULL;
    char card[PMI_SET_CARD_MAX];
    bool knows_all = true, complete, is_needless, is_new;
    MPIR_CHKLMEM_DECL(1);

    MPL_initlock_lock(&lock);
    *has_met = !need_not_meet(group);
    MPL_initlock_unlock(&lock);
    if (!*has_met) {
        mpi_errno = decide_all(group, has_met);
        MPIR_ERR_CHECK(mpi_errno);
        goto fn_exit;
    }
    MPIR_CHKLMEM_MALLOC(places, int *, group->size * sizeof(int), mpi_errno, "places", MPL_MEM_OTHER);
    for (int i = 0; i < group->size; i++) {
        MPIR_ERR_CHKANDJUMP(group->lrank_to_lpid[i].lpid >= MPID_SESSION_PLACES, mpi_errno, MPI_ERR_GROUP,
                            "**sessiongroup");
        places[i] = (int) group->lrank_to_lpid[i].lpid;
    }
    MPL_initlock_lock(&lock);
    mpi_errno = MPID_Session_reserve_places(0);
    if (!mpi_errno)
        mpi_errno = take_in_own_card(card, sizeof(card));
    for (int i = 0; i < group->size && !mpi_errno; i++)
        knows_all = knows_all && knows(places[i]);
    if (!mpi_errno)
        offer_lanes(places, group->size);
    MPL_initlock_unlock(&lock);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = meet_once(places, group->size, stringtag, first_round, card_given ? "" : card, knows_all, &complete,
                          &is_needless);
    MPIR_ERR_CHECK(mpi_errno);
    if (!complete)
        mpi_errno = meet_once(places, group->size, stringtag, first_round + 1, "", true, &complete, &is_needless);
    MPIR_ERR_CHECK(mpi_errno);
    if (is_needless)
        mpi_errno = decide_all(group, &is_new);
    else
        settle_all(group);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
