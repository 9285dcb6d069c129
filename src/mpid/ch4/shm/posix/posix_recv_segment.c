/* See posix_recv_segment.h. */

#include "mpidimpl.h"
#include "posix_recv_segment.h"
#include "posix_channels.h"
#include "posix_noinline.h"
#include "../../src/ch4_network_pause.h"
#include "mpl_shm_nameless.h"
#include <signal.h>
#include <sys/random.h>

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_CH4_SHM_LANES
      category    : CH4
      type        : int
      default     : 256
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_LOCAL
      description : |-
        Number of processes of the same host that were started separately (by MPI_Comm_spawn, or
        joining through process sets) with which this process communicates through shared memory,
        at most 256. With further processes, and if this is 0 with all, it uses the network.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define MAILBOX_MAGIC 0x6c616e6573303276ull    /* of this layout */
#define MAILBOX_BYTES_MAX (1ull << 36)
/* records of max size in a ring: more than a processor's own cache holds */
#define RING_RECORDS 32
#define REACH_RECORDS 4         /* number of them that each of many channels uses */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

struct recv_segment_head {
    uint64_t magic, nonce;
    /* number, position and size of the rings */
    uint64_t slots, first, stride, capacity;
    uint64_t claims[MPIDI_POSIX_CHANNELS_MAX];  /* the sender's nonce; 0: none */
    uint32_t claimers[MPIDI_POSIX_CHANNELS_MAX];        /* senders' pids; 0: not written yet */
    uint32_t decisions[MPIDI_POSIX_CHANNELS_MAX];       /* by the owner: enum decision */
};

/* For a process that claimed a channel long before the other side, and cannot detect when that one
 * did. */
enum decision { NOT_DECIDED, HAS_LANE, HAS_NONE };

struct channel MPIDI_POSIX_channel[MPIDI_POSIX_CHANNELS_MAX];
int MPIDI_POSIX_channels_top;

static struct {
    struct recv_segment_head *head;     /* the whole segment is mapped */
    struct channel_bc bc;
    pid_t owner;                /* a forked process has no segment */
} own;

/* ---- our receive segment --------------------------------------------------------------------- */

static size_t whole_pages(size_t bytes)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

static struct channel_ring *ring_of(const struct recv_segment_head *head, size_t slot)
{
    return (struct channel_ring *) ((char *) head + head->first + slot * head->stride);
}

static void give_back(struct recv_segment_head *head, size_t slot)
{
    uint64_t ours = own.head->nonce;

    __atomic_store_n(&head->claimers[slot], 0, __ATOMIC_RELEASE);
    __atomic_compare_exchange_n(&head->claims[slot], &ours, 0, false, __ATOMIC_ACQ_REL,
                                __ATOMIC_RELAXED);
}

/* So that no process waits for space here, or holds memory for us. */
static void close_recv_segment(void)
{
    if (own.owner != getpid())
        return;
    for (size_t slot = 0; slot < own.head->slots; slot++) {
        if (own.head->claims[slot])
            __atomic_store_n(&ring_of(own.head, slot)->closed, 1, __ATOMIC_RELEASE);
    }
    for (int i = 0; i < MPIDI_POSIX_channels_top; i++) {
        if (MPIDI_POSIX_channel[i].state == CHANNEL_CLAIMED)
            give_back(MPIDI_POSIX_channel[i].head, MPIDI_POSIX_channel[i].slot);
    }
}

static void lay_out(struct recv_segment_head *head)
{
    head->magic = MAILBOX_MAGIC;
    head->slots = (uint64_t) MPL_MIN(MPIR_CVAR_CH4_SHM_LANES, MPIDI_POSIX_CHANNELS_MAX);
    head->first = whole_pages(sizeof(*head));
    head->capacity = RING_RECORDS * CHANNEL_RECORD_BYTES(MPIDI_POSIX_eager_payload_limit());
    head->stride = whole_pages(sizeof(struct channel_ring) + head->capacity);
}

