/*
 * What begin needs and can have ready: the table of addresses of the union, the host's new
 * shared-memory segment, mapped and filled, and the communicators of the window.  Made when the plan is
 * known (by joining processes before they say that they are prepared, but for the communicators; by the
 * others in a probe that answers FALSE), taken over by prepare and begin.  Nothing that communication uses
 * is changed here: the table that is in use is another one, libfabric's vectors only get entries that
 * nobody refers to.
 *
 * Owner of the addresses of those who left with the last commit: they are removed here, because
 * libfabric may still have been sending the last messages to them.
 * SPEC P7, W5, C9; doc/design/world.md.
 */

#include "mpidimpl.h"
#include "ch4_adapt_ahead.h"
#include "ch4_adapt_unexpected.h"
#include "mpir_adapt.h"
#include "mpir_adapt_device.h"
#include "pmi_adapt.h"
#include "mpidu_init_shm_adapt.h"
#include "mpl_shm_nameless.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static struct {
    const struct pmi_adapt_plan *plan;  /* what all of this is for; NULL: there is nothing */
    MPIDI_av_table_t *table;    /* of the union */
    int first, n_known;         /* its entries that are those of the present table */
    MPIDI_Adapt_segment_t segment;
} ahead;

static bool greeted;            /* the joining process has been sent its greeting */

static int made_fd = -1;        /* of the process that made the segment */

static struct {
    MPIDI_av_entry_t *entries;
    uint64_t *am_sources;
    int n, max;
} gone;

/* ---- those who left ---------------------------------------------------------------------------- */

int MPIDI_Adapt_gone_reserve(int n)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_Assert(gone.n == 0);
    gone.entries = MPL_malloc(n * sizeof(MPIDI_av_entry_t), MPL_MEM_ADDRESS);
    gone.am_sources = MPL_malloc(n * sizeof(uint64_t), MPL_MEM_ADDRESS);
    gone.max = n;
    MPIR_ERR_CHKANDJUMP(n > 0 && (!gone.entries || !gone.am_sources), mpi_errno, MPI_ERR_OTHER,
                        "**nomem");
  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

void MPIDI_Adapt_gone_add(const MPIDI_av_entry_t * entry, unsigned uid)
{
    MPIR_Assert(gone.n < gone.max);
    gone.entries[gone.n] = *entry;
    gone.am_sources[gone.n++] = MPIDI_OFI_adapt_am_source(uid);
}

