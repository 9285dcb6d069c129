/*
 * Plays an adaptive MPI process that computes nothing, so that many fit on one machine: what a
 * growth costs mpiexec and its proxies can be measured with a hundred thousand of them
 * (bench/harness/reports.py).  It speaks PMI and uses the adapt board as libmpi does
 * (src/pmi/include/pmi_adapt.h), and sends it; it has no memory or network in common with others,
 * and sleeps on the board between two probes.
 *
 * No libmpi, no argument.  It ends when mpiexec ends it, or after PATIENCE_S without a change.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "pmi_adapt.h"

#define PATIENCE_S 900
/* of an address of libfabric's tcp provider and what is around it */
#define CARD_BYTES 64
#define GREETED 65536           /* in `prepared` of the board */

static int pmi, board_fd;
static unsigned slot, uid, join_epoch, last_epoch;
static struct pmi_adapt_control *board;
static struct pmi_adapt_slot *me;

static void die(const char *what)
{
    fprintf(stderr, "simulated_process %u: %s: %s\n", uid, what, strerror(errno));
    exit(2);
}

static uint32_t load32(const uint32_t * word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* ---- PMI ---- */

static void send_line(const char *line)
{
    size_t bytes = strlen(line);

    if (write(pmi, line, bytes) != (ssize_t) bytes)
        die("unable to write to the proxy");
}

static void query(const char *command)
{
    char c;

    send_line(command);
    while (read(pmi, &c, 1) == 1) {
        if (c == '\n')
            return;
    }
    die("no answer of the proxy");
}

static void send_line_of_epoch(const char *what, unsigned epoch)
{
    char line[64];

    snprintf(line, sizeof(line), "cmd=%s epoch=%u\n", what, epoch);
    send_line(line);
}

static int environment(const char *name)
{
    const char *text = getenv(name);

    return text ? atoi(text) : -1;
}

static void introduce(void)
{
    char line[64 + 2 * CARD_BYTES] = "cmd=adapt_init mode=adaptive card=";

    for (int i = 0; i < CARD_BYTES; i++)
        snprintf(line + strlen(line), 3, "%02x", (unsigned) (uid >> i % 4 * 8) & 0xff);
    strcat(line, "\n");
    me->pid = (uint32_t) getpid();
    __atomic_store_n(&me->phase, PMI_ADAPT_PHASE_RUNNING, __ATOMIC_SEQ_CST);
    send_line(line);
}

/* ---- the board ---- */

static void open_board(void)
{
    const char *text = getenv(PMI_ADAPT_ENV);
    struct stat found;
    int version;

    if (!text ||
        sscanf(text, "version=%d fd=%d slot=%u uid=%u epoch=%u", &version, &board_fd, &slot, &uid,
               &join_epoch) != 5 || fstat(board_fd, &found))
        die("no board");
    board = mmap(NULL, (size_t) found.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, board_fd, 0);
    if (board == MAP_FAILED || board->magic != PMI_ADAPT_MAGIC || slot >= board->slots)
        die("not a board");
    me = (struct pmi_adapt_slot *) ((char *) board + board->slots_offset) + slot;
}

static void await_change(uint32_t seen)
{
    struct timespec patience = {.tv_sec = PATIENCE_S };

    if (syscall(SYS_futex, &board->wake, FUTEX_WAIT, seen, &patience, NULL, 0) &&
        errno == ETIMEDOUT)
        exit(0);
}

/* The last process of a board notifies the proxy. */
static void count(uint32_t one, const char *what, unsigned epoch)
{
    uint32_t all = __atomic_add_fetch(&board->prepared, one, __ATOMIC_ACQ_REL);

    if ((one == GREETED ? all / GREETED : all % GREETED) == load32(&board->participants))
        send_line_of_epoch(what, epoch);
}

static int is_leaving(void)
{
    size_t bytes = (size_t) board->plan_bytes;
    struct pmi_adapt_plan *plan =
        mmap(NULL, bytes, PROT_READ, MAP_SHARED, board_fd, (off_t) board->plan_offset);
    uint32_t i = 0;

    if (plan == MAP_FAILED)
        die("no plan");
    const struct pmi_adapt_member *m = (const void *) ((const char *) plan + plan->members_offset);
    while (i < plan->pre && m[i].uid != uid)
        i++;
    int leaves = i < plan->pre && m[i].flags & PMI_ADAPT_MEMBER_LEAVING;
    munmap(plan, bytes);
    return leaves;
}

static void open_window(unsigned epoch)
{
    int leaves = epoch != join_epoch && is_leaving();

    __atomic_store_n(&me->count, 0, __ATOMIC_SEQ_CST);
    last_epoch = epoch;
    __atomic_add_fetch(&board->committed, 1, __ATOMIC_SEQ_CST);
    for (uint32_t seen = load32(&board->wake); leaves && load32(&board->released) < epoch;
         seen = load32(&board->wake))
        await_change(seen);
    if (leaves) {
        query("cmd=finalize\n");
        exit(0);
    }
}

static void join_world(void)
{
    char line[128];

    __atomic_store_n(&me->phase, PMI_ADAPT_PHASE_JOINING, __ATOMIC_SEQ_CST);
    snprintf(line, sizeof(line), "cmd=adapt_ready epoch=%u segment=%d:9:4096:1:2:3\n", join_epoch,
             (int) getpid());
    send_line(line);
    for (int prepared = 0;;) {
        uint32_t seen = load32(&board->wake);
        if (load32(&board->plan_epoch) == join_epoch && !prepared) {
            prepared = 1;
            count(1, "adapt_prepared", join_epoch);
            count(GREETED, "adapt_greeted", join_epoch);
        }
        if (prepared && load32(&board->agreed) == join_epoch)
            break;
        await_change(seen);
    }
    __atomic_store_n(&me->phase, PMI_ADAPT_PHASE_RUNNING, __ATOMIC_SEQ_CST);
    open_window(join_epoch);
}

/* One more probe: TRUE at the one that has been agreed on. */
static void probe(unsigned *prepared)
{
    uint64_t n = __atomic_add_fetch(&me->count, 1, __ATOMIC_SEQ_CST);
    unsigned epoch = last_epoch + 1;

    if (n < __atomic_load_n(&board->gate, __ATOMIC_SEQ_CST))
        return;
    for (;;) {
        uint32_t seen = load32(&board->wake);
        if (load32(&board->epoch) < last_epoch)
            return;
        if (load32(&board->plan_epoch) == epoch && *prepared < epoch) {
            *prepared = epoch;
            count(1, "adapt_prepared", epoch);
        }
        uint32_t agreed = load32(&board->agreed);
        uint64_t limit = __atomic_load_n(&board->limit, __ATOMIC_SEQ_CST);
        if (n < limit)
            return;
        if (agreed == epoch) {
            open_window(epoch);
            return;
        }
        await_change(seen);
    }
}

int main(void)
{
    unsigned prepared = 0;

    pmi = environment("PMI_FD");
    open_board();
    last_epoch = join_epoch;
    query("cmd=init pmi_version=1 pmi_subversion=1\n");
    query("cmd=barrier_in\n");
    introduce();
    if (join_epoch)
        join_world();
    for (;;) {
        uint32_t seen = load32(&board->wake);
        probe(&prepared);
        /* it probes on where there is a number to reach, and sleeps else: so many would want a
         * processor otherwise */
        uint64_t limit = __atomic_load_n(&board->limit, __ATOMIC_SEQ_CST);
        if (limit == PMI_ADAPT_GATE_OPEN || load32(&board->epoch) < last_epoch)
            await_change(seen);
    }
}
