/*
 * One process of the litmus test (board_litmus.h): compiled with PROCESS=0, 1, ...
 */

#define JOIN_NAMES(a, b) a##b
#define JOIN(a, b) JOIN_NAMES(a, b)
#define OF_PROCESS(name) JOIN(name, PROCESS)

#define MPIR_Adapt OF_PROCESS(litmus_adapt_)
#define MPIR_Board OF_PROCESS(litmus_board_)
#define MPIR_Process OF_PROCESS(litmus_rank_)
#define MPIR_Probe_adapt_impl OF_PROCESS(litmus_probe_adapt_)
#define MPIR_Board_joins OF_PROCESS(litmus_joins_)
#define MPIR_Board_open OF_PROCESS(litmus_board_open_)
#define MPIR_Board_close OF_PROCESS(litmus_board_close_)
#define MPIR_Board_is_ours OF_PROCESS(litmus_board_is_ours_)
#define MPIR_Board_notify_proxy OF_PROCESS(litmus_notify_proxy_)
#define MPIR_Adapt_board_wait OF_PROCESS(litmus_board_wait_)
#define MPIR_Adapt_set_phase OF_PROCESS(litmus_set_phase_)
#define MPIR_Adapt_has_plan OF_PROCESS(litmus_has_plan_)
#define MPIR_Adapt_map_plan OF_PROCESS(litmus_map_plan_)
#define MPIR_Adapt_unmap_plan OF_PROCESS(litmus_unmap_plan_)
#define MPIR_Adapt_report_prepared OF_PROCESS(litmus_report_prepared_)
#define MPIR_Adapt_report_greeted OF_PROCESS(litmus_report_greeted_)
#define MPIR_Adapt_prepare_early OF_PROCESS(litmus_query_early_)
#define MPIR_Adapt_need_plan OF_PROCESS(litmus_need_plan_)
#define MPIR_Adapt_end_plan OF_PROCESS(litmus_end_plan_)
#define MPIR_Adapt_reclaim OF_PROCESS(litmus_reclaim_)
#define MPIR_Adapt_drop_plan OF_PROCESS(litmus_invalidate_)
#define MPIR_Adapt_pid_namespace OF_PROCESS(litmus_pid_namespace_)
#define MPIR_Adapt_prebuild_info OF_PROCESS(litmus_make_info_early_)
#define MPIR_Adapt_report_unable OF_PROCESS(litmus_report_unable_)
#define MPIR_Adapt_count_standstill OF_PROCESS(litmus_count_standstill_)
#define MPIR_Adapt_seconds_since OF_PROCESS(litmus_seconds_since_)
#define MPIR_Board_is_created OF_PROCESS(litmus_is_created_)
#define MPIR_Adapt_is_rigid OF_PROCESS(litmus_is_rigid_)
#define MPIR_Adapt_find_own_status OF_PROCESS(litmus_find_own_status_)

/* The device, as far as these files call it. */
#define MPID_Adapt_prebuild OF_PROCESS(litmus_early_)
#define MPID_Adapt_prebuild_comms OF_PROCESS(litmus_comms_early_)
#define MPID_Adapt_preconnect OF_PROCESS(litmus_handshake_)
#define MPID_Adapt_discard_prebuilt OF_PROCESS(litmus_invalidate_early_)
#define MPID_Adapt_reclaim OF_PROCESS(litmus_device_reclaim_)
#define MPID_Progress_test OF_PROCESS(litmus_progress_test_)
#define MPIR_Info_alloc OF_PROCESS(litmus_info_alloc_)
#define MPIR_Info_set_impl OF_PROCESS(litmus_info_set_)
#define MPIR_Info_free_impl OF_PROCESS(litmus_info_free_)
#define MPIR_Measure_probe_entered OF_PROCESS(litmus_measure_entered_)
#define MPIR_Measure_probe_false OF_PROCESS(litmus_measure_false_)
#define MPIR_Measure_probe_true OF_PROCESS(litmus_measure_true_)
#define PMI_KVS_Get_my_name OF_PROCESS(litmus_kvs_name_)
#define PMIU_Adapt_send OF_PROCESS(litmus_send_)

#include "../../../../mpi/adapt/adapt_probe.c"
#include "../../../../mpi/adapt/adapt_state.c"
#include "../../../../mpi/connect/connect_board.c"
#include "../../../../mpi/adapt/adapt_plan.c"
#include "../../../../mpi/adapt/adapt_prepare.c"
#include "board_litmus.h"

