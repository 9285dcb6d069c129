/*
 * The objects of begin that are prebuilt: the table of addresses of the union, the host's new
 * shared-memory segment, mapped and filled, and the communicators of the window.  Made when the
 * plan is known (by joining processes before they report that they are prepared, without the
 * communicators; by the others in a probe that returns FALSE), used by prepare and begin.  Nothing
 * that communication uses is changed here: the table in use is another one, and libfabric's vectors
 * only get unused entries.
 *
 * This file also removes the addresses of processes that left with the last commit; not earlier,
 * because libfabric may still send the last messages to them.  SPEC P7, W5, C9;
 * doc/developer/decisions/world.md.
 */

#include "mpidimpl.h"
#include "ch4_adapt_prebuild.h"
#include "ch4_adapt_comms.h"
#include "ch4_adapt_preconnect.h"
#include "ch4_adapt_nodes.h"
#include "ch4_adapt_segment.h"
#include "ch4_adapt_table.h"
#include "ch4_adapt_unexpected.h"
#include "mpir_adapt.h"
#include "mpir_adapt_device.h"

static struct {
    const struct pmi_adapt_plan *plan;  /* the plan of all this; NULL: nothing is prebuilt */
    MPIDI_av_table_t *table;    /* of the union */
    int first, n_known;         /* its entries from the present table */
    MPIDI_Adapt_segment_t segment;
} prebuilt;

/* ---- addresses ------------------------------------------------------------------------------- */

static bool is_known(int i)
{
    return i >= prebuilt.first && i < prebuilt.first + prebuilt.n_known;
}

/* Removes the inserted entries before `end`. */
static int drop_table(const struct pmi_adapt_plan *plan, int end)
{
    int mpi_errno = MPI_SUCCESS;
    const struct pmi_adapt_member *members = MPIDI_Adapt_plan_members(plan);

    for (int i = 0; prebuilt.table && i < end; i++) {
        if (!is_known(i)) {
            int err = MPIDI_NM_adapt_remove(&prebuilt.table->table[i],
                                             MPIDI_NM_adapt_am_source(members[i].uid));
            if (mpi_errno == MPI_SUCCESS)
                mpi_errno = err;
        }
    }
    MPL_free(prebuilt.table);
    prebuilt.table = NULL;
    return mpi_errno;
}

