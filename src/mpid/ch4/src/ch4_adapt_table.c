/* See ch4_adapt_table.h. */

#include "mpidimpl.h"
#include "ch4_adapt_table.h"
#include "ch4_adapt_window.h"

/* table replaced by the union's: retained for operations in flight that point into it */
static MPIDI_av_table_t *replaced;

static struct {
    MPIDI_av_entry_t *entries;
    uint64_t *am_sources;
    int n, max;
} exited;

MPIDI_av_table_t *MPIDI_Adapt_new_table(int size)
{
    MPIDI_av_table_t *table = MPL_calloc(1, sizeof(MPIDI_av_table_t) +
                                         size * sizeof(MPIDI_av_entry_t), MPL_MEM_ADDRESS);
    if (table)
        table->size = size;
    return table;
}

void MPIDI_Adapt_set_table(MPIDI_av_table_t * table)
{
    MPIR_Object_set_ref(table, MPIR_Object_get_ref(MPIDI_global.avt_mgr.av_table0));
    MPIDI_global.avt_mgr.av_table0 = table;
    MPIDI_global.avt_mgr.av_tables[0] = table;
}

void MPIDI_Adapt_use_union_table(MPIDI_av_table_t * table)
{
    replaced = MPIDI_global.avt_mgr.av_table0;
    MPIDI_Adapt_set_table(table);
}

static int reserve_exited(int n)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_Assert(exited.n == 0);
    exited.entries = MPL_malloc(n * sizeof(MPIDI_av_entry_t), MPL_MEM_ADDRESS);
    exited.am_sources = MPL_malloc(n * sizeof(uint64_t), MPL_MEM_ADDRESS);
    exited.max = n;
    MPIR_ERR_CHKANDJUMP(n > 0 && (!exited.entries || !exited.am_sources), mpi_errno, MPI_ERR_OTHER,
                        "**nomem");
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void add_exited(const MPIDI_av_entry_t * entry, unsigned uid)
{
    MPIR_Assert(exited.n < exited.max);
    exited.entries[exited.n] = *entry;
    exited.am_sources[exited.n++] = MPIDI_NM_adapt_am_source(uid);
}

int MPIDI_Adapt_compact_table(const struct pmi_adapt_plan *plan, const int *new_index, int n)
{
    int mpi_errno = MPI_SUCCESS;
    const struct pmi_adapt_member *members = MPIDI_Adapt_plan_members(plan);
    MPIDI_av_table_t *union_table = MPIDI_global.avt_mgr.av_table0;
    MPIDI_av_table_t *table = MPIDI_Adapt_new_table(n);

    MPIR_ERR_CHKANDJUMP(!table, mpi_errno, MPI_ERR_OTHER, "**nomem");
    mpi_errno = reserve_exited(MPIDI_Adapt_window.size - n);
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < MPIDI_Adapt_window.size; i++) {
        if (new_index[i] >= 0)
            table->table[new_index[i]] = union_table->table[i];
        else
            add_exited(&union_table->table[i], members[i].uid);
    }
    MPIDI_Adapt_set_table(table);
    MPL_free(union_table);
    MPL_free(replaced);
    replaced = NULL;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Adapt_remove_exited(void)
{
    int mpi_errno = MPI_SUCCESS;

    for (int i = 0; i < exited.n; i++) {
        mpi_errno = MPIDI_NM_adapt_remove(&exited.entries[i], exited.am_sources[i]);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPL_free(exited.entries);
    MPL_free(exited.am_sources);
    memset(&exited, 0, sizeof(exited));
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