struct litmus_rank MPIR_Process;

void MPIR_Adapt_count_standstill(double seconds)
{
    (void) seconds;
}

bool MPIR_Adapt_is_rigid(void)
{
    return false;
}

double MPIR_Adapt_seconds_since(MPL_time_t start)
{
    (void) start;
    return 0;
}

/* Nothing is measured. */
uint64_t MPIR_Measure_probe_entered(void)
{
    return 0;
}

void MPIR_Measure_probe_false(uint64_t entered)
{
    (void) entered;
}

void MPIR_Measure_probe_true(void)
{
}

void MPIR_Adapt_report_unable(unsigned epoch, int mpi_errno)
{
    (void) epoch;
    MPIR_Assertp(mpi_errno == MPI_SUCCESS);     /* preparing does not fail here */
}

int MPID_Adapt_prebuild(const struct pmi_adapt_plan *plan, int index)
{
    (void) index;
    litmus_plan_read(plan);
    return MPI_SUCCESS;
}

int MPID_Adapt_prebuild_comms(const struct pmi_adapt_plan *plan, int index)
{
    return MPID_Adapt_prebuild(plan, index);
}

int MPID_Adapt_preconnect(const struct pmi_adapt_plan *plan, int index)
{
    return plan != NULL && index >= 0;
}

int MPID_Adapt_discard_prebuilt(const struct pmi_adapt_plan *plan)
{
    litmus_plan_read(plan);
    return MPI_SUCCESS;
}

int MPID_Adapt_reclaim(void)
{
    return MPI_SUCCESS;
}

int MPID_Progress_test(void *state)
{
    return state ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int MPIR_Info_alloc(MPIR_Info ** info)
{
    *info = calloc(1, sizeof(**info));
    return *info ? MPI_SUCCESS : MPI_ERR_OTHER;
}

int MPIR_Info_set_impl(MPIR_Info * info, const char *key, const char *value)
{
    return info && key && value ? MPI_SUCCESS : MPI_ERR_OTHER;
}

int MPIR_Info_free_impl(MPIR_Info * info)
{
    free(info);
    return MPI_SUCCESS;
}

int PMI_KVS_Get_my_name(char name[], int bytes)
{
    (void) snprintf(name, (size_t) bytes, "litmus");
    return PMI_SUCCESS;
}

int PMIU_Adapt_send(const char *line, int length)
{
    (void) length;
    litmus_line_sent(line);
    return 0;
}

/* Does not map the board again, because a sanitizer identifies memory by its address. */
static void take_slot(struct HYD_board *board, int slot, int rank)
{
    MPIR_Board.control = board->control;
    MPIR_Board.slot = &board->slots[slot];
    MPIR_Board.fd = board->fd;
    MPIR_Board.uid = (unsigned) rank;
    MPIR_Process.rank = rank;
    MPIR_Process.size = LITMUS_PROCESSES;
    MPIR_Adapt.state = MPIR_ADAPT_STATE__RUNNING;
    MPIR_Adapt_set_phase(PMI_ADAPT_PHASE_RUNNING);
}

static int probe(void)
{
    int pending, status;

    MPIR_Assertp(MPIR_Probe_adapt_impl(&pending, &status, NULL) == MPI_SUCCESS);
    return pending == MPI_ADAPT_TRUE;
}

static uint64_t count(void)
{
    return MPIR_Adapt.count;
}

/* As in MPIR_Comm_adapt_commit_impl, in the same order.  With the line the proxy of this test need
 * not poll the count. */
static void commit(void)
{
    unsigned epoch = MPIR_Adapt.epoch + 1;
    uint32_t participants = __atomic_load_n(&MPIR_Board.control->participants, __ATOMIC_RELAXED);

    MPIR_Adapt.count = 0;
    __atomic_store_n(&MPIR_Board.slot->count, 0, __ATOMIC_RELEASE);
    MPIR_Adapt_end_plan();
    MPIR_Adapt.epoch = epoch;
    MPIR_Adapt_set_phase(PMI_ADAPT_PHASE_RUNNING);
    if (__atomic_add_fetch(&MPIR_Board.control->committed, 1, __ATOMIC_ACQ_REL) == participants)
        MPIR_Assertp(MPIR_Board_notify_proxy("cmd=adapt_committed epoch=%u", epoch) == MPI_SUCCESS);
}

const struct litmus_process OF_PROCESS(litmus_process_) = { take_slot, probe, count, commit };