/* The union's table: the present world at its position, the other side's addresses inserted. */
static int make_table(const struct pmi_adapt_plan *plan, int index)
{
    int mpi_errno = MPI_SUCCESS, i = 0;
    const struct pmi_adapt_member *members = MPIDI_Adapt_plan_members(plan);
    MPIDI_av_table_t *old = MPIDI_global.avt_mgr.av_table0;
    int size = (int) (plan->pre + plan->joining);

    prebuilt.first = index - MPIR_Process.rank;
    prebuilt.n_known = old->size;
    prebuilt.table = MPIDI_Adapt_new_table(size);
    MPIR_ERR_CHKANDJUMP(!prebuilt.table, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (i = 0; i < size; i++) {
        MPIDI_av_entry_t *entry = &prebuilt.table->table[i];
        if (is_known(i)) {
            *entry = old->table[i - prebuilt.first];
            continue;
        }
        mpi_errno = MPIDI_NM_adapt_insert((const char *) plan + members[i].bc_offset,
                                           (int) members[i].bc_bytes, entry);
        MPIR_ERR_CHECK(mpi_errno);
#ifdef MPIDI_BUILD_CH4_LOCALITY_INFO
        entry->is_local = MPIDI_Adapt_is_same_node(plan, i, index);
#endif
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    (void) drop_table(plan, i);
    goto fn_exit;
}

/* ---- objects --------------------------------------------------------------------------------- */

/* The max number of communicators that begin and commit make, including those for nodes and node
 * roots. */
#define COMMS 16

static void grow_pool(MPIDU_genq_private_pool_t pool)
{
    void *cell = NULL;

    if (MPIDU_genq_private_pool_alloc_cell(pool, &cell) == MPI_SUCCESS && cell)
        MPIDU_genq_private_pool_free_cell(pool, cell);
}

/* Taken objects are released. */
void MPIDI_Adapt_grow_pools(void)
{
    MPIR_Comm *comms[COMMS];

    for (int i = 0; i < COMMS; i++)
        comms[i] = MPIR_Handle_obj_alloc(&MPIR_Comm_mem);
    for (int i = 0; i < COMMS; i++) {
        if (comms[i]) {
            MPIR_Object_set_ref(comms[i], 0);
            MPIR_Handle_obj_free(&MPIR_Comm_mem, comms[i]);
        }
    }
    for (int vci = 0; vci < MPIDI_global.n_vcis; vci++) {
        grow_pool(MPIDI_global.per_vci[vci].unexp_pack_buf_pool);
        grow_pool(MPIDI_global.per_vci[vci].request_pool);
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

void MPIDI_Adapt_lock_all(void)
{
    for (int vci = 0; vci < MPIDI_global.n_vcis; vci++)
        MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
}

void MPIDI_Adapt_unlock_all(void)
{
    for (int vci = MPIDI_global.n_vcis - 1; vci >= 0; vci--)
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
}

static int make_all(const struct pmi_adapt_plan *plan, int index)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = MPIDI_Adapt_remove_exited();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = make_table(plan, index);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIDI_Adapt_map_segment(plan, index, &prebuilt.segment);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_Adapt_grow_pools();
    prebuilt.plan = plan;
    MPIDI_Adapt_reset_preconnect();

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPIDI_Adapt_unmap_segment(&prebuilt.segment);
    (void) drop_table(plan, (int) (plan->pre + plan->joining));
    goto fn_exit;
}

int MPID_Adapt_prebuild(const struct pmi_adapt_plan *plan, int index)
{
    int mpi_errno = MPI_SUCCESS;

    if (prebuilt.plan == plan)
        goto fn_exit;
    MPIR_Assert(!prebuilt.plan);
    mpi_errno = MPIDI_Adapt_discard_late(plan->epoch - 1);
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_Adapt_lock_all();
    mpi_errno = make_all(plan, index);
    MPIDI_Adapt_unlock_all();

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Adapt_prebuild_comms(const struct pmi_adapt_plan *plan, int index)
{
    MPIR_Assert(prebuilt.plan == plan);
    MPIDI_Adapt_lock_all();
    int mpi_errno = MPIDI_Adapt_prebuild_comms(plan, index, prebuilt.table);
    MPIDI_Adapt_unlock_all();
    return mpi_errno;
}

int MPID_Adapt_discard_prebuilt(const struct pmi_adapt_plan *plan)
{
    int mpi_errno = MPI_SUCCESS;

    if (!prebuilt.plan)
        return MPI_SUCCESS;
    MPIR_Assert(prebuilt.plan == plan);
    MPIDI_Adapt_lock_all();
    mpi_errno = MPIDI_Adapt_drop_prebuilt_comms();
    MPIR_ERR_CHECK(mpi_errno);
    MPIDI_Adapt_unmap_segment(&prebuilt.segment);
    mpi_errno = drop_table(plan, (int) (plan->pre + plan->joining));
    MPIR_ERR_CHECK(mpi_errno);
    prebuilt.plan = NULL;

  fn_exit:
    MPIDI_Adapt_unlock_all();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- to prepare and begin -------------------------------------------------------------------- */

MPIDI_av_table_t *MPIDI_Adapt_prebuilt_table(const struct pmi_adapt_plan *plan)
{
    return prebuilt.plan == plan ? prebuilt.table : NULL;
}

MPIDI_av_table_t *MPIDI_Adapt_take_table(void)
{
    MPIDI_av_table_t *table = prebuilt.table;

    prebuilt.table = NULL;
    prebuilt.plan = NULL;
    return table;
}

MPIDI_Adapt_segment_t MPIDI_Adapt_take_segment(void)
{
    MPIDI_Adapt_segment_t segment = prebuilt.segment;

    memset(&prebuilt.segment, 0, sizeof(prebuilt.segment));
    return segment;
}
