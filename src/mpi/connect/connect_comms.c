/*
 * See connect_comms.h.  With per-VCI locks communicators may be created concurrently, so the list
 * has the lock of the handle pools.
 */

#include "connect_comms.h"
#include "utlist.h"

MPIR_Comm *MPIR_Live_comms;

static bool end_registered;

/* The pools are freed as a whole when MPI is finalised; with sessions it may be initialised
 * again. */
static int remove_all_comms(void *unused)
{
    MPIR_Live_comms = NULL;
    end_registered = false;
    return MPI_SUCCESS;
}

void MPIR_Live_comms_add(MPIR_Comm * comm)
{
    MPIR_Assert(!comm->adapt.prev);
    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_HANDLE_MUTEX);
    if (!end_registered) {
        end_registered = true;
        /* before the pools are freed, which has priority 0 */
        MPIR_Add_finalize(remove_all_comms, NULL, 1);
    }
    DL_APPEND_NP(MPIR_Live_comms, comm, adapt.next, adapt.prev);
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_HANDLE_MUTEX);
}

void MPIR_Live_comms_remove(MPIR_Comm * comm)
{
    MPID_THREAD_CS_ENTER(VCI, MPIR_THREAD_VCI_HANDLE_MUTEX);
    if (comm->adapt.prev) {
        DL_DELETE_NP(MPIR_Live_comms, comm, adapt.next, adapt.prev);
        comm->adapt.prev = NULL;
    }
    MPID_THREAD_CS_EXIT(VCI, MPIR_THREAD_VCI_HANDLE_MUTEX);
}

void MPIR_Live_comms_foreach(void (*function) (MPIR_Comm *, void *), void *context)
{
    MPIR_Comm *comm, *next;

    DL_FOREACH_SAFE_NP(MPIR_Live_comms, comm, next, adapt.next, adapt.prev) {
        function(comm, context);
    }
}
