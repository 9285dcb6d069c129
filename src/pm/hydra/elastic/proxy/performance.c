/* See performance.h. */

#include "pmip.h"
#include "performance.h"
#include "pmi_adapt_measured.h"
#include "reports.h"
#include "wire/kinds.h"

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

HYD_status HYD_performance_report(const struct HYD_board *board, uint32_t sample)
{
    struct performance *rows = NULL;
    int n = HYD_pmcd_pmip.local.proxy_process_count;
    HYD_status status = HYD_SUCCESS;

    HYDU_MALLOC_OR_JUMP(rows, struct performance *, n * sizeof(*rows), status);
    for (int i = 0; i < n; i++)
        rows[i] = read_slot(&board->slots[i], HYD_pmcd_pmip.downstream.pmi_rank[i]);
    status = HYD_reports_send(REPORT_PERFORMANCE, sample, 0, rows, n * sizeof(*rows));

  fn_exit:
    MPL_free(rows);
    return status;

  fn_fail:
    goto fn_exit;
}
