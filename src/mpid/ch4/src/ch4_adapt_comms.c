/* See ch4_adapt_comms.h. */

#include "mpidimpl.h"
#include "ch4_adapt_comms.h"
#include "ch4_adapt_nodes.h"
#include "ch4_adapt_table.h"
#include "ch4_adapt_unexpected.h"
#include "ch4_adapt_window.h"
#include "ch4_adapt_world.h"
#include "mpir_adapt.h"

/* The communicators, until begin returns them. */
static struct {
    MPIR_Comm *new_world, *intercomm;
    bool has_comms;
} made;

/* The communicator being made, with its maps. */
static struct {
    MPIR_Comm *comm;
    MPIDI_rank_map_t map, local_map;
} making;

int MPIDI_Adapt_comm_map(MPIR_Comm * comm)
{
    if (comm != making.comm)
        return 0;

    MPIDI_COMM(comm, map) = making.map;
    MPIDI_COMM(comm, local_map) = making.local_map;
    /* upstream does not set it for the context ids used here */
    MPIDIG_COMM(comm, window_instance) = 0;
    MPIDIU_avt_add_ref(0);
    if (making.local_map.mode != MPIDI_RANK_MAP_NONE)
        MPIDIU_avt_add_ref(0);
    return 1;
}

MPIDI_rank_map_t MPIDI_Adapt_range_map(int first, int size)
{
    MPIDI_rank_map_t map = {.mode = MPIDI_RANK_MAP_OFFSET_INTRA,.avtid = 0,.size = size };
    map.reg.offset = first;
    if (first == 0)
        map.mode = MPIDI_RANK_MAP_DIRECT_INTRA;
    return map;
}

int MPIDI_Adapt_table_map(int size, MPIDI_rank_map_t * map)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_rank_map_lut_t *lut;

    mpi_errno = MPIDIU_alloc_lut(&lut, size);
    MPIR_ERR_CHECK(mpi_errno);
    *map = (MPIDI_rank_map_t) {.mode = MPIDI_RANK_MAP_LUT_INTRA,.avtid = 0,.size = size };
    map->irreg.lut.t = lut;
    map->irreg.lut.lpid = lut->lpid;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

const MPIDI_rank_map_t MPIDI_Adapt_no_map = {.mode = MPIDI_RANK_MAP_NONE };

