/*
 * The parts of an adaptation that run while the program computes: reading the plan, preparing for
 * it before the process is notified, and releasing the resources of the previous world after
 * commit.  Probes that return FALSE do both, without any effect that is visible to the program or
 * its peers.
 *
 * These parts are optional: a process that has not probed in time executes the missing ones in
 * begin.  If one fails, the proxy is notified, and the adaptation is withdrawn.  The next probe
 * drops a withdrawn plan: it finds another serial number on the board, or none.
 *
 * Inside the library's critical section.  SPEC P1, P5, P7, C9.
 */

#include "adapt.h"

/* Drops the plan, which stays mapped. */
static void drop_plan(void)
{
    if (MPIR_Adapt.info)
        MPIR_Info_free_impl(MPIR_Adapt.info);
    MPIR_Adapt.info = NULL;
    MPIR_Adapt.plan = NULL;
    MPIR_Adapt.prepared = 0;
}

static int withdraw_plan(void)
{
    int mpi_errno = MPI_SUCCESS;

    if (MPIR_Adapt.plan)
        mpi_errno = MPID_Adapt_discard_prebuilt(MPIR_Adapt.plan);
    drop_plan();
    MPIR_Adapt_unmap_plan();
    return mpi_errno;
}

/* Takes the plan of this epoch from the board, if it is there now. */
static int take_plan(unsigned epoch)
{
    int mpi_errno = MPI_SUCCESS;
    uint32_t serial;

    bool is_there = MPIR_Adapt_has_plan(epoch, &serial);
    if (MPIR_Adapt.plan && (!is_there || serial != MPIR_Adapt.plan_serial)) {
        mpi_errno = withdraw_plan();
        MPIR_ERR_CHECK(mpi_errno);
    }
    if (is_there && !MPIR_Adapt.plan) {
        mpi_errno = MPIR_Adapt_map_plan(epoch, &MPIR_Adapt.plan, &MPIR_Adapt.plan_serial);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIR_Adapt_need_plan(unsigned epoch)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = take_plan(epoch);
    MPIR_ERR_CHECK(mpi_errno);
    /* the proxy writes it before any event that a process could wait for */
    MPIR_ERR_CHKANDJUMP2(!MPIR_Adapt.plan, mpi_errno, MPI_ERR_OTHER, "**adaptplan",
                         "**adaptplan %d %d", (int) epoch, ENOENT);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Two counts share the board's word: prepared processes below GREETED, preconnected ones above. */
#define PREPARED 1u
#define GREETED 0x10000u

static int report(unsigned epoch, uint32_t what)
{
    struct pmi_adapt_control *control = MPIR_Board.control;
    uint32_t participants = __atomic_load_n(&control->participants, __ATOMIC_RELAXED);
    uint32_t now = __atomic_add_fetch(&control->prepared, what, __ATOMIC_ACQ_REL);
    uint32_t count = what == PREPARED ? now % GREETED : now / GREETED;

    if (count != participants)
        return MPI_SUCCESS;
    return MPIR_Board_notify_proxy(what == PREPARED ? "cmd=adapt_prepared epoch=%u"
                                   : "cmd=adapt_greeted epoch=%u", epoch);
}

int MPIR_Adapt_report_prepared(unsigned epoch)
{
    return report(epoch, PREPARED);
}

int MPIR_Adapt_report_greeted(unsigned epoch)
{
    return report(epoch, GREETED);
}

void MPIR_Adapt_prepare_early(void)
{
    unsigned epoch = MPIR_Adapt.epoch + 1;
    const uint32_t last_serial = MPIR_Adapt.plan_serial;

    int mpi_errno = take_plan(epoch);
    if (mpi_errno && MPIR_Adapt.plan_serial != last_serial)     /* once for each plan */
        MPIR_Adapt_report_unable(epoch, mpi_errno);
    if (mpi_errno || !MPIR_Adapt.plan || MPIR_Adapt.prepared)
        return;
    MPIR_Adapt.prepared = 1;
    mpi_errno = MPID_Adapt_prebuild(MPIR_Adapt.plan, MPIR_Process.rank);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPID_Adapt_prebuild_comms(MPIR_Adapt.plan, MPIR_Process.rank);
    if (mpi_errno) {
        /* If it is too late for a withdrawal, begin tries it again. */
        MPIR_Adapt_report_unable(epoch, mpi_errno);
        return;
    }
    MPIR_Adapt_prebuild_info();
    if (MPID_Adapt_preconnect(MPIR_Adapt.plan, MPIR_Process.rank))
        (void) MPIR_Adapt_report_prepared(epoch);
    else
        MPIR_Adapt.prepared = 0;        /* the next probe continues */
}

void MPIR_Adapt_end_plan(void)
{
    drop_plan();
    MPIR_Adapt.state = MPIR_ADAPT_STATE__COMMITTED;
}

int MPIR_Adapt_reclaim(void)
{
    if (!MPIR_Adapt.plan)
        MPIR_Adapt_unmap_plan();
    if (MPIR_Adapt.state == MPIR_ADAPT_STATE__COMMITTED)
        MPIR_Adapt.state = MPIR_ADAPT_STATE__RUNNING;
    return MPID_Adapt_reclaim();
}

int MPIR_Adapt_drop_plan(void)
{
    int mpi_errno = withdraw_plan();
    int reclaim_errno = MPIR_Adapt_reclaim();
    return mpi_errno ? mpi_errno : reclaim_errno;
}
