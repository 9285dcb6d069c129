/*
 * See posix_flags.h.
 *
 * Upstream has a cache line for the gather flag of each rank, and one for its release flag.  We use
 * the rest of these lines: for the identity of the member, so that others can check whether it has
 * ended, and in the lines of rank 0 for the first operation that failed.
 */

#include "mpidimpl.h"
#include "posix_impl.h"
#include "posix_flags.h"
#include "release_gather.h"
#include "mpidu_oversubscribed.h"
#include "../../src/ch4_dynproc.h"
#include "../../src/ch4_exited.h"
#include <errno.h>
#include <signal.h>

#define POLL_AFTER 64           /* rounds of waiting */
#define PROGRESS_AFTER 4        /* rounds with a yield */

struct member_lines {
    uint64_t gather_flag, pid;
    char rest[MPIDU_SHM_CACHE_LINE_LEN - 2 * sizeof(uint64_t)];
    /* failed, for rank 0: the number of the first operation that failed; 0: none */
    uint64_t release_flag, failed;
    char rest2[MPIDU_SHM_CACHE_LINE_LEN - 2 * sizeof(uint64_t)];
};

static MPL_atomic_uint64_t bytes_held;

static MPIDI_POSIX_release_gather_comm_t *state_of(MPIR_Comm * comm)
{
    return &MPIDI_POSIX_COMM(comm, release_gather);
}

static struct member_lines *lines_of(MPIR_Comm * comm)
{
    MPL_COMPILE_TIME_ASSERT(sizeof(struct member_lines) ==
                            MPIDI_POSIX_RELEASE_GATHER_FLAG_SPACE_PER_RANK);
    return state_of(comm)->flags_addr;
}

static bool is_apart(const MPIR_Comm * comm)
{
    return MPIDI_COMM(comm, hosts) != MPIDI_HOSTS__TOGETHER;
}

/* ---- members that have ended ----------------------------------------------------------------- */

void MPIDI_POSIX_flags_introduce(MPIR_Comm * comm)
{
    if (is_apart(comm))
        lines_of(comm)[comm->rank].pid = (uint64_t) getpid();
}

/* Processes that were started separately share a pid namespace; otherwise they are not
 * homogeneous. */
static bool has_ended(MPIR_Comm * comm, int rank)
{
    if (!is_apart(comm))
        return MPIDI_Exited_is(comm, rank);
    return kill((pid_t) lines_of(comm)[rank].pid, 0) && errno == ESRCH;
}

/* All members count in the same way. */
static uint64_t operation_of(MPIR_Comm * comm)
{
    return MPL_MAX(state_of(comm)->gather_state, state_of(comm)->release_state);
}

static bool has_failed(MPIR_Comm * comm)
{
    uint64_t failed = __atomic_load_n(&lines_of(comm)->failed, __ATOMIC_ACQUIRE);

    return failed && failed <= operation_of(comm);
}

/* This process gives up, while others may wait for it: values that it writes from now on must not
 * release them. */
static void fail(MPIR_Comm * comm)
{
    static MPL_atomic_uint64_t nowhere;
    uint64_t own = operation_of(comm), *failed = &lines_of(comm)->failed;
    uint64_t before = __atomic_load_n(failed, __ATOMIC_ACQUIRE);

    while ((!before || before > own) &&
           !__atomic_compare_exchange_n(failed, &before, own, false, __ATOMIC_RELEASE,
                                        __ATOMIC_ACQUIRE));
    state_of(comm)->gather_flag_addr = state_of(comm)->release_flag_addr = &nowhere;
}

/* A flag that a member has written before its end is valid. */
static int poll_flag(MPIR_Comm * comm, MPL_atomic_uint64_t * flag, uint64_t value)
{
    int mpi_errno = MPI_SUCCESS;
    size_t offset = (size_t) ((char *) flag - (char *) lines_of(comm));

    if (!has_failed(comm) && !has_ended(comm, (int) (offset / sizeof(struct member_lines))))
        goto fn_exit;
    if (MPL_atomic_acquire_load_uint64(flag) >= value)
        goto fn_exit;
    fail(comm);
    MPIR_ERR_SET(mpi_errno, MPIX_ERR_PROC_FAILED, "**flagsgone");

  fn_exit:
    return mpi_errno;
}

/* A poll of channels, or of the network between connected processes, takes longer than a poll of a
 * flag. */
static void give_way(unsigned turn)
{
    if (MPIDU_oversubscribed && turn % PROGRESS_AFTER)
        sched_yield();
    else
        MPID_Progress_test(NULL);
    MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
}

int MPIDI_POSIX_flags_wait(MPIR_Comm * comm, MPL_atomic_uint64_t * flag, uint64_t value)
{
    int mpi_errno = MPI_SUCCESS;

    if (!is_apart(comm)) {
        do {
            MPID_Progress_test(NULL);
            mpi_errno = poll_flag(comm, flag, value);
        } while (!mpi_errno && MPIDU_oversubscribed &&
                 MPL_atomic_acquire_load_uint64(flag) < value);
        goto fn_exit;
    }
    for (unsigned turn = 1; MPL_atomic_acquire_load_uint64(flag) < value && !mpi_errno; turn++) {
        give_way(turn);
        if (turn % POLL_AFTER == 0)
            mpi_errno = poll_flag(comm, flag, value);
    }

  fn_exit:
    return mpi_errno;
}

