/*
 * Definitions for mpidu_init_shm_adapt.h.  Included at the end of mpidu_init_shm.c, whose static
 * variables (memory, barrier, baseaddr, sense, local_size, my_local_rank) they replace.
 */

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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
    MPIDU_Init_shm_adapt_register();
}

/* Process ids follow the blocks of a segment, which begin at `start`. */
static int *pids_of(void *start, int n)
{
    return (int *) ((char *) start + n * sizeof(MPIDU_Init_shm_block_t));
}

void MPIDU_Init_shm_adapt_register(void)
{
    pids = pids_of(baseaddr, local_size);
    pids[my_local_rank] = (int) getpid();
}

void MPIDU_Init_shm_adapt_register_in(void *segment, int new_local_size, int new_local_rank)
{
    void *start = (char *) segment + MPIDU_SHM_CACHE_LINE_LEN;

    pids_of(start, new_local_size)[new_local_rank] = (int) getpid();
}

void MPIDU_Init_shm_adapt_set_sharers(const int *slots, int n)
{
    int *list = MPL_malloc(n * sizeof(int), MPL_MEM_SHM);

    if (!list)
        return;         /* unchanged */
    for (int i = 0; i < n; i++)
        list[i] = n == 1 ? (int) getpid() : pids[slots ? slots[i] : i];
    MPIDU_Oversubscribed_set(list, n);
    MPL_free(list);
}

void MPIDU_Init_shm_adapt_expect_sharers(void *segment, int new_local_size)
{
    MPIDU_Oversubscribed_set(pids_of((char *) segment + MPIDU_SHM_CACHE_LINE_LEN, new_local_size),
                             new_local_size);
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

/* The line of the barrier.  An agreement has a count of its own: staying processes may be at a
 * barrier of the new world already when a leaving one polls again late, and must not change the
 * value that it waits for.  Results alternate between two entries, so that the next agreement does
 * not overwrite the result of a late reader; the one after that begins only when all have read,
 * because the next adaptation waits for the commit of all processes. */
struct barrier_line {
    Init_shm_barrier_t barrier;
    MPL_atomic_int_t agreements, agreeing;
    MPL_atomic_int_t greatest[2];
    MPL_atomic_int_t sleepers;
};

/* A process that waits for a long time sleeps, so that the awaited process gets the processor; it
 * wakes up on a free processor.  If each process has a processor of its own, the others will arrive
 * soon.  They arrive at an agreement at the agreed probe, within some milliseconds if the program
 * probes that often, and the last one would have to wake up the others (20 us on a virtual
 * machine). */
#define POLLS_OVERSUBSCRIBED 20
#define POLLS_ALONE 300 /* some tens of microseconds */
#define POLLS_YIELDING 20000  /* about ten milliseconds; another process may need this processor */
#define SLEEP_NS 1000000        /* between two rounds of progress, which other processes may need */

static void wait_a_moment(struct barrier_line *line, MPL_atomic_int_t * word, int seen, int polls,
                          int polls_yielding)
{
    const struct timespec limit = {.tv_nsec = SLEEP_NS };

    if (polls < (MPIDU_oversubscribed ? POLLS_OVERSUBSCRIBED : POLLS_ALONE)) {
        MPIDU_OVERSUBSCRIBED_WAIT();
        return;
    }
    if (!MPIDU_oversubscribed && polls < polls_yielding) {
        sched_yield();
        return;
    }
    MPL_atomic_fetch_add_int(&line->sleepers, 1);
    syscall(SYS_futex, word, FUTEX_WAIT, seen, &limit, NULL, 0);
    MPL_atomic_fetch_sub_int(&line->sleepers, 1);
}

static void open_for_all(struct barrier_line *line, MPL_atomic_int_t * word, int value)
{
    MPL_atomic_store_int(word, value);
    if (MPL_atomic_fetch_add_int(&line->sleepers, 0) > 0)
        syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static int wait_while(struct barrier_line *line, MPL_atomic_int_t * word, int seen,
                      int polls_yielding, int (*while_waiting)(void))
{
    int mpi_errno = MPI_SUCCESS;

    for (int polls = 0; MPL_atomic_load_int(word) == seen; polls++) {
        mpi_errno = while_waiting();
        MPIR_ERR_CHECK(mpi_errno);
        wait_a_moment(line, word, seen, polls, polls_yielding);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* The last process to enter continues at once. */
int MPIDU_Init_shm_adapt_barrier(int (*while_waiting) (void))
{
    int mpi_errno = MPI_SUCCESS;
    struct barrier_line *line = (struct barrier_line *) barrier;

    if (local_size > 1) {
        if (MPL_atomic_fetch_add_int(&barrier->val, 1) == local_size - 1) {
            MPL_atomic_store_int(&barrier->val, 0);
            open_for_all(line, &barrier->wait, 1 - sense);
        }
        mpi_errno = wait_while(line, &barrier->wait, sense, 0, while_waiting);
        MPIR_ERR_CHECK(mpi_errno);
        sense = 1 - sense;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void raise_to(MPL_atomic_int_t * common, int value)
{
    int seen = MPL_atomic_load_int(common);

    while (seen < value) {
        int before = MPL_atomic_cas_int(common, seen, value);
        if (before == seen)
            break;
        seen = before;
    }
}

int MPIDU_Init_shm_adapt_agree(int value, int *greatest, int (*while_waiting) (void))
{
    int mpi_errno = MPI_SUCCESS;
    struct barrier_line *line = (struct barrier_line *) barrier;

    *greatest = value;
    if (local_size > 1) {
        int number = MPL_atomic_load_int(&line->agreements);
        MPL_atomic_int_t *common = &line->greatest[number & 1];
        raise_to(common, value);
        if (MPL_atomic_fetch_add_int(&line->agreeing, 1) == local_size - 1) {
            MPL_atomic_store_int(&line->greatest[1 - (number & 1)], 0);
            MPL_atomic_store_int(&line->agreeing, 0);
            open_for_all(line, &line->agreements, (int) ((unsigned) number + 1));
        }
        mpi_errno = wait_while(line, &line->agreements, number, POLLS_YIELDING, while_waiting);
        MPIR_ERR_CHECK(mpi_errno);
        *greatest = MPL_atomic_load_int(common);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDU_Init_shm_adapt_size(void)
{
    return local_size;
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
    /* is freed with its generation */
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
