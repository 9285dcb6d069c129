/*
 * MPIX_Comm_modify: an adaptation that the program itself requests, also a rigid one (DM1-DM6).
 *
 * The call is the agreement.  First the processes exchange whether each of them can adapt.  Then
 * rank 0 requests the size (adapt_size_request.c), and all sleep on their boards until all agree on
 * the plan, without a probe number.  Then each executes begin and commit.  Rank 0 detects a
 * failure, and notifies the others.  Created processes execute their part inside MPI_Init.
 * doc/developer/decisions/comm-modify.md.
 *
 * No state but MPIR_Adapt's; inside the library's critical section.
 */

#include "adapt.h"
#include "pmi_adapt_sizes.h"
#include "pmi_adapt_request.h"

/* ---- all of the old world -------------------------------------------------------------------- */

/* Enables the process to take part; returns an error if it cannot. */
static int take_part(void)
{
    int mpi_errno = MPI_SUCCESS;

    if (MPIR_Adapt.state == MPIR_ADAPT_STATE__OFF && !MPIR_Board.changes_by_sets) {
        MPIR_Board_open();
        if (MPIR_Board_is_ours() && !MPIR_Board.join_epoch) {
            mpi_errno = MPIR_Adapt_begin_membership();
            MPIR_ERR_CHECK(mpi_errno);
        } else {
            MPIR_Board_close();
        }
    }
    if (MPIR_Adapt.state == MPIR_ADAPT_STATE__COMMITTED) {
        mpi_errno = MPIR_Adapt_reclaim();
        MPIR_ERR_CHECK(mpi_errno);
    }
    MPIR_ERR_CHKANDJUMP(MPIR_Board.changes_by_sets, mpi_errno, MPI_ERR_UNSUPPORTED_OPERATION,
                        "**modifysets");
    MPIR_ERR_CHKANDJUMP1(MPIR_Adapt.state == MPIR_ADAPT_STATE__WINDOW, mpi_errno, MPI_ERR_OTHER,
                         "**adaptinwindow", "**adaptinwindow %d", (int) MPIR_Adapt.epoch + 1);
    MPIR_ERR_CHKANDJUMP(MPIR_Adapt.state == MPIR_ADAPT_STATE__TOLD, mpi_errno, MPIX_ERR_EAGAIN,
                        "**modifyagain");
    MPIR_ERR_CHKANDJUMP(MPIR_Adapt.state != MPIR_ADAPT_STATE__RUNNING &&
                        MPIR_Adapt.state != MPIR_ADAPT_STATE__MODIFIED, mpi_errno, MPI_ERR_SPAWN,
                        "**modifyalone");
    mpi_errno = MPIR_Adapt_check_pending();
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* An error of which another process has the details. */
static int error_elsewhere(int errclass)
{
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, errclass,
                                "**modifyother", 0);
}

/* Returns the same class on all processes: MPI_SUCCESS, or an error of the greatest class of any of
 * them. */
static int agree(MPIR_Comm * comm, int own_errno, int count)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    int mine[3] =
        { own_errno ? MPIR_ERR_GET_CLASS(own_errno) : MPI_SUCCESS, count, -count }, greatest[3];

    mpi_errno = MPIR_Allreduce(mine, greatest, 3, MPI_INT, MPI_MAX, comm, &errflag);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP2(greatest[1] != -greatest[2], mpi_errno, MPI_ERR_ARG, "**modifycount",
                         "**modifycount %d %d", -greatest[2], greatest[1]);
    if (greatest[0] == MPI_SUCCESS)
        goto fn_exit;
    mpi_errno = greatest[0] == mine[0] ? own_errno : error_elsewhere(greatest[0]);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- rank 0 requests, all wait --------------------------------------------------------------- */

/* Prepares for the plan as soon as it exists.  False for another adaptation that is agreed on: rank
 * 0 is notified of that. */
static bool is_agreed(void)
{
    const struct pmi_adapt_plan *plan;

    MPIR_Adapt_prepare_early();
    plan = MPIR_Adapt.plan;
    return plan && plan->modify &&
        __atomic_load_n(&MPIR_Board.control->agreed, __ATOMIC_ACQUIRE) == MPIR_Adapt.epoch + 1;
}

