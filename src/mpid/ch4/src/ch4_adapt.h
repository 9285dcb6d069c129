/*
 * Adaptations of MPI_COMM_WORLD in ch4: common declarations of its parts, and the hooks in upstream
 * functions. doc/developer/decisions/world.md has an overview.  Calls to netmod and shared memory
 * are rows of ch4_adapt_api.txt, as everywhere in ch4: MPIDI_NM_adapt_* (ofi_adapt*.c) and
 * MPIDI_SHM_adapt_* (shm_adapt.c, posix_adapt.c).
 *
 * The *union* is the table of all processes of an adaptation: the pre-existing ones at their ranks
 * in the old world, then the joining ones in the order of their own.  In the window av_table0 is
 * the union; commit compacts it, so that an index is a world rank again.
 */

#ifndef CH4_ADAPT_H_INCLUDED
#define CH4_ADAPT_H_INCLUDED

#include "pmi_adapt.h"

/* Source mark of this process' active messages, unique in the job; 0: not part of an elastic
 * job. */
extern uint64_t MPIDI_Adapt_am_source;

/* The host's new shared memory in one of its processes.  A slot is an entry in the segment;
 * local_index has the union index of the process that gets it. */
typedef struct MPIDI_Adapt_segment {
    char *base;
    size_t bytes;
    int *local_index;
    int n_local, my_slot;
} MPIDI_Adapt_segment_t;

MPL_STATIC_INLINE_PREFIX const struct pmi_adapt_member
    *MPIDI_Adapt_plan_members(const struct pmi_adapt_plan *plan)
{
    return (const struct pmi_adapt_member *) ((const char *) plan + plan->members_offset);
}

MPL_STATIC_INLINE_PREFIX const struct pmi_adapt_host
    *MPIDI_Adapt_plan_hosts(const struct pmi_adapt_plan *plan)
{
    return (const struct pmi_adapt_host *) ((const char *) plan + plan->hosts_offset);
}

/* ---- ch4_adapt_comms.c ---- */
/* Hook of MPID_Comm_commit_pre_hook: nonzero if comm belongs to an adaptation and has its maps
 * now. */
int MPIDI_Adapt_comm_map(MPIR_Comm * comm);

#endif /* CH4_ADAPT_H_INCLUDED */
