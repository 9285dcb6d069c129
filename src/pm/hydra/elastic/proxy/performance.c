/* See performance.h. */

#include "pmip.h"
#include "performance.h"
#include "pmi_adapt_measured.h"
#include "upward.h"
#include "wire/kinds.h"
#include "wire/loop_set.h"
#include "wire/sample.h"

/* False: measurement is off; older data is not reported. */
static int is_measured(const struct HYD_board *board)
{
    return __atomic_load_n(&board->control->perf_interval_ms, __ATOMIC_RELAXED) != 0;
}

/* Leaves the position unknown if the process has ended or measures nothing. */
static void read_position(const struct HYD_board *board, int i, struct HYD_sample_row *row)
{
    struct pmi_adapt_position in_phase;

    if (board->ended[i] ||
        !pmi_adapt_read_position(&HYD_board_graph(board, i)->position, &in_phase))
        return;
    row->phase = in_phase.phase;
    row->iteration = in_phase.iteration;
    row->total = in_phase.total;
    row->element = in_phase.element;
}

static struct HYD_sample_row read_slot(const struct HYD_board *board, int i)
{
    const struct pmi_adapt_slot *slot = &board->slots[i];
    struct pmi_adapt_measured measured;
    struct HYD_sample_row row = { 0 };

    row.rank = (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[i];
    row.count = __atomic_load_n(&slot->count, __ATOMIC_ACQUIRE);
    if (is_measured(board) && pmi_adapt_read_measured(slot, &measured)) {
        row.every = measured.every;
        row.iterations = measured.iterations;
        row.loop_ns = measured.loop_ns;
        row.mpi_ns = measured.mpi_ns;
    }
    read_position(board, i, &row);
    return row;
}

/* Returns the number of unusable graphs.  A graph that was not written yet is not counted. */
static uint32_t read_graphs(const struct HYD_board *board, struct loop_reduction *reduction,
                            struct pmi_adapt_graph *graph)
{
    uint32_t stale = 0, epoch = __atomic_load_n(&board->control->epoch, __ATOMIC_ACQUIRE);

    graph->summary.nodes = PMI_ADAPT_GRAPH_NONE;
    for (int i = 0; is_measured(board) && i < HYD_pmcd_pmip.local.proxy_process_count; i++) {
        const struct pmi_adapt_graph *shared = HYD_board_graph(board, i);
        if (board->ended[i] || __atomic_load_n(&shared->seq, __ATOMIC_RELAXED) == 0)
            continue;
        if (!pmi_adapt_read_next_graph(shared, graph) || graph->summary.epoch != epoch ||
            !loop_reduction_add(reduction, graph, (uint32_t) HYD_pmcd_pmip.downstream.pmi_rank[i]))
            stale++;
    }
    return stale;
}

static HYD_status report_all(const struct HYD_board *board, uint32_t sample, uint32_t stale,
                             const struct loop_set *loops)
{
    uint32_t n = (uint32_t) HYD_pmcd_pmip.local.proxy_process_count;
    size_t rows_at = sizeof(struct HYD_sample_head), loops_at =
        rows_at + n * sizeof(struct HYD_sample_row);
    size_t bytes = loops_at + loop_set_bytes(loops);
    char *payload = NULL;
    HYD_status status = HYD_SUCCESS;

    HYDU_MALLOC_OR_JUMP(payload, char *, bytes, status);
    memcpy(payload, &(struct HYD_sample_head) {n, stale}, rows_at);
    for (uint32_t i = 0; i < n; i++) {
        struct HYD_sample_row row = read_slot(board, (int) i);
        memcpy(payload + rows_at + i * sizeof(row), &row, sizeof(row));
    }
    loop_set_write(loops, payload + loops_at);
    status = HYD_upward_report(REPORT_PERFORMANCE, sample, payload, bytes);

  fn_exit:
    MPL_free(payload);
    return status;

  fn_fail:
    goto fn_exit;
}

HYD_status HYD_performance_report(struct HYD_board *board, uint32_t sample, const void *payload,
                                  size_t bytes)
{
    struct loop_reduction *reduction = NULL;
    struct pmi_adapt_graph *graph = NULL;
    uint32_t interval_ms, stale;
    HYD_status status = HYD_SUCCESS;

    HYDU_ERR_CHKANDJUMP(status, bytes != 0 && bytes != sizeof(interval_ms), HYD_INTERNAL_ERROR,
                        "malformed interval of samples\n");
    if (bytes > 0) {
        memcpy(&interval_ms, payload, sizeof(interval_ms));
        HYD_board_set_interval(board, interval_ms);
    }
    reduction = loop_reduction_create();
    HYDU_ERR_CHKANDJUMP(status, !reduction, HYD_NO_MEM,
                        "no memory for the loops of the processes\n");
    HYDU_MALLOC_OR_JUMP(graph, struct pmi_adapt_graph *, sizeof(*graph), status);
    stale = read_graphs(board, reduction, graph);
    status = report_all(board, sample, stale, loop_reduction_result(reduction));

  fn_exit:
    MPL_free(graph);
    loop_reduction_destroy(reduction);
    return status;

  fn_fail:
    goto fn_exit;
}
