/*
 * The device's part of an adaptation: address tables and maps of the union in begin, the communicators
 * of the window, and the new MPI_COMM_WORLD in commit (doc/design/world.md).  Everything but the local
 * barriers of begin and the barrier of commit is local work.  SPEC W1-W7, C1-C5, C8, C9.
 */

#include "mpidimpl.h"
#include "mpidu_init_shm_adapt.h"
#include "ch4_adapt_ahead.h"
#include "ch4_adapt_unexpected.h"
#include "mpir_adapt.h"
#include "mpir_adapt_device.h"
#include "pmi_adapt.h"

uint64_t MPIDI_Adapt_am_source;

/* The window of this process; all of it is valid from prepare to commit. */
static struct {
    int pre, joining, size;     /* size of the union */
    int index;                  /* of this process in the union */
    int shift;                  /* index - rank in the world that this process had before */
    MPIDI_av_table_t *old_table;        /* kept for operations in flight that point into it */
    MPIR_Comm *union_comm;
    MPIDI_Adapt_segment_t segment;      /* to move to; base is NULL where nobody joins */
    MPIR_Comm *new_world, *intercomm;   /* until begin returns them */
    bool has_comms;

    /* the communicator being made by make_comm, with its maps */
    MPIR_Comm *making;
    MPIDI_rank_map_t map, local_map;
} window;

int MPID_Adapt_card(void **card, int *bytes)
{
    return MPIDI_OFI_adapt_card(card, bytes);
}

void MPID_Adapt_set_uid(unsigned uid)
{
    MPIDI_Adapt_am_source = MPIDI_OFI_adapt_am_source(uid);
}

/* ---- renumbering ------------------------------------------------------------------------------ */

/* new_index[i]: new index in table 0 of the process that has index i; -1: gone. */
struct renumbering {
    const int *new_index;
    int size;
    const struct pmi_adapt_plan *plan;
};

