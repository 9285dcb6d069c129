/* See ch4_adapt_segment.h. */

#include "mpidimpl.h"
#include "ch4_adapt_segment.h"
#include "mpir_adapt.h"
#include "mpir_adapt_device.h"
#include "mpidu_init_shm_adapt.h"
#include "mpl_shm_nameless.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static int made_fd = -1;        /* in the process that made the segment */

int MPID_Adapt_make_segment(int local_size, struct pmi_adapt_host *segment)
{
    int mpi_errno = MPI_SUCCESS;
    size_t bytes = MPIDI_SHM_adapt_segment_bytes(local_size);
    struct stat status;
    uint64_t nonce;

    memset(segment, 0, sizeof(*segment));
    if (MPIR_CVAR_NOLOCAL)
        goto fn_exit;
    made_fd = memfd_create("mpich-adapt", MFD_CLOEXEC);
    MPIR_ERR_CHKANDJUMP(made_fd < 0 || ftruncate(made_fd, (off_t) bytes) != 0 ||
                        fstat(made_fd, &status) != 0, mpi_errno, MPI_ERR_OTHER,
                        "**alloc_shar_mem");
    MPIR_ERR_CHKANDJUMP(getrandom(&nonce, sizeof(nonce), 0) != sizeof(nonce) ||
                        pwrite(made_fd, &nonce, sizeof(nonce), MPIDU_INIT_SHM_ADAPT_NONCE) !=
                        sizeof(nonce), mpi_errno, MPI_ERR_OTHER, "**alloc_shar_mem");
    segment->segment_pid = (uint32_t) getpid();
    segment->segment_fd = (uint32_t) made_fd;
    segment->segment_bytes = bytes;
    segment->segment_device = status.st_dev;
    segment->segment_inode = status.st_ino;
    segment->segment_nonce = nonce;

  fn_exit:
    return mpi_errno;
  fn_fail:
    MPIDI_Adapt_close_made_segment();
    goto fn_exit;
}

void MPIDI_Adapt_close_made_segment(void)
{
    if (made_fd >= 0)
        close(made_fd);
    made_fd = -1;
}

/* The processes of this host, by slot; the joining ones fill the segment, in turn. */
struct locals {
    int *index;                 /* in the union */
    int n, my_slot;
    int n_joining, my_turn;
};

static int find_locals(const struct pmi_adapt_plan *plan, int index, struct locals *locals)
{
    int mpi_errno = MPI_SUCCESS;
    const struct pmi_adapt_member *members = MPIDI_Adapt_plan_members(plan);
    int size = (int) (plan->pre + plan->joining);

    memset(locals, 0, sizeof(*locals));
    locals->my_turn = -1;
    locals->index = MPL_malloc(size * sizeof(int), MPL_MEM_ADDRESS);
    MPIR_ERR_CHKANDJUMP(!locals->index, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (int i = 0; i < size; i++) {
        if (members[i].host != members[index].host)
            continue;
        if (i == index) {
            locals->my_slot = locals->n;
            if (i >= (int) plan->pre)
                locals->my_turn = locals->n_joining;
        }
        locals->n_joining += i >= (int) plan->pre;
        locals->index[locals->n++] = i;
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Opens the descriptor of the process that made it.  It may refer to another file by now, or in
 * another pid namespace to another process: these are not changed. */
static int open_segment(const struct pmi_adapt_host *host, int *result)
{
    int mpi_errno = MPI_SUCCESS, fd;
    char path[64];
    uint64_t nonce = 0;

    snprintf(path, sizeof(path), "/proc/%u/fd/%u", host->segment_pid, host->segment_fd);
    fd = MPL_shm_open_identified(path, host->segment_device, host->segment_inode);
    MPIR_ERR_CHKANDJUMP2(fd < 0, mpi_errno, MPI_ERR_OTHER, "**adaptsegment",
                         "**adaptsegment %s %d", path, errno);
    MPIR_ERR_CHKANDJUMP2(pread(fd, &nonce, sizeof(nonce), MPIDU_INIT_SHM_ADAPT_NONCE) !=
                         sizeof(nonce) || nonce != host->segment_nonce, mpi_errno, MPI_ERR_OTHER,
                         "**adaptsegment", "**adaptsegment %s %d", path, ESTALE);
    *result = fd;

  fn_exit:
    return mpi_errno;
  fn_fail:
    if (fd >= 0)
        close(fd);
    goto fn_exit;
}

/* Its maker got the number of sharing processes from its own proxy, but the plan decides.  Any
 * process may enlarge it, any number of times. */
static int map_segment(const struct pmi_adapt_host *host, size_t bytes, void **base)
{
    int mpi_errno = MPI_SUCCESS, fd = -1;

    mpi_errno = open_segment(host, &fd);
    MPIR_ERR_CHECK(mpi_errno);
    MPIR_ERR_CHKANDJUMP1(bytes > host->segment_bytes && ftruncate(fd, (off_t) bytes) != 0,
                         mpi_errno, MPI_ERR_OTHER, "**adaptmap", "**adaptmap %d", errno);
    *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    MPIR_ERR_CHKANDJUMP1(*base == MAP_FAILED, mpi_errno, MPI_ERR_OTHER, "**adaptmap",
                         "**adaptmap %d", errno);

  fn_exit:
    if (fd >= 0)
        close(fd);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_Adapt_map_segment(const struct pmi_adapt_plan *plan, int index,
                            MPIDI_Adapt_segment_t * segment)
{
    int mpi_errno = MPI_SUCCESS;
    const struct pmi_adapt_host *host = MPIDI_Adapt_plan_hosts(plan) +
        MPIDI_Adapt_plan_members(plan)[index].host;
    struct locals locals = { NULL };
    void *base;

    if (host->segment_pid == 0)
        goto fn_exit;
    mpi_errno = find_locals(plan, index, &locals);
    MPIR_ERR_CHECK(mpi_errno);
    size_t bytes = MPL_MAX(MPIDI_SHM_adapt_segment_bytes(locals.n), host->segment_bytes);
    mpi_errno = map_segment(host, bytes, &base);
    MPIR_ERR_CHECK(mpi_errno);

    segment->base = base;
    segment->bytes = bytes;
    segment->local_index = locals.index;
    segment->n_local = locals.n;
    segment->my_slot = locals.my_slot;
    locals.index = NULL;
    MPIDU_Init_shm_adapt_register_in(base, locals.n, locals.my_slot);
    for (int slot = locals.my_turn; slot >= 0 && slot < locals.n; slot += locals.n_joining)
        MPIDI_SHM_adapt_fill(segment, slot);
    MPIDI_SHM_adapt_touch(segment);

  fn_exit:
    MPL_free(locals.index);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_Adapt_unmap_segment(MPIDI_Adapt_segment_t * segment)
{
    if (segment->base)
        munmap(segment->base, segment->bytes);
    MPL_free(segment->local_index);
    memset(segment, 0, sizeof(*segment));
}
