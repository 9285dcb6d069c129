/* The members of a session's communicators that have ended (session_liveness.c detects them). */

#include "mpidimpl.h"
#include "mpid_session.h"
#include "ch4_exited.h"
#include "ch4_locality.h"

/* Indexed by lpids of the first table of addresses. */
typedef uint64_t lpid_set_t[MPID_SESSION_LPIDS_MAX / 64];

static lpid_set_t exited, is_silent, had_segment;
static unsigned n_exited;
static bool watches_members;    /* now or before */

static bool holds(const lpid_set_t set, int lpid)
{
    return set[lpid / 64] >> lpid % 64 & 1;
}

static void add(lpid_set_t set, int lpid)
{
    set[lpid / 64] |= UINT64_C(1) << lpid % 64;
}

/* -1: the communicator has no session. */
static int lpid_of(MPIR_Comm * comm, int rank)
{
    int lpid, avtid;

    if (comm->adapt.connection || rank < 0 || rank >= comm->remote_size || MPIDI_is_self_comm(comm)
        || MPIDI_Session_is_parent(comm))
        return -1;
    MPIDIU_comm_rank_to_pid(comm, rank, &lpid, &avtid);
    return avtid == 0 && lpid < MPID_SESSION_LPIDS_MAX ? lpid : -1;
}

static bool is_in(const lpid_set_t set, MPIR_Comm * comm, int rank)
{
    int lpid = n_exited ? lpid_of(comm, rank) : -1;

    return lpid >= 0 && holds(set, lpid);
}

bool MPIDI_Exited_is(MPIR_Comm * comm, int rank)
{
    return is_in(exited, comm, rank);
}

bool MPIDI_Exited_no_sender(MPIR_Comm * comm, int source)
{
    bool is_intercomm = comm->comm_kind == MPIR_COMM_KIND__INTERCOMM;

    if (n_exited == 0 || source >= 0)
        return MPIDI_Exited_is(comm, source);
    if (source != MPI_ANY_SOURCE || comm->remote_size + is_intercomm < 2)
        return false;
    for (int rank = 0; rank < comm->remote_size; rank++) {
        if ((is_intercomm || rank != comm->rank) && !MPIDI_Exited_is(comm, rank))
            return false;
    }
    return true;
}

/* Later messages to it are dropped, as on a channel whose peer has ended. */
void MPID_Session_mark_exited(int lpid)
{
    MPIDI_av_table_t *table = MPIDI_global.avt_mgr.av_table0;

    if (holds(exited, lpid) || lpid >= table->size)
        return;
    add(exited, lpid);
    n_exited++;
    if (table->table[lpid].is_local == MPIDI_LOCALITY__SEGMENT) {
        add(had_segment, lpid);
        table->table[lpid].is_local = MPIDI_LOCALITY__EXITED;
        MPIDI_global.has_channels |= 1;
        MPIDI_SHM_channels_without(lpid);
    }
}

void MPID_Session_mark_silent(int lpid)
{
    add(is_silent, lpid);
}

bool MPID_Session_has_exited(int lpid)
{
    return holds(exited, lpid);
}

void MPID_Session_depart_nobody(void)
{
    memset(exited, 0, sizeof(exited));
    memset(is_silent, 0, sizeof(is_silent));
    memset(had_segment, 0, sizeof(had_segment));
    n_exited = 0;
}

bool MPIDI_Exited_is_silent(MPIR_Comm * comm, int rank)
{
    return is_in(is_silent, comm, rank);
}

bool MPIDI_Exited_had_segment(MPIR_Comm * comm, int rank)
{
    return is_in(had_segment, comm, rank);
}

bool MPIDI_Exited_is_watching(void)
{
    return watches_members;
}

void MPID_Session_watch_comm(MPIR_Comm * comm)
{
    watches_members = true;
    if (MPIDI_global.n_vcis > 1)
        return;
    comm->tainted = 1;
    if (comm->node_comm)
        comm->node_comm->tainted = 1;
    if (comm->node_roots_comm)
        comm->node_roots_comm->tainted = 1;
}
