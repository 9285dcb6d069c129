/*
 * The interface of ofi_adapt.c for upstream's files of the netmod.
 */

#ifndef OFI_ADAPT_H_INCLUDED
#define OFI_ADAPT_H_INCLUDED

#include "ofi_impl.h"
#include "../../src/ch4_adapt.h"

/* The sender's identity in active messages over libfabric, for their sequence numbers.  A launch
 * uses the sender's index in its own address vector, which is the same in all processes.  Indices
 * of processes of different expansions would collide, so processes of an elastic job use their
 * number in the job. */
MPL_STATIC_INLINE_PREFIX fi_addr_t MPIDI_OFI_am_source(int nic, int vni)
{
    if (MPIDI_Adapt_am_source)
        return MPIDI_Adapt_am_source + vni * MPIDI_OFI_MAX_NICS + nic;
    return MPIDI_OFI_rank_to_phys(MPIR_Process.rank, nic, vni, vni);
}

/* The address of a process outside the world (MPI_Comm_spawn, MPI_Comm_connect) has been inserted
 * in the first context's vector, at addr: in an elastic job this inserts it in those of the other
 * contexts, too, so that all remain equal. */
int MPIDI_OFI_adapt_insert_elsewhere(const void *name, fi_addr_t addr);

#endif /* OFI_ADAPT_H_INCLUDED */
