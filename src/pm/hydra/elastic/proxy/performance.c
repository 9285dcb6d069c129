/*
 * The node daemon's answer to STEP_PERFORMANCE: what the processes have measured, from the slots of the board.  What a
 * process wrote is passed on as it is; mpiexec looks whether it can be true.
 */

#include "pmip.h"
#include "agent.h"
#include "board.h"
#include "pmi_adapt_measured.h"
#include "core/step_core.h"

/* The payload of REPORT_PERFORMANCE. */
struct performance {
    uint32_t rank, every;
    uint64_t count, iterations, loop_ns, mpi_ns;
};

static struct performance read_slot(const struct pmi_adapt_slot *slot, int rank)
{
    struct pmi_adapt_measured measured;
    struct performance row = { 0 };

    row.rank = (uint32_t) rank;
    row.count = __atomic_load_n(&slot->count, __ATOMIC_ACQUIRE);
    if (pmi_adapt_read_measured(slot, &measured)) {
        row.every = measured.every;
        row.iterations = measured.iterations;
        row.loop_ns = measured.loop_ns;
        row.mpi_ns = measured.mpi_ns;
    }
    return row;
}

HYD_status HYD_pmcd_pmip_adapt_report_performance(const struct HYD_board *board, uint32_t sample)
{
    struct performance *rows = NULL;
    int n = HYD_pmcd_pmip.local.proxy_process_count;
    HYD_status status = HYD_SUCCESS;

    HYDU_MALLOC_OR_JUMP(rows, struct performance *, n * sizeof(*rows), status);
    for (int i = 0; i < n; i++)
        rows[i] = read_slot(&board->slots[i], HYD_pmcd_pmip.downstream.pmi_rank[i]);
    status = HYD_pmcd_pmip_adapt_report(REPORT_PERFORMANCE, sample, rows, n * sizeof(*rows));

  fn_exit:
    MPL_free(rows);
    return status;

  fn_fail:
    goto fn_exit;
}
