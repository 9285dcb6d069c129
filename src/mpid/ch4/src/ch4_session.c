/*
 * The communicator over which the members of a group agree on a communicator's id while there is no
 * world.  SX5.
 *
 * It has the context id and the ranks of MPI_COMM_WORLD, because other processes may have that
 * already, and the same kind of map, which is the fastest.  It has no nodes: shared memory is made
 * with the world.  It is made once and stays, unlisted, until the process ends.  For processes of
 * different start groups there is another one, the bridge.
 */

#include "mpidimpl.h"
#include "ch4_adapt.h"
#include "ch4_adapt_prebuild.h"
#include "ch4_adapt_comms.h"
#include "ch4_adapt_renumber.h"
#include "ch4_adapt_table.h"
#include "ch4_adapt_unexpected.h"
#include "ch4_hosts.h"
#include "mpidu_oversubscribed.h"
#include "mpir_adapt_device.h"
#include "mpid_session.h"

static MPIR_Comm *stand_in, *bridge;
static bool has_foreign_lpids;  /* for processes of other start groups */
static int first_mate;          /* if so: lpid of the first process of the own start group */

int MPID_Session_start(void)
{
    return MPIR_Process.comm_world ? MPI_SUCCESS : MPIDI_SHM_session_start();
}

void MPID_Session_prepare(void)
{
    MPIDI_Adapt_lock_all();
    MPIDI_Adapt_grow_pools();
    MPIDI_Adapt_unlock_all();
}

static int make_stand_in(void)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Comm *comm;

    mpi_errno = MPIR_Comm_create(&comm);
    MPIR_ERR_CHECK(mpi_errno);
    comm->context_id = 0;
    comm->recvcontext_id = 0;
    comm->comm_kind = MPIR_COMM_KIND__INTRACOMM;
    comm->rank = MPIR_Process.rank;
    comm->remote_size = MPIR_Process.size;
    comm->local_size = MPIR_Process.size;
    /* no collective agreement on a sequence number */
    comm->tainted = 1;
    mpi_errno = MPIDI_Adapt_commit_comm(comm, MPIDI_Adapt_range_map(0, MPIR_Process.size),
                                        MPIDI_Adapt_no_map);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Device_callbacks.comm_unlist(comm);
    stand_in = comm;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Session_parent(MPIR_Comm ** parent)
{
    int mpi_errno = MPI_SUCCESS;

    if (!MPIR_Process.comm_world && !stand_in) {
        mpi_errno = make_stand_in();
        MPIR_ERR_CHECK(mpi_errno);
    }
    *parent = MPIR_Process.comm_world ? MPIR_Process.comm_world : stand_in;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

bool MPIDI_Session_is_parent(const MPIR_Comm * comm)
{
    return comm == stand_in || comm == bridge || comm == MPIR_Process.comm_world;
}

void MPID_Session_drain(void)
{
    while (MPIDI_SHM_session_sends() || MPIDI_NM_session_sends())
        MPID_Progress_test(NULL);
    /* a process without any address, even its own, has sent nothing */
    if (MPIR_Process.comm_world || MPID_Session_knows(MPIR_Device_callbacks.session_lpid()))
        MPIDI_NM_session_flush();
}

/* ---- addresses ------------------------------------------------------------------------------- */

int MPID_Session_address(char *text, int bytes)
{
    return MPIDI_NM_session_address(text, bytes);
}

int MPID_Session_insert(int rank, const char *text)
{
    return MPIDI_NM_session_insert(rank, text);
}

bool MPID_Session_knows(int rank)
{
    return MPIDI_NM_session_knows(rank);
}

bool MPIDI_Session_has_foreign_lpids(void)
{
    return has_foreign_lpids;
}

int MPIDI_Session_mate(int lpid)
{
    if (!has_foreign_lpids)
        return lpid;
    return lpid >= first_mate && lpid < first_mate + MPIR_Process.size ? lpid - first_mate : -1;
}

/* ---- processes of different start groups ----------------------------------------------------- */

/* Renumbers existing communicators, such as MPI_COMM_SELF. */
static int renumber_all(int shift, int size)
{
    int mpi_errno = MPI_SUCCESS, *lpids = NULL;
    MPIDI_Adapt_renumbering_t shifted = {.r = {NULL, size, NULL} };
    MPIR_CHKLMEM_DECL(1);

    MPIR_CHKLMEM_MALLOC(lpids, int *, size * sizeof(int), mpi_errno, "lpids", MPL_MEM_ADDRESS);
    for (int i = 0; i < size; i++)
        lpids[i] = i + shift;
    shifted.r.new_index = lpids;
    mpi_errno = MPIDI_Adapt_reserve_renumbering(&shifted);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_Adapt_renumber(&shifted, MPIR_Process.comm_world);
    MPL_free(shifted.seen);

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The old table stays, because pending operations may point into it. */
int MPID_Session_reserve_lpids(int shift)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_av_table_t *old = MPIDI_global.avt_mgr.av_table0, *table;

    if (has_foreign_lpids)
        goto fn_exit;
    MPIR_Assertp(shift >= 0 && old->size + shift <= MPID_SESSION_LPIDS_MAX);
    table = MPIDI_Adapt_new_table(MPID_SESSION_LPIDS_MAX);
    MPIR_ERR_CHKANDJUMP(!table, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < old->size; i++)
        table->table[i + shift] = old->table[i];
    mpi_errno = shift ? MPIDI_SHM_session_shift(shift, old->size) : MPI_SUCCESS;
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_Adapt_set_table(table);
    mpi_errno = shift ? renumber_all(shift, old->size) : MPI_SUCCESS;
    MPIR_ERR_CHECK(mpi_errno);
    first_mate = shift;
    has_foreign_lpids = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The id after those of windows; tags and texts distinguish agreements on it. */
#define BRIDGE_CONTEXT (MPIR_CONTEXT_DYNAMIC_PROC_MASK | (MPIDI_ADAPT_CONTEXTS << \
                                                          MPIR_CONTEXT_PREFIX_SHIFT))