static int refusal(const struct pmi_adapt_request_end *end)
{
    int errclass = end->cause == PMI_ADAPT_REQUEST_AGAIN ? MPIX_ERR_EAGAIN :
        end->cause == PMI_ADAPT_REQUEST_SETS ? MPI_ERR_UNSUPPORTED_OPERATION : MPI_ERR_SPAWN;

    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, errclass,
                                "**modifyrefused", "**modifyrefused %s", end->reason);
}

/* Sleeps on the board until the condition holds. */
static int wait_until(bool(*holds) (void *state), void *state)
{
    int mpi_errno = MPI_SUCCESS;

    while (true) {
        uint32_t wake = __atomic_load_n(&MPIR_Board.control->wake, __ATOMIC_ACQUIRE);
        if (holds(state))
            break;
        mpi_errno = MPIR_Adapt_board_wait(wake);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The last adaptation is committed everywhere; otherwise it would count as another adaptation that
 * comes first. */
static bool last_is_committed(void *unused)
{
    return __atomic_load_n(&MPIR_Board.control->epoch, __ATOMIC_ACQUIRE) >= MPIR_Adapt.epoch;
}

struct queried {
    uint32_t number;            /* of the size request */
    bool refused;
    struct pmi_adapt_request_end end;      /* if it has ended */
};

static bool is_decided(void *state)
{
    struct queried *queried = state;

    if (is_agreed())
        return true;
    queried->refused = MPIR_Adapt_request_has_ended(queried->number, &queried->end);
    return queried->refused;
}

/* Waits until the size is agreed on, or the request has failed. */
static int request_size(int size)
{
    int mpi_errno = MPI_SUCCESS;
    struct queried queried = { 0 };

    MPIR_ERR_CHKANDJUMP1(size > PMI_ADAPT_SIZE_LARGEST, mpi_errno, MPI_ERR_SPAWN, "**modifyrefused",
                         "**modifyrefused %s", "a world has at most 1048576 processes");
    mpi_errno = wait_until(last_is_committed, NULL);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Adapt_request_modify(size, &queried.number);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = wait_until(is_decided, &queried);
    MPIR_ERR_CHECK(mpi_errno);
    if (queried.refused)
        mpi_errno = refusal(&queried.end);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int complete(MPIR_Request * request)
{
    int mpi_errno = MPI_SUCCESS;

    while (!MPIR_Request_is_complete(request)) {
        mpi_errno = MPID_Progress_test(NULL);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPIR_Request_free(request);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The adaptation is agreed on, or this request is complete. */
static bool is_agreed_or_complete(void *request)
{
    return is_agreed() || (request && MPIR_Request_is_complete((MPIR_Request *) request));
}

/* The result at rank 0; the others wait for its broadcast meanwhile. */
static int wait_for_rank_0(MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS, error_class = MPI_SUCCESS;
    MPIR_Request *notified;

    mpi_errno = MPIR_Ibcast(&error_class, 1, MPI_INT, 0, comm, &notified);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = wait_until(is_agreed_or_complete, notified);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = complete(notified);
    MPIR_ERR_CHECK(mpi_errno);
    if (error_class)
        mpi_errno = error_elsewhere(error_class);
    MPIR_ERR_CHECK(mpi_errno);
    /* rank 0 may have seen it on another board */
    mpi_errno = wait_until(is_agreed_or_complete, NULL);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int notify_others(MPIR_Comm * comm, int own_errno)
{
    int mpi_errno, error_class = own_errno ? MPIR_ERR_GET_CLASS(own_errno) : MPI_SUCCESS;
    MPIR_Request *notified;

    mpi_errno = MPIR_Ibcast(&error_class, 1, MPI_INT, 0, comm, &notified);
    return mpi_errno ? mpi_errno : complete(notified);
}

static int reach_agreement(MPIR_Comm * comm, int size)
{
    int mpi_errno = MPI_SUCCESS;

    if (comm->rank == 0) {
        int own_errno = request_size(size);
        mpi_errno = notify_others(comm, own_errno);
        mpi_errno = own_errno ? own_errno : mpi_errno;
    } else {
        mpi_errno = wait_for_rank_0(comm);
    }
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (MPIR_ERR_GET_CLASS(mpi_errno) != MPIX_ERR_EAGAIN)
        (void) MPIR_Adapt_drop_plan();
    goto fn_exit;
}

/* ---- the window ------------------------------------------------------------------------------ */

/* After this the adaptation cannot be withdrawn. */
static void pass_window(void)
{
    const char *call = "MPIX_Comm_modify";
    MPI_Comm intercomm, new_world;
    int staying, leaving, joining, mpi_errno;

    MPIR_Adapt.modifying = true;
    mpi_errno = MPIR_Comm_adapt_begin_impl(&intercomm, &new_world, &staying, &leaving, &joining);
    if (mpi_errno)
        MPIR_Adapt_end_job(call, mpi_errno);
    mpi_errno = MPIR_Comm_adapt_commit_impl();
    if (mpi_errno)
        MPIR_Adapt_end_job(call, mpi_errno);
    MPIR_Adapt.modifying = false;
}

/* Other processes continue.  The rest of the previous world is released now, because a rigid
 * program does not probe. */
static int decide_channel(MPIR_Comm ** newcomm)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = MPIR_Comm_dup_impl(MPIR_Process.comm_world, newcomm);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Adapt_reclaim();
    MPIR_ERR_CHECK(mpi_errno);
    if (!MPIR_Adapt.adaptive)
        MPIR_Adapt.state = MPIR_ADAPT_STATE__MODIFIED;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static int modify(MPIR_Comm * comm, int count, MPIR_Comm ** made)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = reach_agreement(comm, comm->local_size + count);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Adapt_find_own_status();
    if (mpi_errno)
        MPIR_Adapt_end_job("MPIX_Comm_modify", mpi_errno);
    MPIR_Adapt.state = MPIR_ADAPT_STATE__TOLD;
    pass_window();
    if (MPIR_Adapt.state != MPIR_ADAPT_STATE__LEFT) {
        mpi_errno = decide_channel(made);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- MPIX_Comm_modify ------------------------------------------------------------------------ */

/* DM1: comm must have the world's processes in the world's order. */
static int check_comm(MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS, result = MPI_UNEQUAL;

    mpi_errno = MPIR_Comm_compare_impl(comm, MPIR_Process.comm_world, &result);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP(result != MPI_IDENT &&
                        result != MPI_CONGRUENT, mpi_errno, MPI_ERR_COMM, "**modifycomm");

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Comm_modify_impl(MPIR_Comm * oldcomm, int count, MPIR_Comm ** newcomm)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Comm *made = NULL;
    const int most = INT_MAX - oldcomm->local_size;

    count = MPL_MAX(count, -INT_MAX);
    mpi_errno = check_comm(oldcomm);
    MPIR_ERR_CHECK(mpi_errno);
    int own_errno = count == 0 ? MPI_SUCCESS : take_part();
    mpi_errno = agree(oldcomm, own_errno, count);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP2(count < 0 &&
                         count <= -oldcomm->local_size, mpi_errno, MPI_ERR_ARG, "**modifysize",
                         "**modifysize %d %d", -count, oldcomm->local_size);
    if (count == 0)
        mpi_errno = MPIR_Comm_dup_impl(MPIR_Process.comm_world, &made);
    else
        mpi_errno = modify(oldcomm, MPL_MIN(count, most), &made);
    MPIR_ERR_CHECK(mpi_errno);
    if (newcomm) {
        *newcomm = made;
    } else if (made) {
        mpi_errno = MPIR_Comm_release(made);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- a created process, at the end of MPI_Init ----------------------------------------------- */

static int enter_world(void)
{
    int mpi_errno = MPI_SUCCESS, n = MPIR_Process.size;
    MPIR_Comm *made = NULL;

    pass_window();
    mpi_errno = MPID_Adapt_make_parent(MPIR_Adapt.epoch, n, &MPIR_Process.comm_parent);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = decide_channel(&made);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = MPIR_Comm_release(made);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Adapt_enter_world(void)
{
    MPID_THREAD_CS_ENTER(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    int mpi_errno = enter_world();
    MPID_THREAD_CS_EXIT(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    return mpi_errno;
}
