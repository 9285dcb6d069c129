/* See ch4_lanes.h. */

#include "mpidimpl.h"
#include "ch4_lanes.h"
#include "session.h"
#include "ch4_locality.h"
#include "ch4_rests.h"

#define LAST_LOOKS 64           /* at the network, which takes a message at the first or second one */
#define RESTS_AFTER 256         /* looks */
#define RESTS_TICKS 16384       /* of the processor's clock, some GHz */

/* ---- the network rests ------------------------------------------------------------------------------------------ */

struct MPIDI_rests MPIDI_rests;

static bool rests(void)
{
#ifdef __x86_64__
    if (MPIDI_rests.looks < RESTS_AFTER) {
        MPIDI_rests.looks++;
        return false;
    }
    uint64_t now = __builtin_ia32_rdtsc();
    if (now - MPIDI_rests.last < RESTS_TICKS)
        return true;
    MPIDI_rests.last = now;
#endif
    return false;
}

int MPIDI_Network_progress(int vci)
{
    return rests() ? MPI_SUCCESS : MPIDI_NM_progress(vci, 0);
}

/* ---- addresses -------------------------------------------------------------------------------------------------- */

static MPIDI_av_entry_t *address_of(int avtid, int lpid)
{
    return &MPIDI_global.avt_mgr.av_tables[avtid]->table[lpid];
}

/* ---- ends ------------------------------------------------------------------------------------------------------- */

static void mark_departed(MPIDI_av_table_t * table, unsigned locality)
{
    for (int i = 0; i < table->size; i++) {
        if (table->table[i].is_local == locality)
            table->table[i].is_local = MPIDI_LOCALITY__DEPARTED;
    }
}

/* Most addresses are where they were; an adaptation has moved others. */
static void forget(int number, int avtid, int lpid)
{
    unsigned locality = (unsigned) (MPIDI_LOCALITY__LANE + number);
    MPIDI_av_table_t *table = avtid >= 0 && avtid < MPIDI_global.avt_mgr.n_avts ?
        MPIDI_global.avt_mgr.av_tables[avtid] : NULL;

    if (table && lpid < table->size && table->table[lpid].is_local == locality) {
        table->table[lpid].is_local = MPIDI_LOCALITY__DEPARTED;
        return;
    }
    for (int i = 0; i < MPIDI_global.avt_mgr.n_avts; i++) {
        if (MPIDI_global.avt_mgr.av_tables[i])
            mark_departed(MPIDI_global.avt_mgr.av_tables[i], locality);
    }
}

/* Answers that others wait for and that no request stands for. */
static int drain(void *unused ATTRIBUTE((unused)))
{
    while (MPIDI_SHM_lanes_sends())
        MPID_Progress_test(NULL);
    return 0;
}

/* ---- first contact ---------------------------------------------------------------------------------------------- */

void MPID_Lanes_forget_departed(void)
{
    int number = -1, avtid, lpid;

    while ((number = MPIDI_SHM_lanes_departed(number, &avtid, &lpid)) >= 0)
        forget(number, avtid, lpid);
}

void MPID_Lanes_card(char *card, int bytes)
{
    MPID_Lanes_forget_departed();
    MPIDI_SHM_lanes_card(card, bytes);
}

static void settle(int avtid, int lpid)
{
    static bool drains;
    int number = MPIDI_SHM_lanes_settle(avtid, lpid);

    if (number < 0)
        return;
    address_of(avtid, lpid)->is_local = (unsigned) (MPIDI_LOCALITY__LANE + number);
    if (!drains)
        MPIR_Add_finalize(drain, NULL, MPIR_FINALIZE_CALLBACK_PRIO + 1);
    drains = true;
}

void MPID_Lanes_offer(int place, const char *card)
{
    MPIDI_SHM_lanes_offer(0, place, card);
}

void MPID_Lanes_settle(int place)
{
    if (address_of(0, place)->is_local == MPIDI_LOCALITY__NETWORK)
        settle(0, place);
}

bool MPID_Lanes_undecided(int place)
{
    return address_of(0, place)->is_local == MPIDI_LOCALITY__NETWORK && MPIDI_SHM_lanes_undecided(0, place);
}

void MPID_Lanes_counts(unsigned **open, unsigned long long **sent)
{
    MPIDI_SHM_lanes_counts(open, sent);
}

/* ---- of spawned processes --------------------------------------------------------------------------------------- */

static void offer_all(MPIR_Comm * intercomm, char *cards)
{
    int avtid, lpid;

    for (int i = 0; i < intercomm->remote_size; i++) {
        char *card = cards + i * MPIDI_LANES_CARD_BYTES;
        card[MPIDI_LANES_CARD_BYTES - 1] = '\0';
        MPIDIU_comm_rank_to_pid(intercomm, i, &lpid, &avtid);
        if (address_of(avtid, lpid)->is_local == MPIDI_LOCALITY__NETWORK)
            MPIDI_SHM_lanes_offer(avtid, lpid, card);
    }
}

static void settle_all(MPIR_Comm * intercomm)
{
    int avtid, lpid;

    for (int i = 0; i < intercomm->remote_size; i++) {
        MPIDIU_comm_rank_to_pid(intercomm, i, &lpid, &avtid);
        if (address_of(avtid, lpid)->is_local == MPIDI_LOCALITY__NETWORK)
            settle(avtid, lpid);
    }
}

/* The barrier goes by the network; what is left of it then is received by nobody who has not posted it before. */
int MPIDI_Lanes_meet(MPIR_Comm * intercomm)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    char own[MPIDI_LANES_CARD_BYTES] = "", *cards;
    MPIR_CHKLMEM_DECL(1);

    MPIR_CHKLMEM_MALLOC(cards, char *, (size_t) intercomm->remote_size * sizeof(own), mpi_errno, "cards",
                        MPL_MEM_ADDRESS);
    MPID_Lanes_card(own, sizeof(own));
    mpi_errno = MPIR_Allgather(own, sizeof(own), MPI_BYTE, cards, sizeof(own), MPI_BYTE, intercomm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    offer_all(intercomm, cards);
    mpi_errno = MPIR_Barrier(intercomm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    /* Its last message may still be here; who waits for it need not wait until this process calls MPI again. */
    for (int i = 0; i < LAST_LOOKS && !mpi_errno; i++)
        mpi_errno = MPID_Progress_test(NULL);
    MPIR_ERR_CHECK(mpi_errno);
    settle_all(intercomm);

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
