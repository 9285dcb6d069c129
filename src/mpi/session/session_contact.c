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
 * Processes that were not started together meet in mpiexec: once to tell the addresses, and once when all have taken
 * them in.  Nobody waits there for one that has departed.
 */

#include "session.h"
#include "adapt.h"
#include "pmi.h"

#define NAME_BYTES (256 + 64)
#define FIRST_PAUSE_US 50
#define LONGEST_PAUSE_US 5000

static MPL_initlock_t lock = MPL_INITLOCK_INITIALIZER;
static bool address_published;
static unsigned char *met;      /* for each rank: it knows us, and we know it */

static int publish(const char *name, const char *value)
{
    int mpi_errno = MPI_SUCCESS;

    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    int failed = PMI_Publish_name(name, value);
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
    MPIR_ERR_CHKANDJUMP(failed, mpi_errno, MPI_ERR_OTHER, "**sessionpublish");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Until somebody has published it; meanwhile others may need this process' progress. */
static int await(const char *name, char value[MPI_MAX_PORT_NAME])
{
    int mpi_errno = MPI_SUCCESS, pause_us = FIRST_PAUSE_US;

    for (;;) {
        MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
        int missing = PMI_Lookup_name(name, value);
        MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_PMI_MUTEX);
        if (!missing)
            break;
        mpi_errno = MPID_Progress_test(NULL);
        MPIR_ERR_CHECK(mpi_errno);
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

static int take_in(int place, char *card)
{
    char *lanes = strchr(card, ',');

    if (lanes)
        *lanes++ = '\0';
    int mpi_errno = MPID_Session_take_in(place, card);
    if (!mpi_errno && lanes)
        MPID_Lanes_offer(place, lanes);
    return mpi_errno;
}

/* Under the lock. */
static int publish_address(void)
{
    int mpi_errno = MPI_SUCCESS;
    char name[NAME_BYTES], text[MPI_MAX_PORT_NAME], taken[MPI_MAX_PORT_NAME];

    if (address_published)
        goto fn_exit;
    met = MPL_calloc(MPIR_Process.size, 1, MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!met, mpi_errno, MPI_ERR_OTHER, "**nomem");
    mpi_errno = own_card(text, sizeof(text));
    MPIR_ERR_CHECK(mpi_errno);
    strcpy(taken, text);
    mpi_errno = take_in(MPIR_Process.rank, taken);
    MPIR_ERR_CHECK(mpi_errno);
    MPID_Lanes_settle(MPIR_Process.rank);
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

static int learn(int rank)
{
    int mpi_errno = MPI_SUCCESS;
    char name[NAME_BYTES], text[MPI_MAX_PORT_NAME];

    address_name(name, rank);
    mpi_errno = await(name, text);
    MPIR_ERR_CHECK(mpi_errno);
    MPL_initlock_lock(&lock);
    if (!MPID_Session_knows(rank)) {
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

static int await_known(int rank)
{
    char name[NAME_BYTES], text[MPI_MAX_PORT_NAME];

    known_name(name, MPIR_Process.rank, rank);
    int mpi_errno = await(name, text);
    if (!mpi_errno) {
        MPL_initlock_lock(&lock);
        MPID_Lanes_settle(rank);
        met[rank] = 1;
        MPL_initlock_unlock(&lock);
    }
    return mpi_errno;
}

int MPIR_Session_meet(const MPIR_Group * group)
{
    int mpi_errno = MPI_SUCCESS;

    /* everybody knows everybody in a world */
    if (MPIR_Process.comm_world)
        goto fn_exit;
    for (int i = 0; i < group->size; i++)
        MPIR_ERR_CHKANDJUMP(group->lrank_to_lpid[i].lpid >= MPIR_Process.size, mpi_errno,
                            MPI_ERR_GROUP, "**sessiongroup");
    MPL_initlock_lock(&lock);
    mpi_errno = publish_address();
    MPL_initlock_unlock(&lock);
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < group->size; i++) {
        int rank = (int) group->lrank_to_lpid[i].lpid;
        mpi_errno = met[rank] ? MPI_SUCCESS : learn(rank);
        MPIR_ERR_CHECK(mpi_errno);
    }
    for (int i = 0; i < group->size; i++) {
        int rank = (int) group->lrank_to_lpid[i].lpid;
        mpi_errno = met[rank] ? MPI_SUCCESS : await_known(rank);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- processes of different start groups ------------------------------------------------------------------------ */

bool MPIR_Session_is_apart(const MPIR_Group * group)
{
    bool apart = MPIR_Session_is_joiner();

    for (int i = 0; i < group->size && !apart; i++)
        apart = group->lrank_to_lpid[i].lpid >= (uint64_t) MPIR_Process.size;
    return apart && MPIR_Adapt.state == MPIR_ADAPT_STATE__OFF;
}

static int take_in_card(int place, char *card)
{
    int first = MPIR_Session_place() - MPIR_Process.rank;
    bool of_world = place >= first && place < first + MPIR_Process.size;
    bool known = MPID_Session_knows(place) || (MPIR_Process.comm_world && of_world);

    return known ? MPI_SUCCESS : take_in(place, card);
}

/* One of the two meetings. */
static int meet_once(const int *places, int n, const char *stringtag, int round, const char *card, uint32_t * number)
{
    int mpi_errno = MPI_SUCCESS;
    struct MPIR_Session_call call;
    struct MPIR_Session_answer answer = { 0 };
    char tag[PMI_SET_TAG_MAX], text[PMI_SET_CARD_MAX + 1];

    snprintf(tag, sizeof(tag), "%d %.900s", round, stringtag);
    mpi_errno = MPIR_Session_call_prepare();
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Session_call_begin(&call, PMI_SET_MEET);
    call.waits = true;
    MPIR_Session_call_text(&call, tag);
    MPIR_Session_call_text(&call, card);
    MPIR_Session_call_members(&call, places, n);
    mpi_errno = MPIR_Session_call_ask(&call, &answer);
    MPIR_ERR_CHECK(mpi_errno);
    *number = MPIR_Session_answer_number(&answer);
    MPIR_ERR_CHKANDJUMP(MPIR_Session_answer_number(&answer) != (uint32_t) n, mpi_errno, MPI_ERR_OTHER, "**adaptdaemon");
    MPL_initlock_lock(&lock);
    for (int i = 0; i < n && *card && !mpi_errno; i++) {
        MPIR_Session_answer_text(&answer, text, PMI_SET_CARD_MAX);
        mpi_errno = take_in_card(places[i], text);
    }
    MPL_initlock_unlock(&lock);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_Session_answer_free(&answer);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Session_meet_apart(const MPIR_Group * group, const char *stringtag, int first_round, uint32_t * number)
{
    int mpi_errno = MPI_SUCCESS, *places = NULL;
    char card[PMI_SET_CARD_MAX];
    MPIR_CHKLMEM_DECL(1);

    MPIR_CHKLMEM_MALLOC(places, int *, group->size * sizeof(int), mpi_errno, "places", MPL_MEM_OTHER);
    for (int i = 0; i < group->size; i++) {
        MPIR_ERR_CHKANDJUMP(group->lrank_to_lpid[i].lpid >= MPID_SESSION_PLACES, mpi_errno, MPI_ERR_GROUP,
                            "**sessiongroup");
        places[i] = (int) group->lrank_to_lpid[i].lpid;
    }
    MPL_initlock_lock(&lock);
    mpi_errno = MPID_Session_reserve_places(0);
    if (!mpi_errno)
        mpi_errno = own_card(card, sizeof(card));
    MPL_initlock_unlock(&lock);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = meet_once(places, group->size, stringtag, first_round, card, number);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = meet_once(places, group->size, stringtag, first_round + 1, "", number);
    MPIR_ERR_CHECK(mpi_errno);
    MPL_initlock_lock(&lock);
    for (int i = 0; i < group->size; i++)
        MPID_Lanes_settle(places[i]);
    MPL_initlock_unlock(&lock);

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