int MPIDI_Adapt_commit_comm(MPIR_Comm * comm, MPIDI_rank_map_t map, MPIDI_rank_map_t local_map)
{
    making.comm = comm;
    making.map = map;
    making.local_map = local_map;
    int mpi_errno = MPIR_Comm_commit(comm);
    making.comm = NULL;
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
    comm->is_low_group = MPIDI_Adapt_window.index < MPIDI_Adapt_window.pre;
    /* no collective agreement on a sequence number, because others may still compute */
    comm->tainted = 1;
    comm->errhandler = world->errhandler;
    if (comm->errhandler)
        MPIR_Errhandler_add_ref(comm->errhandler);
    MPL_strncpy(comm->name, name, MPI_MAX_OBJECT_NAME);

    if (context != MPIDI_ADAPT_CONTEXT__UNION && context != MPIDI_ADAPT_CONTEXT__PARENT)
        MPIR_Device_callbacks.comm_by_begin(comm);
    mpi_errno = MPIDI_Adapt_commit_comm(comm, map, local_map);
    MPIR_ERR_CHECK(mpi_errno);
    *result = comm;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Adapt_new_members(const struct pmi_adapt_plan *plan, int *list)
{
    const struct pmi_adapt_member *members = MPIDI_Adapt_plan_members(plan);
    int n = 0;

    for (int i = 0; i < MPIDI_Adapt_window.size; i++) {
        if (!(members[i].flags & PMI_ADAPT_MEMBER_LEAVING))
            list[n++] = i;
    }
    return n;
}

static int make_new_world(const struct pmi_adapt_plan *plan, MPIR_Comm ** new_world)
{
    int mpi_errno = MPI_SUCCESS;
    int n = MPIDI_Adapt_window.size - (int) plan->leaving, rank = -1;
    MPIDI_rank_map_t map = MPIDI_Adapt_range_map(0, n);

    if (plan->leaving == 0) {
        rank = MPIDI_Adapt_window.index;
    } else {
        mpi_errno = MPIDI_Adapt_table_map(n, &map);
        MPIR_ERR_CHECK(mpi_errno);
        MPIDI_Adapt_new_members(plan, map.irreg.lut.lpid);
        for (int i = 0; i < n; i++) {
            if (map.irreg.lut.lpid[i] == MPIDI_Adapt_window.index)
                rank = i;
        }
    }
    MPIR_Assertp(rank >= 0);
    mpi_errno = make_comm(MPIR_COMM_KIND__INTRACOMM, MPIDI_ADAPT_CONTEXT__NEW_WORLD, plan->epoch,
                          rank, map, MPIDI_Adapt_no_map, "MPI_ADAPT_NEW_WORLD", new_world);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int make_intercomm(const struct pmi_adapt_plan *plan, MPIR_Comm ** intercomm)
{
    MPIDI_rank_map_t pre = MPIDI_Adapt_range_map(0, MPIDI_Adapt_window.pre);
    MPIDI_rank_map_t joining =
        MPIDI_Adapt_range_map(MPIDI_Adapt_window.pre, MPIDI_Adapt_window.joining);
    bool is_pre = MPIDI_Adapt_window.index < MPIDI_Adapt_window.pre;

    return make_comm(MPIR_COMM_KIND__INTERCOMM, MPIDI_ADAPT_CONTEXT__INTERCOMM, plan->epoch,
                     MPIDI_Adapt_window.index - (is_pre ? 0 : MPIDI_Adapt_window.pre),
                     is_pre ? joining : pre, is_pre ? pre : joining, "MPI_ADAPT_INTERCOMM",
                     intercomm);
}

/* A table map, because processes that leave later leave holes in the range. */
static int range_table(int first, int size, MPIDI_rank_map_t * map)
{
    int mpi_errno = MPIDI_Adapt_table_map(size, map);

    for (int i = 0; i < size && !mpi_errno; i++)
        map->irreg.lut.lpid[i] = first + i;
    return mpi_errno;
}

/* Made now, while all members have an index: later, processes that have left could not be
 * distinguished. */
static int keep_groups(MPIR_Comm * parent)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Group *group;

    mpi_errno = MPIR_Comm_group_impl(parent, &group);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Group_release(group);
    mpi_errno = MPIR_Comm_remote_group_impl(parent, &group);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Group_release(group);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Adapt_make_parent(unsigned epoch, int created, MPIR_Comm ** parent)
{
    int mpi_errno = MPI_SUCCESS, previous = MPIR_Process.size - created;
    MPIDI_rank_map_t map, local_map;

    mpi_errno = range_table(0, previous, &map);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = range_table(previous, created, &local_map);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = make_comm(MPIR_COMM_KIND__INTERCOMM, MPIDI_ADAPT_CONTEXT__PARENT, epoch,
                          MPIR_Process.rank - previous, map, local_map, "MPI_COMM_PARENT", parent);
    MPIR_ERR_CHECK(mpi_errno);
    (*parent)->adapt.derivation = MPIR_ADAPT_DERIVATION_SELF;
    mpi_errno = keep_groups(*parent);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Adapt_make_union(const struct pmi_adapt_plan *plan)
{
    if (MPIDI_Adapt_window.union_comm)
        return MPI_SUCCESS;     /* made earlier, on a joining process */
    return make_comm(MPIR_COMM_KIND__INTRACOMM, MPIDI_ADAPT_CONTEXT__UNION, plan->epoch,
                     MPIDI_Adapt_window.index, MPIDI_Adapt_range_map(0, MPIDI_Adapt_window.size),
                     MPIDI_Adapt_no_map, "MPI_ADAPT_UNION",
                     &MPIDI_Adapt_window.union_comm);
}

int MPIDI_Adapt_make_comms(const struct pmi_adapt_plan *plan, int index)
{
    int mpi_errno = MPI_SUCCESS;

    if (made.has_comms)
        goto fn_exit;
    mpi_errno = MPIDI_Adapt_make_union(plan);
    MPIR_ERR_CHECK(mpi_errno);
    if (!(MPIDI_Adapt_plan_members(plan)[index].flags & PMI_ADAPT_MEMBER_LEAVING)) {
        mpi_errno = make_new_world(plan, &made.new_world);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIDI_Adapt_make_coming_world(plan);
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (MPIDI_Adapt_window.joining) {
        mpi_errno = make_intercomm(plan, &made.intercomm);
        MPIR_ERR_CHECK(mpi_errno);
    }
    made.has_comms = true;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_Adapt_take_comms(MPIR_Comm ** intercomm, MPIR_Comm ** new_world)
{
    *intercomm = made.intercomm;
    *new_world = made.new_world;
    made.intercomm = made.new_world = NULL;
    made.has_comms = false;
}

/* Called again after a probe that could not preconnect.  The tables in use are replaced by the
 * union's meanwhile: no other thread reads them. */
int MPIDI_Adapt_prebuild_comms(const struct pmi_adapt_plan *plan, int index,
                               MPIDI_av_table_t * union_table)
{
    int mpi_errno = MPI_SUCCESS;
    MPIDI_Adapt_nodes_t nodes = { NULL, 0 };
    const MPIDI_Adapt_nodes_t own_nodes = { MPIR_Process.node_map, MPIR_Process.num_nodes };
    MPIDI_av_table_t *own_table = MPIDI_global.avt_mgr.av_table0;

    if (made.has_comms)
        goto fn_exit;
    mpi_errno = MPIDI_Adapt_make_nodes(plan, NULL, (int) (plan->pre + plan->joining), &nodes);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_Adapt_window_set(plan, index);
    MPIDI_Adapt_set_table(union_table);
    MPIR_Process.node_map = nodes.node_of;
    MPIR_Process.num_nodes = nodes.num_nodes;
    mpi_errno = MPIDI_Adapt_make_comms(plan, index);
    MPIR_Process.node_map = own_nodes.node_of;
    MPIR_Process.num_nodes = own_nodes.num_nodes;
    MPIDI_Adapt_set_table(own_table);
    if (mpi_errno)
        (void) MPIDI_Adapt_drop_prebuilt_comms();

  fn_exit:
    MPL_free(nodes.node_of);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Adapt_drop_prebuilt_comms(void)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Comm **all[] = { &made.intercomm, &made.new_world, &MPIDI_Adapt_window.union_comm };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        int err = *all[i] ? MPIR_Comm_release(*all[i]) : MPI_SUCCESS;
        mpi_errno = mpi_errno ? mpi_errno : err;
        *all[i] = NULL;
    }
    made.has_comms = false;
    int err = MPIDI_Adapt_drop_coming_world();
    return mpi_errno ? mpi_errno : err;
}
