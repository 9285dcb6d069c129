/*
 * The plan of an adaptation: mapped from the board's file, to which the proxy has written it, and
 * checked once.
 *
 * The plan does not change meanwhile: this process' slot has its serial number.  As long as it is
 * there, the proxy writes no other plan, even if this one is withdrawn or has ended (pmi_adapt.h).
 * The file is sealed against shrinking, so that mapped parts stay valid.  The proxy and the other
 * processes of the board could still write to the plan.  They belong to the same user and job, and
 * are trusted, because they could change this process' memory anyway.  The check detects a plan
 * that is malformed or not for this process.
 *
 * Inside the library's critical section.  SPEC P7, W1.
 */

#include "adapt.h"
#include "pmi_adapt_plan.h"
#include <sys/mman.h>
#include <sys/stat.h>

static struct {
    void *base;                 /* NULL: nothing is mapped */
    size_t bytes;
} mapped;

bool MPIR_Adapt_has_plan(unsigned epoch, uint32_t * serial)
{
    const struct pmi_adapt_control *control = MPIR_Board.control;

    *serial = __atomic_load_n(&control->plan_serial, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&control->plan_epoch, __ATOMIC_ACQUIRE) == epoch;
}

/* Finds the plan of this epoch, which is retained from now on; false: there is none, or already
 * another one. */
static bool hold_plan(unsigned epoch, uint64_t * offset, uint64_t * bytes, uint32_t * serial)
{
    const struct pmi_adapt_control *control = MPIR_Board.control;
    uint32_t serial_after;

    if (!MPIR_Adapt_has_plan(epoch, serial))
        return false;
    *offset = __atomic_load_n(&control->plan_offset, __ATOMIC_ACQUIRE);
    *bytes = __atomic_load_n(&control->plan_bytes, __ATOMIC_ACQUIRE);
    __atomic_store_n(&MPIR_Board.slot->plan_serial, *serial, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (MPIR_Adapt_has_plan(epoch, &serial_after) && serial_after == *serial)
        return true;
    __atomic_store_n(&MPIR_Board.slot->plan_serial, 0, __ATOMIC_RELEASE);
    return false;
}

/* False: errno has the reason. */
static bool map_file(uint64_t offset, uint64_t bytes)
{
    struct stat status;

    if (fstat(MPIR_Board.fd, &status) != 0)
        return false;
    errno = EBADMSG;
    if (bytes == 0 || offset > (uint64_t) status.st_size ||
        bytes > (uint64_t) status.st_size - offset)
        return false;
    void *base = mmap(NULL, bytes, PROT_READ, MAP_SHARED, MPIR_Board.fd, (off_t) offset);
    if (base == MAP_FAILED)
        return false;
    mapped.base = base;
    mapped.bytes = bytes;
    return true;
}

/* Whether the plan has this process at its position. */
static bool names_this_process(const struct pmi_adapt_plan *plan)
{
    const bool joins = MPIR_Adapt.state == MPIR_ADAPT_STATE__JOINING;
    const uint32_t size = (uint32_t) MPIR_Process.size;
    const uint32_t index = (uint32_t) MPIR_Process.rank + (joins ? plan->pre : 0);
    const struct pmi_adapt_member *members =
        (const struct pmi_adapt_member *) ((const char *) plan + plan->members_offset);

    return size == (joins ? plan->joining : plan->pre) && members[index].uid == MPIR_Board.uid &&
        (!joins || plan->pre == (uint32_t) MPIR_Board.pre);
}

int MPIR_Adapt_map_plan(unsigned epoch, const struct pmi_adapt_plan **plan, uint32_t * serial)
{
    int mpi_errno = MPI_SUCCESS;
    uint64_t offset, bytes;

    *plan = NULL;
    MPIR_Adapt_unmap_plan();
    if (!hold_plan(epoch, &offset, &bytes, serial))
        goto fn_exit;
    MPIR_ERR_CHKANDJUMP2(!map_file(offset, bytes), mpi_errno, MPI_ERR_OTHER, "**adaptplan",
                         "**adaptplan %d %d", (int) epoch, errno);
    MPIR_ERR_CHKANDJUMP1(!pmi_adapt_plan_holds(mapped.base, mapped.bytes) ||
                         !names_this_process(mapped.base), mpi_errno, MPI_ERR_OTHER,
                         "**adaptplanwrong", "**adaptplanwrong %d", (int) epoch);
    /* the plan names hosts, and a host is one node after a commit */
    MPIR_ERR_CHKANDJUMP(MPIR_CVAR_NUM_CLIQUES > 1 ||
                        MPIR_CVAR_ODD_EVEN_CLIQUES, mpi_errno, MPI_ERR_OTHER, "**adaptcliques");
    *plan = mapped.base;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPIR_Adapt_unmap_plan();
    goto fn_exit;
}

void MPIR_Adapt_unmap_plan(void)
{
    if (mapped.base)
        munmap(mapped.base, mapped.bytes);
    mapped.base = NULL;
    if (MPIR_Board.slot)
        __atomic_store_n(&MPIR_Board.slot->plan_serial, 0, __ATOMIC_RELEASE);
}
