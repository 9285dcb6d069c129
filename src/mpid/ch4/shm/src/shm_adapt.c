/*
 * Rows of adaptations (ch4_adapt_api.txt) for shared memory: all call posix (posix_adapt.c).
 */

#include "mpidimpl.h"
#include "ch4_adapt.h"
#include "shm_noinline.h"
#include "../posix/posix_noinline.h"

size_t MPIDI_SHM_adapt_segment_bytes(int local_size)
{
    return MPIDI_POSIX_adapt_segment_bytes(local_size);
}

void MPIDI_SHM_adapt_fill(const MPIDI_Adapt_segment_t * segment, int slot)
{
    MPIDI_POSIX_adapt_fill(segment, slot);
}

void MPIDI_SHM_adapt_touch(const MPIDI_Adapt_segment_t * segment)
{
    MPIDI_POSIX_adapt_touch(segment);
}

void MPIDI_SHM_adapt_renumber(int *slots, int union_size, int shift)
{
    MPIDI_POSIX_adapt_renumber(slots, union_size, shift);
}

int MPIDI_SHM_adapt_move(const MPIDI_Adapt_segment_t * segment)
{
    return MPIDI_POSIX_adapt_move(segment);
}

void MPIDI_SHM_adapt_keep_collectives(MPIR_Comm * comm)
{
    MPIDI_POSIX_adapt_keep_collectives(comm);
}

int MPIDI_SHM_adapt_commit(const int *new_index, int union_size, int new_size)
{
    return MPIDI_POSIX_adapt_commit(new_index, union_size, new_size);
}

int MPIDI_SHM_adapt_reclaim(void)
{
    return MPIDI_POSIX_adapt_reclaim();
}
