/* See ch4_adapt_world.h. */

#include "mpidimpl.h"
#include "ch4_adapt_comms.h"
#include "ch4_adapt_nodes.h"
#include "ch4_adapt_unexpected.h"
#include "ch4_adapt_window.h"
#include "ch4_adapt_world.h"
#include "mpir_adapt.h"
#include "mpir_adapt_device.h"

static MPIR_Comm *coming;       /* parts of the next MPI_COMM_WORLD, NULL: not made */
static MPIR_Comm *previous;     /* parts of the previous one; NULL: released */
static MPIR_Comm *previous_union;       /* of the last window */

/* ---- before the window ----------------------------------------------------------------------- */

/* The variables that the creation of a communicator reads, with the values of the next world. */
struct world_view {
    MPIDI_Adapt_nodes_t nodes;
    int rank, size;
    MPIR_Comm *world;
};

static struct world_view set_world_view(struct world_view world_view)
{
    const struct world_view before = { {MPIR_Process.node_map, MPIR_Process.num_nodes},
    MPIR_Process.rank, MPIR_Process.size, MPIR_Process.comm_world
    };

    MPIR_Process.node_map = world_view.nodes.node_of;
    MPIR_Process.num_nodes = world_view.nodes.num_nodes;
    MPIR_Process.rank = world_view.rank;
    MPIR_Process.size = world_view.size;
    MPIR_Process.comm_world = world_view.world;
    return before;
}

static int fill_world(MPIR_Comm * world, unsigned epoch)
{
    world->context_id = MPIDI_Adapt_context_of(MPIDI_ADAPT_CONTEXT__WORLD, epoch);
    world->recvcontext_id = world->context_id;
    world->rank = MPIR_Process.rank;
    world->local_size = MPIR_Process.size;
    world->remote_size = MPIR_Process.size;
    return MPIDI_Adapt_commit_comm(world, MPIDI_Adapt_range_map(0, MPIR_Process.size),
                                   MPIDI_Adapt_no_map);
}

/* The same as fill_world does for MPI_COMM_WORLD itself, which is untainted but needs no sequence
 * number. */
static int fill_coming(unsigned epoch)
{
    int mpi_errno = MPI_SUCCESS;

    coming->comm_kind = MPIR_COMM_KIND__INTRACOMM;
    coming->tainted = 1;
    mpi_errno = fill_world(coming, epoch);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Device_callbacks.comm_unlist(coming);
    if (coming->node_comm)
        coming->node_comm->tainted = 0;
    if (coming->node_roots_comm)
        coming->node_roots_comm->tainted = 0;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Adapt_make_coming_world(const struct pmi_adapt_plan *plan)
{
    int mpi_errno = MPI_SUCCESS, rank = -1;
    int *list = NULL;
    MPIDI_Adapt_nodes_t nodes = { NULL, 0 };
    MPIR_CHKLMEM_DECL(1);

    MPIR_Assert(!coming);
    MPIR_CHKLMEM_MALLOC(list, int *, MPIDI_Adapt_window.size * sizeof(int), mpi_errno, "list",
                        MPL_MEM_ADDRESS);
    int n = MPIDI_Adapt_new_members(plan, list);
    for (int i = 0; i < n; i++) {
        if (list[i] == MPIDI_Adapt_window.index)
            rank = i;
    }
    MPIR_Assertp(rank >= 0);
    mpi_errno = MPIDI_Adapt_make_nodes(plan, list, n, &nodes);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Comm_create(&coming);
    MPIR_ERR_CHECK(mpi_errno);
    memcpy(coming->hints, MPIR_Process.comm_world->hints, sizeof(coming->hints));

    const struct world_view before = set_world_view((struct world_view) {nodes, rank, n, coming});
    mpi_errno = fill_coming(plan->epoch);
    (void) set_world_view(before);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(nodes.node_of);
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    coming = NULL;              /* an incomplete communicator cannot be released */
    goto fn_exit;
}

int MPIDI_Adapt_drop_coming_world(void)
{
    int mpi_errno = coming ? MPIR_Comm_release(coming) : MPI_SUCCESS;

    coming = NULL;
    return mpi_errno;
}

/* ---- commit ---------------------------------------------------------------------------------- */

/* Removes the parts of the previous MPI_COMM_WORLD. */
static int take_down(MPIR_Comm * world)
{
    int mpi_errno = MPI_SUCCESS;

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

int MPIDI_Adapt_end_world(MPIR_Comm * world)
{
    int mpi_errno = MPI_SUCCESS;

    MPIDI_SHM_adapt_keep_collectives(world);
    if (world->node_comm)
        MPIDI_SHM_adapt_keep_collectives(world->node_comm);
    if (coming && memcmp(coming->hints, world->hints, sizeof(world->hints)) != 0) {
        mpi_errno = MPIDI_Adapt_drop_coming_world();
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (!coming) {
        mpi_errno = take_down(world);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

#define EXCHANGE(a, b, field)                   \
    do {                                        \
        __typeof__((a)->field) field = (a)->field; \
        (a)->field = (b)->field;                \
        (b)->field = field;                     \
    } while (0)

/* Exchanges all that take_down and fill_world change, except the context id: only the next world's
 * id can be released like that of any communicator. */
static void exchange(MPIR_Comm * world, MPIR_Comm * other)
{
    world->context_id = other->context_id;
    world->recvcontext_id = other->recvcontext_id;
    EXCHANGE(world, other, rank);
    EXCHANGE(world, other, local_size);
    EXCHANGE(world, other, remote_size);
    EXCHANGE(world, other, local_group);
    EXCHANGE(world, other, remote_group);
    EXCHANGE(world, other, node_comm);
    EXCHANGE(world, other, node_roots_comm);
    EXCHANGE(world, other, intranode_table);
    EXCHANGE(world, other, internode_table);
    EXCHANGE(world, other, node_count);
    EXCHANGE(world, other, hierarchy_kind);
    EXCHANGE(world, other, next_sched_tag);
    EXCHANGE(world, other, topo_fns);
    EXCHANGE(world, other, coll);
    EXCHANGE(world, other, csel_comm);
    EXCHANGE(world, other, dev);
}

int MPIDI_Adapt_begin_world(MPIR_Comm * world, unsigned epoch)
{
    if (!coming)
        return fill_world(world, epoch);
    MPIR_Assert(!previous);
    exchange(world, coming);
    previous = coming;
    coming = NULL;
    return MPI_SUCCESS;
}

/* ---- afterwards ------------------------------------------------------------------------------ */

void MPIDI_Adapt_end_union(MPIR_Comm * union_comm)
{
    MPIR_Assert(!previous_union);
    MPIR_Device_callbacks.comm_unlist(union_comm);
    previous_union = union_comm;
}

int MPIDI_Adapt_release_previous_world(void)
{
    int mpi_errno = previous ? MPIR_Comm_release(previous) : MPI_SUCCESS;
    int union_errno = previous_union ? MPIR_Comm_release(previous_union) : MPI_SUCCESS;

    previous = previous_union = NULL;
    return mpi_errno ? mpi_errno : union_errno;
}
