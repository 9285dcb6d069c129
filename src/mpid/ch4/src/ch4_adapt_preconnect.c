/* See ch4_adapt_preconnect.h. */

#include "mpidimpl.h"
#include "ch4_adapt_prebuild.h"
#include "ch4_adapt_comms.h"
#include "ch4_adapt_preconnect.h"
#include "ch4_adapt_nodes.h"
#include "ch4_adapt_window.h"
#include "mpir_adapt_device.h"

static bool preconnected;       /* the message to the joining process has been sent */
static bool was_in_vain;        /* for an adaptation that was withdrawn */

/* In a joining process: the receives for messages from other nodes. */
static struct {
    MPIR_Request **requests;
    int n;
} preconnects;

/* The union index of the joining process that pre-existing process `index` preconnects to. */
static int preconnect_target(const struct pmi_adapt_plan *plan, int index)
{
    return (int) (plan->pre + index % plan->joining);
}

static bool is_on_one_node(const struct pmi_adapt_plan *plan)
{
    for (int i = 1; i < (int) (plan->pre + plan->joining); i++) {
        if (!MPIDI_Adapt_is_same_node(plan, i, 0))
            return false;
    }
    return true;
}

static bool is_on_my_node(const struct pmi_adapt_plan *plan, int index)
{
    return MPIDI_Adapt_is_same_node(plan, index, MPIDI_Adapt_window.index);
}

/* ---- pre-existing process -------------------------------------------------------------------- */

void MPIDI_Adapt_reset_preconnect(void)
{
    was_in_vain = was_in_vain || preconnected;
    preconnected = false;
}

bool MPIDI_Adapt_preconnected_may_end(void)
{
    return preconnected || was_in_vain;
}

int MPID_Adapt_preconnect(const struct pmi_adapt_plan *plan, int index)
{
    MPIDI_av_table_t *table = MPIDI_Adapt_prebuilt_table(plan);
    if (!table || preconnected || plan->joining == 0)
        return 1;
    int to = preconnect_target(plan, index);
    if (MPIDI_Adapt_is_same_node(plan, to, index))
        return 1;               /* through shared memory, in begin */
    MPIDI_Adapt_lock_all();
    int result = MPIDI_NM_adapt_preconnect(&table->table[to], plan->epoch, index);
    MPIDI_Adapt_unlock_all();
    preconnected = result == MPIDI_ADAPT_PRECONNECT__SENT;
    return result != MPIDI_ADAPT_PRECONNECT__LATER;
}

/* ---- joining process ------------------------------------------------------------------------- */

static int expect_preconnects(const struct pmi_adapt_plan *plan)
{
    int mpi_errno = MPI_SUCCESS;
    const int first = MPIDI_Adapt_window.index - MPIDI_Adapt_window.pre;

    if (preconnects.requests)
        goto fn_exit;
    mpi_errno = MPIDI_Adapt_make_union(plan);
    MPIR_ERR_CHECK(mpi_errno);
    preconnects.requests = MPL_calloc(MPIDI_Adapt_window.pre / MPIDI_Adapt_window.joining + 1,
                                      sizeof(MPIR_Request *), MPL_MEM_OTHER);
    MPIR_ERR_CHKANDJUMP(!preconnects.requests, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = first; i < MPIDI_Adapt_window.pre; i += MPIDI_Adapt_window.joining) {
        if (!is_on_my_node(plan, i)) {
            mpi_errno = MPIC_Irecv(NULL, 0, MPI_BYTE, i, MPIDI_ADAPT_PRECONNECT_TAG,
                                   MPIDI_Adapt_window.union_comm,
                                   &preconnects.requests[preconnects.n]);
            MPIR_ERR_CHECK(mpi_errno);
            preconnects.n++;
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Adapt_is_preconnected(const struct pmi_adapt_plan *plan)
{
    if (is_on_one_node(plan) || !MPIDI_NM_adapt_can_preconnect())
        return 1;
    /* an error occurs again in begin, which reports it */
    if (expect_preconnects(plan) != MPI_SUCCESS)
        return 0;
    for (int i = 0; i < preconnects.n; i++) {
        if (!MPIR_Request_is_complete(preconnects.requests[i]))
            return 0;
    }
    return 1;
}

/* ---- in begin -------------------------------------------------------------------------------- */

/* A message that reaches a process before it has the sender's address never matches a receive from
 * that sender (libfabric's directed receive).  Joining processes have all addresses before this
 * call; the others insert the new addresses in begin.  So the joining ones must not send over the
 * network before all others are in begin (or have prepared for it): each of these sends an empty
 * message to one of them and continues. */
int MPIDI_Adapt_wait_for_addresses(const struct pmi_adapt_plan *plan)
{
    int mpi_errno = MPI_SUCCESS;
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    const int tag = MPIDI_ADAPT_PRECONNECT_TAG;
    const int first = MPIDI_Adapt_window.index - MPIDI_Adapt_window.pre;

    const bool is_done = preconnected;
    preconnected = false;
    if (MPIDI_Adapt_window.joining == 0 || is_on_one_node(plan) || is_done)
        goto fn_exit;
    if (MPIDI_Adapt_window.index < MPIDI_Adapt_window.pre) {
        mpi_errno =
            MPIC_Send(NULL, 0, MPI_BYTE, preconnect_target(plan, MPIDI_Adapt_window.index), tag,
                      MPIDI_Adapt_window.union_comm, &errflag);
        MPIR_ERR_CHECK(mpi_errno);
        goto fn_exit;
    }
    mpi_errno = expect_preconnects(plan);
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < preconnects.n; i++) {
        mpi_errno = MPIC_Wait(preconnects.requests[i], &errflag);
        MPIR_ERR_CHECK(mpi_errno);
        MPIR_Request_free(preconnects.requests[i]);
    }
    for (int i = first; i < MPIDI_Adapt_window.pre; i += MPIDI_Adapt_window.joining) {
        if (is_on_my_node(plan, i)) {
            mpi_errno =
                MPIC_Recv(NULL, 0, MPI_BYTE, i, tag, MPIDI_Adapt_window.union_comm,
                          MPI_STATUS_IGNORE, &errflag);
            MPIR_ERR_CHECK(mpi_errno);
        }
    }
    mpi_errno = MPIR_Barrier(MPIR_Process.comm_world, &errflag);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(preconnects.requests);
    memset(&preconnects, 0, sizeof(preconnects));
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