static uint64_t bytes_of(const struct recv_segment_head *head)
{
    return head->first + head->slots * head->stride;
}

static bool read_boot(char *boot, size_t bytes)
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    bool is_read = file && fgets(boot, (int) bytes, file);

    if (file)
        fclose(file);
    boot[is_read ? strcspn(boot, "\n") : 0] = '\0';
    return is_read && strspn(boot, "0123456789abcdef-") == strlen(boot) && *boot;
}

/* Does not change own.head after an error. */
static void make_recv_segment(void)
{
    struct recv_segment_head plan = { 0 }, *head = MAP_FAILED;
    struct stat status;

    lay_out(&plan);
    int fd = memfd_create("mpich-channels", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || getrandom(&plan.nonce, sizeof(plan.nonce), 0) != sizeof(plan.nonce) ||
        plan.nonce == 0 || bytes_of(&plan) > MAILBOX_BYTES_MAX ||
        ftruncate(fd, (off_t) bytes_of(&plan)) || fcntl(fd, F_ADD_SEALS, SEALS) ||
        fstat(fd, &status) || !read_boot(own.bc.boot, sizeof(own.bc.boot)))
        goto fn_fail;
    head = mmap(NULL, bytes_of(&plan), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (head == MAP_FAILED || atexit(close_recv_segment))
        goto fn_fail;
    *head = plan;
    own.head = head;
    own.owner = getpid();
    own.bc.pid = (unsigned) own.owner;
    own.bc.fd = (unsigned) fd;
    own.bc.device = status.st_dev;
    own.bc.inode = status.st_ino;
    own.bc.nonce = plan.nonce;
    return;

  fn_fail:
    if (head != MAP_FAILED)
        munmap(head, bytes_of(&plan));
    if (fd >= 0)
        close(fd);
}

void MPIDI_POSIX_channels_bc(char *bc, int bytes)
{
    static bool tried;

    /* not if processes of one host simulate several hosts */
    if (!tried && MPIR_CVAR_CH4_SHM_LANES > 0 && !MPIR_CVAR_NOLOCAL && !MPIR_CVAR_ODD_EVEN_CLIQUES
        && MPIR_CVAR_NUM_CLIQUES <= 1 && MPIDI_POSIX_global.num_vsis == 1)
        make_recv_segment();
    tried = true;
    *bc = '\0';
    if (own.head && own.owner == getpid())
        snprintf(bc, (size_t) bytes, "%s:%x:%x:%llx:%llx:%llx", own.bc.boot, own.bc.pid, own.bc.fd,
                 own.bc.device, own.bc.inode, own.bc.nonce);
}

/* ---- receive segments of others -------------------------------------------------------------- */

static bool read_bc(const char *text, struct channel_bc *bc)
{
    int end = 0;

    return sscanf(text, "%39[0-9a-f-]:%x:%x:%llx:%llx:%llx%n", bc->boot, &bc->pid, &bc->fd,
                  &bc->device, &bc->inode, &bc->nonce, &end) == 6 && text[end] == '\0' && bc->nonce;
}

static int open_recv_segment(const struct channel_bc *bc)
{
    char path[64];
    struct stat status;

    snprintf(path, sizeof(path), "/proc/%u/fd/%u", bc->pid, bc->fd);
    int fd = MPL_shm_open_identified(path, bc->device, bc->inode);
    if (fd >= 0 && (fstat(fd, &status) || status.st_uid != geteuid() ||
                    (fcntl(fd, F_GET_SEALS) & SEALS) != SEALS ||
                    (uint64_t) status.st_size < whole_pages(sizeof(struct recv_segment_head)))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* The size is sealed, so that it cannot change any more. */
static bool is_sound(const struct recv_segment_head *head, const struct channel_bc *bc,
                     uint64_t bytes)
{
    return head->magic == MAILBOX_MAGIC && head->nonce == bc->nonce &&
        head->slots <= MPIDI_POSIX_CHANNELS_MAX && head->first <= bytes && head->stride <= bytes &&
        bytes <= MAILBOX_BYTES_MAX && bytes_of(head) <= bytes && head->first % whole_pages(1) == 0
        && head->stride % whole_pages(1) == 0 && head->capacity % CHANNEL_LINE == 0 &&
        head->capacity <= head->stride &&
        head->capacity + sizeof(struct channel_ring) <= head->stride &&
        CHANNEL_RECORD_BYTES(MPIDI_POSIX_eager_payload_limit()) <= head->capacity;
}

static size_t head_bytes(void)
{
    return whole_pages(sizeof(struct recv_segment_head));
}

/* Marks a slot that is being claimed: no process has this nonce. */
#define CLAIMING UINT64_MAX

/* The owner searches for the nonce, and decides as soon as it finds it: its decision must not be
 * overwritten. */
static bool claim_slot(struct recv_segment_head *head, uint64_t slots, size_t * slot)
{
    for (*slot = 0; *slot < slots; ++*slot) {
        uint64_t nobody = 0;
        if (__atomic_compare_exchange_n(&head->claims[*slot], &nobody, CLAIMING, false,
                                        __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            __atomic_store_n(&head->claimers[*slot], (uint32_t) getpid(), __ATOMIC_RELEASE);
            __atomic_store_n(&head->decisions[*slot], NOT_DECIDED, __ATOMIC_RELEASE);
            __atomic_store_n(&head->claims[*slot], own.head->nonce, __ATOMIC_RELEASE);
            return true;
        }
    }
    return false;
}

/* Sets the fields for the peer's receive segment. */
static bool claim_in(struct channel *channel, int fd)
{
    struct recv_segment_head *head =
        mmap(NULL, head_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    struct stat status;

    if (head == MAP_FAILED)
        return false;
    struct recv_segment_head seen = *head;      /* a copy, so that checked values do not change */
    if (fstat(fd, &status) || !is_sound(&seen, &channel->peer, (uint64_t) status.st_size) ||
        !claim_slot(head, seen.slots, &channel->slot)) {
        munmap(head, head_bytes());
        return false;
    }
    void *memory = mmap(NULL, seen.stride, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                        (off_t) (seen.first + channel->slot * seen.stride));
    if (memory == MAP_FAILED) {
        give_back(head, channel->slot);
        munmap(head, head_bytes());
        return false;
    }
    channel->head = head;
    channel->memory = memory;
    channel->memory_bytes = seen.stride;
    channel->out.ring = memory;
    channel->out.capacity = seen.capacity;
    return true;
}

static int find_channel(unsigned long long nonce)
{
    for (int i = 0; i < MPIDI_POSIX_channels_top; i++) {
        if (MPIDI_POSIX_channel[i].state != CHANNEL_FREE &&
            MPIDI_POSIX_channel[i].peer.nonce == nonce)
            return i;
    }
    return -1;
}

static int free_channel(void)
{
    int i = 0;

    while (i < MPIDI_POSIX_channels_top && MPIDI_POSIX_channel[i].state != CHANNEL_FREE)
        i++;
    return i < MPL_MIN(MPIR_CVAR_CH4_SHM_LANES, MPIDI_POSIX_CHANNELS_MAX) ? i : -1;
}

/* Claims a channel in the receive segment of this business card; returns its number, or -1.  An
 * existing channel is returned unchanged. */
static int claim(const char *text)
{
    struct channel_bc bc;
    struct channel *channel;

    if (!own.head || !read_bc(text, &bc) || strcmp(bc.boot, own.bc.boot))
        return -1;
    int number = find_channel(bc.nonce);
    if (number >= 0)
        return number;
    number = free_channel();
    int fd = number >= 0 ? open_recv_segment(&bc) : -1;
    if (fd < 0)
        return -1;
    channel = &MPIDI_POSIX_channel[number];
    memset(channel, 0, sizeof(*channel));
    channel->peer = bc;
    bool claimed = claim_in(channel, fd);
    close(fd);
    if (!claimed)
        return -1;
    channel->state = CHANNEL_CLAIMED;
    MPIDI_POSIX_channels_top = MPL_MAX(MPIDI_POSIX_channels_top, number + 1);
    return number;
}

/* Limits the memory of long messages, which move through a ring: all channels together use as much
 * as one ring, if that is enough for each.  The channel to this process itself does not count. */
static void share_reach(void)
{
    int n = 0;

    for (int i = 0; i < MPIDI_POSIX_channels_top; i++)
        n += MPIDI_POSIX_channel[i].state == CHANNEL_OPEN &&
            MPIDI_POSIX_channel[i].peer.nonce != own.bc.nonce;
    int records = MPL_MAX(RING_RECORDS / MPL_MAX(n, 1), REACH_RECORDS);
    for (int i = 0; i < MPIDI_POSIX_channels_top; i++) {
        struct channel_end *out = &MPIDI_POSIX_channel[i].out;
        out->reach = out->capacity / RING_RECORDS * (uint64_t) (records - 1);
    }
}

static bool is_at(const struct channel *channel, int avtid, int lpid)
{
    return channel->avtid == avtid && channel->lpid == lpid;
}

/* The slot in which this process sends to us, or own.head->slots. */
static size_t slot_of(unsigned long long nonce)
{
    size_t slot = 0;

    while (slot < own.head->slots &&
           __atomic_load_n(&own.head->claims[slot], __ATOMIC_ACQUIRE) != nonce)
        slot++;
    return slot;
}

/* Notifies a process that has claimed a channel not to wait for ours. */
static void refuse(const char *text)
{
    struct channel_bc bc;

    if (!own.head || !read_bc(text, &bc))
        return;
    size_t slot = slot_of(bc.nonce);
    if (slot < own.head->slots)
        __atomic_store_n(&own.head->decisions[slot], HAS_NONE, __ATOMIC_RELEASE);
}

void MPIDI_POSIX_channels_offer(int avtid, int lpid, const char *bc)
{
    /* a previous process with this lpid, which has disconnected */
    for (int i = 0; i < MPIDI_POSIX_channels_top; i++) {
        if (is_at(&MPIDI_POSIX_channel[i], avtid, lpid))
            MPIDI_POSIX_channel[i].avtid = -1;
    }
    int number = claim(bc);
    if (number >= 0) {
        MPIDI_POSIX_channel[number].avtid = avtid;
        MPIDI_POSIX_channel[number].lpid = lpid;
    } else {
        refuse(bc);
    }
}

/* ---- both sides ------------------------------------------------------------------------------ */

/* Called when the peer has tried, too: opens the channel, or releases it (false). */
static bool decide_channel(struct channel *channel)
{
    if (channel->state != CHANNEL_CLAIMED)
        return channel->state == CHANNEL_OPEN;
    size_t slot = slot_of(channel->peer.nonce);
    bool open = slot < own.head->slots;
    if (open) {
        __atomic_store_n(&own.head->decisions[slot], HAS_LANE, __ATOMIC_RELEASE);
        channel->own_slot = slot;
        channel->in.ring = ring_of(own.head, slot);
        channel->in.capacity = own.head->capacity;
        channel->state = CHANNEL_OPEN;
        MPIDI_POSIX_channels.open++;
        share_reach();
        MPIDI_global.has_channels = 1;
    } else {
        give_back(channel->head, channel->slot);
        munmap(channel->memory, channel->memory_bytes);
        channel->state = CHANNEL_FREE;
    }
    munmap(channel->head, head_bytes());
    channel->head = NULL;
    return open;
}

bool MPIDI_POSIX_channels_undecided(int avtid, int lpid)
{
    for (int i = 0; i < MPIDI_POSIX_channels_top; i++) {
        struct channel *channel = &MPIDI_POSIX_channel[i];
        if (channel->state == CHANNEL_CLAIMED && is_at(channel, avtid, lpid))
            return __atomic_load_n(&channel->head->decisions[channel->slot],
                                   __ATOMIC_ACQUIRE) == NOT_DECIDED;
    }
    return false;
}

int MPIDI_POSIX_channels_decide(int avtid, int lpid)
{
    int decided = -1;

    for (int i = 0; i < MPIDI_POSIX_channels_top; i++) {
        struct channel *channel = &MPIDI_POSIX_channel[i];
        if (channel->state != CHANNEL_FREE && is_at(channel, avtid, lpid) &&
            decide_channel(channel))
            decided = i;
    }
    return decided;
}

/* ---- ends ------------------------------------------------------------------------------------ */

bool MPIDI_POSIX_channel_lives(struct channel *channel)
{
    char path[64];
    struct stat status;

    if (channel->state != CHANNEL_OPEN)
        return false;
    snprintf(path, sizeof(path), "/proc/%u/fd/%u", channel->peer.pid, channel->peer.fd);
    if (!__atomic_load_n(&channel->out.ring->closed, __ATOMIC_ACQUIRE) && stat(path, &status) == 0
        && status.st_dev == channel->peer.device && status.st_ino == channel->peer.inode)
        return true;
    channel->state = CHANNEL_EXITED;
    return false;
}

static bool is_sent_to(int number)
{
    MPIDI_POSIX_am_request_header_t *postponed;

    DL_FOREACH(MPIDI_POSIX_global.per_vsi[0].postponed_queue, postponed) {
        if (postponed->dst_grank == -(MPIDI_LOCALITY__CHANNEL + number))
            return true;
    }
    return false;
}

static void free_slot(size_t slot)
{
    __atomic_store_n(&own.head->claimers[slot], 0, __ATOMIC_RELEASE);
    __atomic_store_n(&own.head->claims[slot], 0, __ATOMIC_RELEASE);
}

/* Resets the peer's slot in our receive segment for another process. */
static void free_exited(struct channel *channel)
{
    munmap(channel->memory, channel->memory_bytes);
    if (fallocate((int) own.bc.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t) (own.head->first + channel->own_slot * own.head->stride),
                  (off_t) own.head->stride))
        memset(channel->in.ring, 0, sizeof(struct channel_ring));
    free_slot(channel->own_slot);
    channel->state = CHANNEL_FREE;
    MPIDI_POSIX_channels.open--;
    share_reach();
}

/* Frees the slots of processes that claimed a channel here and were killed before it was open. */
static void free_orphaned(void)
{
    for (size_t slot = 0; own.head && slot < own.head->slots; slot++) {
        uint64_t nonce = __atomic_load_n(&own.head->claims[slot], __ATOMIC_ACQUIRE);
        pid_t claimer = (pid_t) __atomic_load_n(&own.head->claimers[slot], __ATOMIC_ACQUIRE);
        if (nonce && claimer > 0 && find_channel(nonce) < 0 && kill(claimer, 0) && errno == ESRCH)
            free_slot(slot);
    }
}

int MPIDI_POSIX_channels_remove_exited(int number, int *avtid, int *lpid)
{
    for (int i = number + 1; i < MPIDI_POSIX_channels_top; i++) {
        struct channel *channel = &MPIDI_POSIX_channel[i];
        if (channel->state != CHANNEL_OPEN && channel->state != CHANNEL_EXITED)
            continue;
        if (MPIDI_POSIX_channel_lives(channel) || channel->busy || !channel_is_empty(&channel->in)
            || is_sent_to(i))
            continue;
        *avtid = channel->avtid;
        *lpid = channel->lpid;
        MPIDI_POSIX_channel_fail_waits(channel);
        free_exited(channel);
        return i;
    }
    free_orphaned();
    return -1;
}
