/*
 * MPI_Probe_adapt.  The common case is a store, a fence and a load; everything else is in
 * wait_for_decision.  The order matters (doc/developer/decisions/agreement.md): a process makes its
 * count visible before it reads gate and limit, and the proxy closes these before it reads the
 * counts.  So either the process sees them closed or the proxy sees the count.  SPEC P1-P7.
 */

#include "adapt.h"
#include "adapt_measure.h"

static int set_number(MPIR_Info * info, const char *key, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof(text), "%" PRIu64, value);
    return MPIR_Info_set_impl(info, key, text);
}

/* Makes the info of P2, with the plan if it is known; a joining process that has not begun knows
 * only its epoch. */
static int make_info(MPIR_Info ** info)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Info *info_ptr = NULL;
    const struct pmi_adapt_plan *plan = MPIR_Adapt.plan;

    mpi_errno = MPIR_Info_alloc(&info_ptr);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = set_number(info_ptr, "epoch", MPIR_Adapt.epoch + 1);
    MPIR_ERR_CHECK(mpi_errno);
    if (plan) {
        const struct {
            const char *key;
            uint64_t value;
        } numbers[] = {
            {"staying", plan->pre - plan->leaving},
            {"leaving", plan->leaving},
            {"joining", plan->joining},
            {"new_size", plan->pre - plan->leaving + plan->joining},
            {"deadline", plan->deadline_ms / 1000},
        };
        for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
            mpi_errno = set_number(info_ptr, numbers[i].key, numbers[i].value);
            MPIR_ERR_CHECK(mpi_errno);
        }
        mpi_errno = MPIR_Info_set_impl(info_ptr, "reason", plan->reason);
        MPIR_ERR_CHECK(mpi_errno);
    }
    *info = info_ptr;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (info_ptr)
        MPIR_Info_free_impl(info_ptr);
    goto fn_exit;
}

void MPIR_Adapt_prebuild_info(void)
{
    if (!MPIR_Adapt.info && make_info(&MPIR_Adapt.info) != MPI_SUCCESS)
        MPIR_Adapt.info = NULL;
}

/* A new object each time. */
static int give_info(MPI_Info * info)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Info *info_ptr = MPIR_Adapt.info;

    if (!info_ptr)
        mpi_errno = make_info(&info_ptr);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Adapt.info = NULL;
    *info = info_ptr->handle;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int answer_true(int *pending_adaptation, int *local_status, MPI_Info * info)
{
    *pending_adaptation = MPI_ADAPT_TRUE;
    if (MPIR_Adapt.state == MPIR_ADAPT_STATE__JOINING)
        *local_status = MPI_ADAPT_STATUS_JOINING;
    else
        *local_status = MPIR_Adapt.leaving ? MPI_ADAPT_STATUS_LEAVING : MPI_ADAPT_STATUS_STAYING;
    return info ? give_info(info) : MPI_SUCCESS;
}

/* An adaptation is pending: returns TRUE or FALSE, or waits until the proxy has decided.  In all
 * cases this process may have to prepare for a plan. */
