/*
 * Functions that upstream's files call (mpir_adapt.h), and that concern more than one of adapt,
 * session and dynproc: each forwards the event to these, in order.  Our own code does not call
 * them.
 */

#include "adapt_handles.h"
#include "dynproc.h"
#include "session.h"

int MPIR_Adapt_init_completed(void)
{
    int mpi_errno = MPIR_Adapt_complete_init();

    return mpi_errno ? mpi_errno : MPIR_Dynproc_rendezvous_parent();
}

void MPIR_Adapt_register_pvars(void)
{
    MPIR_Adapt_add_pvars(MPIR_Session_rendezvous_count());
}

void MPIR_Adapt_comm_inherit(MPIR_Comm * comm)
{
    for (MPIR_Comm_map_t * mapper = comm->mapper_head; mapper; mapper = mapper->next)
        MPIR_Dynproc_comm_derived(comm, mapper->src_comm);
    MPIR_Adapt_comm_find_derivation(comm);
}

void MPIR_Adapt_comm_freed(MPIR_Comm * comm)
{
    MPIR_Live_comms_remove(comm);
    MPIR_Dynproc_comm_freed(comm);
    MPIR_Adapt_comm_give_back(comm);
}

int MPIR_Adapt_comm_error(const MPIR_Comm * comm, const char *function, int line)
{
    int mpi_errno = MPIR_Session_world_error(comm, function, line);

    return mpi_errno ? mpi_errno : MPIR_Adapt_stale_comm_error(comm, function, line);
}
