/*
 * How active messages over libfabric name their sender, for their sequence numbers.  A launch uses the
 * sender's index in its own address vector, which is the same in all processes; processes of different
 * expansions would collide there, so those of an elastic job use their number in the job.
 */

#ifndef OFI_ADAPT_H_INCLUDED
#define OFI_ADAPT_H_INCLUDED

#include "ofi_impl.h"
#include "../../src/ch4_adapt.h"

MPL_STATIC_INLINE_PREFIX fi_addr_t MPIDI_OFI_am_source(int nic, int vni)
{
    if (MPIDI_Adapt_am_source)
        return MPIDI_Adapt_am_source + vni * MPIDI_OFI_MAX_NICS + nic;
    return MPIDI_OFI_rank_to_phys(MPIR_Process.rank, nic, vni, vni);
}

#endif /* OFI_ADAPT_H_INCLUDED */
