/* See posix_mailbox.h. */

#include "mpidimpl.h"
#include "posix_mailbox.h"
#include "posix_lanes.h"
#include "posix_noinline.h"
#include "../../src/ch4_rests.h"
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
        With how many processes of the same host that were started apart (by MPI_Comm_spawn, or joining
        through process sets) this process talks through shared memory: 256 at most.  It talks to further
        ones over the network, and to all of them with 0.

=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define MAILBOX_MAGIC 0x6c616e6573303276ull    /* of this layout */
#define MAILBOX_BYTES_MAX (1ull << 36)
#define RING_RECORDS 32         /* of the greatest size, in a ring: more than a processor's own cache holds */
#define REACH_RECORDS 4         /* of these, as far as each lane goes where there are many */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

struct mailbox_head {
    uint64_t magic, nonce;
    uint64_t slots, first, stride, capacity;   /* where the rings are, and how many bytes they hold */
    uint64_t claims[MPIDI_POSIX_LANES_MAX];     /* the nonce of who sends there; 0: nobody */
    uint32_t claimers[MPIDI_POSIX_LANES_MAX];   /* their processes; 0: not said yet */
    uint32_t decisions[MPIDI_POSIX_LANES_MAX];  /* by the owner: enum decision */
};

/* For who has claimed a lane long before the other side did, and cannot know when that has. */
enum decision { NOT_DECIDED, HAS_LANE, HAS_NONE };

struct lane MPIDI_POSIX_lane[MPIDI_POSIX_LANES_MAX];
int MPIDI_POSIX_lanes_top;

static struct {
    struct mailbox_head *head;  /* all of it is mapped */
    struct lane_card card;
    pid_t owner;                /* a forked process has none */
} own;

/* ---- our own ---------------------------------------------------------------------------------------------------- */

static size_t whole_pages(size_t bytes)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    return (bytes + page - 1) / page * page;
}

static struct lane_ring *ring_of(const struct mailbox_head *head, size_t slot)
{
    return (struct lane_ring *) ((char *) head + head->first + slot * head->stride);
}

