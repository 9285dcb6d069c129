/*
 * The device's part of commit: all agree, and MPI_COMM_WORLD (ch4_adapt_world.c) and the tables
 * become the new world's (doc/developer/decisions/world.md).  Everything but the agreement is local
 * work.  State: whether processes still yield for a while after the window.  SPEC C1-C5, C8, C9.
 */

#include "mpidimpl.h"
#include "mpidu_init_shm_adapt.h"
#include "ch4_adapt_comms.h"
#include "ch4_adapt_nodes.h"
#include "ch4_adapt_renumber.h"
#include "ch4_adapt_segment.h"
#include "ch4_adapt_table.h"
#include "ch4_adapt_unexpected.h"
#include "ch4_adapt_window.h"
#include "ch4_adapt_world.h"
#include "mpir_adapt.h"
#include "mpir_adapt_device.h"

static int agree_over_hosts(int value, int *greatest)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    const unsigned oversubscribed = MPIDU_oversubscribed;

    /* The proxies have just been active: two processes may be on one processor now, and one would
     * spin until the scheduler's next tick. */
    if (MPIR_CVAR_PROGRESS_YIELD != MPIR_CVAR_PROGRESS_YIELD_never)
        MPIDU_oversubscribed = 1;
    int mpi_errno =
        MPIR_Allreduce(&value, greatest, 1, MPI_INT, MPI_MAX, MPIDI_Adapt_window.union_comm,
                       &errflag);
    MPIDU_oversubscribed = oversubscribed;
    return mpi_errno;
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
    MPIDI_Adapt_end_union(MPIDI_Adapt_window.union_comm);
    MPIDI_Adapt_window.union_comm = NULL;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- processes that have shared processors --------------------------------------------------- */

/* If the new world does not oversubscribe the node any more, two of its processes may still be on
 * one processor, one of them in commit: the other one, which waits for it, would keep the processor
 * for a time slice.  So waiting processes yield for a while. */
#define POLLS_YIELDING 1000   /* about a millisecond of waiting */

static int hook_id = -1, polls_left;

void MPIDI_Adapt_end_giving_way(void)
{
    if (polls_left == 0)
        return;
    polls_left = 0;
    MPIDU_oversubscribed = 0;
    MPIR_Progress_hook_deactivate(hook_id);
}

static int poll_yielding(int *made_progress)
{
    if (polls_left > 1)
        polls_left--;
    else
        MPIDI_Adapt_end_giving_way();
    return MPI_SUCCESS;
}

static void give_way_for_a_while(void)
{
    if (hook_id < 0) {
        int mpi_errno = MPIR_Progress_hook_register(poll_yielding, &hook_id);
        MPIR_Assertp(mpi_errno == MPI_SUCCESS); /* there is a slot for it */
    }
    polls_left = POLLS_YIELDING;
    MPIDU_oversubscribed = 1;
    MPIR_Progress_hook_activate(hook_id);
}

/* ---- commit ---------------------------------------------------------------------------------- */

int MPID_Adapt_commit(const struct pmi_adapt_plan *plan, int index)
{
    int mpi_errno = MPI_SUCCESS;
    const bool gave_way = MPIDU_oversubscribed;
    int *list = NULL, *new_index = NULL, n = 1;
    MPIR_Comm *world = MPIR_Process.comm_world;
    MPIR_CHKLMEM_DECL(2);

    MPIR_CHKLMEM_MALLOC(list, int *, MPIDI_Adapt_window.size * sizeof(int), mpi_errno, "list",
                        MPL_MEM_ADDRESS);
    MPIR_CHKLMEM_MALLOC(new_index, int *, MPIDI_Adapt_window.size * sizeof(int), mpi_errno, "index",
                        MPL_MEM_ADDRESS);
    /* a leaving process is a world of its own from now on */
    if (MPIDI_Adapt_plan_members(plan)[index].flags & PMI_ADAPT_MEMBER_LEAVING)
        list[0] = index;
    else
        n = MPIDI_Adapt_new_members(plan, list);
    for (int i = 0; i < MPIDI_Adapt_window.size; i++)
        new_index[i] = -1;
    for (int rank = 0; rank < n; rank++)
        new_index[list[rank]] = rank;

    MPIDI_Adapt_close_made_segment();
    mpi_errno = MPIDI_Adapt_end_world(world);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_Adapt_renumbering_t compacted = {.r = {new_index, MPIDI_Adapt_window.size, plan} };
    mpi_errno = MPIDI_Adapt_reserve_renumbering(&compacted);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_Adapt_renumber(&compacted, NULL);
    MPL_free(compacted.seen);
    mpi_errno = MPIDI_Adapt_compact_table(plan, new_index, n);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_SHM_adapt_commit(new_index, MPIDI_Adapt_window.size, n);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_Adapt_set_process(plan, list, n, new_index[index]);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDU_Init_shm_adapt_resize(MPIR_Process.local_size, MPIR_Process.local_rank);
    mpi_errno = MPIDI_Adapt_begin_world(world, plan->epoch);
    MPIR_ERR_CHECK(mpi_errno);
    if (gave_way && !MPIDU_oversubscribed && n > 1)
        give_way_for_a_while();

  fn_exit:
    MPIR_CHKLMEM_FREEALL();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Adapt_reclaim(void)
{
    int mpi_errno = MPIDI_Adapt_release_previous_world();
    int shm_errno = MPIDI_SHM_adapt_reclaim();
    return mpi_errno ? mpi_errno : shm_errno;
}
