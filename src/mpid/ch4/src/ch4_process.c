/* The device's part in process requests (src/mpi/process).  No state. */

#include "mpidimpl.h"
#include "process.h"

/* A persistent request that is none of the device's: it has nothing to free. */
void MPID_Process_init_handle(MPIR_Request * handle)
{
    MPIDI_PREQUEST(handle, p_type) = (MPIDI_ptype) - 1;
    MPIDI_PREQUEST(handle, rank) = 0;
    MPIDI_PREQUEST(handle, datatype) = MPI_BYTE;
}
