/* See ch4_adapt_renumber.h. */

#include "mpidimpl.h"
#include "ch4_adapt_renumber.h"
#include "mpir_adapt.h"

/* A process that has left has no index any more. */
static int renumbered(int lpid, const struct MPIDI_Adapt_new_indices *r)
{
    return lpid < 0 ? lpid : r->new_index[lpid];
}

static void renumber_map(MPIDI_rank_map_t * map, const struct MPIDI_Adapt_new_indices *r)
{
    switch (map->mode) {
        case MPIDI_RANK_MAP_NONE:
            break;
        case MPIDI_RANK_MAP_MLUT:
            for (int i = 0; i < map->size; i++) {
                if (map->irreg.mlut.gpid[i].avtid == 0)
                    map->irreg.mlut.gpid[i].lpid = renumbered(map->irreg.mlut.gpid[i].lpid, r);
            }
            break;
        case MPIDI_RANK_MAP_LUT:
        case MPIDI_RANK_MAP_LUT_INTRA:
            if (map->avtid == 0) {
                for (int i = 0; i < map->size; i++)
                    map->irreg.lut.lpid[i] = renumbered(map->irreg.lut.lpid[i], r);
            }
            break;
        default:
            /* The regular modes are renumbered by a constant: a shift, or one process. */
            if (map->avtid != 0)
                break;
            if (map->mode == MPIDI_RANK_MAP_DIRECT || map->mode == MPIDI_RANK_MAP_DIRECT_INTRA) {
                map->mode = (map->mode == MPIDI_RANK_MAP_DIRECT) ? MPIDI_RANK_MAP_OFFSET :
                    MPIDI_RANK_MAP_OFFSET_INTRA;
                map->reg.offset = r->new_index[0];
            } else {
                map->reg.offset = r->new_index[map->reg.offset];
            }
            break;
    }
}

/* Lookup tables are shared between communicators (a dup refers to its parent's): each is changed
 * once. */
static bool is_seen(void *const *seen, int n, const void *table)
{
    for (int i = 0; i < n; i++) {
        if (seen[i] == table)
            return true;
    }
    return false;
}

static void renumber_once(MPIDI_rank_map_t * map, MPIDI_Adapt_renumbering_t * all)
{
    void *table = NULL;

    if (map->mode == MPIDI_RANK_MAP_MLUT)
        table = map->irreg.mlut.t;
    else if (map->mode == MPIDI_RANK_MAP_LUT || map->mode == MPIDI_RANK_MAP_LUT_INTRA)
        table = map->irreg.lut.t;
    if (table) {
        if (is_seen(all->seen, all->n_seen, table))
            return;
        MPIR_Assert(all->n_seen < all->max_seen);
        all->seen[all->n_seen++] = table;
    }
    renumber_map(map, &all->r);
}

static void renumber_comm(MPIR_Comm * comm, void *context)
{
    MPIDI_Adapt_renumbering_t *all = context;

    renumber_once(&MPIDI_COMM(comm, map), all);
    renumber_once(&MPIDI_COMM(comm, local_map), all);
    if (comm->node_comm)
        renumber_comm(comm->node_comm, context);
    if (comm->node_roots_comm)
        renumber_comm(comm->node_roots_comm, context);
    /* the local communicator of an intercommunicator has maps of its own */
    if (comm->comm_kind == MPIR_COMM_KIND__INTERCOMM && comm->local_comm)
        renumber_comm(comm->local_comm, context);
}

/* ---- groups outlive the world that they were taken from -------------------------------------- */

/* A number that no table of addresses has, for processes without a table. */
#define DEPARTED_AVTID 0x7ffffffeu
#define DISCONNECTED_AVTID 0x7ffffffdu

static void group_changed(MPIR_Group * group)
{
    group->idx_of_first_lpid = -1;
    group->is_local_dense_monotonic = FALSE;
}

static void renumber_group(MPIR_Group * group, void *context)
{
    const struct MPIDI_Adapt_new_indices *r = context;

    for (int i = 0; i < group->size; i++) {
        uint64_t gpid = group->lrank_to_lpid[i].lpid;
        uint64_t lpid = MPIDIU_GPID_GET_LPID(gpid);
        if (MPIDIU_GPID_GET_AVTID(gpid) != 0 || lpid >= (uint64_t) r->size)
            continue;
        if (r->new_index[lpid] >= 0)
            group->lrank_to_lpid[i].lpid = MPIDIU_GPID_CREATE(0, r->new_index[lpid]);
        else
            group->lrank_to_lpid[i].lpid = MPIDIU_GPID_CREATE(DEPARTED_AVTID,
                                                              MPIDI_Adapt_plan_members(r->
                                                                                       plan)[lpid].
                                                              uid);
    }
    group_changed(group);
}

/* A table, and the number that its first process gets. */
struct freed_table {
    int avtid;
    uint64_t first;
};

static void disconnect_group(MPIR_Group * group, void *context)
{
    const struct freed_table *freed = context;
    bool changed = false;

    for (int i = 0; i < group->size; i++) {
        uint64_t gpid = group->lrank_to_lpid[i].lpid;
        if (MPIDIU_GPID_GET_AVTID(gpid) == (uint64_t) freed->avtid) {
            group->lrank_to_lpid[i].lpid =
                MPIDIU_GPID_CREATE(DISCONNECTED_AVTID, freed->first + MPIDIU_GPID_GET_LPID(gpid));
            changed = true;
        }
    }
    if (changed)
        group_changed(group);
}

void MPIDI_Adapt_table_freed(int avtid, int size)
{
    static uint64_t disconnected;       /* processes until now */
    struct freed_table freed = { avtid, disconnected };

    if (avtid == 0)
        return;
    disconnected += (uint64_t) size;
    MPIR_Device_callbacks.foreach_group(disconnect_group, &freed);
}

/* Windows on a communicator whose ranks were table indices have a flag for that. */
static void renumber_windows(void)
{
    MPIDIU_map_entry_t *entry, *next;

    HASH_ITER(hh, MPIDI_global.win_map->head, entry, next) {
        MPIR_Win *win = entry->value;
        MPIDI_WIN(win, winattr) &= ~((unsigned) MPIDI_WINATTR_DIRECT_INTRA_COMM);
    }
}

/* Two maps for each: a communicator, its local one, and their communicators for nodes. */
#define MAPS_MAX 12

static void count_maps(MPIR_Comm * comm, void *context)
{
    *(int *) context += MAPS_MAX;
}

int MPIDI_Adapt_reserve_renumbering(MPIDI_Adapt_renumbering_t * all)
{
    int mpi_errno = MPI_SUCCESS;

    all->n_seen = 0;
    all->max_seen = 2 * MAPS_MAX;       /* the world's and those of MPI_COMM_SELF */
    MPIR_Device_callbacks.foreach_comm(count_maps, &all->max_seen);
    all->seen = MPL_malloc(all->max_seen * sizeof(void *), MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!all->seen, mpi_errno, MPI_ERR_OTHER, "**nomem");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_Adapt_renumber(MPIDI_Adapt_renumbering_t * all, MPIR_Comm * world)
{
    if (world)
        renumber_comm(world, all);
    renumber_comm(MPIR_Process.comm_self, all);
    MPIR_Device_callbacks.foreach_comm(renumber_comm, all);
    MPIR_Device_callbacks.foreach_group(renumber_group, &all->r);
    renumber_windows();
}