static int wait_for_decision(bool * agreed)
{
    int mpi_errno = MPI_SUCCESS;
    struct pmi_adapt_control *control = MPIR_Board.control;

    *agreed = false;
    while (true) {
        uint32_t wake = __atomic_load_n(&control->wake, __ATOMIC_ACQUIRE);
        /* Committed by this process, but not by all yet: the limit is still the last target. */
        if (__atomic_load_n(&control->epoch, __ATOMIC_ACQUIRE) < MPIR_Adapt.epoch)
            break;
        /* The epoch is read first, because the proxy writes the target before the epoch: so a limit
         * that was only the ceiling never counts as the target. */
        uint32_t agreed_epoch = __atomic_load_n(&control->agreed, __ATOMIC_ACQUIRE);
        uint64_t limit = __atomic_load_n(&control->limit, __ATOMIC_ACQUIRE);

        if (MPIR_Adapt.count >= limit && agreed_epoch == MPIR_Adapt.epoch + 1) {
            *agreed = true;
            break;
        }
        MPIR_Adapt_prepare_early();
        if (MPIR_Adapt.count < limit)
            break;
        MPIR_Adapt_set_phase(PMI_ADAPT_PHASE_WAITING);
        mpi_errno = MPIR_Adapt_board_wait(wake);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPIR_Adapt_set_phase(*agreed ? PMI_ADAPT_PHASE_TOLD : PMI_ADAPT_PHASE_RUNNING);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Adapt_find_own_status(void)
{
    int mpi_errno = MPIR_Adapt_need_plan(MPIR_Adapt.epoch + 1);
    MPIR_ERR_CHECK(mpi_errno);

    const struct pmi_adapt_member *members = (const struct pmi_adapt_member *)
        ((const char *) MPIR_Adapt.plan + MPIR_Adapt.plan->members_offset);
    MPIR_Adapt.leaving = (members[MPIR_Process.rank].flags & PMI_ADAPT_MEMBER_LEAVING) != 0;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Probe_adapt_impl(int *pending_adaptation, int *local_status, MPI_Info * info)
{
    int mpi_errno = MPI_SUCCESS;
    bool agreed;
    uint64_t entered = MPIR_Measure_probe_entered();

    *pending_adaptation = MPI_ADAPT_FALSE;
    *local_status = MPI_ADAPT_STATUS_STAYING;
    if (info)
        *info = MPI_INFO_NULL;

    if (likely(MPIR_Adapt.state == MPIR_ADAPT_STATE__RUNNING)) {
        struct pmi_adapt_control *control = MPIR_Board.control;
        uint64_t number = ++MPIR_Adapt.count;

        __atomic_store_n(&MPIR_Board.slot->count, number, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        if (likely(number < __atomic_load_n(&control->gate, __ATOMIC_ACQUIRE))) {
            MPIR_Measure_probe_false(entered);
            goto fn_exit;
        }

        MPL_time_t start;
        MPL_wtime(&start);
        mpi_errno = wait_for_decision(&agreed);
        MPIR_ERR_CHECK(mpi_errno);
        if (!agreed) {
            MPIR_Measure_probe_false(entered);
            goto fn_exit;
        }
        MPIR_Measure_probe_true();
        mpi_errno = MPIR_Adapt_find_own_status();
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_Adapt.state = MPIR_ADAPT_STATE__TOLD;
        mpi_errno = answer_true(pending_adaptation, local_status, info);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_Adapt_count_standstill(MPIR_Adapt_seconds_since(start));
    } else if (MPIR_Adapt.state == MPIR_ADAPT_STATE__COMMITTED) {
        MPIR_Adapt.state = MPIR_ADAPT_STATE__RUNNING;
        mpi_errno = MPIR_Probe_adapt_impl(pending_adaptation, local_status, info);
        MPIR_ERR_CHECK(mpi_errno);
        if (*pending_adaptation == MPI_ADAPT_FALSE) {
            mpi_errno = MPIR_Adapt_reclaim();
            MPIR_ERR_CHECK(mpi_errno);
        }
    } else if (MPIR_Adapt.state == MPIR_ADAPT_STATE__TOLD ||
               MPIR_Adapt.state == MPIR_ADAPT_STATE__JOINING) {
        mpi_errno = answer_true(pending_adaptation, local_status, info);
        MPIR_ERR_CHECK(mpi_errno);
    } else {
        MPIR_ERR_CHKANDJUMP(MPIR_Adapt_is_rigid(), mpi_errno, MPI_ERR_OTHER,
                            "**adaptrigid");
        MPIR_ERR_CHKANDJUMP1(MPIR_Adapt.state == MPIR_ADAPT_STATE__WINDOW, mpi_errno,
                             MPI_ERR_OTHER, "**adaptinwindow", "**adaptinwindow %d",
                             (int) MPIR_Adapt.epoch + 1);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
