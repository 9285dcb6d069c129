/*
 * Rows of sessions (ch4_adapt_api.txt) for posix: shared memory without a world, and after other
 * processes were inserted in the table before the own world.  SX5, SI9.
 */

#include "mpidimpl.h"
#include "posix_noinline.h"
#include "posix_types.h"
#include "eager/include/posix_eager.h"
#include "eager/iqueue/iqueue_types.h"
#include "release_gather/release_gather.h"

/* Without a world there is no shared memory; progress then polls private queues. */
int MPIDI_POSIX_session_start(void)
{
    static MPIDU_genq_shmem_queue_u empty[MPIDI_CH4_MAX_VCIS][MPIDI_CH4_MAX_VCIS];
    /* only worlds count the memory of all processes of a host */
    static MPL_atomic_uint64_t unlimited;
    int mpi_errno = MPI_SUCCESS;

    /* freed if MPI_Finalize has ended a world; the next one reads it again */
    MPIDI_global.shm.posix.csel_root = NULL;
    if (!MPIDI_POSIX_shm_limit_counter)
        MPIDI_POSIX_shm_limit_counter = &unlimited;
    for (int from = 0; from < MPIDI_POSIX_global.num_vsis; from++) {
        for (int to = 0; to < MPIDI_POSIX_global.num_vsis; to++) {
            MPIDI_POSIX_eager_iqueue_transport_t *transport =
                MPIDI_POSIX_eager_iqueue_get_transport(from, to);
            transport->my_terminal = &empty[from][to];
            mpi_errno = MPIDU_genq_shmem_queue_init(transport->my_terminal,
                                                    MPIDU_GENQ_SHMEM_QUEUE_TYPE__MPSC);
            MPIR_ERR_CHECK(mpi_errno);
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Processes of the own world on this host keep their slots in its shared memory. */
int MPIDI_POSIX_session_shift(int shift, int size)
{
    int mpi_errno = MPI_SUCCESS, *moved = MPL_malloc((shift + size) * sizeof(int), MPL_MEM_SHM);

    MPIR_ERR_CHKANDJUMP(!moved, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < shift + size; i++)
        moved[i] = i < shift ? -1 : MPIDI_POSIX_global.local_ranks[i - shift];
    MPL_free(MPIDI_POSIX_global.local_ranks);
    MPIDI_POSIX_global.local_ranks = moved;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

bool MPIDI_POSIX_session_sends(void)
{
    for (int vsi = 0; vsi < MPIDI_POSIX_global.num_vsis; vsi++) {
        if (MPIDI_POSIX_global.per_vsi[vsi].postponed_queue)
            return true;
    }
    return false;
}