static void give_back(struct mailbox_head *head, size_t slot)
{
    uint64_t ours = own.head->nonce;

    __atomic_store_n(&head->claimers[slot], 0, __ATOMIC_RELEASE);
    __atomic_compare_exchange_n(&head->claims[slot], &ours, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* So that nobody waits for room here, and nothing is kept for us elsewhere. */
static void close_mailbox(void)
{
    if (own.owner != getpid())
        return;
    for (size_t slot = 0; slot < own.head->slots; slot++) {
        if (own.head->claims[slot])
            __atomic_store_n(&ring_of(own.head, slot)->closed, 1, __ATOMIC_RELEASE);
    }
    for (int i = 0; i < MPIDI_POSIX_lanes_top; i++) {
        if (MPIDI_POSIX_lane[i].state == LANE_CLAIMED)
            give_back(MPIDI_POSIX_lane[i].head, MPIDI_POSIX_lane[i].slot);
    }
}

static void lay_out(struct mailbox_head *head)
{
    head->magic = MAILBOX_MAGIC;
    head->slots = (uint64_t) MPL_MIN(MPIR_CVAR_CH4_SHM_LANES, MPIDI_POSIX_LANES_MAX);
    head->first = whole_pages(sizeof(*head));
    head->capacity = RING_RECORDS * LANE_RECORD_BYTES(MPIDI_POSIX_eager_payload_limit());
    head->stride = whole_pages(sizeof(struct lane_ring) + head->capacity);
}

static uint64_t bytes_of(const struct mailbox_head *head)
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

/* Leaves own.head alone if something fails. */
static void make_mailbox(void)
{
    struct mailbox_head plan = { 0 }, *head = MAP_FAILED;
    struct stat status;

    lay_out(&plan);
    int fd = memfd_create("mpich-lanes", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || getrandom(&plan.nonce, sizeof(plan.nonce), 0) != sizeof(plan.nonce) || plan.nonce == 0 ||
        bytes_of(&plan) > MAILBOX_BYTES_MAX || ftruncate(fd, (off_t) bytes_of(&plan)) ||
        fcntl(fd, F_ADD_SEALS, SEALS) || fstat(fd, &status) || !read_boot(own.card.boot, sizeof(own.card.boot)))
        goto fn_fail;
    head = mmap(NULL, bytes_of(&plan), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (head == MAP_FAILED || atexit(close_mailbox))
        goto fn_fail;
    *head = plan;
    own.head = head;
    own.owner = getpid();
    own.card.pid = (unsigned) own.owner;
    own.card.fd = (unsigned) fd;
    own.card.device = status.st_dev;
    own.card.inode = status.st_ino;
    own.card.nonce = plan.nonce;
    return;

  fn_fail:
    if (head != MAP_FAILED)
        munmap(head, bytes_of(&plan));
    if (fd >= 0)
        close(fd);
}

void MPIDI_POSIX_lanes_card(char *card, int bytes)
{
    static bool tried;

    /* not where processes of a host are to take each other for those of several */
    if (!tried && MPIR_CVAR_CH4_SHM_LANES > 0 && !MPIR_CVAR_NOLOCAL && !MPIR_CVAR_ODD_EVEN_CLIQUES &&
        MPIR_CVAR_NUM_CLIQUES <= 1 && MPIDI_POSIX_global.num_vsis == 1)
        make_mailbox();
    tried = true;
    *card = '\0';
    if (own.head && own.owner == getpid())
        snprintf(card, (size_t) bytes, "%s:%x:%x:%llx:%llx:%llx", own.card.boot, own.card.pid, own.card.fd,
                 own.card.device, own.card.inode, own.card.nonce);
}

/* ---- those of others -------------------------------------------------------------------------------------------- */

static bool read_card(const char *text, struct lane_card *card)
{
    int end = 0;

    return sscanf(text, "%39[0-9a-f-]:%x:%x:%llx:%llx:%llx%n", card->boot, &card->pid, &card->fd, &card->device,
                  &card->inode, &card->nonce, &end) == 6 && text[end] == '\0' && card->nonce;
}

static int open_mailbox(const struct lane_card *card)
{
    char path[64];
    struct stat status;

    snprintf(path, sizeof(path), "/proc/%u/fd/%u", card->pid, card->fd);
    int fd = MPL_shm_open_identified(path, card->device, card->inode);
    if (fd >= 0 && (fstat(fd, &status) || status.st_uid != geteuid() || (fcntl(fd, F_GET_SEALS) & SEALS) != SEALS ||
                    (uint64_t) status.st_size < whole_pages(sizeof(struct mailbox_head)))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Its size cannot change any more. */
static bool is_sound(const struct mailbox_head *head, const struct lane_card *card, uint64_t bytes)
{
    return head->magic == MAILBOX_MAGIC && head->nonce == card->nonce && head->slots <= MPIDI_POSIX_LANES_MAX &&
        head->first <= bytes && head->stride <= bytes && bytes <= MAILBOX_BYTES_MAX && bytes_of(head) <= bytes &&
        head->first % whole_pages(1) == 0 && head->stride % whole_pages(1) == 0 &&
        head->capacity % LANE_LINE == 0 && head->capacity <= head->stride &&
        head->capacity + sizeof(struct lane_ring) <= head->stride &&
        LANE_RECORD_BYTES(MPIDI_POSIX_eager_payload_limit()) <= head->capacity;
}

static size_t head_bytes(void)
{
    return whole_pages(sizeof(struct mailbox_head));
}

/* Of who is claiming a slot: no process has this nonce. */
#define CLAIMING UINT64_MAX

/* The owner looks for the nonce, and decides at once when it is there: what it decides must not be written over. */
static bool claim_slot(struct mailbox_head *head, uint64_t slots, size_t * slot)
{
    for (*slot = 0; *slot < slots; ++*slot) {
        uint64_t nobody = 0;
        if (__atomic_compare_exchange_n(&head->claims[*slot], &nobody, CLAIMING, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            __atomic_store_n(&head->claimers[*slot], (uint32_t) getpid(), __ATOMIC_RELEASE);
            __atomic_store_n(&head->decisions[*slot], NOT_DECIDED, __ATOMIC_RELEASE);
            __atomic_store_n(&head->claims[*slot], own.head->nonce, __ATOMIC_RELEASE);
            return true;
        }
    }
    return false;
}

/* Fills in what belongs to the peer's mailbox. */
static bool claim_in(struct lane *lane, int fd)
{
    struct mailbox_head *head = mmap(NULL, head_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    struct stat status;

    if (head == MAP_FAILED)
        return false;
    struct mailbox_head seen = *head;   /* which is what has been checked then */
    if (fstat(fd, &status) || !is_sound(&seen, &lane->peer, (uint64_t) status.st_size) ||
        !claim_slot(head, seen.slots, &lane->slot)) {
        munmap(head, head_bytes());
        return false;
    }
    void *memory = mmap(NULL, seen.stride, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                        (off_t) (seen.first + lane->slot * seen.stride));
    if (memory == MAP_FAILED) {
        give_back(head, lane->slot);
        munmap(head, head_bytes());
        return false;
    }
    lane->head = head;
    lane->memory = memory;
    lane->memory_bytes = seen.stride;
    lane->out.ring = memory;
    lane->out.capacity = seen.capacity;
    return true;
}

static int find_lane(unsigned long long nonce)
{
    for (int i = 0; i < MPIDI_POSIX_lanes_top; i++) {
        if (MPIDI_POSIX_lane[i].state != LANE_FREE && MPIDI_POSIX_lane[i].peer.nonce == nonce)
            return i;
    }
    return -1;
}

static int free_lane(void)
{
    int i = 0;

    while (i < MPIDI_POSIX_lanes_top && MPIDI_POSIX_lane[i].state != LANE_FREE)
        i++;
    return i < MPL_MIN(MPIR_CVAR_CH4_SHM_LANES, MPIDI_POSIX_LANES_MAX) ? i : -1;
}

/* Claims a lane in the mailbox that the text tells; the number of the lane, or -1.  One that is there already is
 * returned, as it is. */
static int claim(const char *text)
{
    struct lane_card card;
    struct lane *lane;

    if (!own.head || !read_card(text, &card) || strcmp(card.boot, own.card.boot))
        return -1;
    int number = find_lane(card.nonce);
    if (number >= 0)
        return number;
    number = free_lane();
    int fd = number >= 0 ? open_mailbox(&card) : -1;
    if (fd < 0)
        return -1;
    lane = &MPIDI_POSIX_lane[number];
    memset(lane, 0, sizeof(*lane));
    lane->peer = card;
    bool claimed = claim_in(lane, fd);
    close(fd);
    if (!claimed)
        return -1;
    lane->state = LANE_CLAIMED;
    MPIDI_POSIX_lanes_top = MPL_MAX(MPIDI_POSIX_lanes_top, number + 1);
    return number;
}

/* How much memory long messages use, each time another part of it: all lanes together as much as one ring, if that is
 * enough for each.  The one that leads to this process itself does not count. */
static void share_reach(void)
{
    int n = 0;

    for (int i = 0; i < MPIDI_POSIX_lanes_top; i++)
        n += MPIDI_POSIX_lane[i].state == LANE_OPEN && MPIDI_POSIX_lane[i].peer.nonce != own.card.nonce;
    int records = MPL_MAX(RING_RECORDS / MPL_MAX(n, 1), REACH_RECORDS);
    for (int i = 0; i < MPIDI_POSIX_lanes_top; i++) {
        struct lane_end *out = &MPIDI_POSIX_lane[i].out;
        out->reach = out->capacity / RING_RECORDS * (uint64_t) (records - 1);
    }
}

static bool is_at(const struct lane *lane, int avtid, int lpid)
{
    return lane->avtid == avtid && lane->lpid == lpid;
}

/* Where this process sends to us, or own.head->slots. */
static size_t slot_of(unsigned long long nonce)
{
    size_t slot = 0;

    while (slot < own.head->slots && __atomic_load_n(&own.head->claims[slot], __ATOMIC_ACQUIRE) != nonce)
        slot++;
    return slot;
}

/* If it has claimed a lane it need not wait for ours. */
static void refuse(const char *text)
{
    struct lane_card card;

    if (!own.head || !read_card(text, &card))
        return;
    size_t slot = slot_of(card.nonce);
    if (slot < own.head->slots)
        __atomic_store_n(&own.head->decisions[slot], HAS_NONE, __ATOMIC_RELEASE);
}

void MPIDI_POSIX_lanes_offer(int avtid, int lpid, const char *card)
{
    /* who was there before, and has disconnected */
    for (int i = 0; i < MPIDI_POSIX_lanes_top; i++) {
        if (is_at(&MPIDI_POSIX_lane[i], avtid, lpid))
            MPIDI_POSIX_lane[i].avtid = -1;
    }
    int number = claim(card);
    if (number >= 0) {
        MPIDI_POSIX_lane[number].avtid = avtid;
        MPIDI_POSIX_lane[number].lpid = lpid;
    } else {
        refuse(card);
    }
}

/* ---- both together ---------------------------------------------------------------------------------------------- */

/* When the peer has tried, too: the lane is open, or has been given back (false). */
static bool settle(struct lane *lane)
{
    if (lane->state != LANE_CLAIMED)
        return lane->state == LANE_OPEN;
    size_t slot = slot_of(lane->peer.nonce);
    bool open = slot < own.head->slots;
    if (open) {
        __atomic_store_n(&own.head->decisions[slot], HAS_LANE, __ATOMIC_RELEASE);
        lane->own_slot = slot;
        lane->in.ring = ring_of(own.head, slot);
        lane->in.capacity = own.head->capacity;
        lane->state = LANE_OPEN;
        MPIDI_POSIX_lanes.open++;
        share_reach();
        MPIDI_global.has_lanes = 1;
    } else {
        give_back(lane->head, lane->slot);
        munmap(lane->memory, lane->memory_bytes);
        lane->state = LANE_FREE;
    }
    munmap(lane->head, head_bytes());
    lane->head = NULL;
    return open;
}

bool MPIDI_POSIX_lanes_undecided(int avtid, int lpid)
{
    for (int i = 0; i < MPIDI_POSIX_lanes_top; i++) {
        struct lane *lane = &MPIDI_POSIX_lane[i];
        if (lane->state == LANE_CLAIMED && is_at(lane, avtid, lpid))
            return __atomic_load_n(&lane->head->decisions[lane->slot], __ATOMIC_ACQUIRE) == NOT_DECIDED;
    }
    return false;
}

int MPIDI_POSIX_lanes_settle(int avtid, int lpid)
{
    int settled = -1;

    for (int i = 0; i < MPIDI_POSIX_lanes_top; i++) {
        struct lane *lane = &MPIDI_POSIX_lane[i];
        if (lane->state != LANE_FREE && is_at(lane, avtid, lpid) && settle(lane))
            settled = i;
    }
    return settled;
}

/* ---- ends ------------------------------------------------------------------------------------------------------- */

bool MPIDI_POSIX_lane_lives(struct lane *lane)
{
    char path[64];
    struct stat status;

    if (lane->state != LANE_OPEN)
        return false;
    snprintf(path, sizeof(path), "/proc/%u/fd/%u", lane->peer.pid, lane->peer.fd);
    if (!__atomic_load_n(&lane->out.ring->closed, __ATOMIC_ACQUIRE) && stat(path, &status) == 0 &&
        status.st_dev == lane->peer.device && status.st_ino == lane->peer.inode)
        return true;
    lane->state = LANE_DEPARTED;
    return false;
}

static bool is_sent_to(int number)
{
    MPIDI_POSIX_am_request_header_t *postponed;

    DL_FOREACH(MPIDI_POSIX_global.per_vsi[0].postponed_queue, postponed) {
        if (postponed->dst_grank == -(MPIDI_LOCALITY__LANE + number))
            return true;
    }
    return false;
}

static void free_slot(size_t slot)
{
    __atomic_store_n(&own.head->claimers[slot], 0, __ATOMIC_RELEASE);
    __atomic_store_n(&own.head->claims[slot], 0, __ATOMIC_RELEASE);
}

/* Its place in our mailbox is as new for the next one. */
static void free_departed(struct lane *lane)
{
    munmap(lane->memory, lane->memory_bytes);
    if (fallocate((int) own.card.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t) (own.head->first + lane->own_slot * own.head->stride), (off_t) own.head->stride))
        memset(lane->in.ring, 0, sizeof(struct lane_ring));
    free_slot(lane->own_slot);
    lane->state = LANE_FREE;
    MPIDI_POSIX_lanes.open--;
    share_reach();
}

/* Of those that have claimed a lane here and were killed before there was one. */
static void free_orphaned(void)
{
    for (size_t slot = 0; own.head && slot < own.head->slots; slot++) {
        uint64_t nonce = __atomic_load_n(&own.head->claims[slot], __ATOMIC_ACQUIRE);
        pid_t claimer = (pid_t) __atomic_load_n(&own.head->claimers[slot], __ATOMIC_ACQUIRE);
        if (nonce && claimer > 0 && find_lane(nonce) < 0 && kill(claimer, 0) && errno == ESRCH)
            free_slot(slot);
    }
}

int MPIDI_POSIX_lanes_departed(int number, int *avtid, int *lpid)
{
    for (int i = number + 1; i < MPIDI_POSIX_lanes_top; i++) {
        struct lane *lane = &MPIDI_POSIX_lane[i];
        if (lane->state != LANE_OPEN && lane->state != LANE_DEPARTED)
            continue;
        if (MPIDI_POSIX_lane_lives(lane) || lane->busy || !lane_is_empty(&lane->in) || is_sent_to(i))
            continue;
        *avtid = lane->avtid;
        *lpid = lane->lpid;
        MPIDI_POSIX_lane_fail_waits(lane);
        free_departed(lane);
        return i;
    }
    free_orphaned();
    return -1;
}
