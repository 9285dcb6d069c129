/*
 * Shared memory of a host's processes over adaptations, for mpidu_init_shm.c (the local barrier)
 * and mpidu_init_shm_alloc.c (segments).  At start both share memory among the processes of the
 * launch; from the first adaptation that brings processes to this host on, everything lies in one
 * segment made for that adaptation, from which the same functions then allocate.  A process that
 * joins moves there before the others know of the adaptation, these in begin.
 *
 * A *generation* is such a segment.  At most two exist: the present one and the one before, which
 * requests in flight may still need in the window, and which is released some time after commit.
 * Single-threaded: begin, commit, probe, finalize.
 */

#ifndef MPIDU_INIT_SHM_ADAPT_H_INCLUDED
#define MPIDU_INIT_SHM_ADAPT_H_INCLUDED

#include "mpidu_oversubscribed.h"

/* Value of init_shm_initialized, which is 1 otherwise. */
#define INIT_SHM_LAUNCHED_ALONE 2

/* Whether the memory of the launch is private (one process on the host then). */
int MPIDU_Init_shm_launched_alone(void);

/* Moves the local barrier to a segment of `bytes` (zeroed when it was made) that all local_size
 * processes map; from here on MPIDU_Init_shm_alloc allocates from it, in the same order
 * everywhere. */
void MPIDU_Init_shm_adapt_move(void *segment, size_t bytes, int local_size, int local_rank);
/* Commit: how many processes of the host there are now. */
void MPIDU_Init_shm_adapt_resize(int local_size, int local_rank);
/* Ends the generation before; nothing allocated from it is used any more. */
int MPIDU_Init_shm_adapt_drop_old(void);

/* The local barrier with a function to call while waiting. */
int MPIDU_Init_shm_adapt_barrier(int (*while_waiting) (void));
/* The same; *greatest is the greatest of the values, none negative, that the processes came with.
 * A process that comes last goes on at once. */
int MPIDU_Init_shm_adapt_agree(int value, int *greatest, int (*while_waiting) (void));
/* How many processes share these. */
int MPIDU_Init_shm_adapt_size(void);

/* Bytes that the local barrier, the blocks for exchanges and the process ids take. */
#define MPIDU_INIT_SHM_ADAPT_BYTES(local_size)                                      \
    (MPIDU_SHM_CACHE_LINE_LEN +                                                     \
     (local_size) * (sizeof(MPIDU_Init_shm_block_t) + sizeof(int)))

/* Where a segment holds the number by which it is known (pmi_adapt.h): the end of the barrier's
 * line. */
#define MPIDU_INIT_SHM_ADAPT_NONCE (MPIDU_SHM_CACHE_LINE_LEN - sizeof(uint64_t))

/* Puts the id of this process into its slot; the others see it after the next local barrier. */
void MPIDU_Init_shm_adapt_register(void);
/* The same in a segment that this process will move to. */
void MPIDU_Init_shm_adapt_register_in(void *segment, int local_size, int local_rank);
/* Reports to mpidu_oversubscribed.h which processes share the node: the processes of n slots, or of
 * the first n (NULL); or those that are about to move to a segment.  One that has not put its id
 * there yet counts as if it had this one's processors. */
void MPIDU_Init_shm_adapt_set_sharers(const int *slots, int n);
void MPIDU_Init_shm_adapt_expect_sharers(void *segment, int local_size);

/* Hooks of mpidu_init_shm_alloc.c: nonzero if it was done here. */
int MPIDU_Init_shm_adapt_alloc(size_t bytes, void **ptr);
int MPIDU_Init_shm_adapt_free(void *ptr);
/* Hook of MPIDU_Init_shm_finalize: nonzero if the present memory is a generation's; ends it. */
int MPIDU_Init_shm_adapt_finalize(void);

#endif /* MPIDU_INIT_SHM_ADAPT_H_INCLUDED */
