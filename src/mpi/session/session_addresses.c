/*
 * Addresses of this process and of others, as text (business cards).  An address is followed by a
 * comma and the process' text for shared memory with others of its host.  A process sends to those
 * whose address it has inserted.  SX5, SI8.
 *
 * One lock protects all data about contacts; it is not held during a wait for other processes.
 */

#include "session_contact.h"
#include "mpir_adapt_session.h"

MPL_initlock_t MPIR_Session_contact_lock = MPL_INITLOCK_INITIALIZER;

/* Text for the insertion in other processes. */
int MPIR_Session_write_bc(char *bc, int bytes)
{
    int mpi_errno = MPID_Session_address(bc, bytes);
    int length = (int) strlen(bc);

    if (!mpi_errno && length + 1 < bytes) {
        bc[length] = ',';
        MPID_Channels_bc(bc + length + 1, bytes - length - 1);
    }
    return mpi_errno;
}

/* `channels`: the business card's part for shared memory; "" if there is none. */
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

int MPIR_Session_take_bc(int lpid, const char *bc)
{
    const char *channels;
    int mpi_errno = insert_address(lpid, bc, &channels);

    if (!mpi_errno && *channels)
        MPID_Channels_offer(lpid, channels);
    return mpi_errno;
}

/* Under the lock.  Without a world this process cannot send to itself otherwise. */
int MPIR_Session_take_own_bc(const char *own)
{
    int mpi_errno = MPIR_Session_take_bc(MPIR_Session_lpid(), own);

    if (!mpi_errno)
        MPID_Channels_decide(MPIR_Session_lpid());
    return mpi_errno;
}

int MPIR_Session_rendezvous_self(void)
{
    int mpi_errno = MPI_SUCCESS;
    char text[PMI_SET_CARD_MAX];

    if (MPIR_Process.comm_world || MPIR_Adapt_is_on())
        goto fn_exit;
    MPL_initlock_lock(&MPIR_Session_contact_lock);
    if (!MPID_Session_knows(MPIR_Session_lpid())) {
        mpi_errno = MPIR_Session_write_bc(text, sizeof(text));
        if (!mpi_errno)
            mpi_errno = MPIR_Session_take_own_bc(text);
    }
    MPL_initlock_unlock(&MPIR_Session_contact_lock);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- processes of different start groups ----------------------------------------------------- */

static char **channel_bcs;      /* by lpid: inserted with the address, not offered yet */

static bool is_mate(int lpid)
{
    int first = MPIR_Session_lpid() - MPIR_Process.rank;

    return lpid >= first && lpid < first + MPIR_Process.size;
}

bool MPIR_Session_knows(int lpid)
{
    return MPID_Session_knows(lpid) || (MPIR_Process.comm_world && is_mate(lpid));
}

/* A ring in the other's memory is claimed only when both make a communicator, which may never
 * happen. */
int MPIR_Session_insert_bc(int lpid, const char *bc)
{
    int mpi_errno = MPI_SUCCESS;
    const char *channels;

    if (MPIR_Session_knows(lpid))
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

/* Returns whether there was one. */
bool MPIR_Session_offer_channel(int lpid)
{
    if (!channel_bcs || !channel_bcs[lpid])
        return false;
    MPID_Channels_offer(lpid, channel_bcs[lpid]);
    MPL_free(channel_bcs[lpid]);
    channel_bcs[lpid] = NULL;
    return true;
}

void MPIR_Session_offer_channels(const int *lpids, int n)
{
    for (int i = 0; i < n; i++)
        MPIR_Session_offer_channel(lpids[i]);
}

/* Inserts the own address as those of others, with a channel that is claimed later
 * (MPIR_Session_take_own_bc claims it at once). */
int MPIR_Session_insert_own_bc(char *bc, int bytes)
{
    int mpi_errno = MPIR_Session_write_bc(bc, bytes);

    return mpi_errno ? mpi_errno : MPIR_Session_insert_bc(MPIR_Session_lpid(), bc);
}

/* Processes of the launch do not insert each other's addresses here: they insert all together when
 * they make the world. */
static int insert_other_bc(uint32_t uid, const char *bc)
{
    int mpi_errno = MPI_SUCCESS;

    if (uid >= MPID_SESSION_LPIDS_MAX || MPIR_Adapt_is_on() ||
        (int) uid == MPIR_Session_lpid() || (is_mate((int) uid) && !MPIR_Session_is_joining()))
        goto fn_exit;
    MPL_initlock_lock(&MPIR_Session_contact_lock);
    mpi_errno = MPID_Session_reserve_lpids(0);
    if (!mpi_errno)
        mpi_errno = MPIR_Session_insert_bc((int) uid, bc);
    MPL_initlock_unlock(&MPIR_Session_contact_lock);
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
        MPIR_ERR_CHKANDJUMP(answer->bad, mpi_errno, MPI_ERR_OTHER, "**adaptproxy");
        mpi_errno = insert_other_bc(uid, bc);
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
    MPL_initlock_lock(&MPIR_Session_contact_lock);
    mpi_errno = MPIR_Session_write_bc(bc, bytes);
    MPL_initlock_unlock(&MPIR_Session_contact_lock);
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

bool MPIR_Session_bc_is_given(void)
{
    return bc_given;
}

void MPIR_Session_remove_exited(void)
{
    MPL_initlock_lock(&MPIR_Session_contact_lock);
    MPID_Channels_remove_exited();
    MPL_initlock_unlock(&MPIR_Session_contact_lock);
}
