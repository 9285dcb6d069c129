/*
 * Collective operations by flags in shared memory (release_gather) among processes that were started apart.  SI9, DS5;
 * doc/design/lanes.md.
 *
 * The flags and how they are made are upstream's.  Who uses them is decided when a communicator is made, without a
 * message, by what its members have told each other (MPIDI_HOSTS__ALIKE).  What differs from a launched world: a member
 * may end while others go on, so that who waits for its flag gets an error; other threads of this process may be let in
 * meanwhile; and where the memory cannot be had messages are used from then on, by all members.
 */

#ifndef POSIX_FLAGS_H_INCLUDED
#define POSIX_FLAGS_H_INCLUDED

#include "../../src/ch4_hosts.h"
#include "posix_csel_container.h"

/* Waits until a flag of another member has this value; gives way where the node is oversubscribed. */
int MPIDI_POSIX_flags_wait(MPIR_Comm * comm, MPL_atomic_uint64_t * flag, uint64_t value);

/* In the functions of release_gather.h. */
#define MPIDI_POSIX_FLAGS_WAIT(flag, value)                                     \
    do {                                                                        \
        int error_ = MPIDI_POSIX_flags_wait(comm_ptr, flag, value);              \
        if (error_) {                                                            \
            MPIR_ERR_ADD(mpi_errno_ret, error_);                                 \
            goto fn_fail;                                                       \
        }                                                                       \
    } while (0)

/* Between the making of the flags and the first look at those of others. */
void MPIDI_POSIX_flags_introduce(MPIR_Comm * comm);

/* The memory could not be had, as all members know. */
void MPIDI_POSIX_flags_give_up(MPIR_Comm * comm);

/* Counts the bytes of memory that rank 0's process holds for such communicators: the world's counter belongs to its
 * world, and these may outlive an adaptation. */
MPL_atomic_uint64_t *MPIDI_POSIX_flags_counter(MPIR_Comm * comm);

/* What upstream's table says for a process with one thread, whatever the thread levels are; NULL: messages. */
MPIDI_POSIX_csel_container_s *MPIDI_POSIX_flags_choose(const MPIR_Csel_coll_sig_s * coll_sig);

MPL_STATIC_INLINE_PREFIX MPIDI_POSIX_csel_container_s *MPIDI_POSIX_choose(MPIR_Comm * comm,
                                                                          MPIR_Csel_coll_sig_s coll_sig)
{
    if (likely(MPIDI_POSIX_COMM(comm, csel_comm)))
        return MPIR_Csel_search(MPIDI_POSIX_COMM(comm, csel_comm), coll_sig);
    return MPIDI_COMM(comm, hosts) == MPIDI_HOSTS__ALIKE ? MPIDI_POSIX_flags_choose(&coll_sig) : NULL;
}

#endif /* POSIX_FLAGS_H_INCLUDED */
