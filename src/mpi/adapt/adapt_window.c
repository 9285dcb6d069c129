/*
 * MPI_Comm_adapt_begin and MPI_Comm_adapt_commit.  The device executes the window's effects on the
 * address tables, the shared memory and MPI_COMM_WORLD (ch4_adapt_begin.c, ch4_adapt_commit.c);
 * this file has the order of the steps.  SPEC W1-W8, C1-C9, E1, P4.
 */

#include "adapt.h"
#include "mpidu_oversubscribed.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

categories:
    - name        : ADAPT
      description : control variables of adaptations of MPI_COMM_WORLD

cvars:
    - name        : MPIR_CVAR_ADAPT_LEAVERS_RETURN
      category    : ADAPT
      type        : boolean
      default     : false
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : >-
        If true, MPI_Comm_adapt_commit returns on a leaving process, whose MPI_COMM_WORLD then holds
        the process itself alone; it can call MPI_Finalize at any time. If false, MPI is
        finalized there and the process ends by exit(0).

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

void MPIR_Adapt_end_job(const char *call, int mpi_errno)
{
    char reason[MPI_MAX_ERROR_STRING], text[2 * MPI_MAX_ERROR_STRING];

    snprintf(text, sizeof(text), "Adaptation %u cannot be completed, the job ends: %s: %s",
             MPIR_Adapt.epoch + 1, call,
             MPIR_Adapt_reason_of(mpi_errno, reason, sizeof(reason)));
    MPID_Abort(MPIR_Process.comm_world, MPI_SUCCESS, mpi_errno, text);
    exit(1);                    /* MPID_Abort does not return, but is not declared so */
}

static int my_index(void)
{
    if (MPIR_Adapt.state == MPIR_ADAPT_STATE__JOINING)
        return MPIR_Board.pre + MPIR_Process.rank;
    return MPIR_Process.rank;
}

/* The lowest joining process of each host makes the shared memory of the host's future
 * processes. */
