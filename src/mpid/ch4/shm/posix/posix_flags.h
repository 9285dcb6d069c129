/*
 * Collective operations by flags in shared memory (release_gather) among processes that were
 * started separately.  SI9, DS5; doc/developer/shm-channels.md.
 *
 * The flags and their creation are upstream's.  Their users are decided when a communicator is
 * made, without a message, by the data that its members have exchanged (MPIDI_HOSTS__HOMOGENEOUS).
 * Differences from a launched world: a member may end while others continue, and then a process
 * that waits for its flag gets an error; other threads of this process may run meanwhile; and if
 * the memory cannot be allocated, all members use messages from then on.
 */

#ifndef POSIX_FLAGS_H_INCLUDED
#define POSIX_FLAGS_H_INCLUDED

#include "../../src/ch4_hosts.h"
#include "posix_csel_container.h"

/* Replaces upstream's poll of progress in a loop that waits for a flag of another member.  If
 * waiting processes yield, or members may end, it waits until the flag has this value, or cannot
 * get it any more. */
int MPIDI_POSIX_flags_wait(MPIR_Comm * comm, MPL_atomic_uint64_t * flag, uint64_t value);

/* Small, because the functions of release_gather.h are inlined only if they are small. */
#define MPIDI_POSIX_FLAGS_WAIT(flag, value)                                     \
    do {                                                                        \
        int error_ = MPIDI_POSIX_flags_wait(comm_ptr, flag, value);             \
        if (unlikely(error_)) {                                                 \
            mpi_errno_ret = error_;                                             \
            goto fn_fail;                                                       \
        }                                                                       \
    } while (0)

/* Called after this process' flags are made and before the first poll of the flags of others. */
void MPIDI_POSIX_flags_introduce(MPIR_Comm * comm);

/* The memory could not be allocated; all members know that. */
void MPIDI_POSIX_flags_give_up(MPIR_Comm * comm);

/* Counts the bytes of memory that rank 0's process holds for such communicators: the world's
 * counter belongs to its world, and these may outlive an adaptation. */
MPL_atomic_uint64_t *MPIDI_POSIX_flags_counter(MPIR_Comm * comm);

/* For communicators without a table: the choice of upstream's table for a process with one thread,
 * at any thread level; NULL: use messages.  The signature is passed by value, as to
 * MPIR_Csel_search, because callers would otherwise have to keep it in memory. */
MPIDI_POSIX_csel_container_s *MPIDI_POSIX_flags_choose(const MPIR_Comm * comm,
                                                       MPIR_Csel_coll_sig_s coll_sig);
/* MPIR_Csel_search for all communicators. */
#define MPIDI_POSIX_FLAGS_SEARCH(comm, coll_sig)                                \
    (likely(MPIDI_POSIX_COMM(comm, csel_comm)) ?                                \
     MPIR_Csel_search(MPIDI_POSIX_COMM(comm, csel_comm), coll_sig) \
         : MPIDI_POSIX_flags_choose(comm, coll_sig))

#endif /* POSIX_FLAGS_H_INCLUDED */