static int remove_gone(void)
{
    int mpi_errno = MPI_SUCCESS;

    for (int i = 0; i < gone.n; i++) {
        mpi_errno = MPIDI_OFI_adapt_remove(&gone.entries[i], gone.am_sources[i]);
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPL_free(gone.entries);
    MPL_free(gone.am_sources);
    memset(&gone, 0, sizeof(gone));
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- addresses --------------------------------------------------------------------------------- */

static bool is_known(int i)
{
    return i >= ahead.first && i < ahead.first + ahead.n_known;
}

/* Takes the inserted entries before `end` out again. */
static int drop_table(const struct pmi_adapt_plan *plan, int end)
{
    int mpi_errno = MPI_SUCCESS;
    const struct pmi_adapt_member *members = MPIDI_Adapt_plan_members(plan);

    for (int i = 0; ahead.table && i < end; i++) {
        if (!is_known(i)) {
            int err = MPIDI_OFI_adapt_remove(&ahead.table->table[i],
                                             MPIDI_OFI_adapt_am_source(members[i].uid));
            if (mpi_errno == MPI_SUCCESS)
                mpi_errno = err;
        }
    }
    MPL_free(ahead.table);
    ahead.table = NULL;
    return mpi_errno;
}

/* The union's table: the present world at its place, the other side's addresses inserted. */
static int make_table(const struct pmi_adapt_plan *plan, int index)
{
    int mpi_errno = MPI_SUCCESS, i = 0;
    const struct pmi_adapt_member *members = MPIDI_Adapt_plan_members(plan);
    MPIDI_av_table_t *old = MPIDI_global.avt_mgr.av_table0;
    int size = (int) (plan->pre + plan->joining);

    ahead.first = index - MPIR_Process.rank;
    ahead.n_known = old->size;
    ahead.table = MPIDI_Adapt_new_table(size);
    MPIR_ERR_CHKANDJUMP(!ahead.table, mpi_errno, MPI_ERR_OTHER, "**nomem");
    for (i = 0; i < size; i++) {
        MPIDI_av_entry_t *entry = &ahead.table->table[i];
        if (is_known(i)) {
            *entry = old->table[i - ahead.first];
            continue;
        }
        mpi_errno = MPIDI_OFI_adapt_insert((const char *) plan + members[i].card_offset,
                                           (int) members[i].card_bytes, entry);
        MPIR_ERR_CHECK(mpi_errno);
#ifdef MPIDI_BUILD_CH4_LOCALITY_INFO
        entry->is_local = (members[i].host == members[index].host);
#endif
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    (void) drop_table(plan, i);
    goto fn_exit;
}

/* ---- shared memory ------------------------------------------------------------------------------ */

int MPID_Adapt_make_segment(int local_size, struct pmi_adapt_host *segment)
{
    int mpi_errno = MPI_SUCCESS;
    size_t bytes = MPIDI_POSIX_adapt_segment_bytes(local_size);
    struct stat status;
    uint64_t nonce;

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

/* The processes of this one's host, by slot; those that join fill the segment, by turns. */
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

/* The descriptor of the process that made it.  That may be another file by now, or in another pid namespace
 * another process: neither is touched. */
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

/* Who made it knew how many would share it from its own daemon, but the plan decides.  Growing it is
 * harmless, whoever does it and how often. */
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

/* On a host that processes join. */
static int make_ready_segment(const struct pmi_adapt_plan *plan, int index)
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
    size_t bytes = MPL_MAX(MPIDI_POSIX_adapt_segment_bytes(locals.n), host->segment_bytes);
    mpi_errno = map_segment(host, bytes, &base);
    MPIR_ERR_CHECK(mpi_errno);

    ahead.segment.base = base;
    ahead.segment.bytes = bytes;
    ahead.segment.local_index = locals.index;
    ahead.segment.n_local = locals.n;
    ahead.segment.my_slot = locals.my_slot;
    locals.index = NULL;
    MPIDU_Init_shm_adapt_register_in(base, locals.n, locals.my_slot);
    for (int slot = locals.my_turn; slot >= 0 && slot < locals.n; slot += locals.n_joining)
        MPIDI_POSIX_adapt_fill(&ahead.segment, slot);
    MPIDI_POSIX_adapt_touch(&ahead.segment);

  fn_exit:
    MPL_free(locals.index);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

static void drop_segment(void)
{
    if (ahead.segment.base)
        munmap(ahead.segment.base, ahead.segment.bytes);
    MPL_free(ahead.segment.local_index);
    memset(&ahead.segment, 0, sizeof(ahead.segment));
}

/* ---- objects ------------------------------------------------------------------------------------ */

/* Begin and commit make so many communicators at most, those for nodes and node roots included. */
#define COMMS 16

static void grow_pool(MPIDU_genq_private_pool_t pool)
{
    void *cell = NULL;

    if (MPIDU_genq_private_pool_alloc_cell(pool, &cell) == MPI_SUCCESS && cell)
        MPIDU_genq_private_pool_free_cell(pool, cell);
}

/* MPICH's pools grow by hundreds of objects at once, which touches a lot of fresh memory: better here
 * than when others wait.  What is taken is given back. */
static void grow_pools(void)
{
    MPIR_Comm *comms[COMMS];

    for (int i = 0; i < COMMS; i++)
        comms[i] = MPIR_Handle_obj_alloc(&MPIR_Comm_mem);
    for (int i = 0; i < COMMS; i++) {
        if (comms[i]) {
            MPIR_Object_set_ref(comms[i], 0);
            MPIR_Handle_obj_free(&MPIR_Comm_mem, comms[i]);
        }
    }
    for (int vci = 0; vci < MPIDI_global.n_vcis; vci++) {
        grow_pool(MPIDI_global.per_vci[vci].unexp_pack_buf_pool);
        grow_pool(MPIDI_global.per_vci[vci].request_pool);
    }
}

/* ---- all of it ---------------------------------------------------------------------------------- */

/* Other threads may be communicating. */
static void lock_all(void)
{
    for (int vci = 0; vci < MPIDI_global.n_vcis; vci++)
        MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
}

static void unlock_all(void)
{
    for (int vci = MPIDI_global.n_vcis - 1; vci >= 0; vci--)
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
}

static int make_all(const struct pmi_adapt_plan *plan, int index)
{
    int mpi_errno = MPI_SUCCESS;

    mpi_errno = remove_gone();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = make_table(plan, index);
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = make_ready_segment(plan, index);
    MPIR_ERR_CHECK(mpi_errno);
    grow_pools();
    ahead.plan = plan;
    greeted = false;

  fn_exit:
    return mpi_errno;
  fn_fail:
    drop_segment();
    (void) drop_table(plan, (int) (plan->pre + plan->joining));
    goto fn_exit;
}

int MPID_Adapt_ahead(const struct pmi_adapt_plan *plan, int index)
{
    int mpi_errno = MPI_SUCCESS;

    if (ahead.plan == plan)
        goto fn_exit;
    MPIR_Assert(!ahead.plan);
    mpi_errno = MPIDI_Adapt_discard_late(plan->epoch - 1);
    MPIR_ERR_CHECK(mpi_errno);
    lock_all();
    mpi_errno = make_all(plan, index);
    unlock_all();

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPID_Adapt_comms_ahead(const struct pmi_adapt_plan *plan, int index)
{
    MPIR_Assert(ahead.plan == plan);
    lock_all();
    int mpi_errno = MPIDI_Adapt_make_comms_ahead(plan, index, ahead.table);
    unlock_all();
    return mpi_errno;
}

int MPID_Adapt_forget_ahead(const struct pmi_adapt_plan *plan)
{
    int mpi_errno = MPI_SUCCESS;

    if (!ahead.plan)
        return MPI_SUCCESS;
    MPIR_Assert(ahead.plan == plan);
    lock_all();
    mpi_errno = MPIDI_Adapt_drop_comms_ahead();
    MPIR_ERR_CHECK(mpi_errno);
    drop_segment();
    mpi_errno = drop_table(plan, (int) (plan->pre + plan->joining));
    MPIR_ERR_CHECK(mpi_errno);
    ahead.plan = NULL;

  fn_exit:
    unlock_all();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ---- greeting ----------------------------------------------------------------------------------- */

int MPIDI_Adapt_greeted_by(const struct pmi_adapt_plan *plan, int index)
{
    return (int) (plan->pre + index % plan->joining);
}

bool MPIDI_Adapt_is_on_one_host(const struct pmi_adapt_plan *plan)
{
    const struct pmi_adapt_member *members = MPIDI_Adapt_plan_members(plan);

    for (unsigned i = 1; i < plan->pre + plan->joining; i++) {
        if (members[i].host != members[0].host)
            return false;
    }
    return true;
}

int MPID_Adapt_greet(const struct pmi_adapt_plan *plan, int index)
{
    const struct pmi_adapt_member *members = MPIDI_Adapt_plan_members(plan);

    if (ahead.plan != plan || greeted || plan->joining == 0)
        return 1;
    int to = MPIDI_Adapt_greeted_by(plan, index);
    if (members[to].host == members[index].host)
        return 1;               /* through shared memory, in begin */
    lock_all();
    MPIDI_OFI_Adapt_greeting_t result = MPIDI_OFI_adapt_greet(&ahead.table->table[to], plan->epoch,
                                                              index);
    unlock_all();
    greeted = result == MPIDI_OFI_ADAPT_GREETING__SENT;
    return result != MPIDI_OFI_ADAPT_GREETING__LATER;
}

bool MPIDI_Adapt_take_greeting(void)
{
    bool result = greeted;

    greeted = false;
    return result;
}

/* ---- to prepare and begin ------------------------------------------------------------------------ */

MPIDI_av_table_t *MPIDI_Adapt_take_table(void)
{
    MPIDI_av_table_t *table = ahead.table;

    ahead.table = NULL;
    ahead.plan = NULL;
    return table;
}

MPIDI_Adapt_segment_t MPIDI_Adapt_take_segment(void)
{
    MPIDI_Adapt_segment_t segment = ahead.segment;

    memset(&ahead.segment, 0, sizeof(ahead.segment));
    return segment;
}