static int report_ready(void)
{
    int mpi_errno = MPI_SUCCESS;
    struct pmi_adapt_host segment;

    if (MPIR_Process.local_rank == 0) {
        mpi_errno = MPID_Adapt_make_segment(MPIR_Board.local_pre + MPIR_Process.local_size,
                                            &segment);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = MPIR_Board_notify_proxy("cmd=adapt_ready epoch=%u segment=%u:%u:%" PRIu64 ":%"
                                            PRIu64 ":%" PRIu64 ":%" PRIu64, MPIR_Board.join_epoch,
                                            segment.segment_pid, segment.segment_fd,
                                            segment.segment_bytes, segment.segment_device,
                                            segment.segment_inode, segment.segment_nonce);
    } else {
        mpi_errno = MPIR_Board_notify_proxy("cmd=adapt_ready epoch=%u", MPIR_Board.join_epoch);
    }
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The other processes get the plan only after all joining processes have reported that they are
 * prepared.  Otherwise an address could be inserted while its process is connecting; messages of
 * that process would then match no posted receive, because libfabric treats the sender of such a
 * connection as unknown (directed receive). */
static int prepare_joining(int index)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = MPIR_Adapt_need_plan(MPIR_Board.join_epoch);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPID_Adapt_prepare(MPIR_Adapt.plan, index);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Adapt_report_prepared(MPIR_Board.join_epoch);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPID_Adapt_join(MPIR_Adapt.plan, index);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Steps 2 and 3: a joining process publishes its address and waits for the others. */
static int wait_for_window(void)
{
    int mpi_errno = MPI_SUCCESS;
    struct pmi_adapt_control *control = MPIR_Board.control;
    int index = my_index();

    mpi_errno = report_ready();
    if (mpi_errno)
        MPIR_Adapt_await_removal(mpi_errno);
    MPIR_ERR_CHECK(mpi_errno);

    /* The plan arrives when all joining processes are ready, the agreement some time later: the
     * addresses are inserted in between, while no process waits for this one. */
    bool prepared = false, preconnected = false;
    while (true) {
        uint32_t wake = __atomic_load_n(&control->wake, __ATOMIC_ACQUIRE);
        if (!prepared &&
            __atomic_load_n(&control->plan_epoch, __ATOMIC_ACQUIRE) == MPIR_Board.join_epoch) {
            mpi_errno = prepare_joining(index);
            if (mpi_errno)
                MPIR_Adapt_await_removal(mpi_errno);
            MPIR_ERR_CHECK(mpi_errno);
            prepared = true;
        }
        if (prepared && !preconnected && MPID_Adapt_is_preconnected(MPIR_Adapt.plan)) {
            mpi_errno = MPIR_Adapt_report_greeted(MPIR_Board.join_epoch);
            MPIR_ERR_CHECK(mpi_errno);
            preconnected = true;
        }
        if (prepared &&
            __atomic_load_n(&control->agreed, __ATOMIC_ACQUIRE) == MPIR_Board.join_epoch)
            break;
        mpi_errno = MPIR_Adapt_board_wait(wake);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int check_begin(void)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_CHKANDJUMP(MPIR_Adapt_is_rigid(), mpi_errno, MPI_ERR_OTHER,
                        "**adaptrigid");
    MPIR_ERR_CHKANDJUMP1(MPIR_Adapt.state == MPIR_ADAPT_STATE__WINDOW, mpi_errno, MPI_ERR_OTHER,
                         "**adaptinwindow", "**adaptinwindow %d", (int) MPIR_Adapt.epoch + 1);
    MPIR_ERR_CHKANDJUMP(MPIR_Adapt.state != MPIR_ADAPT_STATE__TOLD &&
                        MPIR_Adapt.state != MPIR_ADAPT_STATE__JOINING, mpi_errno, MPI_ERR_OTHER,
                        "**adaptnopending");
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Comm_adapt_begin_impl(MPI_Comm * intercomm, MPI_Comm * new_comm_world,
                               int *staying_count, int *leaving_count, int *joining_count)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Comm *intercomm_ptr = NULL, *new_world_ptr = NULL;
    MPL_time_t start;

    mpi_errno = check_begin();
    MPIR_ERR_CHECK(mpi_errno);

    int index = my_index();
    MPIR_Adapt_set_phase(PMI_ADAPT_PHASE_BEGIN);
    MPL_wtime(&start);
    if (MPIR_Adapt.state == MPIR_ADAPT_STATE__JOINING) {
        mpi_errno = wait_for_window();
        if (mpi_errno)
            MPIR_Adapt_end_job("MPI_Comm_adapt_begin", mpi_errno);
        MPIR_Adapt_count_joining_wait(MPIR_Adapt_seconds_since(start));
        MPL_wtime(&start);
    } else {
        mpi_errno = MPID_Adapt_prepare(MPIR_Adapt.plan, index);
    }
    MPIR_ERR_CHECK(mpi_errno);

    mpi_errno = MPID_Adapt_begin(MPIR_Adapt.plan, index, &intercomm_ptr, &new_world_ptr);
    if (mpi_errno)
        MPIR_Adapt_end_job("MPI_Comm_adapt_begin", mpi_errno);

    *intercomm = intercomm_ptr ? intercomm_ptr->handle : MPI_COMM_NULL;
    *new_comm_world = new_world_ptr ? new_world_ptr->handle : MPI_COMM_NULL;
    *staying_count = MPIR_Adapt.plan->pre - MPIR_Adapt.plan->leaving;
    *leaving_count = MPIR_Adapt.plan->leaving;
    *joining_count = MPIR_Adapt.plan->joining;
    MPIR_Adapt.state = MPIR_ADAPT_STATE__WINDOW;
    MPIR_Adapt_leaving = MPIR_Adapt.leaving;
    MPIR_Adapt_set_phase(PMI_ADAPT_PHASE_WINDOW);
    MPIR_Adapt_count_standstill(MPIR_Adapt_seconds_since(start));

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (MPIR_Adapt.state == MPIR_ADAPT_STATE__TOLD)
        MPIR_Adapt_set_phase(PMI_ADAPT_PHASE_TOLD);
    else if (MPIR_Adapt.state == MPIR_ADAPT_STATE__JOINING)
        MPIR_Adapt_set_phase(PMI_ADAPT_PHASE_JOINING);
    goto fn_exit;
}

/* The proxy polls the count at intervals while the window is open, because a wake-up would cost the
 * staying processes more than the rest of commit.  If it must receive a message first, the proxy
 * counts itself, in the order of messages.  The next plan may follow when all processes of the
 * board are counted. */
static int count_committed(unsigned epoch, bool has_notified)
{
    if (has_notified)
        return MPIR_Board_notify_proxy("cmd=adapt_committed epoch=%u", epoch);
    __atomic_add_fetch(&MPIR_Board.control->committed, 1, __ATOMIC_ACQ_REL);
    return MPI_SUCCESS;
}

/* C3, C7: staying processes may still be receiving the last messages of this one. */
static int wait_for_release(unsigned epoch)
{
    int mpi_errno = MPI_SUCCESS;
    struct pmi_adapt_control *control = MPIR_Board.control;

    while (__atomic_load_n(&control->released, __ATOMIC_ACQUIRE) < epoch) {
        uint32_t wake = __atomic_load_n(&control->wake, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(&control->released, __ATOMIC_ACQUIRE) >= epoch)
            break;
        mpi_errno = MPIR_Adapt_board_wait(wake);
        MPIR_ERR_CHECK(mpi_errno);
    }
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

bool MPIR_Adapt_ends_in_commit(void)
{
    return MPIR_Adapt.leaving && !MPIR_Adapt.modifying && !MPIR_CVAR_ADAPT_LEAVERS_RETURN;
}

static int leave(void)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = MPIR_Adapt_reclaim();
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_Adapt.state = MPIR_ADAPT_STATE__LEFT;
    MPIR_Adapt_leaving = 0;
    if (!MPIR_Adapt_ends_in_commit())
        goto fn_exit;

    /* Exit handlers may query whether MPI is finalized, so the lock must be free then.  This calls
     * the name that profiling tools wrap, because they write their results in MPI_Finalize. */
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    MPIR_Adapt_end_sessions();
    MPIR_Adapt_free_datatypes();
    MPI_Finalize();
    exit(0);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Agrees that all processes have arrived without pending requests; otherwise all return an error,
 * and the window stays open (C6). */
static int close_window(int pending)
{
    int mpi_errno = MPI_SUCCESS, with_pending = 0;

    mpi_errno = MPID_Adapt_agree(pending ? my_index() + 1 : 0, &with_pending);
    if (mpi_errno)              /* the others wait for this process, or have not waited */
        MPIR_Adapt_end_job("MPI_Comm_adapt_commit", mpi_errno);
    mpi_errno = pending;
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP1(with_pending, mpi_errno, MPI_ERR_PENDING, "**adaptpendingother",
                         "**adaptpendingother %d", with_pending - 1);
    /* On an oversubscribed node staying processes continue first. */
    if (MPIR_Adapt.leaving || my_index() >= (int) MPIR_Adapt.plan->pre)
        MPIDU_OVERSUBSCRIBED_WAIT();

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Ends the window.  The first error of a delete callback of attributes is returned separately: it
 * is too late to keep the window open for it. */
static int end_window(unsigned epoch, int *callback_errno)
{
    int mpi_errno = MPI_SUCCESS;
    bool has_notified;

    *callback_errno = MPIR_Adapt_delete_attributes();
    mpi_errno = MPIR_Adapt_drop_unreceived(epoch, &has_notified);
    MPIR_ERR_CHECK(mpi_errno);
    if (MPIR_Adapt.leaving) {
        /* The others continue first: they may be on the same processor. */
        MPIR_Adapt_set_phase(PMI_ADAPT_PHASE_NONE);
        mpi_errno = count_committed(epoch, has_notified);
        MPIR_ERR_CHECK(mpi_errno);
        mpi_errno = wait_for_release(epoch);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIR_Adapt_release_handles(epoch);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPID_Adapt_commit(MPIR_Adapt.plan, my_index());
    MPIR_ERR_CHECK(mpi_errno);

    /* The counter restarts before the proxy can detect the commit and freeze again. */
    MPIR_Adapt.count = 0;
    __atomic_store_n(&MPIR_Board.slot->count, 0, __ATOMIC_RELEASE);
    MPIR_Adapt_end_plan();
    MPIR_Adapt.epoch = epoch;
    if (!MPIR_Adapt.leaving) {
        MPIR_Adapt_set_phase(PMI_ADAPT_PHASE_RUNNING);
        mpi_errno = count_committed(epoch, has_notified);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Comm_adapt_commit_impl(void)
{
    int mpi_errno = MPI_SUCCESS;
    unsigned epoch = MPIR_Adapt.epoch + 1;
    MPL_time_t start;

    MPIR_ERR_CHKANDJUMP(MPIR_Adapt.state != MPIR_ADAPT_STATE__WINDOW, mpi_errno, MPI_ERR_OTHER,
                        "**adaptnowindow");
    MPL_wtime(&start);
    int pending = MPIR_Adapt_check_pending();
    if (MPIR_Adapt_ends_in_commit() && !pending) {
        /* The first steps of MPI_Finalize, while the others may still wait for the callbacks'
         * messages */
        mpi_errno = MPIR_Adapt_delete_self_attributes();
        MPIR_ERR_CHECK(mpi_errno);
        pending = MPIR_Adapt_check_pending();
    }
    MPIR_Adapt_set_phase(PMI_ADAPT_PHASE_COMMIT);
    mpi_errno = close_window(pending);
    if (mpi_errno)
        MPIR_Adapt_set_phase(PMI_ADAPT_PHASE_WINDOW);
    MPIR_ERR_CHECK(mpi_errno);
    int callback_errno;
    mpi_errno = end_window(epoch, &callback_errno);
    if (mpi_errno)
        MPIR_Adapt_end_job("MPI_Comm_adapt_commit", mpi_errno);

    MPIR_Adapt_count_standstill(MPIR_Adapt_seconds_since(start));
    MPIR_Adapt_count_commit();

    if (MPIR_Adapt.leaving) {
        mpi_errno = leave();
        if (mpi_errno)
            MPIR_Adapt_end_job("MPI_Comm_adapt_commit", mpi_errno);
    }
    mpi_errno = callback_errno;
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
