/*
 * Memory of other processes that is mapped directly (XPMEM, GPU IPC) is for rigid programs.  All
 * data of these modules about the host's processes are made at launch and indexed by local rank, so
 * an adaptive process does not use them: its messages use the shared memory that adaptations
 * rebuild.  It exports no handles and has no tables.
 */

#ifndef IPC_ADAPT_H_INCLUDED
#define IPC_ADAPT_H_INCLUDED

#include "ipc_types.h"
#include "../../../src/ch4_adapt.h"

/* Whether the modules are unused; called at initialisation. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_IPC_adapt_disable(void)
{
    if (!MPIDI_Adapt_am_source)
        return false;
    MPIR_CVAR_CH4_XPMEM_ENABLE = 0;
    return true;
}

/* Whether a GPU's buffer is sent like any other; its attributes show it then. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_IPC_adapt_attr(MPIDI_IPCI_ipc_attr_t * ipc_attr)
{
    if (!MPIDI_Adapt_am_source)
        return false;
    ipc_attr->ipc_type = MPIDI_IPCI_TYPE__NONE;
    ipc_attr->threshold.send_lmt_sz = MPIR_AINT_MAX;
    return true;
}

#endif /* IPC_ADAPT_H_INCLUDED */
