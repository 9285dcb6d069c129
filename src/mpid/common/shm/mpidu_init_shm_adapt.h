/*
 * Shared memory of a host's processes over adaptations, for mpidu_init_shm.c (the local barrier)
 * and mpidu_init_shm_alloc.c (segments).  At start both share memory among the processes of the
 * launch.  An adaptation that adds processes to this host makes one segment for everything, from
 * which the same functions then allocate.  A joining process moves to it before the others are
 * notified of the adaptation, these move in begin.
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
/* In commit: sets the number of processes of the host. */
void MPIDU_Init_shm_adapt_resize(int local_size, int local_rank);
/* Ends the previous generation; nothing allocated from it is used any more. */
int MPIDU_Init_shm_adapt_drop_old(void);

/* The local barrier with a function to call while waiting. */
int MPIDU_Init_shm_adapt_barrier(int (*while_waiting) (void));
/* The same; *greatest is the greatest of the processes' values, none of which is negative.  The
 * last process to enter continues at once. */
int MPIDU_Init_shm_adapt_agree(int value, int *greatest, int (*while_waiting) (void));
/* The number of processes that share them. */
int MPIDU_Init_shm_adapt_size(void);

/* Bytes of the local barrier, the blocks for exchanges and the process ids. */
#define MPIDU_INIT_SHM_ADAPT_BYTES(local_size)                                      \
    (MPIDU_SHM_CACHE_LINE_LEN +                                                     \
     (local_size) * (sizeof(MPIDU_Init_shm_block_t) + sizeof(int)))

/* Offset of a segment's identifying number (pmi_adapt.h): the end of the barrier's line. */
#define MPIDU_INIT_SHM_ADAPT_NONCE (MPIDU_SHM_CACHE_LINE_LEN - sizeof(uint64_t))

/* Writes the id of this process into its slot; the others can read it after the next local
 * barrier. */
void MPIDU_Init_shm_adapt_register(void);
/* The same in a segment that this process will move to. */
void MPIDU_Init_shm_adapt_register_in(void *segment, int local_size, int local_rank);
/* Reports the processes that share the node to mpidu_oversubscribed.h: the processes of n slots, or
 * of the first n (NULL); or those that will move to a segment.  A process that has not written its
 * id yet counts as if it had the processors of this one. */
void MPIDU_Init_shm_adapt_set_sharers(const int *slots, int n);
void MPIDU_Init_shm_adapt_expect_sharers(void *segment, int local_size);

/* Hooks of mpidu_init_shm_alloc.c: nonzero if this function has done the work. */
int MPIDU_Init_shm_adapt_alloc(size_t bytes, void **ptr);
int MPIDU_Init_shm_adapt_free(void *ptr);
/* Hook of MPIDU_Init_shm_finalize: nonzero if the present memory is a generation's; ends it. */
int MPIDU_Init_shm_adapt_finalize(void);

#endif /* MPIDU_INIT_SHM_ADAPT_H_INCLUDED */