static void renumber_map(MPIDI_rank_map_t * map, const struct renumbering *r)
{
    switch (map->mode) {
        case MPIDI_RANK_MAP_NONE:
            break;
        case MPIDI_RANK_MAP_MLUT:
            for (int i = 0; i < map->size; i++) {
                if (map->irreg.mlut.gpid[i].avtid == 0)
                    map->irreg.mlut.gpid[i].lpid = r->new_index[map->irreg.mlut.gpid[i].lpid];
            }
            break;
        case MPIDI_RANK_MAP_LUT:
        case MPIDI_RANK_MAP_LUT_INTRA:
            if (map->avtid == 0) {
                for (int i = 0; i < map->size; i++)
                    map->irreg.lut.lpid[i] = r->new_index[map->irreg.lut.lpid[i]];
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

/* Look-up tables are shared between communicators (a dup refers to its parent's): each once. */
static bool is_seen(void *const *seen, int n, const void *table)
{
    for (int i = 0; i < n; i++) {
        if (seen[i] == table)
            return true;
    }
    return false;
}

struct renumber_comms {
    struct renumbering r;
    void **seen;                /* room for the maps of all communicators */
    int n_seen, max_seen;
};

static void renumber_once(MPIDI_rank_map_t * map, struct renumber_comms *all)
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
    struct renumber_comms *all = context;

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

/* Groups outlive the world they were taken from; processes that are gone get numbers that no process
 * has, so that such a group translates and compares as it should. */
#define GONE_AVTID 0x7ffffffeu

static void renumber_group(MPIR_Group * group, void *context)
{
    const struct renumbering *r = context;

    for (int i = 0; i < group->size; i++) {
        uint64_t gpid = group->lrank_to_lpid[i].lpid;
        uint64_t lpid = MPIDIU_GPID_GET_LPID(gpid);
        if (MPIDIU_GPID_GET_AVTID(gpid) != 0 || lpid >= (uint64_t) r->size)
            continue;
        if (r->new_index[lpid] >= 0)
            group->lrank_to_lpid[i].lpid = MPIDIU_GPID_CREATE(0, r->new_index[lpid]);
        else
            group->lrank_to_lpid[i].lpid = MPIDIU_GPID_CREATE(GONE_AVTID,
                                                              MPIDI_Adapt_plan_members(r->plan)[lpid].uid);
    }
    group->idx_of_first_lpid = -1;
    group->is_local_dense_monotonic = FALSE;
}

/* Windows on a communicator that numbered the table directly remember that in a flag. */
static void renumber_windows(void)
{
    MPIDIU_map_entry_t *entry, *next;

    HASH_ITER(hh, MPIDI_global.win_map->head, entry, next) {
        MPIR_Win *win = entry->value;
        MPIDI_WIN(win, winattr) &= ~((unsigned) MPIDI_WINATTR_DIRECT_INTRA_COMM);
    }
}

/* Two maps each of a communicator, its local one, and their communicators for nodes. */
#define MAPS_MAX 12

static void count_maps(MPIR_Comm * comm, void *context)
{
    *(int *) context += MAPS_MAX;
}

/* All that renumbering needs memory for. */
static int reserve_renumbering(struct renumber_comms *all)
{
    int mpi_errno = MPI_SUCCESS;

    all->n_seen = 0;
    all->max_seen = 2 * MAPS_MAX;       /* the world's and those of MPI_COMM_SELF */
    MPIR_Adapt_foreach_comm(count_maps, &all->max_seen);
    all->seen = MPL_malloc(all->max_seen * sizeof(void *), MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!all->seen, mpi_errno, MPI_ERR_OTHER, "**nomem");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* All communicators (world only if given), groups and windows of this process. */
static void renumber_all(struct renumber_comms *all, MPIR_Comm * world)
{
    if (world)
        renumber_comm(world, all);
    renumber_comm(MPIR_Process.comm_self, all);
    MPIR_Adapt_foreach_comm(renumber_comm, all);
    MPIR_Adapt_foreach_group(renumber_group, &all->r);
    renumber_windows();
}

/* ---- begin ------------------------------------------------------------------------------------ */

MPIDI_av_table_t *MPIDI_Adapt_new_table(int size)
{
    MPIDI_av_table_t *table = MPL_calloc(1, sizeof(MPIDI_av_table_t) +
                                         size * sizeof(MPIDI_av_entry_t), MPL_MEM_ADDRESS);
    if (table)
        table->size = size;
    return table;
}

/* References are those of the communicators that exist now. */
static void set_table(MPIDI_av_table_t * table)
{
    MPIR_Object_set_ref(table, MPIR_Object_get_ref(MPIDI_global.avt_mgr.av_table0));
    MPIDI_global.avt_mgr.av_table0 = table;
    MPIDI_global.avt_mgr.av_tables[0] = table;
}

/* Node ids of a list of union indices, numbered by first appearance, as at a launch. */
struct node_map {
    int *node_of;
    int num_nodes;
};

static int make_node_map(const struct pmi_adapt_plan *plan, const int *list, int n,
                         struct node_map *result)
{
    int mpi_errno = MPI_SUCCESS;
    const struct pmi_adapt_member *members = MPIDI_Adapt_plan_members(plan);
    int *node_of_host = NULL;
    MPIR_CHKLMEM_DECL(1);

    result->num_nodes = 0;
    MPIR_CHKLMEM_MALLOC(node_of_host, int *, plan->n_hosts * sizeof(int), mpi_errno, "hosts",
                        MPL_MEM_ADDRESS);
    result->node_of = MPL_malloc(n * sizeof(int), MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!result->node_of, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (unsigned i = 0; i < plan->n_hosts; i++)
        node_of_host[i] = -1;
    for (int i = 0; i < n; i++) {
        int host = (int) members[list ? list[i] : i].host;
        if (node_of_host[host] < 0)
            node_of_host[host] = result->num_nodes++;
        result->node_of[i] = node_of_host[host];
    }

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void set_node_map(const struct node_map *map)
{
    MPL_free(MPIR_Process.node_map);
    MPIR_Process.node_map = map->node_of;
    MPIR_Process.num_nodes = map->num_nodes;
}

static void set_numbers(const struct pmi_adapt_plan *plan, int index)
{
    window.pre = (int) plan->pre;
    window.joining = (int) plan->joining;
    window.size = window.pre + window.joining;
    window.index = index;
    window.shift = index - MPIR_Process.rank;
}

/* The tables of the union take the place of the previous ones.  Nothing here can fail: a process that has gone
 * so far cannot go back. */
static void use_union(const struct pmi_adapt_plan *plan, int index, const struct node_map *nodes,
                      int *slots, struct renumber_comms *shifted)
{
    set_numbers(plan, index);

    window.old_table = MPIDI_global.avt_mgr.av_table0;
    set_table(MPIDI_Adapt_take_table());
    window.segment = MPIDI_Adapt_take_segment();
    set_node_map(nodes);
    MPIR_Process.rank = index;
    if (window.shift) {
        MPIR_Process.size = window.size;
        renumber_all(shifted, MPIR_Process.comm_world);
    }
    MPIDI_POSIX_adapt_renumber(slots, window.size, window.shift);
}

int MPID_Adapt_prepare(const struct pmi_adapt_plan *plan, int index)
{
    int mpi_errno = MPI_SUCCESS;
    int old_size = MPIR_Process.size, shift = index - MPIR_Process.rank;
    int union_size = (int) (plan->pre + plan->joining);
    int *new_index = NULL, *slots = NULL;
    struct node_map nodes = { NULL, 0 };
    struct renumber_comms shifted = { {NULL, old_size, plan} };

    mpi_errno = MPID_Adapt_ahead(plan, index);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = make_node_map(plan, NULL, union_size, &nodes);
    MPIR_ERR_CHECK(mpi_errno);
    slots = MPL_malloc(union_size * sizeof(int), MPL_MEM_SHM);
    new_index = MPL_malloc(old_size * sizeof(int), MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!slots || !new_index, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < old_size; i++)
        new_index[i] = i + shift;
    shifted.r.new_index = new_index;
    mpi_errno = reserve_renumbering(&shifted);
    MPIR_ERR_CHECK(mpi_errno);

    use_union(plan, index, &nodes, slots, &shifted);

  fn_exit:
    MPL_free(new_index);
    MPL_free(shifted.seen);
    return mpi_errno;
  fn_fail:
    MPL_free(slots);
    MPL_free(nodes.node_of);
    goto fn_exit;
}

/* On a host that processes join all of its processes move to the segment that one of these made. */
static int move_to_segment(void)
{
    int mpi_errno = MPI_SUCCESS;

    if (window.segment.base) {
        /* if no probe has done so since the last move */
        mpi_errno = MPID_Adapt_tidy();
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIDI_POSIX_adapt_move(&window.segment);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPL_free(window.segment.local_index);
    memset(&window.segment, 0, sizeof(window.segment));
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- communicators ---------------------------------------------------------------------------- */

int MPIDI_Adapt_comm_map(MPIR_Comm * comm)
{
    if (comm != window.making)
        return 0;

    MPIDI_COMM(comm, map) = window.map;
    MPIDI_COMM(comm, local_map) = window.local_map;
    /* upstream leaves it alone on the context ids used here */
    MPIDIG_COMM(comm, window_instance) = 0;
    MPIDIU_avt_add_ref(0);
    if (window.local_map.mode != MPIDI_RANK_MAP_NONE)
        MPIDIU_avt_add_ref(0);
    return 1;
}

static MPIDI_rank_map_t range_map(int first, int size)
{
    MPIDI_rank_map_t map = {.mode = MPIDI_RANK_MAP_OFFSET_INTRA,.avtid = 0,.size = size };
    map.reg.offset = first;
    if (first == 0)
        map.mode = MPIDI_RANK_MAP_DIRECT_INTRA;
    return map;
}

static const MPIDI_rank_map_t no_map = {.mode = MPIDI_RANK_MAP_NONE };

static int commit_comm(MPIR_Comm * comm, MPIDI_rank_map_t map, MPIDI_rank_map_t local_map)
{
    window.making = comm;
    window.map = map;
    window.local_map = local_map;
    int mpi_errno = MPIR_Comm_commit(comm);
    window.making = NULL;
    return mpi_errno;
}

static int make_comm(MPIR_Comm_kind_t kind, MPIDI_Adapt_context_t context, unsigned epoch, int rank,
                     MPIDI_rank_map_t map, MPIDI_rank_map_t local_map, const char *name,
                     MPIR_Comm ** result)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Comm *comm, *world = MPIR_Process.comm_world;

    mpi_errno = MPIR_Comm_create(&comm);
    MPIR_ERR_CHECK(mpi_errno);
    comm->context_id = MPIDI_Adapt_context_of(context, epoch);
    comm->recvcontext_id = comm->context_id;
    comm->comm_kind = kind;
    comm->rank = rank;
    comm->remote_size = map.size;
    comm->local_size = kind == MPIR_COMM_KIND__INTERCOMM ? local_map.size : map.size;
    comm->local_comm = NULL;
    comm->is_low_group = window.index < window.pre;
    /* no collective agreement on a sequence number while others may still compute */
    comm->tainted = 1;
    comm->errhandler = world->errhandler;
    if (comm->errhandler)
        MPIR_Errhandler_add_ref(comm->errhandler);
    MPL_strncpy(comm->name, name, MPI_MAX_OBJECT_NAME);

    if (context != MPIDI_ADAPT_CONTEXT__UNION)
        MPIR_Adapt_comm_by_begin(comm);
    mpi_errno = commit_comm(comm, map, local_map);
    MPIR_ERR_CHECK(mpi_errno);
    *result = comm;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Union indices of the new world's members by new rank (W2). */
static int new_members(const struct pmi_adapt_plan *plan, int *list)
{
    const struct pmi_adapt_member *members = MPIDI_Adapt_plan_members(plan);
    int n = 0;

    for (int i = 0; i < window.size; i++) {
        if (!(members[i].flags & PMI_ADAPT_MEMBER_LEAVING))
            list[n++] = i;
    }
    return n;
}

static int make_new_world(const struct pmi_adapt_plan *plan, MPIR_Comm ** new_world)
{
    int mpi_errno = MPI_SUCCESS;
    int n = window.size - (int) plan->leaving, rank = -1;
    MPIDI_rank_map_t map = range_map(0, n);

    if (plan->leaving == 0) {
        rank = window.index;
    } else {
        MPIDI_rank_map_lut_t *lut;
        mpi_errno = MPIDIU_alloc_lut(&lut, window.size);
        MPIR_ERR_CHECK(mpi_errno);
        new_members(plan, lut->lpid);
        for (int i = 0; i < n; i++) {
            if (lut->lpid[i] == window.index)
                rank = i;
        }
        map.mode = MPIDI_RANK_MAP_LUT_INTRA;
        map.irreg.lut.t = lut;
        map.irreg.lut.lpid = lut->lpid;
    }
    MPIR_Assertp(rank >= 0);
    mpi_errno = make_comm(MPIR_COMM_KIND__INTRACOMM, MPIDI_ADAPT_CONTEXT__NEW_WORLD, plan->epoch,
                          rank, map, no_map, "MPI_ADAPT_NEW_WORLD", new_world);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int make_intercomm(const struct pmi_adapt_plan *plan, MPIR_Comm ** intercomm)
{
    MPIDI_rank_map_t pre = range_map(0, window.pre);
    MPIDI_rank_map_t joining = range_map(window.pre, window.joining);
    bool is_pre = window.index < window.pre;

    return make_comm(MPIR_COMM_KIND__INTERCOMM, MPIDI_ADAPT_CONTEXT__INTERCOMM, plan->epoch,
                     is_pre ? window.index : window.index - window.pre, is_pre ? joining : pre,
                     is_pre ? pre : joining, "MPI_ADAPT_INTERCOMM", intercomm);
}

static int make_union(const struct pmi_adapt_plan *plan)
{
    if (window.union_comm)
        return MPI_SUCCESS;     /* on a joining process, beforehand */
    return make_comm(MPIR_COMM_KIND__INTRACOMM, MPIDI_ADAPT_CONTEXT__UNION, plan->epoch,
                     window.index, range_map(0, window.size), no_map, "MPI_ADAPT_UNION",
                     &window.union_comm);
}

/* ---- greetings between hosts (ch4_adapt_ahead.h) -------------------------------------------------- */

/* Of a joining process: the receives of those that come from other hosts. */
static struct {
    MPIR_Request **requests;
    int n;
} greetings;

static bool is_on_my_host(const struct pmi_adapt_plan *plan, int index)
{
    const struct pmi_adapt_member *members = MPIDI_Adapt_plan_members(plan);

    return members[index].host == members[window.index].host;
}

static int expect_greetings(const struct pmi_adapt_plan *plan)
{
    int mpi_errno = MPI_SUCCESS;

    if (greetings.requests)
        goto fn_exit;
    mpi_errno = make_union(plan);
    MPIR_ERR_CHECK(mpi_errno);
    greetings.requests = MPL_calloc(window.pre / window.joining + 1, sizeof(MPIR_Request *),
                                    MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!greetings.requests, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = window.index - window.pre; i < window.pre; i += window.joining) {
        if (!is_on_my_host(plan, i)) {
            mpi_errno = MPIC_Irecv(NULL, 0, MPI_BYTE, i, MPIDI_ADAPT_GREETING_TAG,
                                   window.union_comm, &greetings.requests[greetings.n]);
            MPIR_ERR_CHECK(mpi_errno);
            greetings.n++;
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Adapt_is_greeted(const struct pmi_adapt_plan *plan)
{
    if (MPIDI_Adapt_is_on_one_host(plan) || !MPIDI_OFI_adapt_can_greet())
        return 1;
    /* an error comes again, and is reported, in begin */
    if (expect_greetings(plan) != MPI_SUCCESS)
        return 0;
    for (int i = 0; i < greetings.n; i++) {
        if (!MPIR_Request_is_complete(greetings.requests[i]))
            return 0;
    }
    return 1;
}

/* A message that reaches a process before the address of its sender is known there never matches a
 * receive from that sender (libfabric's directed receive).  Joining processes know all addresses before
 * they come here; the others learn theirs in begin.  So the joining ones must not speak over the network
 * before all others are in begin (or have prepared for it, see ch4_adapt_ahead.h): each of these sends
 * an empty message to one of them and goes on. */
static int wait_for_addresses(const struct pmi_adapt_plan *plan)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    const int tag = MPIDI_ADAPT_GREETING_TAG;

    bool greeted = MPIDI_Adapt_take_greeting();
    if (window.joining == 0 || MPIDI_Adapt_is_on_one_host(plan) || greeted)
        goto fn_exit;
    if (window.index < window.pre) {
        mpi_errno = MPIC_Send(NULL, 0, MPI_BYTE, MPIDI_Adapt_greeted_by(plan, window.index), tag,
                              window.union_comm, &errflag);
        MPIR_ERR_CHECK(mpi_errno);
        goto fn_exit;
    }
    mpi_errno = expect_greetings(plan);
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < greetings.n; i++) {
        mpi_errno = MPIC_Wait(greetings.requests[i], &errflag);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_Request_free(greetings.requests[i]);
    }
    for (int i = window.index - window.pre; i < window.pre; i += window.joining) {
        if (is_on_my_host(plan, i)) {
            mpi_errno = MPIC_Recv(NULL, 0, MPI_BYTE, i, tag, window.union_comm, MPI_STATUS_IGNORE,
                                  &errflag);
            MPIR_ERR_CHECK(mpi_errno);
        }
    }
    mpi_errno = MPIR_Barrier(MPIR_Process.comm_world, &errflag);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(greetings.requests);
    memset(&greetings, 0, sizeof(greetings));
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int make_comms(const struct pmi_adapt_plan *plan, int index)
{
    int mpi_errno = MPI_SUCCESS;

    if (window.has_comms)
        goto fn_exit;
    mpi_errno = make_union(plan);
    MPIR_ERR_CHECK(mpi_errno);
    if (!(MPIDI_Adapt_plan_members(plan)[index].flags & PMI_ADAPT_MEMBER_LEAVING)) {
        mpi_errno = make_new_world(plan, &window.new_world);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (window.joining) {
        mpi_errno = make_intercomm(plan, &window.intercomm);
        MPIR_ERR_CHECK(mpi_errno);
    }
    window.has_comms = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* A probe that could not greet comes again.  The tables in use are exchanged for the union's meanwhile: nobody
 * else looks at them. */
int MPIDI_Adapt_make_comms_ahead(const struct pmi_adapt_plan *plan, int index,
                                 MPIDI_av_table_t * union_table)
{
    int mpi_errno = MPI_SUCCESS;
    struct node_map nodes = { NULL, 0 };
    const struct node_map own_nodes = { MPIR_Process.node_map, MPIR_Process.num_nodes };
    MPIDI_av_table_t *own_table = MPIDI_global.avt_mgr.av_table0;

    if (window.has_comms)
        goto fn_exit;
    mpi_errno = make_node_map(plan, NULL, (int) (plan->pre + plan->joining), &nodes);
    MPIR_ERR_CHECK(mpi_errno);
    set_numbers(plan, index);
    set_table(union_table);
    MPIR_Process.node_map = nodes.node_of;
    MPIR_Process.num_nodes = nodes.num_nodes;
    mpi_errno = make_comms(plan, index);
    MPIR_Process.node_map = own_nodes.node_of;
    MPIR_Process.num_nodes = own_nodes.num_nodes;
    set_table(own_table);
    if (mpi_errno)
        (void) MPIDI_Adapt_drop_comms_ahead();

  fn_exit:
    MPL_free(nodes.node_of);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Adapt_drop_comms_ahead(void)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Comm **made[] = { &window.intercomm, &window.new_world, &window.union_comm };

    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        int err = *made[i] ? MPIR_Comm_release(*made[i]) : MPI_SUCCESS;
        mpi_errno = mpi_errno ? mpi_errno : err;
        *made[i] = NULL;
    }
    window.has_comms = false;
    return mpi_errno;
}

int MPID_Adapt_join(const struct pmi_adapt_plan *plan, int index)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = move_to_segment();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = make_comms(plan, index);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Adapt_begin(const struct pmi_adapt_plan *plan, int index,
                     MPIR_Comm ** intercomm, MPIR_Comm ** new_world)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = move_to_segment();
    MPIR_ERR_CHECK(mpi_errno);

    mpi_errno = make_union(plan);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = wait_for_addresses(plan);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = make_comms(plan, index);
    MPIR_ERR_CHECK(mpi_errno);
    *intercomm = window.intercomm;
    *new_world = window.new_world;
    window.intercomm = window.new_world = NULL;
    window.has_comms = false;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- commit ----------------------------------------------------------------------------------- */

static int agree_over_hosts(int value, int *greatest)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    const unsigned crowded = MPIDU_crowded;

    /* The daemons have just been at work, too: it happens that two processes are on one processor now,
     * and one would spin until the scheduler's next tick. */
    if (MPIR_CVAR_PROGRESS_YIELD != MPIR_CVAR_PROGRESS_YIELD_never)
        MPIDU_crowded = 1;
    int mpi_errno = MPIR_Allreduce(&value, greatest, 1, MPI_INT, MPI_MAX, window.union_comm, &errflag);
    MPIDU_crowded = crowded;
    return mpi_errno;
}

bool MPIDI_Adapt_shares_memory(void)
{
    return MPIDU_Init_shm_adapt_size() == window.size && !MPIR_CVAR_NOLOCAL &&
        !MPIR_CVAR_ODD_EVEN_CLIQUES && MPIR_CVAR_NUM_CLIQUES == 1;
}

int MPID_Adapt_agree(int value, int *greatest)
{
    int mpi_errno = MPI_SUCCESS;

    if (MPIDI_Adapt_shares_memory())
        mpi_errno = MPIDU_Init_shm_adapt_agree(value, greatest, MPIDI_Adapt_progress);
    else
        mpi_errno = agree_over_hosts(value, greatest);
    MPIR_ERR_CHECK(mpi_errno);
    if (*greatest != 0)
        goto fn_exit;
    mpi_errno = MPIR_Comm_release(window.union_comm);
    MPIR_ERR_CHECK(mpi_errno);
    window.union_comm = NULL;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Takes out what MPI_COMM_WORLD was, keeping handle, name, error handler and hints (C5). */
static int take_down_world(MPIR_Comm * world)
{
    int mpi_errno = MPI_SUCCESS;

    MPIDI_POSIX_adapt_keep_collectives(world);
    if (world->node_comm)
        MPIDI_POSIX_adapt_keep_collectives(world->node_comm);
    mpi_errno = MPII_Coll_comm_cleanup(world);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPID_Comm_free_hook(world);
    MPIR_ERR_CHECK(mpi_errno);
    if (world->local_group)
        MPIR_Group_release(world->local_group);
    if (world->remote_group)
        MPIR_Group_release(world->remote_group);
    if (world->node_comm)
        MPIR_Comm_release(world->node_comm);
    if (world->node_roots_comm)
        MPIR_Comm_release(world->node_roots_comm);
    MPL_free(world->intranode_table);
    MPL_free(world->internode_table);
    world->local_group = world->remote_group = NULL;
    world->node_comm = world->node_roots_comm = NULL;
    world->intranode_table = world->internode_table = NULL;
    world->hierarchy_kind = MPIR_COMM_HIERARCHY_KIND__FLAT;
    world->next_sched_tag = MPIR_FIRST_NBC_TAG;
    world->topo_fns = NULL;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int build_world(MPIR_Comm * world, unsigned epoch)
{
    world->context_id = MPIDI_Adapt_context_of(MPIDI_ADAPT_CONTEXT__WORLD, epoch);
    world->recvcontext_id = world->context_id;
    world->rank = MPIR_Process.rank;
    world->local_size = MPIR_Process.size;
    world->remote_size = MPIR_Process.size;
    return commit_comm(world, range_map(0, MPIR_Process.size), no_map);
}

/* An index is a new rank again. */
static int compact_table(const struct pmi_adapt_plan *plan, const int *new_index, int n)
{
    int mpi_errno = MPI_SUCCESS;
    const struct pmi_adapt_member *members = MPIDI_Adapt_plan_members(plan);
    MPIDI_av_table_t *union_table = MPIDI_global.avt_mgr.av_table0;
    MPIDI_av_table_t *table = MPIDI_Adapt_new_table(n);

    MPIR_ERR_CHKANDJUMP(!table, mpi_errno, MPI_ERR_OTHER, "**nomem");
    mpi_errno = MPIDI_Adapt_gone_reserve(window.size - n);
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < window.size; i++) {
        if (new_index[i] >= 0)
            table->table[new_index[i]] = union_table->table[i];
        else
            MPIDI_Adapt_gone_add(&union_table->table[i], members[i].uid);
    }
    set_table(table);
    MPL_free(union_table);
    MPL_free(window.old_table);
    window.old_table = NULL;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* MPIR_Process as MPIR_pmi_init leaves it at a launch of this size. */
static int set_process(const struct pmi_adapt_plan *plan, const int *list, int n, int rank)
{
    int mpi_errno = MPI_SUCCESS;
    int *local_map = NULL, *root_map = NULL, n_local = 0;
    struct node_map nodes;

    mpi_errno = make_node_map(plan, list, n, &nodes);
    MPIR_ERR_CHECK(mpi_errno);
    set_node_map(&nodes);
    const int *node_map = MPIR_Process.node_map;

    local_map = MPL_malloc(n * sizeof(int), MPL_MEM_ADDRESS);
    root_map = MPL_malloc(MPIR_Process.num_nodes * sizeof(int), MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!local_map || !root_map, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = n - 1; i >= 0; i--)
        root_map[node_map[i]] = i;
    for (int i = 0; i < n; i++) {
        if (node_map[i] == node_map[rank]) {
            if (i == rank)
                MPIR_Process.local_rank = n_local;
            local_map[n_local++] = i;
        }
    }
    MPL_free(MPIR_Process.node_local_map);
    MPL_free(MPIR_Process.node_root_map);
    MPIR_Process.node_local_map = local_map;
    MPIR_Process.node_root_map = root_map;
    MPIR_Process.local_size = n_local;
    MPIR_Process.rank = rank;
    MPIR_Process.size = n;
    MPIR_Process.attrs.universe = plan->universe_size ? (int) plan->universe_size :
        MPIR_UNIVERSE_SIZE_NOT_SET;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPL_free(local_map);
    MPL_free(root_map);
    goto fn_exit;
}

int MPID_Adapt_commit(const struct pmi_adapt_plan *plan, int index)
{
    int mpi_errno = MPI_SUCCESS;
    int *list = NULL, *new_index = NULL, n = 1;
    MPIR_Comm *world = MPIR_Process.comm_world;
    MPIR_CHKLMEM_DECL(2);

    MPIR_CHKLMEM_MALLOC(list, int *, window.size * sizeof(int), mpi_errno, "list",
                        MPL_MEM_ADDRESS);
    MPIR_CHKLMEM_MALLOC(new_index, int *, window.size * sizeof(int), mpi_errno, "index",
                        MPL_MEM_ADDRESS);
    /* a leaving process is a world of its own from now on */
    if (MPIDI_Adapt_plan_members(plan)[index].flags & PMI_ADAPT_MEMBER_LEAVING)
        list[0] = index;
    else
        n = new_members(plan, list);
    for (int i = 0; i < window.size; i++)
        new_index[i] = -1;
    for (int rank = 0; rank < n; rank++)
        new_index[list[rank]] = rank;

    MPIDI_Adapt_close_made_segment();
    mpi_errno = take_down_world(world);
    MPIR_ERR_CHECK(mpi_errno);
    struct renumber_comms compacted = { {new_index, window.size, plan} };
    mpi_errno = reserve_renumbering(&compacted);
    MPIR_ERR_CHECK(mpi_errno);
    renumber_all(&compacted, NULL);
    MPL_free(compacted.seen);
    mpi_errno = compact_table(plan, new_index, n);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_POSIX_adapt_commit(new_index, window.size, n);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = set_process(plan, list, n, new_index[index]);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDU_Init_shm_adapt_resize(MPIR_Process.local_size, MPIR_Process.local_rank);
    mpi_errno = build_world(world, plan->epoch);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Adapt_tidy(void)
{
    return MPIDI_POSIX_adapt_tidy();
}