/* ---- memory ---------------------------------------------------------------------------------- */

MPL_atomic_uint64_t *MPIDI_POSIX_flags_counter(MPIR_Comm * comm)
{
    return is_apart(comm) ? &bytes_held : MPIDI_POSIX_shm_limit_counter;
}

static void give_back(MPIR_Comm * comm, void *memory, uint64_t bytes)
{
    if (!memory)
        return;
    MPIDU_shm_free(memory);
    if (comm->rank == 0)
        MPL_atomic_fetch_sub_uint64(&bytes_held, bytes);
}

void MPIDI_POSIX_flags_give_up(MPIR_Comm * comm)
{
    MPIDI_POSIX_release_gather_comm_t *state = state_of(comm);

    if (!is_apart(comm))
        return;
    if (state->is_initialized) {
        give_back(comm, state->flags_addr, state->flags_shm_size);
        give_back(comm, state->bcast_buf_addr, state->bcast_shm_size);
        give_back(comm, state->reduce_buf_addr, state->reduce_shm_size);
        MPL_free(state->child_reduce_buf_addr);
        MPIR_Treealgo_tree_free(&state->bcast_tree);
        MPIR_Treealgo_tree_free(&state->reduce_tree);
    }
    MPIDI_COMM(comm, hosts) = MPIDI_HOSTS__KNOWN;
}

/* ---- choice of operations -------------------------------------------------------------------- */

/* members; fewer get a broadcast in one message each, by upstream's algorithms */
#define FEW 8

/* All members get the same result: all know the length, and whether channels are enabled. */
static bool is_longer(MPI_Aint count, MPI_Datatype datatype, MPI_Aint most)
{
    MPI_Aint size;

    MPIR_Datatype_get_size_macro(datatype, size);
    return size > 0 && count > most / size && MPIR_CVAR_CH4_SHM_LANES > 0 &&
           MPIDI_global.n_vcis == 1;
}

/* With flags members wait for each other in each cell.  Messages on channels are faster: between
 * two members from the second cell on, among more, where some forward data, from the third cell
 * on. */
static bool broadcasts_by_messages(const MPIR_Comm * comm, MPI_Aint count, MPI_Datatype datatype)
{
    const MPI_Aint capacity =
        MPIDI_POSIX_RELEASE_GATHER_BCAST_CELLSIZE - 2 * MPIDU_SHM_CACHE_LINE_LEN;

    return comm->local_size < FEW &&
           is_longer(count, datatype, comm->local_size == 2 ? capacity : 2 * capacity);
}

/* A sum is computed cell by cell, while MPI_Reduce fills several cells. */
static bool sums_by_messages(MPI_Aint count, MPI_Datatype datatype)
{
    return is_longer(count, datatype, 2 * MPIDI_POSIX_RELEASE_GATHER_REDUCE_CELLSIZE);
}

MPIDI_POSIX_csel_container_s *MPIDI_POSIX_flags_choose(const MPIR_Comm *comm,
                                                       MPIR_Csel_coll_sig_s coll_sig)
{
    static MPIDI_POSIX_csel_container_s
        barrier =
            {MPIDI_POSIX_CSEL_CONTAINER_TYPE__ALGORITHM__MPIDI_POSIX_mpi_barrier_release_gather},
        bcast = {MPIDI_POSIX_CSEL_CONTAINER_TYPE__ALGORITHM__MPIDI_POSIX_mpi_bcast_release_gather},
        reduce =
            {MPIDI_POSIX_CSEL_CONTAINER_TYPE__ALGORITHM__MPIDI_POSIX_mpi_reduce_release_gather},
        allreduce = {
            MPIDI_POSIX_CSEL_CONTAINER_TYPE__ALGORITHM__MPIDI_POSIX_mpi_allreduce_release_gather};

    if (MPIDI_COMM(comm, hosts) != MPIDI_HOSTS__HOMOGENEOUS)
        return NULL;
    switch (coll_sig.coll_type) {
        case MPIR_CSEL_COLL_TYPE__BARRIER:
            return &barrier;
        case MPIR_CSEL_COLL_TYPE__BCAST:
            return broadcasts_by_messages(comm, coll_sig.u.bcast.count, coll_sig.u.bcast.datatype)
                       ? NULL
                       : &bcast;
        case MPIR_CSEL_COLL_TYPE__REDUCE:
            return MPIR_Op_is_commutative(coll_sig.u.reduce.op) ? &reduce : NULL;
        case MPIR_CSEL_COLL_TYPE__ALLREDUCE:
            return MPIR_Op_is_commutative(coll_sig.u.allreduce.op) &&
                !sums_by_messages(coll_sig.u.allreduce.count, coll_sig.u.allreduce.datatype)
                    ? &allreduce : NULL;
        default:
            return NULL;
    }
}
