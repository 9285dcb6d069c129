/*
 * Proxy's side of the adapt board (see board.h and pmi_adapt.h).
 *
 * The order of the stores matters.  A process stores its count, then reads gate and limit; the
 * proxy shuts these, then reads the counts.  With a full fence between the two steps on both sides,
 * at least one side sees the store of the other: either the ceiling includes the count, or the
 * process waits.
 */

#ifndef _GNU_SOURCE
#define _GNU_SOURCE             /* memfd_create */
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "board.h"
#include "pmi_adapt_measured.h"
#include "pmi_adapt_set.h"
#include "pmi_adapt_request.h"
#include "wire/clock.h"
#include "wire/file_size.h"

#define FIRST_FD 3

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static void wake_all(struct pmi_adapt_control *control)
{
    __atomic_fetch_add(&control->wake, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &control->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

int HYD_board_create(struct HYD_board *board, const char *group, int slots)
{
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    size_t offset = round_up(sizeof(struct pmi_adapt_control), PMI_ADAPT_LINE);
    size_t graphs = round_up(offset + (size_t) slots * sizeof(struct pmi_adapt_slot), page);
    size_t stride = round_up(sizeof(struct pmi_adapt_graph), page);
    size_t requests = graphs + (size_t) slots * stride;
    size_t bcasts =
        round_up(requests + (size_t) slots * sizeof(struct pmi_adapt_request_ends), page);
    size_t answers =
        round_up(bcasts + (size_t) slots * PMI_SET_BCASTS_MAX * sizeof(struct pmi_adapt_bcast),
                 page);
    size_t creations =
        round_up(answers + (size_t) slots * PMI_SET_ANSWERS * sizeof(struct pmi_adapt_answer),
                 page);
    size_t bytes =
        round_up(creations + (size_t) slots * PMI_SET_CREATIONS_MAX * sizeof(uint64_t), page);
    /* of which only what is written takes memory */
    int error;

    board->fd = -1;
    board->ended = calloc((size_t) slots, 1);
    error = HYD_plan_areas_create(&board->plans, slots, bytes, page);
    if (error || !board->ended)
        goto fn_fail;
    /* Proxies run with closed standard descriptors; the board's descriptor must not have such a
     * number. */
    int low = memfd_create("elastic-board", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    board->fd = low < 0 ? -1 : fcntl(low, F_DUPFD, FIRST_FD);
    error = errno;
    if (low >= 0)
        close(low);
    if (board->fd < 0)
        goto fn_fail;
    /* Seals the file, so that no process can shorten it or forbid writes to it. */
    struct sigaction usual = HYD_file_size_fails();
    error = ftruncate(board->fd, (off_t) bytes) < 0 ? errno : 0;
    HYD_file_size_ends(&usual);
    if (error)
        goto fn_fail;
    if (fcntl(board->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
        goto fn_errno;
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, board->fd, 0);
    if (base == MAP_FAILED)
        goto fn_errno;

    board->bytes = bytes;
    board->control = base;
    board->slots = (struct pmi_adapt_slot *) ((char *) base + offset);
    board->control->gate = PMI_ADAPT_GATE_OPEN;
    board->control->limit = PMI_ADAPT_GATE_OPEN;
    board->control->version = PMI_ADAPT_VERSION;
    board->control->slots = (uint32_t) slots;
    board->control->slots_offset = offset;
    board->control->perf_offset = graphs;
    board->control->perf_stride = (uint32_t) stride;
    board->control->requests_offset = requests;
    board->control->bcasts_offset = bcasts;
    board->control->answers_offset = answers;
    board->control->creations_offset = creations;
    board->control->perf_interval_ms = PMI_ADAPT_INTERVAL_MS;
    snprintf(board->control->group, sizeof(board->control->group), "%s", group);
    board->control->magic = PMI_ADAPT_MAGIC;
    return 0;

  fn_errno:
    error = errno;
  fn_fail:
    if (board->fd >= 0)
        close(board->fd);
    board->fd = -1;
    HYD_plan_areas_destroy(&board->plans);
    free(board->ended);
    return error ? error : ENOMEM;
}

void HYD_board_destroy(struct HYD_board *board)
{
    if (board->fd < 0)
        return;
    munmap(board->control, board->bytes);
    HYD_plan_areas_destroy(&board->plans);
    free(board->ended);
    close(board->fd);
    board->fd = -1;
}

int HYD_board_in_init(const struct HYD_board *board, int slot)
{
    return board->fd >= 0 &&
        __atomic_load_n(&board->slots[slot].phase, __ATOMIC_ACQUIRE) == PMI_ADAPT_PHASE_INIT;
}

/* The greatest count of the processes that probe. */
static uint64_t greatest_count(const struct HYD_board *board)
{
    uint64_t greatest = 0;

    for (uint32_t i = 0; i < board->control->slots; i++) {
        if (board->ended[i] ||
            __atomic_load_n(&board->slots[i].phase, __ATOMIC_ACQUIRE) == PMI_ADAPT_PHASE_NONE)
            continue;
        uint64_t count = __atomic_load_n(&board->slots[i].count, __ATOMIC_ACQUIRE);
        if (count > greatest)
            greatest = count;
    }
    return greatest;
}

/* Returns an offset for a plan, 0: no memory.  Until a process reads the board, its slot may still
 * name an earlier plan. */
static uint64_t take_slot(struct HYD_board *board, uint32_t serial, size_t bytes)
{
    const uint32_t slots = board->control->slots;
    uint32_t *read = calloc(slots, sizeof(*read));

    if (!read)
        return 0;
    for (uint32_t i = 0; i < slots; i++)
        if (!board->ended[i])
            read[i] = __atomic_load_n(&board->slots[i].plan_serial, __ATOMIC_ACQUIRE);
    uint64_t offset = HYD_plan_areas_take(&board->plans, serial, bytes, read);
    free(read);
    return offset;
}

/* The file only grows. */
static int write_plan(const struct HYD_board *board, const struct pmi_adapt_plan *plan,
                      size_t bytes, uint64_t offset)
{
    struct sigaction usual = HYD_file_size_fails();
    int error = 0;

    for (size_t done = 0; done < bytes && !error;) {
        ssize_t n =
            pwrite(board->fd, (const char *) plan + done, bytes - done, (off_t) (offset + done));
        if (n < 0 && errno != EINTR)
            error = errno;
        if (n > 0)
            done += (size_t) n;
    }
    HYD_file_size_ends(&usual);
    return error;
}

int HYD_board_assign(struct HYD_board *board, const struct pmi_adapt_plan *plan, size_t bytes,
                    uint32_t participants)
{
    struct pmi_adapt_control *control = board->control;
    const uint32_t last = control->plan_serial, serial = last == UINT32_MAX ? 1 : last + 1;

    /* A process that begins to read an earlier, withdrawn plan either sees that there is a new one,
     * or its serial number is seen here. */
    __atomic_store_n(&control->plan_epoch, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&control->plan_serial, serial, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    uint64_t offset = take_slot(board, serial, bytes);
    int error = offset ? write_plan(board, plan, bytes, offset) : ENOMEM;
    if (error)
        return error;
    board->assigned_us = HYD_monotonic_us();
    board->assigned_count = greatest_count(board);
    __atomic_store_n(&control->plan_offset, offset, __ATOMIC_RELEASE);
    __atomic_store_n(&control->plan_bytes, bytes, __ATOMIC_RELEASE);
    __atomic_store_n(&control->participants, participants, __ATOMIC_RELAXED);
    __atomic_store_n(&control->committed, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&control->prepared, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&control->plan_epoch, plan->epoch, __ATOMIC_RELEASE);
    /* From here on every probe reads the limit and the plan. */
    __atomic_store_n(&control->gate, PMI_ADAPT_GATE_SHUT, __ATOMIC_SEQ_CST);
    wake_all(control);
    return 0;
}

/* The decision takes one message up and one down.  A greater margin would cost more delay if the
 * program's pace changes. */
#define LEAD_US 2000
#define MARGIN_MOST 8

static uint64_t margin_by_pace(const struct HYD_board *board, uint64_t count)
{
    int64_t elapsed_us = HYD_monotonic_us() - board->assigned_us;
    uint64_t made = count > board->assigned_count ? count - board->assigned_count : 0;

    if (made == 0 || elapsed_us <= 0)
        return 1;
    uint64_t margin = (uint64_t) ((double) made * LEAD_US / (double) elapsed_us) + 1;
    return margin < MARGIN_MOST ? margin : MARGIN_MOST;
}

uint64_t HYD_board_freeze(struct HYD_board *board, uint64_t margin)
{
    struct pmi_adapt_control *control = board->control;

    __atomic_store_n(&control->limit, PMI_ADAPT_GATE_SHUT, __ATOMIC_SEQ_CST);
    __atomic_store_n(&control->gate, PMI_ADAPT_GATE_SHUT, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    uint64_t count = greatest_count(board);
    uint64_t ceiling = count + (margin ? margin : margin_by_pace(board, count));
    __atomic_store_n(&control->limit, ceiling, __ATOMIC_SEQ_CST);
    wake_all(control);
    return ceiling;
}

void HYD_board_target(struct HYD_board *board, uint32_t epoch, uint64_t target)
{
    /* Stores the limit first, because a process reads `agreed` and then the limit. */
    __atomic_store_n(&board->control->limit, target, __ATOMIC_SEQ_CST);
    __atomic_store_n(&board->control->agreed, epoch, __ATOMIC_SEQ_CST);
    wake_all(board->control);
}

void HYD_board_thaw(struct HYD_board *board)
{
    /* The gate stays shut, so that processes poll and release what they have prepared. */
    __atomic_store_n(&board->control->limit, PMI_ADAPT_GATE_OPEN, __ATOMIC_SEQ_CST);
    __atomic_store_n(&board->control->plan_epoch, 0, __ATOMIC_SEQ_CST);
    wake_all(board->control);
}

void HYD_board_release(struct HYD_board *board, uint32_t epoch)
{
    __atomic_store_n(&board->control->limit, PMI_ADAPT_GATE_OPEN, __ATOMIC_SEQ_CST);
    __atomic_store_n(&board->control->gate, PMI_ADAPT_GATE_OPEN, __ATOMIC_SEQ_CST);
    __atomic_store_n(&board->control->epoch, epoch, __ATOMIC_SEQ_CST);
    __atomic_store_n(&board->control->released, epoch, __ATOMIC_SEQ_CST);
    __atomic_store_n(&board->control->plan_epoch, 0, __ATOMIC_SEQ_CST);
    wake_all(board->control);
}

int HYD_board_committed(const struct HYD_board *board)
{
    uint32_t participants = __atomic_load_n(&board->control->participants, __ATOMIC_RELAXED);

    return participants > 0 &&
        __atomic_load_n(&board->control->committed, __ATOMIC_ACQUIRE) >= participants;
}

void HYD_board_count_committed(struct HYD_board *board, uint32_t epoch)
{
    if (board->control->plan_epoch == epoch)
        __atomic_add_fetch(&board->control->committed, 1, __ATOMIC_ACQ_REL);
}

int HYD_board_in_window(const struct HYD_board *board)
{
    return board->control->plan_epoch && board->control->agreed == board->control->plan_epoch;
}

uint64_t HYD_board_phase_ms(const struct HYD_board *board, int slot)
{
    uint64_t since_ms = __atomic_load_n(&board->slots[slot].since_ms, __ATOMIC_RELAXED);
    uint64_t now_ms = (uint64_t) HYD_monotonic_us() / 1000;

    return since_ms && since_ms < now_ms ? now_ms - since_ms : 0;
}

const struct pmi_adapt_graph *HYD_board_graph(const struct HYD_board *board, int slot)
{
    const struct pmi_adapt_control *control = board->control;

    return (const struct pmi_adapt_graph *) ((const char *) control + control->perf_offset +
                                             (size_t) slot * control->perf_stride);
}

struct pmi_adapt_request_ends *HYD_board_request_ends(struct HYD_board *board, int slot)
{
    return (struct pmi_adapt_request_ends *) ((char *) board->control +
                                              board->control->requests_offset) + slot;
}

struct pmi_adapt_bcast *HYD_board_bcasts(struct HYD_board *board, int slot)
{
    return (struct pmi_adapt_bcast *) ((char *) board->control + board->control->bcasts_offset) +
        (size_t) slot * PMI_SET_BCASTS_MAX;
}

void HYD_board_set_offer(struct HYD_board *board, uint32_t offer)
{
    uint32_t by_sets = board->control->offer & PMI_SET_BY_SETS;

    __atomic_store_n(&board->control->offer, by_sets | offer, __ATOMIC_SEQ_CST);
}

void HYD_board_set_by_sets(struct HYD_board *board)
{
    __atomic_fetch_or(&board->control->offer, PMI_SET_BY_SETS, __ATOMIC_SEQ_CST);
}

void HYD_board_invalidate(struct HYD_board *board)
{
    __atomic_fetch_add(&board->control->invalidations, 1, __ATOMIC_SEQ_CST);
}

uint32_t HYD_board_invalidations(const struct HYD_board *board)
{
    return __atomic_load_n(&board->control->invalidations, __ATOMIC_RELAXED);
}

void HYD_board_set_interval(struct HYD_board *board, uint32_t interval_ms)
{
    __atomic_store_n(&board->control->perf_interval_ms, interval_ms, __ATOMIC_RELAXED);
}

int HYD_board_makes(const struct HYD_board *board, int slot, uint64_t creation)
{
    const uint64_t *creations =
        (const uint64_t *) ((const char *) board->control + board->control->creations_offset) +
        (size_t) slot * PMI_SET_CREATIONS_MAX;

    for (int i = 0; i < PMI_SET_CREATIONS_MAX; i++) {
        if (__atomic_load_n(&creations[i], __ATOMIC_SEQ_CST) == creation)
            return 1;
    }
    return 0;
}

int HYD_board_answer(struct HYD_board *board, int slot, uint32_t id, const void *answer,
                     size_t bytes)
{
    struct pmi_adapt_answer *areas =
        (struct pmi_adapt_answer *) ((char *) board->control + board->control->answers_offset) +
        (size_t) slot * PMI_SET_ANSWERS;

    for (int i = 0; i < PMI_SET_ANSWERS && bytes <= PMI_SET_ANSWER_MAX; i++) {
        if (__atomic_load_n(&areas[i].id, __ATOMIC_ACQUIRE) != 0)
            continue;
        memcpy(areas[i].data, answer, bytes);
        areas[i].bytes = (uint32_t) bytes;
        __atomic_store_n(&areas[i].id, id, __ATOMIC_RELEASE);
        return 1;
    }
    return 0;
}

void HYD_board_answered(struct HYD_board *board, int slot)
{
    uint32_t *answered = &board->slots[slot].answered;

    __atomic_fetch_add(answered, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, answered, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void HYD_board_ended(struct HYD_board *board, int slot)
{
    board->ended[slot] = 1;
}