/* It is made as a communicator of this process alone, because it needs no data for each rank. */
static int make_bridge(void)
{
    int mpi_errno = MPI_SUCCESS, lpid = MPIR_Device_callbacks.session_lpid();
    MPIR_Comm *comm;

    mpi_errno = MPIR_Comm_create(&comm);
    MPIR_ERR_CHECK(mpi_errno);
    comm->context_id = BRIDGE_CONTEXT;
    comm->recvcontext_id = BRIDGE_CONTEXT;
    comm->comm_kind = MPIR_COMM_KIND__INTRACOMM;
    comm->rank = 0;
    comm->remote_size = 1;
    comm->local_size = 1;
    comm->tainted = 1;
    mpi_errno = MPIDI_Adapt_commit_comm(comm, MPIDI_Adapt_range_map(lpid, 1), MPIDI_Adapt_no_map);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Device_callbacks.comm_unlist(comm);
    comm->rank = lpid;
    comm->remote_size = MPID_SESSION_LPIDS_MAX;
    comm->local_size = MPID_SESSION_LPIDS_MAX;
    MPIDI_COMM(comm, map) = MPIDI_Adapt_range_map(0, MPID_SESSION_LPIDS_MAX);
    bridge = comm;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Session_bridge(MPIR_Comm ** comm)
{
    int mpi_errno = bridge ? MPI_SUCCESS : make_bridge();

    *comm = bridge;
    return mpi_errno;
}

/* A range map if possible, else a table. */
static int map_of(const MPIR_Group * group, MPIDI_rank_map_t * map)
{
    int mpi_errno = MPI_SUCCESS, first = (int) group->lrank_to_lpid[0].lpid, in_order = 1;

    while (in_order < group->size && (int) group->lrank_to_lpid[in_order].lpid == first + in_order)
        in_order++;
    if (in_order == group->size) {
        *map = MPIDI_Adapt_range_map(first, group->size);
        goto fn_exit;
    }
    mpi_errno = MPIDI_Adapt_table_map(group->size, map);
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < group->size; i++)
        map->irreg.lut.lpid[i] = (int) group->lrank_to_lpid[i].lpid;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Makes the communicator with an agreed id, which it then owns. */
static int make_over(MPIR_Comm * over, MPIR_Group * group, MPIR_Context_id_t context_id,
                     MPIR_Comm ** made)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Comm *comm = NULL;
    MPIDI_rank_map_t map;

    mpi_errno = map_of(group, &map);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Comm_create(&comm);
    MPIR_ERR_CHECK(mpi_errno);
    comm->context_id = context_id;
    comm->recvcontext_id = context_id;
    comm->comm_kind = MPIR_COMM_KIND__INTRACOMM;
    comm->rank = group->rank;
    comm->remote_size = group->size;
    comm->local_size = group->size;
    comm->tainted = 1;
    comm->local_group = group;
    comm->remote_group = group;
    MPIR_Group_add_ref(group);
    MPIR_Group_add_ref(group);
    MPIR_Device_callbacks.comm_derive(comm, over, NULL);
    MPIDI_Hosts_next(comm, MPIR_Device_callbacks.session_any_lacks_hosts());
    mpi_errno = MPIDI_Adapt_commit_comm(comm, map, MPIDI_Adapt_no_map);
    MPIDI_Hosts_next(NULL, false);
    MPIR_ERR_CHECK(mpi_errno);
    *made = comm;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (comm)
        MPIR_Comm_release(comm);
    else
        MPIR_Free_contextid(context_id);
    goto fn_exit;
}

static unsigned yielding, otherwise;

/* A process has just been woken up by a rendezvous, perhaps on the processor of another member:
 * waiting processes yield meanwhile.  Several threads may do so at once. */
static void begin_yielding(void)
{
    if (yielding++ == 0) {
        otherwise = MPIDU_oversubscribed;
        if (MPIR_CVAR_PROGRESS_YIELD != MPIR_CVAR_PROGRESS_YIELD_never)
            MPIDU_oversubscribed = 1;
    }
}

static void end_yielding(void)
{
    if (--yielding == 0)
        MPIDU_oversubscribed = otherwise;
}

/* Compares the processes of this host after others were connected, or have ended: the group has
 * then changed. */
static void compare_processors(const MPIR_Group * group, bool has_met)
{
    static int last_size;

    if (has_met || MPIR_Device_callbacks.session_any_lacks_hosts() || group->size != last_size)
        MPIDI_Hosts_give_way();
    last_size = group->size;
}

int MPID_Session_create_over(MPIR_Comm * over, MPIR_Group * group, int tag, bool has_met,
                             MPIR_Comm ** comm)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Context_id_t id;

    *comm = NULL;
    if (!MPIDI_Hosts_know(group))
        MPIR_Device_callbacks.session_lacks_hosts();
    if (has_met)
        begin_yielding();
    mpi_errno = MPIR_Get_contextid_sparse_group(over, group, tag, &id, FALSE);
    if (!mpi_errno)
        mpi_errno = make_over(over, group, id, comm);
    if (has_met)
        end_yielding();
    MPIR_ERR_CHECK(mpi_errno);
    if (!yielding)
        compare_processors(group, has_met);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
