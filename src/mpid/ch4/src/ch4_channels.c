/* See ch4_channels.h. */

#include "mpidimpl.h"
#include "mpir_device_callbacks.h"
#include "pmi_adapt.h"
#include "ch4_channels.h"
#include "mpid_session.h"
#include "ch4_locality.h"
#include "ch4_network_pause.h"

/* of the network, which receives a message at the first or second one */
#define LAST_POLLS 64
#define RESTS_AFTER 256         /* polls */
#define RESTS_TICKS 16384       /* of the processor's clock, some GHz */

/* ---- pauses of the network ------------------------------------------------------------------- */

struct MPIDI_network_pause MPIDI_network_pause;

static bool network_pause(void)
{
#ifdef __x86_64__
    if (MPIDI_network_pause.polls < RESTS_AFTER) {
        MPIDI_network_pause.polls++;
        return false;
    }
    uint64_t now = __builtin_ia32_rdtsc();
    if (now - MPIDI_network_pause.last < RESTS_TICKS)
        return true;
    MPIDI_network_pause.last = now;
#endif
    return false;
}

int MPIDI_Network_progress(int vci)
{
    return network_pause() ? MPI_SUCCESS : MPIDI_NM_progress(vci, 0);
}

/* ---- addresses ------------------------------------------------------------------------------- */

static MPIDI_av_entry_t *address_of(int avtid, int lpid)
{
    return &MPIDI_global.avt_mgr.av_tables[avtid]->table[lpid];
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void mark_exited(MPIDI_av_table_t * table, unsigned locality)
{
    for (int i = 0; i < table->size; i++) {
        if (table->table[i].is_local == locality)
            table->table[i].is_local = MPIDI_LOCALITY__EXITED;
    }
}

/* Most addresses have the same lpid as before; an adaptation has moved others. */
static void channel_remove(int number, int avtid, int lpid)
{
    unsigned locality = (unsigned) (MPIDI_LOCALITY__CHANNEL + number);
    MPIDI_av_table_t *table = avtid >= 0 && avtid < MPIDI_global.avt_mgr.n_avts ?
        MPIDI_global.avt_mgr.av_tables[avtid] : NULL;

    if (table && lpid < table->size && table->table[lpid].is_local == locality) {
        table->table[lpid].is_local = MPIDI_LOCALITY__EXITED;
        return;
    }
    for (int i = 0; i < MPIDI_global.avt_mgr.n_avts; i++) {
        if (MPIDI_global.avt_mgr.av_tables[i])
            mark_exited(MPIDI_global.avt_mgr.av_tables[i], locality);
    }
}

/* Sends replies that others wait for and that have no request. */
static int drain(void *unused ATTRIBUTE((unused)))
{
    while (MPIDI_SHM_channels_sends())
        MPID_Progress_test(NULL);
    return 0;
}

/* ---- first contact --------------------------------------------------------------------------- */

void MPID_Channels_remove_exited(void)
{
    int number = -1, avtid, lpid;

    while ((number = MPIDI_SHM_channels_remove_exited(number, &avtid, &lpid)) >= 0)
        channel_remove(number, avtid, lpid);
}

void MPID_Channels_bc(char *bc, int bytes)
{
    MPID_Channels_remove_exited();
    MPIDI_SHM_channels_bc(bc, bytes);
}

static void decide_channel(int avtid, int lpid)
{
    static bool drains;
    int number = MPIDI_SHM_channels_decide(avtid, lpid);

    if (number < 0)
        return;
    address_of(avtid, lpid)->is_local = (unsigned) (MPIDI_LOCALITY__CHANNEL + number);
    if (!drains)
        MPIR_Add_finalize(drain, NULL, MPIR_FINALIZE_CALLBACK_PRIO + 1);
    drains = true;
}

void MPID_Channels_offer(int lpid, const char *bc)
{
    MPIDI_SHM_channels_offer(0, lpid, bc);
}

void MPID_Channels_decide(int lpid)
{
    if (address_of(0, lpid)->is_local == MPIDI_LOCALITY__NETWORK)
        decide_channel(0, lpid);
}

bool MPID_Channels_undecided(int lpid)
{
    return address_of(0, lpid)->is_local == MPIDI_LOCALITY__NETWORK &&
        MPIDI_SHM_channels_undecided(0, lpid);
}

void MPID_Channels_counts(unsigned **open, unsigned long long **sent)
{
    MPIDI_SHM_channels_counts(open, sent);
}

/* ---- spawned processes ----------------------------------------------------------------------- */

struct spawn_card {
    char bc[MPIDI_LANES_CARD_BYTES];
    bool is_watched;  /* between parents and children: both sides detect the end of the other one */
};

static void offer_all(MPIR_Comm * intercomm, struct spawn_card *cards)
{
    int avtid, lpid;

    for (int i = 0; i < intercomm->remote_size; i++) {
        char *bc = cards[i].bc;
        bc[MPIDI_LANES_CARD_BYTES - 1] = '\0';
        MPIDIU_comm_rank_to_pid(intercomm, i, &lpid, &avtid);
        if (address_of(avtid, lpid)->is_local == MPIDI_LOCALITY__NETWORK)
            MPIDI_SHM_channels_offer(avtid, lpid, bc);
    }
}

static void decide_channels(MPIR_Comm * intercomm)
{
    int avtid, lpid;

    for (int i = 0; i < intercomm->remote_size; i++) {
        MPIDIU_comm_rank_to_pid(intercomm, i, &lpid, &avtid);
        if (address_of(avtid, lpid)->is_local == MPIDI_LOCALITY__NETWORK)
            decide_channel(avtid, lpid);
    }
}

/* If mpiexec does not end the job after the end of a process (-disable-auto-cleanup), operations
 * that wait for the process must fail by themselves, as after MPI_Comm_accept (DS4). */
static bool ends_alone(void)
{
    const char *cleanup = getenv(PMI_CLEANUP_ENV);

    return cleanup && !strcmp(cleanup, "0");
}

/* The barrier uses the network; afterwards its remaining messages match only receives that were
 * posted before. */
int MPIDI_Channels_connect(MPIR_Comm * intercomm)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    struct spawn_card own = {.is_watched = intercomm->is_low_group && ends_alone() }, *cards;
    MPIR_CHKLMEM_DECL(1);

    MPIR_CHKLMEM_MALLOC(cards, struct spawn_card *, (size_t) intercomm->remote_size * sizeof(own),
                        mpi_errno, "cards", MPL_MEM_ADDRESS);
    MPID_Channels_bc(own.bc, sizeof(own.bc));
    mpi_errno =
        MPIR_Allgather(&own, sizeof(own), MPI_BYTE, cards, sizeof(own), MPI_BYTE, intercomm,
                       &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    offer_all(intercomm, cards);
    mpi_errno = MPIR_Barrier(intercomm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    /* Its last message may still be in this process; the receiver must not wait until this process
     * calls MPI again. */
    for (int i = 0; i < LAST_POLLS && !mpi_errno; i++)
        mpi_errno = MPID_Progress_test(NULL);
    MPIR_ERR_CHECK(mpi_errno);
    decide_channels(intercomm);
    if (intercomm->is_low_group ? own.is_watched : cards[0].is_watched)
        mpi_errno = MPIR_Device_callbacks.dynproc_accepted(intercomm);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
