/*
 * The entry into the window (MPID_Adapt_prepare, _join, _begin, mpir_adapt.h): tables and maps of
 * the union, the move to the host's new segment, the communicators.  Everything but the local
 * barriers of begin is local work (doc/developer/decisions/world.md).  State: the segment to move
 * to.  SPEC W1-W7.
 */

#include "mpidimpl.h"
#include "ch4_adapt_prebuild.h"
#include "ch4_adapt_comms.h"
#include "ch4_adapt_preconnect.h"
#include "ch4_adapt_nodes.h"
#include "ch4_adapt_renumber.h"
#include "ch4_adapt_table.h"
#include "ch4_adapt_window.h"
#include "ch4_adapt_world.h"
#include "mpir_adapt.h"
#include "mpir_adapt_device.h"

/* to move to; base is NULL on a host without joining processes */
static MPIDI_Adapt_segment_t segment;

/* The tables of the union replace the previous ones.  Nothing here can fail, because a process
 * cannot undo this step. */
static void use_union(const struct pmi_adapt_plan *plan, int index,
                      const MPIDI_Adapt_nodes_t * nodes, int *slots,
                      MPIDI_Adapt_renumbering_t * shifted)
{
    MPIDI_Adapt_window_set(plan, index);

    MPIDI_Adapt_use_union_table(MPIDI_Adapt_take_table());
    segment = MPIDI_Adapt_take_segment();
    MPIDI_Adapt_set_nodes(nodes);
    MPIR_Process.rank = index;
    if (MPIDI_Adapt_window.shift) {
        MPIR_Process.size = MPIDI_Adapt_window.size;
        MPIDI_Adapt_renumber(shifted, MPIR_Process.comm_world);
    }
    MPIDI_SHM_adapt_renumber(slots, MPIDI_Adapt_window.size, MPIDI_Adapt_window.shift);
}

int MPID_Adapt_prepare(const struct pmi_adapt_plan *plan, int index)
{
    int mpi_errno = MPI_SUCCESS;
    int old_size = MPIR_Process.size, shift = index - MPIR_Process.rank;
    int union_size = (int) (plan->pre + plan->joining);
    int *new_index = NULL, *slots = NULL;
    MPIDI_Adapt_nodes_t nodes = { NULL, 0 };
    MPIDI_Adapt_renumbering_t shifted = {.r = {NULL, old_size, plan} };

    MPIDI_Adapt_end_giving_way();
    mpi_errno = MPID_Adapt_prebuild(plan, index);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_Adapt_make_nodes(plan, NULL, union_size, &nodes);
    MPIR_ERR_CHECK(mpi_errno);
    slots = MPL_malloc(union_size * sizeof(int), MPL_MEM_SHM);
    new_index = MPL_malloc(old_size * sizeof(int), MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!slots || !new_index, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < old_size; i++)
        new_index[i] = i + shift;
    shifted.r.new_index = new_index;
    mpi_errno = MPIDI_Adapt_reserve_renumbering(&shifted);
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

/* On a host with joining processes, all its processes move to the segment that one of the joining
 * ones made. */
static int move_to_segment(void)
{
    int mpi_errno = MPI_SUCCESS;

    /* if no probe has done so since the last commit; partly: memory that a joining process has
     * moved from is still in use */
    mpi_errno = MPIDI_Adapt_release_previous_world();
    MPIR_ERR_CHECK(mpi_errno);
    if (segment.base) {
        mpi_errno = MPID_Adapt_reclaim();
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIDI_SHM_adapt_move(&segment);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPL_free(segment.local_index);
    memset(&segment, 0, sizeof(segment));
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Adapt_join(const struct pmi_adapt_plan *plan, int index)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = move_to_segment();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_Adapt_make_comms(plan, index);
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

    mpi_errno = MPIDI_Adapt_make_union(plan);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_Adapt_wait_for_addresses(plan);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_Adapt_make_comms(plan, index);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_Adapt_take_comms(intercomm, new_world);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
