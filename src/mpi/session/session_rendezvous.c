/*
 * How processes of a launch exchange their addresses without a world: pair by pair, by names that
 * they publish in the process manager.  SX5, SX6.
 *
 * Each publishes its address once.  A process that has inserted another's address publishes that
 * fact, too, and no process sends to another before: libfabric may drop a receive that was posted
 * for a sender that was unknown when its message arrived.  No lock is held during a wait, so that
 * several threads can have a rendezvous with different processes.
 */

#include "session_contact.h"
#include "pmi.h"
#include "pmi_adapt_calls.h"

#define NAME_BYTES (256 + 64)
#define FIRST_PAUSE_US 50
#define LONGEST_PAUSE_US 5000

static bool address_exported;
static bool stopped;            /* the world is being made: see MPIR_Session_stop_rendezvous */
static unsigned char *met;      /* by rank: both have inserted each other's address */

static int publish_name(const char *name, const char *value)
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
    MPL_initlock_lock(&MPIR_Session_contact_lock);
    bool is = stopped;
    MPL_initlock_unlock(&MPIR_Session_contact_lock);
    return is;
}

/* Waits until the process with this rank in this group has exported the name, or rendezvous are
 * stopped; makes progress, which other processes may need. */
static int await_name(const MPIR_Group * group, int rank, const char *name,
                      char value[MPI_MAX_PORT_NAME])
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

/* Under the lock. */
static int publish_address(void)
{
    int mpi_errno = MPI_SUCCESS;
    char name[NAME_BYTES], text[MPI_MAX_PORT_NAME];

    if (address_exported)
        goto fn_exit;
    met = MPL_calloc(MPIR_Process.size, 1, MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!met, mpi_errno, MPI_ERR_OTHER, "**nomem");
    mpi_errno = MPIR_Session_write_bc(text, sizeof(text));
    MPIR_ERR_CHECK(mpi_errno);
    if (!MPID_Session_knows(MPIR_Session_lpid()))
        mpi_errno = MPIR_Session_take_own_bc(text);
    MPIR_ERR_CHECK(mpi_errno);
    met[MPIR_Process.rank] = 1;
    address_name(name, MPIR_Process.rank);
    mpi_errno = publish_name(name, text);
    MPIR_ERR_CHECK(mpi_errno);
    address_exported = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int learn_address(const MPIR_Group * group, int rank)
{
    int mpi_errno = MPI_SUCCESS;
    char name[NAME_BYTES], text[MPI_MAX_PORT_NAME];

    address_name(name, rank);
    mpi_errno = await_name(group, rank, name, text);
    MPIR_ERR_CHECK(mpi_errno);
    MPL_initlock_lock(&MPIR_Session_contact_lock);
    if (!stopped && !MPID_Session_knows(rank)) {
        mpi_errno = MPIR_Session_take_bc(rank, text);
        if (!mpi_errno) {
            known_name(name, rank, MPIR_Process.rank);
            mpi_errno = publish_name(name, "yes");
        }
    }
    MPL_initlock_unlock(&MPIR_Session_contact_lock);
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
    int mpi_errno = await_name(group, rank, name, text);
    if (!mpi_errno) {
        MPL_initlock_lock(&MPIR_Session_contact_lock);
        if (!stopped)
            have_met(rank);
        MPL_initlock_unlock(&MPIR_Session_contact_lock);
    }
    return mpi_errno;
}

static int begin_rendezvous(void)
{
    MPL_initlock_lock(&MPIR_Session_contact_lock);
    int mpi_errno = stopped ? MPI_SUCCESS : publish_address();
    MPL_initlock_unlock(&MPIR_Session_contact_lock);
    return mpi_errno;
}

int MPIR_Session_rendezvous(const MPIR_Group * group, bool * all_met)
{
    int mpi_errno = MPI_SUCCESS;

    /* in a world all processes know each other */
    *all_met = true;
    if (MPIR_Process.comm_world)
        goto fn_exit;
    for (int i = 0; i < group->size; i++)
        MPIR_ERR_CHKANDJUMP(group->lrank_to_lpid[i].lpid >= (uint64_t) MPIR_Process.size, mpi_errno,
                            MPI_ERR_GROUP, "**sessiongroup");
    mpi_errno = begin_rendezvous();
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < group->size && !is_stopped(); i++) {
        int rank = (int) group->lrank_to_lpid[i].lpid;
        mpi_errno = met[rank] ? MPI_SUCCESS : learn_address(group, rank);
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

/* ---- rendezvous and a world that is made meanwhile ------------------------------------------- */

/* Two processes with a complete rendezvous continue over the network, the others share memory in
 * the world: both of a pair must decide in the same way.  So when all have entered the construction
 * of the world, they stop inserting addresses.  When all have stopped, a pair is connected if each
 * has exported that it knows the other. */
void MPIR_Session_stop_rendezvous(bool is_stop)
{
    MPL_initlock_lock(&MPIR_Session_contact_lock);
    stopped = is_stop;
    MPL_initlock_unlock(&MPIR_Session_contact_lock);
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
    MPID_Channels_decide(rank); /* the other has claimed none: ours is released */
    return MPID_Session_insert(rank, NULL);
}

int MPIR_Session_finish_rendezvous(void)
{
    int mpi_errno = MPI_SUCCESS;

    MPL_initlock_lock(&MPIR_Session_contact_lock);
    for (int rank = 0; address_exported && rank < MPIR_Process.size && !mpi_errno; rank++) {
        if (!met[rank] && MPID_Session_knows(rank))
            mpi_errno = finish_rendezvous_with(rank);
    }
    MPL_initlock_unlock(&MPIR_Session_contact_lock);
    return mpi_errno;
}
