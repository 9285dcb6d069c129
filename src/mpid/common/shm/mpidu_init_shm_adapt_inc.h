/*
 * Definitions for mpidu_init_shm_adapt.h.  Included at the end of mpidu_init_shm.c, whose static
 * variables (memory, barrier, baseaddr, sense, local_size, my_local_rank) they replace.
 */

#include <sys/mman.h>
#include <unistd.h>

#define GENERATION_ALIGN 4096

struct generation {
    char *base;                 /* NULL: the memory of the launch */
    size_t bytes, used;
};

static struct generation generation, old_generation;
static MPIDU_shm_seg_t launch_memory;   /* while old_generation is the launch's */
static int launch_memory_is_old;
static int *pids;               /* in the segment, by slot */

int MPIDU_Init_shm_launched_alone(void)
{
    return init_shm_initialized == INIT_SHM_LAUNCHED_ALONE;
}

void MPIDU_Init_shm_adapt_move(void *segment, size_t bytes, int new_local_size, int new_local_rank)
{
    MPIR_Assertp(!old_generation.base && !launch_memory_is_old);
    if (generation.base) {
        old_generation = generation;
    } else {
        launch_memory = memory;
        launch_memory_is_old = 1;
    }

    generation.base = segment;
    generation.bytes = bytes;
    local_size = new_local_size;
    my_local_rank = new_local_rank;
    /* a zeroed segment is an initialised barrier */
    barrier = (Init_shm_barrier_t *) segment;
    sense = 0;
    baseaddr = (char *) segment + MPIDU_SHM_CACHE_LINE_LEN;
    generation.used = MPIDU_INIT_SHM_ADAPT_BYTES(local_size);
    MPIDU_Init_shm_adapt_enlist();
}

void MPIDU_Init_shm_adapt_enlist(void)
{
    pids = (int *) ((char *) baseaddr + local_size * sizeof(MPIDU_Init_shm_block_t));
    pids[my_local_rank] = (int) getpid();
}

void MPIDU_Init_shm_adapt_crowd(const int *slots, int n)
{
    int *list = MPL_malloc(n * sizeof(int), MPL_MEM_SHM);

    if (!list)
        return;         /* stays as it was */
    for (int i = 0; i < n; i++)
        list[i] = n == 1 ? (int) getpid() : pids[slots ? slots[i] : i];
    MPIDU_Crowded_set(list, n);
    MPL_free(list);
}

void MPIDU_Init_shm_adapt_resize(int new_local_size, int new_local_rank)
{
    local_size = new_local_size;
    my_local_rank = new_local_rank;
}

static int free_launch_memory(MPIDU_shm_seg_t * segment)
{
    int mpi_errno = MPI_SUCCESS, mpl_err;

    if (MPIDU_Init_shm_launched_alone()) {
        MPL_free(segment->base_addr);
    } else {
        mpl_err = MPL_shm_seg_detach(segment->hnd, (void **) &segment->base_addr,
                                     segment->segment_len);
        MPIR_ERR_CHKANDJUMP(mpl_err, mpi_errno, MPI_ERR_OTHER, "**detach_shar_mem");
    }
    MPL_shm_hnd_finalize(&segment->hnd);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDU_Init_shm_adapt_drop_old(void)
{
    int mpi_errno = MPI_SUCCESS;

    if (old_generation.base)
        munmap(old_generation.base, old_generation.bytes);
    old_generation.base = NULL;
    if (launch_memory_is_old)
        mpi_errno = free_launch_memory(&launch_memory);
    launch_memory_is_old = 0;
    return mpi_errno;
}

int MPIDU_Init_shm_adapt_barrier(int (*while_waiting) (void))
{
    int mpi_errno = MPI_SUCCESS;

    if (local_size > 1) {
        if (MPL_atomic_fetch_add_int(&barrier->val, 1) == local_size - 1) {
            MPL_atomic_store_int(&barrier->val, 0);
            MPL_atomic_store_int(&barrier->wait, 1 - sense);
        }
        while (MPL_atomic_load_int(&barrier->wait) == sense) {
            mpi_errno = while_waiting();
            MPIR_ERR_CHECK(mpi_errno);
            sched_yield();
        }
        sense = 1 - sense;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDU_Init_shm_adapt_alloc(size_t bytes, void **ptr)
{
    if (!generation.base)
        return 0;

    size_t start = (generation.used + GENERATION_ALIGN - 1) & ~((size_t) GENERATION_ALIGN - 1);
    MPIR_Assertp(start + bytes <= generation.bytes);
    *ptr = generation.base + start;
    generation.used = start + bytes;
    return 1;
}

static int is_inside(const struct generation *g, const void *ptr)
{
    return g->base && (const char *) ptr >= g->base && (const char *) ptr < g->base + g->bytes;
}

int MPIDU_Init_shm_adapt_free(void *ptr)
{
    /* goes with its generation */
    return is_inside(&generation, ptr) || is_inside(&old_generation, ptr);
}

int MPIDU_Init_shm_adapt_finalize(void)
{
    if (!generation.base)
        return 0;

    Init_shm_barrier();
    MPIDU_Init_shm_adapt_drop_old();
    munmap(generation.base, generation.bytes);
    generation.base = NULL;
    init_shm_initialized = 0;
    return 1;
}
